<?php

// SQLSTATE to HTTP: one refusal of each status, and what becomes of it in a controller.

declare(strict_types=1);

use Approval\Tests\Tap;
use App\Approval\Approver;
use App\Approval\Refusal;
use App\Approval\Requester;
use App\Testing\Wait;
use Illuminate\Contracts\Http\Kernel as HttpKernel;
use Illuminate\Database\PostgresConnection;
use Illuminate\Database\QueryException;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Route;

$requester = app(Requester::class);
$chat = fresh('refusals');
$nobody = '01M8QAE7RGTXH2572N071M90XX';
$consume = static fn (object $request, string $arguments) => verbs('executor')->one('consume', [
    'id' => $request->id, 'tool' => $request->tool, 'arguments' => $arguments, 'execution_id' => 'job-1',
]);

$small = $requester->propose($chat, 'small', 'refund', '{"order": "A-1", "amount": 3}');
$large = $requester->propose($chat, 'large', 'refund', '{"order": "A-2", "amount": 300}');

is_refusal(static fn () => $requester->cancel($nobody, 'it is away'), 404, 'not_found', 'an id that does not exist');
is_refusal(
    static fn () => $requester->propose($chat, 'small', 'refund', '{"order": "A-1", "amount": 4}'),
    409,
    'tool_call_conflict',
    'another call under the same id'
);
is_refusal(static fn () => $consume($large, $large->arguments), 409, 'not_approved', 'what is not approved');
$mismatch = refused(static fn () => $consume($small, '{"order": "A-1", "amount": 3000}'));
Tap::is([$mismatch->status, $mismatch->reason], [412, 'hash_mismatch'], 'another amount: 412 hash_mismatch');
Tap::is($mismatch->told('differs'), ['$.amount'], 'and DETAIL says where');
is_refusal(
    static fn () => DB::connection('executor')->transaction(static fn () => $consume($small, $small->arguments), 3),
    422,
    'commit_first',
    'consume in DB::transaction'
);
is_refusal(
    static fn () => $requester->propose($chat, 'long', 'refund', '{"order": "A-3", "amount": 9007199254740993}'),
    422,
    'not_canonical',
    'a number that a double does not hold'
);
is_refusal(static fn () => $requester->propose($chat, 'list', 'refund', '[1]'), 422, 'bad_arguments', 'a list');
$claim = static fn (int $user) => verbs('web')->one('claim', ['id' => $large->id, 'actor' => "user:{$user}"]);
$claim(7);
$claimed = refused(static fn () => $claim(8));
Tap::is(
    [$claimed->status, $claimed->told('claimed_by')],
    [423, 'user:7'],
    'claimed by somebody else: 423, and by whom'
);

admin()->select("SELECT approval.register_tool('quick', 'action', '{\"default_mode\": \"auto\", \"use_within\": 1}')");
$quick = $requester->propose($chat, 'quick', 'quick', '{}');
Wait::until('the deadline', static fn () => $requester->outcomes($chat)[2]->status === 'expired');
is_refusal(static fn () => $consume($quick, '{}'), 410, 'expired', 'an approval that was too old');

admin()->statement('ALTER SYSTEM SET approval.quota_conversation = 1');
admin()->select('SELECT pg_reload_conf()');
$crowd = fresh('crowd');
$quota = Wait::until('the quota', static function () use ($requester, $crowd) {
    $arguments = ['order' => 'x', 'amount' => 99];
    $refusal = refused(static fn () => $requester->propose($crowd, fresh('call'), 'refund', $arguments));

    return $refusal instanceof Refusal ? $refusal : null;
});
Tap::is([$quota->status, $quota->reason], [429, 'quota'], 'too much that waits: 429 quota');
admin()->statement('ALTER SYSTEM RESET approval.quota_conversation');
admin()->select('SELECT pg_reload_conf()');

$wrong = admin()->select("SELECT reason FROM approval.errors() WHERE sqlstate !~ '^PT[1-5][0-9][0-9]$'");
Tap::is($wrong, [], 'every reason that there is has an HTTP status in its SQLSTATE');

// In a controller.
Route::get('/refused', static fn () => $requester->propose($chat, 'small', 'refund', '{"order": "A-1", "amount": 4}'));
$answer = app(HttpKernel::class)->handle(Request::create('/refused'));
Tap::is($answer->getStatusCode(), 409, 'thrown in a controller, a refusal is the status of the response');
Tap::is($answer->headers->get('Content-Type'), 'application/json', 'which is JSON');
Tap::is(json_decode($answer->getContent())->reason, 'tool_call_conflict', 'and says why');

// The words before DETAIL are translated by libpq.
$pdo = new PDOException('SQLSTATE[PT409]: …');
$pdo->errorInfo = [
    'PT409',
    7,
    "FEHLER:  so nicht\nDÉTAIL :  {\"sqlstate\":\"PT409\",\"reason\":\"run_claimed\"}\nTIPP:  warten",
];
(new ReflectionProperty(Exception::class, 'code'))->setValue($pdo, 'PT409');
Tap::is(Refusal::of(new QueryException('SELECT', [], $pdo))?->reason, 'run_claimed', 'DETAIL is found in any language');

// No secret in a log.
$run = fresh('run');
$requester->startRun($run, $run);
$secret = $requester->claimRun($run, 'the test', '1 hour')->token;
$requester->failRun($run, $secret, 'it ends here');
$refusal = refused(static fn () => $requester->nextIteration($run, $secret));
Tap::is($refusal->reason, 'run_ended', 'a run that has ended');
Tap::ok(
    !str_contains((string) $refusal, substr($secret, 0, 12)),
    'no token stands in the exception, nor in those before it'
);
$stock = new PostgresConnection(DB::connection('agent')->getPdo());
$exceptions = [
    "as it does in Laravel's own" => [$stock, true],
    'nor in one of a statement by hand' => [DB::connection('agent'), false],
];
foreach ($exceptions as $what => [$db, $has]) {
    try {
        $db->select('SELECT * FROM approval.next_iteration(?, ?)', [$run, $secret]);
        Tap::ok(false, 'it does not come to that');
    } catch (QueryException $e) {
        Tap::is(str_contains((string) $e, $secret), $has, $what);
    }
}

// One call of many that wait: DETAIL is long, and arrives whole.
$many = fresh('many');
for ($i = 0; $i < 60; $i++) {
    $requester->propose($many, "call-{$i}", 'mail', ['to' => "kim{$i}@example.com"]);
}
$attempt = app(Approver::class)->decideAll($many, '{"decisions": {"call-0": true}}', 7, null);
Tap::is(
    [$attempt->ok, $attempt->http_status, count(json_decode($attempt->detail)->pending)],
    [false, 409, 60],
    'a mismatch lists all 60 calls'
);
$raised = refused(static fn () => verbs('web')->all('decide_all', [
    'conversation_id' => $many, 'decisions' => '{"call-0": true}', 'actor' => 'user:7',
]));
Tap::is([$raised->status, count($raised->told('pending'))], [409, 60], 'also where it is raised');
