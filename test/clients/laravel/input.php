<?php

// What only a hostile client sends: none of it is a 500, is cut off, or stands in a log.

declare(strict_types=1);

use App\Approval\Requester;
use App\Testing\Browser;
use App\Testing\Process;
use Approval\Tests\Tap;
use Illuminate\Database\PostgresConnection;
use Illuminate\Database\QueryException;
use Illuminate\Support\Facades\DB;

$server = Process::webServer();
$seven = Browser::at($server, token_of(7));
$eight = Browser::at($server, token_of(8));
$requester = app(Requester::class);
$chat = fresh('input');
$requester->propose($chat, 'call-1', 'refund', ['order' => $chat, 'amount' => 900], ['on_behalf_of' => 'user:7']);

// PDO cuts a text off at its NUL.
$ids = ["{$chat}%00x", "{$chat}%2Fx", "{$chat}%25", "{$chat}%20", "{$chat}%0A", '%FF', '%C3%A9', str_repeat('x', 256)];
foreach ($ids as $id) {
    $found = [$eight->get($id)[0], $eight->post($id, '{"message": "x"}')[0], $eight->post($id, '{"decisions": {}}')[0]];
    Tap::is($found, [404, 404, 404], 'no conversation has the id ' . substr($id, 0, 40));
}
Tap::is($eight->get(str_repeat('x', 255))[0], 200, 'one of 255 bytes may');
$cut = static function (callable $do): string {
    try {
        $do();
    } catch (InvalidArgumentException $e) {
        return $e->getMessage();
    }

    return 'nothing';
};
$propose = static fn (string $chat, string $id) => $requester->propose($chat, $id, 'refund', '{}');
foreach ([["{$chat}\0x", 'call-2'], [$chat, "call-2\0x"]] as $ids) {
    Tap::is(
        $cut(static fn () => $propose(...$ids)),
        'PostgreSQL has no text with a NUL in it.',
        'the adapter cuts nothing off: ' . json_encode($ids)
    );
}
Tap::is(count($requester->outcomes($chat)), 1, 'and nothing of it was proposed');

$secret = fresh('secret');
foreach (
    [
        "{\"message\": \"\\u0000 {$secret}\"}",
        "{\"message\": \"{$secret} \xff\"}",
        "{\"message\": \"{$secret} \\ud800\"}",
        "{\"decisions\": {\"call-1\": {\"action\": \"reject\", \"result\": \"{$secret} \\u0000\"}}}",
        "{\"decisions\": {\"call-1\\u0000{$secret}\": true}}",
        '{"decisions": ' . str_repeat('[', 600) . str_repeat(']', 600) . '}',
        gzencode('{"message": "x"}'),
    ] as $body
) {
    [$status, $answer] = $eight->post($chat, $body);
    Tap::is([$status, $answer->reason ?? null], [422, 'bad_request'], '422: ' . bin2hex(substr($body, 0, 12)));
}
$found = array_column($requester->outcomes($chat), 'status');
Tap::is([$found, turn_of($chat)], [['pending'], null], 'nothing is decided, and nothing is said');
$log = storage_path('logs/laravel.log');
Tap::ok(!str_contains((string) @file_get_contents($log), $secret), 'and no log has a word of it');

// Statements of the application itself, over the connections of the adapter.
$broken = static function (PDO|string $db) use ($secret): string {
    $connection = is_string($db) ? DB::connection($db) : new PostgresConnection($db);
    try {
        $connection->select('SELECT ?::integer', [$secret . str_repeat(' ', 9)]);
    } catch (QueryException $e) {
        return $e->getMessage() . json_encode($e->getBindings());
    }

    return $secret;
};
$values = static fn (string $text) => substr_count($text, $secret . str_repeat(' ', 9));
Tap::is($values($broken(DB::connection('agent')->getPdo())), 3, "Laravel's own exception says the values twice more");
foreach (['agent', 'executor', 'web'] as $side) {
    Tap::is($values($broken($side)), 1, "that of {$side} has no more than PostgreSQL says");
}
