<?php

// Policy that changes after a person has approved.

declare(strict_types=1);

use App\Approval\Requester;
use App\Testing\Process;
use App\Testing\Wait;
use Approval\Tests\Tap;

$listener = Process::listener();
$worker = static fn (string $artisan = 'artisan', array $environment = []) => Process::worker($artisan, $environment + [
    'APPROVAL_RUN_LEASE' => '2 seconds',
    'APPROVAL_LEASE' => '2 seconds',
    'QUEUE_RETRY_AFTER' => '100000',
]);
preg_match('/\$\$(.*)\$\$/s', (string) file_get_contents(base_path('setup.sql')), $policy);
$update = static fn (string $to) => admin()->select("SELECT verb FROM approval.update_tool('refund', ?)", [$to]);
$deny = static fn () => $update('{"rules": [{"mode": "deny"}]}');
$approved = static function (string $chat) use ($worker): void {
    say($chat, "refund {\"order\": \"{$chat}\", \"amount\": 100}");
    $first = $worker();
    waits($chat, 1);
    $first->kill();
    approve_all($chat);
};

$chat = fresh('denied');
$approved($chat);
$deny();
$next = $worker();
Tap::is(
    [ended($chat), turn_of($chat)->answer, payments($chat)],
    ['completed', 'refund: cancelled', []],
    'what policy denies before it is run is not run, and the model hears of it'
);
$next->kill();
$update($policy[1]);

$chat = fresh('denied');
$approved($chat);
$dying = $worker(__DIR__ . '/dying-artisan.php', ['DIE_AT' => 'paid']);
Wait::until('its death', static fn () => !$dying->runs());
$deny();
$next = $worker();
$unknown = Wait::until('an unknown outcome', static fn () => admin()->selectOne(
    "SELECT id FROM approval.history WHERE conversation_id = ? AND outcome = 'unknown'",
    [$chat]
));
$looks = static fn () => substr_count($next->said(), 'Processed');
$before = $looks();
Wait::until('two more looks at it', static fn () => $looks() >= $before + 2 || turn_of($chat)->status);
Tap::is(turn_of($chat)->status, null, 'what policy denies before it is tried again is left to a person');
verbs('web')->one('reconcile', [
    'id' => $unknown->id,
    'outcome' => 'succeeded',
    'note' => 'the money has moved',
    'actor' => 'user:8',
]);
$found = [ended($chat), turn_of($chat)->answer, count(payments($chat))];
Tap::is($found, ['completed', 'refund: succeeded', 1], 'who says what happened');
$next->kill();
$update($policy[1]);
