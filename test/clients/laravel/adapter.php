<?php

// The adapter, verb by verb.

declare(strict_types=1);

use Approval\Tests\Tap;
use App\Approval\Executor;
use App\Approval\Json;
use App\Approval\Requester;
use App\Approval\Tool;
use App\Approval\ToolFailed;
use App\Approval\Verbs;
use Illuminate\Support\Facades\DB;

$requester = app(Requester::class);
$chat = fresh('adapter');

$text = '{"order": "' . $chat . '", "amount": 1.5, "options": {}, "lines": [], "deep": {"a": [{}]}}';
$request = $requester->propose($chat, 'call-1', 'refund', $text);
Tap::is($request->status, 'approved', 'a small refund is approved by policy');
Tap::is(
    $request->arguments,
    '{"amount":1.5,"deep":{"a":[{}]},"lines":[],"options":{},"order":"' . $chat . '"}',
    'and {} stays {}'
);
Tap::is(
    $requester->propose($chat, 'call-1', 'refund', $text)->id,
    $request->id,
    'proposed again it is the same request'
);

$executor = app(Executor::class);
[$call] = $requester->outcomes($chat, openOnly: true);
Tap::ok($executor->concerns($call), 'the executor has something to do');
Tap::is($executor->run($call), null, 'it consumes, runs and reports');
[$payment] = payments($chat);
Tap::is($payment->body, $request->arguments, 'the payment system got the text of the permit');
[$done] = $requester->outcomes($chat);
Tap::is(
    [$done->outcome, $done->result],
    ['succeeded', "{\"refund\":\"{$payment->refund}\"}"],
    'the result stands in outcomes'
);
Tap::is($executor->run($call)?->reason, 'already_consumed', 'a second run of the same call is refused');
Tap::is(count(payments($chat)), 1, 'and the payment system hears nothing of it');

$request = $requester->propose($chat, 'call-2', 'other', []);
Tap::is($request->arguments, '{}', 'an empty PHP array is {}');
$request = $requester->propose($chat, 'call-3', 'other', ['rate' => 1.0, 'list' => ['a'], 'none' => new stdClass()]);
Tap::is($request->arguments, '{"list":["a"],"none":{},"rate":1}', 'a PHP array is encoded');
Tap::is(Json::text(['rate' => 1.0, 'url' => 'a/b']), '{"rate":1.0,"url":"a/b"}', 'as JSON that says what PHP says');

// Fact: Laravel drops the offset of a DateTime.
$run = fresh('run');
$requester->startRun($run, $run);
$token = $requester->claimRun($run, 'the test', '1 hour')->token;
verbs('agent')->one('record_step', [
    'run_id' => $run, 'token' => $token, 'system' => 'test', 'kind' => 'note',
    'started_at' => new DateTimeImmutable('2026-01-02T03:04:05.678901+05:00'), 'duration' => '1 second',
]);
$at = admin()->selectOne(
    "SELECT started_at = '2026-01-01T22:04:05.678901Z' AS same FROM approval.trace(?) WHERE source = 'step'",
    [$run]
);
Tap::is($at->same, true, 'a DateTime keeps its offset and its microseconds');
$requester->failRun($run, $token, 'no more to test');

// Fact: PDO answers with strings, but for integers and booleans.
Tap::is([$done->stop, $done->decided_by], [false, 'policy'], 'a boolean is one, and the rest are texts');
$claimed = $requester->runOf($run);
Tap::is([$claimed->fence, $claimed->status], [1, 'failed'], 'and so are integers');

// A connection that reads from a replica: verbs go to the primary all the same.
config(['database.connections.replicated' => [
    'read' => ['host' => '/nowhere'],
    'write' => ['host' => config('database.connections.agent.host')],
] + config('database.connections.agent')]);
$found = verbs('replicated')->all('outcomes', ['conversation_id' => $chat]);
Tap::is(count($found), 3, 'no verb is sent to a read replica');

// As behind PgBouncer in transaction mode.
foreach (['agent', 'executor'] as $login) {
    config(["database.connections.pooled {$login}" => [
        'options' => [PDO::PGSQL_ATTR_DISABLE_PREPARES => true],
    ] + config("database.connections.{$login}")]);
}
$pooled = new Requester(verbs('pooled agent'));
$request = $pooled->propose($chat, 'call-4', 'refund', '{"order": "x", "amount": 2, "options": {}}');
$permit = verbs('pooled executor')->one('consume', [
    'id' => $request->id, 'tool' => 'refund', 'arguments' => $request->arguments, 'execution_id' => 'job-1',
]);
Tap::is($permit->arguments, '{"amount":2,"options":{},"order":"x"}', 'without prepared statements it works as well');

// Who may do what is a matter of the login.
$denied = static function (string $side, string $verb, array $arguments): mixed {
    try {
        return verbs($side)->one($verb, $arguments);
    } catch (PDOException $e) {
        return [$e->getCode(), $e::class];
    }
};
$seen = ['id' => $request->id, 'seen' => $request->review_hash];
$proposal = ['tool_call_id' => 'call-5', 'tool' => 'refund', 'arguments' => '{}', 'conversation_id' => $chat];
Tap::is(
    $denied('agent', 'approve', $seen),
    ['42501', PDOException::class],
    'the connection of the agent cannot approve'
);
Tap::is(
    $denied('agent', 'approve', $seen + ['actor' => 'user:7']),
    ['42501', PDOException::class],
    'nor in the name of a user'
);
$use = ['id' => $request->id, 'tool' => 'refund', 'arguments' => '{}', 'execution_id' => 'x'];
Tap::is($denied('agent', 'consume', $use), ['42501', PDOException::class], 'nor use an approval');
Tap::is(
    $denied('executor', 'propose', $proposal),
    ['42501', PDOException::class],
    'that of the executor cannot propose'
);
Tap::is($denied('executor', 'approve', $seen), ['42501', PDOException::class], 'nor approve');
Tap::is($denied('web', 'propose', $proposal), ['42501', PDOException::class], 'that of the web server cannot propose');
Tap::is($denied('web', 'consume', $use), ['42501', PDOException::class], 'nor use an approval');
is_refusal(
    static fn () => verbs('agent')->one('propose', $proposal + ['requested_by' => 'user:7']),
    403,
    'actor_not_allowed',
    'the agent names no user'
);
$pending = $requester->propose($chat, 'call-6', 'refund', ['order' => 'x', 'amount' => 500]);
$decision = ['id' => $pending->id, 'seen' => $pending->review_hash];
Tap::is($denied('web', 'approve', $decision), ['22004', PDOException::class], 'the web server has to name one');
$approved = verbs('web')->one('approve', $decision + ['actor' => 'user:7']);
Tap::is([$approved->status, $approved->decided_by], ['approved', 'user:7'], 'and decides in that name');
foreach (['web', 'agent', 'executor'] as $login) {
    $reads = admin()->selectOne(
        "SELECT has_table_privilege(?, 'shop.executions', 'SELECT') AS may",
        [$login]
    );
    Tap::is($reads->may, $login === 'executor', "{$login} and the tokens of permits");
}

// What a payment system of another age says of a failure.
app()->bind('failing', static fn () => new class () implements Tool {
    public function run(string $arguments, string $idempotencyKey): string
    {
        throw new ToolFailed("ung\xfcltig");
    }
});
$tools = config('approval.tools');
config(['approval.tools' => ['refund' => 'failing']]);
$chat = fresh('failing');
$requester->propose($chat, 'call-1', 'refund', ['order' => 'x', 'amount' => 3]);
app(Executor::class)->run($requester->outcomes($chat)[0]);
$failed = $requester->outcomes($chat)[0];
Tap::is([$failed->outcome, $failed->result], ['failed', '{"error":"ung?ltig"}'], 'a failure in Latin-1 is one');
config(['approval.tools' => $tools]);

DB::purge('agent');
DB::purge('executor');
[$call] = app(Requester::class)->outcomes($chat);
Tap::is(app(Executor::class)->concerns($call), false, 'a worker whose connections were purged has new ones');
