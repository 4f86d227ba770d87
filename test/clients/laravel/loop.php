<?php

// What the loop makes of decisions, refusals, and tools that fail.

declare(strict_types=1);

use App\Testing\Process;
use App\Testing\Wait;
use Approval\Tests\Tap;

$listener = Process::listener();
$worker = Process::worker();
$refund = static fn (string $chat, float $amount = 100) => "refund {\"order\": \"{$chat}\", \"amount\": {$amount}}";
$asked = static function (string $what) use ($refund): string {
    $chat = fresh($what);
    say($chat, $refund($chat));
    waits($chat, 1);
    rests($chat);

    return $chat;
};
$told = static function (string $chat): array {
    ended($chat);

    return [turn_of($chat)->status, turn_of($chat)->answer, count(payments($chat))];
};

$chat = fresh('small');
say($chat, $refund($chat, 5));
Tap::is($told($chat), ['completed', 'refund: succeeded', 1], 'what policy allows is run, and nobody is asked');
$chat = fresh('nothing');
say($chat, 'Good morning!');
Tap::is($told($chat), ['completed', 'There is nothing to do.', 0], 'a message without a call is answered');

$chat = $asked('text');
decide_all($chat, '{"action": "reject", "result": "Ask her first."}');
Tap::is($told($chat), ['completed', 'refund: Ask her first.', 0], 'rejected with a text: the model has read it');
$chat = $asked('stop');
decide_all($chat, 'false');
Tap::is($told($chat), ['cancelled', 'A reviewer said stop.', 0], 'rejected without one: the loop stops');

$chat = fresh('json');
say($chat, 'refund {"order": so}');
Tap::is($told($chat), ['failed', 'refund: not JSON', 0], 'arguments that are not JSON end the run');
admin()->select("SELECT approval.freeze_tool('refund', 'the test')");
$chat = fresh('frozen');
say($chat, $refund($chat));
Tap::is($told($chat), ['failed', 'refund: tool_frozen', 0], 'as does a tool that is frozen');
admin()->select("SELECT approval.unfreeze_tool('refund')");

// Approved, and then policy changes its mind.
$chat = $asked('policy');
$worker->kill();
approve_all($chat);
admin()->select("SELECT approval.set_rules('refund', '[{\"mode\": \"deny\", \"reason\": \"no more refunds\"}]')");
$worker = Process::worker();
Tap::is(
    $told($chat),
    ['completed', 'refund: cancelled', 0],
    'approved, and denied since: it is not run, and the model knows'
);
$rules = '[{"condition": "$.amount <= 20", "mode": "auto"}, {"mode": "review"}]';
admin()->select("SELECT approval.set_rules('refund', ?)", [$rules]);

// Tools that fail.
$chat = $asked('refuses');
$worker->kill();
approve_all($chat);
$worker = Process::worker(__DIR__ . '/dying-artisan.php', ['DIE_AT' => 'tool refuses']);
Tap::is($told($chat), ['completed', 'refund: failed', 0], 'a tool that knows that nothing has happened');
$worker->kill();
$worker = Process::worker(__DIR__ . '/dying-artisan.php', ['DIE_AT' => 'tool breaks']);
$chat = $asked('breaks');
approve_all($chat);
$call = Wait::until('three attempts', static fn () => admin()->selectOne(
    "SELECT h.id FROM approval.history h JOIN executions e ON e.request_id = h.id::text
        WHERE h.conversation_id = ? AND h.outcome = 'unknown' AND e.given_up = 'attempts_used_up'",
    [$chat]
));
Tap::is(events($chat, 'completed'), 3, 'one that does not is tried as often as policy says');
Tap::is(turn_of($chat)->status, null, 'and then waits for a person');
verbs('web')->one('reconcile', ['id' => $call->id, 'outcome' => 'succeeded', 'actor' => 'user:8']);
Tap::is($told($chat), ['completed', 'refund: succeeded', 0], 'who has looked');
$worker->kill();

// A job that was tried too often.
$chat = fresh('often');
say($chat, $refund($chat));
admin()->table('jobs')->where('payload', 'like', "%{$chat}%")->update(['attempts' => 5]);
$worker = Process::worker();
Tap::is(
    $told($chat),
    ['failed', 'The worker failed, again and again.', 0],
    'a job that was tried too often fails its run'
);
$worker->kill();
