<?php

// Runs that would otherwise have no end.

declare(strict_types=1);

use App\Approval\Requester;
use App\Testing\Process;
use App\Testing\Wait;
use Approval\Tests\Tap;

$listener = Process::listener();
$refund = static fn (string $chat) => "refund {\"order\": \"{$chat}\", \"amount\": 10}";
$worker = static fn (string $model, string ...$options) => Process::start(
    [PHP_BINARY, __DIR__ . '/dying-artisan.php', 'queue:work', '--sleep=0.2', ...$options],
    ['DB_CONNECTION' => 'agent', 'MODEL' => $model]
);

// A call of the conversation, of no run, waits: no run can be started.
$chat = fresh('blocked');
$run = say($chat, $refund($chat));
app(Requester::class)->propose($chat, 'call-1', 'refund', ['order' => 'x', 'amount' => 900]);
$usual = $worker('usual');
$jobs = admin()->table('jobs')->where('payload', 'like', "%{$run}%");
Wait::until('the second attempt', static fn () => $jobs->clone()->max('attempts') >= 2);
sleep(2);
Tap::is($jobs->clone()->count(), 1, 'a run that cannot be started is tried again by the queue, and by nobody else');
$status = Wait::until('the end', static function () use ($jobs, $chat) {
    $jobs->clone()->whereNull('reserved_at')->update(['available_at' => 0]);

    return turn_of($chat)->status;
});
Tap::is(
    [$status, turn_of($chat)->answer],
    ['failed', 'The worker failed, again and again. The gate says: run_paused.'],
    'but not for ever'
);
$usual->kill();

// A model whose call ids are those of the run before.
$counting = $worker('counting');
$chat = fresh('counting');
say($chat, $refund($chat));
Tap::is(ended($chat), 'completed', 'ids that begin anew');
say($chat, $refund($chat));
$found = [ended($chat), turn_of($chat)->answer];
Tap::is($found, ['failed', 'refund: an id that was used before'], 'are no calls of the next run');
Tap::is(count(payments($chat)), 1, 'and pay nothing');
$counting->kill();

$slow = $worker('slow', '--timeout=1');
$chat = fresh('slow');
say($chat, $refund($chat));
$found = [ended($chat), $slow->runs()];
Tap::is($found, ['completed', true], 'a model may take longer than the timeout of the worker');
$slow->kill();
