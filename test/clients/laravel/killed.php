<?php

// Workers that are killed (-9) wherever it hurts, and jobs that are delivered again and again.

declare(strict_types=1);

use App\Agent\DriveRun;
use App\Testing\Process;
use App\Testing\Wait;
use Approval\Tests\Tap;
use Illuminate\Support\Facades\DB;

$listener = Process::listener();
$worker = static fn (string $artisan = 'artisan', array $environment = []) => Process::worker($artisan, $environment + [
    'APPROVAL_RUN_LEASE' => '2 seconds',
    'APPROVAL_LEASE' => '2 seconds',
    // Not the queue's own second delivery of a job.
    'QUEUE_RETRY_AFTER' => '100000',
]);
$two = static fn (string $chat) => implode("\n", [
    "refund {\"order\": \"{$chat}-1\", \"amount\": 100}",
    "refund {\"order\": \"{$chat}-2\", \"amount\": 200}",
]);
$once = static fn (string $chat) => array_map(
    static fn (string $kind) => events($chat, $kind),
    ['proposed', 'approved', 'consumed']
);
$refunds = static fn (string $chat) => count(array_unique(array_column(payments($chat), 'key')));

// A worker of its own that dies there, and has said so.
$kill = static function (string $chat, string $point, string $what) use ($worker): void {
    $dying = $worker(__DIR__ . '/dying-artisan.php', ['DIE_AT' => $point]);
    Wait::until("death at {$point}", static fn () => !$dying->runs());
    Tap::is(
        [str_contains($dying->said(), "dies at {$point}\n"), turn_of($chat)->status],
        [true, null],
        "killed after {$point}: {$what}"
    );
};

$before = [
    'start_run' => 'the run is there, and nobody holds it',
    'claim_run' => 'it holds the run',
    'next_iteration' => 'a round is counted, and the model was not asked',
    'propose' => 'one of two calls is proposed',
    'paused' => 'it holds the run, and knows that it has to wait',
    'release_run' => 'it has just let go of the run',
];
foreach ($before as $point => $what) {
    $chat = fresh('killed');
    say($chat, $two($chat));
    $kill($chat, $point, $what);
    $next = $worker();
    waits($chat, 2);
    Tap::is(payments($chat), [], 'another one goes on; nothing is run before somebody has looked');
    approve_all($chat);
    Tap::is(
        [ended($chat), $once($chat), $refunds($chat)],
        ['completed', [2, 2, 2], 2],
        'decided once, consumed once, run once'
    );
    $next->kill();
}

// How often the payment system is asked, at least.
$after = [
    'paid' => [3, 'the money has moved, and nobody knows'],
    'complete' => [2, 'the first call is reported'],
    'complete_run' => [2, 'the run has ended, and its answer is not saved'],
];
foreach ($after as $point => [$asked, $what]) {
    $chat = fresh('killed');
    say($chat, $two($chat));
    $first = $worker();
    waits($chat, 2);
    $first->kill();
    approve_all($chat);
    $kill($chat, $point, $what);
    $next = $worker();
    Tap::is(
        [ended($chat), $once($chat), $refunds($chat)],
        ['completed', [2, 2, 2], 2],
        'decided once, consumed once, two refunds'
    );
    Tap::ok(count(payments($chat)) >= $asked, "for which the payment system was asked {$asked} times", payments($chat));
    $next->kill();
}

// The permit died with the worker: nobody can tell, so nobody tries.
$chat = fresh('killed');
say($chat, $two($chat));
$first = $worker();
waits($chat, 2);
$first->kill();
approve_all($chat);
$kill($chat, 'consume', 'it has a permit, and nothing is run');
$next = $worker();
$lost = Wait::until('an unknown outcome', static fn () => admin()->selectOne(
    "SELECT h.id FROM approval.history h WHERE h.conversation_id = ? AND h.outcome = 'unknown'",
    [$chat]
));
Wait::until('the other call', static fn () => $refunds($chat) === 1);
Tap::is(turn_of($chat)->status, null, 'the outcome is unknown, and the run waits for a person');
verbs('web')->one('reconcile', [
    'id' => $lost->id,
    'outcome' => 'failed',
    'note' => 'nothing has moved',
    'actor' => 'user:8',
]);
Tap::is(
    [ended($chat), $once($chat), $refunds($chat)],
    ['completed', [2, 2, 2], 1],
    'who looks, and says what happened'
);
$next->kill();

// A queue that delivers twenty times, to three workers.
$chat = fresh('crowd');
$run = say($chat, $two($chat));
$workers = [Process::worker(), Process::worker(), Process::worker()];
waits($chat, 2);
for ($i = 0; $i < 10; $i++) {
    DriveRun::dispatch($run, $chat);
}
approve_all($chat);
for ($i = 0; $i < 10; $i++) {
    DriveRun::dispatch($run, $chat);
}
Tap::is([ended($chat), $once($chat)], ['completed', [2, 2, 2]], 'twenty more deliveries of a job');
$jobs = admin()->table('jobs')->where('payload', 'like', "%{$run}%");
Wait::until('the last job', static fn () => $jobs->doesntExist());
Tap::is(count(payments($chat)), 2, 'are no more payments');
$said = implode(array_map(static fn (Process $worker) => $worker->said(), $workers));
Tap::ok(!str_contains($said, 'Failed'), 'and no job has failed', $said);
array_map(static fn (Process $worker) => $worker->kill(), $workers);


// A model that is away. The listener hears each release, and leaves the pace to the queue.
$chat = fresh('away');
$run = say($chat, $two($chat));
$broken = $worker(__DIR__ . '/dying-artisan.php', ['MODEL' => 'broken']);
$jobs = admin()->table('jobs')->where('payload', 'like', "%{$run}%");
Wait::until('the third attempt', static fn () => $jobs->clone()->max('attempts') >= 3);
Tap::is($jobs->clone()->count(), 1, 'an attempt that fails is tried again by the queue, and by nobody else');
$broken->kill();
Tap::is(turn_of($chat)->status, null, 'it is not the end of the run');
$next = $worker();
$jobs->clone()->update(['reserved_at' => null]);
waits($chat, 2);
approve_all($chat);
Tap::is([ended($chat), $once($chat)], ['completed', [2, 2, 2]], 'which is driven on once the model is back');
