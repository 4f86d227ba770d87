<?php

// Laravel runs again what it thinks was an accident: the whole transaction, or silently a statement. It
// looks for phrases in texts, and an agent can write texts.

declare(strict_types=1);

use Approval\Tests\Tap;
use App\Approval\GateConnection;
use App\Approval\Refusal;
use App\Approval\Requester;
use Illuminate\Database\Connection;
use Illuminate\Database\DetectsConcurrencyErrors;
use Illuminate\Database\DetectsLostConnections;
use Illuminate\Database\PostgresConnection;
use Illuminate\Database\QueryException;
use Illuminate\Support\Facades\DB;

// The phrases, from the framework itself.
$phrases = static function (string $trait): array {
    $source = (string) file_get_contents((new ReflectionClass($trait))->getFileName());
    preg_match_all("/^ +'([^']+)',$/m", $source, $found);

    return $found[1];
};
$lost = $phrases(DetectsLostConnections::class);
$deadlock = $phrases(DetectsConcurrencyErrors::class);
Tap::ok(in_array('Lost connection', $lost, true) && count($lost) > 20, count($lost) . ' phrases of a lost connection');
Tap::ok(
    in_array('deadlock detected', $deadlock, true) && count($deadlock) > 5,
    count($deadlock) . ' phrases of a deadlock'
);

// Each silent retry begins with a new connection. "stock" is Laravel's own class, to see that the test can tell.
Connection::resolverFor('pgsql', static fn (...$arguments) => new PostgresConnection(...$arguments));
config(['database.connections.stock' => config('database.connections.agent')]);
DB::connection('stock');
Connection::resolverFor('pgsql', static fn (...$arguments) => new GateConnection(...$arguments));
$reconnects = ['agent' => 0, 'executor' => 0, 'web' => 0, 'stock' => 0];
foreach (array_keys($reconnects) as $name) {
    DB::connection($name)->setReconnector(static function (Connection $connection) use (&$reconnects, $name) {
        $reconnects[$name]++;
        $connection->disconnect();
        DB::reconnect($name);
    });
}
$attempts = static function (string $side, callable $do): array {
    $n = 0;
    try {
        DB::connection($side)->transaction(static function () use (&$n, $do) {
            $n++;
            $do();
        }, 5);
    } catch (Throwable $e) {
        return [$n, $e instanceof Refusal ? $e->reason : $e::class];
    }

    return [$n, 'done'];
};

$requester = app(Requester::class);
$found = ['in a transaction' => [], 'outside' => []];
foreach ([...$lost, ...$deadlock] as $phrase) {
    // Everything that an agent writes says it.
    $chat = substr("{$phrase} " . fresh('chat'), 0, 250);
    $id = substr($phrase, 0, 250);
    $more = ['agent_reason' => $phrase, 'resource' => $phrase, 'server' => $id];
    $propose = static fn (string $value) => $requester->propose($chat, $id, $id, [$phrase => $value], $more);
    $request = $propose($phrase);
    verbs('web')->one('approve', ['id' => $request->id, 'seen' => $request->review_hash, 'actor' => $id]);
    $hostile = [
        'tool_call_conflict' => ['agent', static fn () => $propose('x')],
        'not_canonical' => ['agent', static fn () => $requester->propose(
            $chat,
            'n',
            $id,
            "{\"{$phrase}\": 9007199254740993}",
            $more
        )],
        'already_decided' => ['web', static fn () => verbs('web')->one('approve', [
            'id' => $request->id, 'seen' => $request->review_hash, 'actor' => "another {$id}",
        ])],
        'decisions_mismatch' => ['web', static fn () => verbs('web')->all('decide_all', [
            'conversation_id' => $chat, 'decisions' => "{\"{$phrase} x\": true}", 'actor' => $id,
        ])],
    ];
    foreach ($hostile as $reason => [$side, $do]) {
        $found['in a transaction'][] = [$reason, ...$attempts($side, $do)];
        $found['outside'][] = [$reason, refused($do)->reason ?? null];
    }
    $found['outside'][] = ['hash_mismatch', refused(static fn () => verbs('executor')->one('consume', [
        'id' => $request->id, 'tool' => $id, 'arguments' => "{\"{$phrase}\": 1}", 'execution_id' => $phrase,
        'server' => $id, 'resource' => $phrase,
    ]))->reason ?? null];
}
$others = array_filter($found['in a transaction'], static fn (array $row) => $row !== [$row[0], 1, $row[0]]);
Tap::is($others, [], count($found['in a transaction']) . ' refusals in DB::transaction(…, 5) are one attempt each');
$others = array_filter($found['outside'], static fn (array $row) => $row[0] !== $row[1]);
Tap::is($others, [], count($found['outside']) . ' refusals outside are what they are');
Tap::is(
    [$reconnects['agent'], $reconnects['executor'], $reconnects['web']],
    [0, 0, 0],
    'and none of them makes Laravel connect again'
);

// Past the adapter, by hand: broken JSON is PostgreSQL's own error, and it quotes.
$byHand = static fn (string $connection, string $arguments, string $chat = '') => DB::connection($connection)->select(
    'SELECT * FROM approval.propose(?, ?, ?, conversation_id => ?)',
    ['call-1', 'refund', $arguments, $chat]
);
$code = static function (callable $do): string {
    try {
        $do();
    } catch (QueryException $e) {
        return (string) $e->getCode();
    }

    return 'none';
};
$broken = '{"note": "Lost connection", so}';
foreach (['stock' => 1, 'agent' => 0] as $name => $wanted) {
    Tap::is($code(static fn () => $byHand($name, $broken)), '22P02', "broken JSON over {$name} is an error");
    Tap::is($reconnects[$name], $wanted, $wanted ? 'which Laravel by itself tries twice' : 'which is tried once');
}
$text = null;
try {
    $requester->propose(fresh('chat'), 'call-1', 'refund', $broken);
} catch (JsonException $e) {
    $text = $e->getMessage();
}
Tap::is($text, 'Syntax error', 'the adapter does not even send it');

// A refusal in a transaction whose bound values say "deadlock detected".
foreach (['stock' => 5, 'agent' => 1] as $name => $wanted) {
    $chat = fresh('chat');
    $byHand($name, '{"note": "deadlock detected, a"}', $chat);
    $n = 0;
    $again = static function () use (&$n, $byHand, $name, $chat) {
        $n++;
        $byHand($name, '{"note": "deadlock detected, b"}', $chat);
    };
    $found = $code(static fn () => DB::connection($name)->transaction($again, 5));
    Tap::is([$found, $n], ['PT409', $wanted], "PT409 over {$name} in DB::transaction(…, 5): attempts");
}

// What has to be run again still is.
$request = $requester->propose(fresh('chat'), 'call-1', 'refund', ['order' => 'x', 'amount' => 77]);
$others = 0;
$found = $attempts('agent', static function () use ($request, $requester, &$others) {
    DB::connection('agent')->statement('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    DB::connection('agent')->select('SELECT 1');
    if ($others++ === 0) {
        $decision = ['id' => $request->id, 'seen' => $request->review_hash, 'actor' => 'user:7'];
        verbs('web')->one('reject', $decision);
    }
    $requester->cancel($request->id, 'too late');
});
Tap::is(
    $found,
    [2, 'already_decided'],
    'a serialization failure (40001) is another attempt, which gets the recorded answer'
);

// And a connection that is really lost is made again, as Laravel does.
$pid = static fn () => DB::connection('agent')->selectOne('SELECT pg_backend_pid() AS pid')->pid;
$before = $pid();
admin()->select('SELECT pg_terminate_backend(?, 60000)', [$before]);
Tap::ok(
    $requester->outcomes(fresh('chat')) === [] && $pid() !== $before,
    'a connection that is really lost is made again'
);
