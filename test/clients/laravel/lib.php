<?php

// What the parts of the test share.

declare(strict_types=1);

use Approval\Tests\Tap;
use App\Agent\Turns;
use App\Approval\Approver;
use App\Approval\Refusal;
use App\Approval\Verbs;
use App\Testing\Wait;
use Illuminate\Database\Connection;
use Illuminate\Support\Facades\Artisan;
use Illuminate\Support\Facades\DB;

// Looks on, and does what an administrator would.
function admin(): Connection
{
    return DB::connection('admin');
}

function verbs(string $side): Verbs
{
    return new Verbs(DB::connection($side));
}

function fresh(string $what): string
{
    return "{$what}-" . bin2hex(random_bytes(6));
}

function token_of(int $user): string
{
    Artisan::call('shop:user', ['id' => $user]);

    return trim(Artisan::output());
}

// The refusal, or what came instead.
function refused(callable $do): mixed
{
    try {
        return $do();
    } catch (Refusal $refusal) {
        return $refusal;
    }
}

function is_refusal(callable $do, int $status, string $reason, string $what): void
{
    $found = refused($do);
    $told = $found instanceof Refusal ? [$found->status, $found->reason] : $found;
    Tap::is($told, [$status, $reason], "{$what}: {$status} {$reason}");
}

// What the payment system heard about an order: key, refund and body of each call.
function payments(string $order): array
{
    $file = storage_path('payments.jsonl');
    $calls = array_map(static fn (string $line) => json_decode($line), is_file($file) ? file($file) : []);

    return array_values(array_filter($calls, static fn (object $call) => str_contains($call->body, $order)));
}

function turn_of(string $chat): ?object
{
    return admin()->table('turns')->where('conversation_id', $chat)->orderByDesc('begun_at')->first();
}

function events(string $chat, string $kind): int
{
    return (int) admin()->selectOne(
        'SELECT count(*) AS n FROM approval.audit a JOIN approval.history h ON h.id = a.request_id
            WHERE h.conversation_id = ? AND a.kind = ?',
        [$chat, $kind]
    )->n;
}

// As the endpoint does it.
function say(string $chat, string $message): string
{
    $run = fresh('run');
    app(Turns::class)->begin($chat, $run, $message, 'user:7');

    return $run;
}

function waits(string $chat, int $calls): void
{
    Wait::until("{$calls} calls that wait", static fn () => count(app(Approver::class)->pending($chat)) === $calls);
}

// The worker has let go of the run, which would else be held until its lease is over.
function rests(string $chat): void
{
    Wait::until("a run of {$chat} that nobody holds", static fn () => admin()->selectOne(
        'SELECT 1 AS yes FROM approval.run_list
            WHERE conversation_id = ? AND iterations > 0 AND lease_until <= clock_timestamp()',
        [$chat]
    ));
}

function decide_all(string $chat, string $rest): bool
{
    $approver = app(Approver::class);
    $seen = $approver->pending($chat)[0]->seen_set;

    return $approver->decideAll($chat, "{\"decisions\": {\"*\": {$rest}}}", 8, $seen)->ok;
}

function approve_all(string $chat): void
{
    Tap::is(decide_all($chat, 'true'), true, 'all of it is approved');
}

function ended(string $chat): string
{
    return Wait::until("the end of {$chat}", static fn () => turn_of($chat)->status);
}
