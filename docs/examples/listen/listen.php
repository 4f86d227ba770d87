<?php

// Prints what happens at the gate, each event once, as a line of JSON.
//
//   php listen.php [CURSOR_FILE]
//
// Connects as libpq's variables say (PGHOST, PGUSER, ...).

declare(strict_types=1);

const FEED = 'SELECT cursor_text, events, more, resync FROM approval.feed(?, max_rows => 1000)';
const INBOX = "SELECT coalesce(json_agg(i), '[]')
  FROM (SELECT id, tenant, conversation_id, server, tool, summary, review_hash, status, expires_at
          FROM approval.inbox ORDER BY sort_key) i";
const CONNECTION = 'pgsql:application_name=listen;keepalives_idle=30;tcp_user_timeout=60000';

/** The old cursor or the new one, whatever happens in between. */
function store(string $file, string $cursor): void
{
    $next = fopen("$file.new", 'w') ?: throw new RuntimeException("cannot write $file.new");
    if (fwrite($next, "$cursor\n") === false || !fsync($next) || !fclose($next) || !rename("$file.new", $file)) {
        throw new RuntimeException("cannot write $file");
    }
}

/** What a program of your own does with events stands here.  If it throws, the events are not done. */
function handle(array $events): void
{
    $plain = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR;
    foreach ($events as $event) {
        $line = json_encode($event, $plain) . "\n";
        if (fwrite(STDOUT, $line) !== strlen($line)) {
            throw new RuntimeException('cannot print');
        }
    }
}

function ask(PDO $db, string $sql, array $values = []): array
{
    $statement = $db->prepare($sql);
    $statement->execute($values);
    return $statement->fetch(PDO::FETCH_NUM);
}

function feed(PDO $db, ?string $cursor): array
{
    try {
        return ask($db, FEED, [$cursor]);
    } catch (PDOException $e) {
        // Text that is no cursor of the feed: as if it were of another database.
        if ($e->getCode() !== '22023') {
            throw $e;
        }
        return [3 => true] + ask($db, FEED, ['now']);
    }
}

/** Moves the cursor with each store, so that a connection lost later does not bring it all again. */
function readOn(PDO $db, string $file, ?string &$cursor): void
{
    do {
        $answer = feed($db, $cursor);
        [$new, $events, $more, $resync] = [$answer[0], $answer[1], $answer[2], $answer[3]];
        if ($resync) {
            handle([['event' => 'resync', 'waiting' => json_decode(ask($db, INBOX)[0])]]);
        }
        handle(json_decode($events));
        if ($new !== $cursor) {
            store($file, $new);
        }
        $cursor = $new;
    } while ($more);
}

/** Until the bell rings or the time is over; a connection that has ended is an error. */
function waitForBell(PDO $db, float $seconds): void
{
    // In slices: PDO waits to the end for a connection that was closed before it began to wait.
    for ($end = microtime(true) + $seconds; microtime(true) < $end;) {
        if ($db->pgsqlGetNotify(PDO::FETCH_NUM, 1000) !== false) {
            break;
        }
    }
    // One reading answers all the bells that have rung.
    while ($db->pgsqlGetNotify(PDO::FETCH_NUM) !== false) {
        continue;
    }
}

/** Everything that another connection may cure, and nothing else. */
function passing(PDOException $e): bool
{
    return in_array(substr($e->errorInfo[0] ?? '', 0, 2), ['08', '53', '57', 'HY'], true);
}

$file = $argv[1] ?? 'cursor';
// A bell can be missed; nobody waits longer than this.
$every = (float) (getenv('READ_EVERY') ?: 30);
$cursor = is_file($file) ? trim(file_get_contents($file)) : null;
for ($failures = 0;; $failures++) {
    try {
        $db = new PDO(CONNECTION, options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        // Listen first: what is committed while the feed is read rings.
        $db->exec('LISTEN approval');
        while (true) {
            readOn($db, $file, $cursor);
            $failures = 0;
            waitForBell($db, $every);
        }
    } catch (PDOException $e) {
        if (!passing($e)) {
            throw $e;
        }
        fwrite(STDERR, 'away: ' . preg_replace('/\s+/', ' ', $e->getMessage()) . "\n");
    }
    $db = null;
    // 0.1 s to 10 s, and not all listeners at once.
    usleep((int) (min(10, 0.1 * 2 ** $failures) * random_int(500_000, 1_000_000)));
}
