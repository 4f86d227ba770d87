<?php

// One address that takes a message or decisions, as those who write agents know it. The rules of the map
// are the gate's; here it is about what arrives there, and what comes back.

declare(strict_types=1);

use App\Approval\Approver;
use App\Approval\Requester;
use App\Testing\Browser;
use App\Testing\Process;
use App\Testing\Wait;
use Approval\Tests\Tap;

$requester = app(Requester::class);
$approver = app(Approver::class);
$server = Process::webServer();
$seven = Browser::at($server, token_of(7));
$eight = Browser::at($server, token_of(8));

// What waits, without a run: tool call ids as an agent may choose them.
$ask = static function (array $calls) use ($requester): string {
    $chat = fresh('endpoint');
    foreach ($calls as $id => $arguments) {
        $requester->propose($chat, (string) $id, 'refund', $arguments, ['on_behalf_of' => 'user:7']);
    }

    return $chat;
};
$large = static fn (string $order) => "{\"order\": \"{$order}\", \"amount\": 900, \"options\": {}, \"lines\": []}";
$two = ['call-1' => $large('A-1'), 'call-2' => $large('A-2')];
$found = static fn (string $chat) => array_map(
    static fn (object $call) => [$call->tool_call_id, $call->status, $call->decided_by],
    $requester->outcomes($chat)
);
$decide = static fn (string $chat, string $map) => $eight->post($chat, "{\"decisions\": {$map}}");

// Reading.
$chat = $ask($two);
[$status, $page, $text] = $seven->get($chat);
Tap::is([$status, array_column($page->pending, 'tool_call_id')], [200, ['call-1', 'call-2']], 'GET shows what waits');
Tap::ok(
    str_contains($text, '"arguments":{"amount":900,"lines":[],"options":{},"order":"A-1"}'),
    '{} is shown as {}, and [] as []',
    $text
);
Tap::is(
    $page->pending[0]->summary,
    'refund: Refund 900 for order "A-1" with {"lines":[],"options":{}}',
    'and what will happen'
);
Tap::is($page->seen_set, $approver->pending($chat)[0]->seen_set, 'and the digest of the list');
Tap::is($seven->get(fresh('nothing'))[2], '{"turns":[],"pending":[],"seen_set":null}', 'or that there is nothing');

// Who.
foreach (['', 'nonsense'] as $token) {
    $stranger = Browser::at($server, $token);
    foreach ([$stranger->get($chat), $stranger->post($chat, '{"decisions": {"*": false}}')] as [$status, $body]) {
        Tap::is(
            [$status, $body->message ?? null],
            [401, 'Unauthenticated.'],
            "with the token '{$token}' it is 401, as JSON"
        );
    }
}

// What is not one of the two.
foreach (
    [
        '', '{', '[]', '{}', '"decisions"', '{"message": ""}', '{"message": "  "}', '{"message": 1}',
        '{"message": null}', '{"message": "x", "decisions": {"*": false}}', '{"seen_set": null}',
        '{"decisions": {"*": false}, "actor": "user:9"}',
        '{"decisions": {"*": true}, "seen_set": 1}', '{"decisions": {"*": true}, "seen_set": "zz"}',
    ] as $body
) {
    [$status, $answer] = $eight->post($chat, $body);
    Tap::is([$status, $answer->reason ?? null], [422, 'bad_request'], "the body '{$body}' is 422");
}

// What is no map of decisions.
foreach (
    [
        '{}' => 'bad_decision', '[]' => 'bad_decision', '["call-1"]' => 'bad_decision', '"yes"' => 'bad_decision',
        'null' => 'bad_decision', '{"call-1": 1, "call-2": true}' => 'bad_decision',
        '{"call-1": {"action": "approve", "nots": 1}, "call-2": true}' => 'bad_decision',
        '{"call-1": {"action": "edit"}, "call-2": true}' => 'bad_decision',
        '{"call-1": {"action": "edit", "arguments": [1]}, "call-2": true}' => 'bad_arguments',
        '{"call-1": true, "call-1": false, "call-2": true}' => 'not_canonical',
    ] as $map => $reason
) {
    [$status, $answer] = $decide($chat, $map);
    Tap::is([$status, $answer->reason ?? null], [422, $reason], "the map {$map} is 422 {$reason}");
}

// A mismatch.
$mismatches = ['{"call-1": true}' => ['call-2'], '{"call-1": true, "call-2": true, "call-3": true}' => []];
foreach ($mismatches as $map => $missing) {
    [$status, $answer] = $decide($chat, $map);
    Tap::is([$status, $answer->reason], [409, 'decisions_mismatch'], "the map {$map} is 409");
    Tap::is(
        [array_column($answer->pending, 'tool_call_id'), $answer->missing, $answer->unknown],
        [['call-1', 'call-2'], $missing, $missing ? [] : ['call-3']],
        'with the calls that are pending, and what is wrong'
    );
    Tap::is($answer->seen_set, $page->seen_set, 'and the digest of the list');
}
Tap::is(
    $seven->post($chat, '{"decisions": {"call-1": true, "call-2": true}}')[0],
    403,
    'who has asked does not approve'
);
[$status, $answer] = $eight->post($chat, '{"message": "and now?"}');
Tap::is(
    [$status, $answer->reason, count($answer->pending)],
    [409, 'run_paused', 2],
    'a message waits until all is decided'
);
Tap::is(
    $found($chat),
    [['call-1', 'pending', null], ['call-2', 'pending', null]],
    'none of all this has decided anything'
);

// Each kind of decision.
[$status, $answer] = $decide($chat, '{"call-1": true, "call-2": false}');
Tap::is([$status, $answer->pending], [200, []], 'true and false');
Tap::is(
    $found($chat),
    [['call-1', 'approved', 'user:8'], ['call-2', 'rejected', 'user:8']],
    'approve and reject, in the name of the user'
);
Tap::is($requester->outcomes($chat)[1]->stop, true, 'without a text, the loop stops');

$chat = $ask($two);
$edited = '{"order": "A-2", "amount": 90.0, "options": {}, "lines": [{}], "note": "\u00e9 "}';
[$status] = $decide($chat, '{"call-1": {"action": "reject", "result": " Not this one. "}, '
    . "\"call-2\": {\"action\": \"edit\", \"arguments\": {$edited}}}");
[$rejected, $approved] = $requester->outcomes($chat);
Tap::is(
    [$status, $rejected->status, $approved->status],
    [200, 'rejected', 'approved'],
    'reject with a result, and edit'
);
Tap::is(
    [$rejected->denial, $rejected->stop],
    [' Not this one. ', false],
    'the text is for the model, as it was written'
);
Tap::is(
    $approved->arguments,
    '{"amount":90,"lines":[{}],"note":"é ","options":{},"order":"A-2"}',
    'and the arguments arrive as they were sent: {} is {}, and no middleware trims them'
);

// Ids that PHP would make a list of.
$chat = $ask(['0' => $large('A-1'), '1' => $large('A-2')]);
Tap::is($decide($chat, '{"0": true, "1": false}')[0], 200, 'the tool call ids 0 and 1 are a map all the same');
Tap::is($found($chat), [['0', 'approved', 'user:8'], ['1', 'rejected', 'user:8']], 'each with its decision');

// The rest.
$chat = $ask($two);
$seen = $approver->pending($chat)[0]->seen_set;
$all = static fn (?string $seen) => $eight->post($chat, ['decisions' => ['*' => true], 'seen_set' => $seen]);
Tap::is([$all(null)[0], $all(str_repeat('0', 64))[0]], [422, 412], '"*": true needs the list that was shown');
$requester->propose($chat, 'call-3', 'refund', $large('A-3'));
Tap::is($all($seen)[0], 412, 'a call that came meanwhile is approved by nobody who has not seen it');
Tap::is($all($approver->pending($chat)[0]->seen_set)[0], 200, 'with the list as it is, it approves');
Tap::is(array_column($found($chat), 1), ['approved', 'approved', 'approved'], 'all of it');

$chat = $ask($two + ['call-3' => $large('A-3')]);
$map = '{"call-2": {"action": "edit", "arguments": {"order": "A-2", "amount": 1}},
    "*": {"action": "reject", "result": "No."}}';
Tap::is($decide($chat, $map)[0], 200, 'one by name, and "*" for the rest');
Tap::is(array_column($found($chat), 1), ['rejected', 'approved', 'rejected'], 'each as it says');

// Again, and too late.
[$status, $answer] = $decide($chat, $map);
Tap::is(
    [$status, array_unique(array_column($answer->decided, 'answer'))],
    [200, ['unchanged']],
    'the same map again changes nothing'
);
[$status, $answer] = $decide($chat, '{"call-1": true, "call-2": true, "call-3": true}');
Tap::is([$status, $answer->decided[0]->decided_by], [409, 'user:8'], 'another one is 409, and says who was first');
