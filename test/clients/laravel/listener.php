<?php

// A listener that never looks by itself: only a notification, or a new connection, makes it look.

declare(strict_types=1);

use App\Testing\Process;
use App\Testing\Wait;
use Approval\Tests\Tap;

$listener = Process::listener(3600);
$heard = static fn (string $why) => preg_match_all("/^{$why}$/m", $listener->said());
Wait::until('the listener', static fn () => $heard('connected') === 1);
$backends = static fn () => array_column(admin()->select(
    "SELECT pid FROM pg_stat_activity WHERE application_name IN ('doorbell', 'agent', 'executor')"
), 'pid');
$refund = static fn (string $chat) => "refund {\"order\": \"{$chat}\", \"amount\": 50}";

$worker = Process::worker();
$chat = fresh('rung');
say($chat, $refund($chat));
waits($chat, 1);
rests($chat);
approve_all($chat);
Tap::is(ended($chat), 'completed', 'a decision rings, and the run goes on');
Tap::is($heard('paused') + $heard('lost'), 0, 'without anything else that would have made it look');

// Deaf while it happens. The worker is away too, so that nothing else can notice.
$chat = fresh('missed');
say($chat, $refund($chat));
waits($chat, 1);
rests($chat);
$worker->kill();
$listener->signal(SIGSTOP);
$old = $backends();
Tap::ok(count($old) >= 2, 'the listener has its connections', $old);
admin()->select('SELECT pg_terminate_backend(pid, 60000) FROM unnest(?::int[]) pid', ['{' . implode(',', $old) . '}']);
Tap::is(array_intersect($backends(), $old), [], 'all of them are terminated');
approve_all($chat);
$connected = $heard('connected');
$listener->signal(SIGCONT);
Wait::until('a new connection', static fn () => $heard('connected') > $connected);
Tap::ok($heard('lost') >= 1, 'it knows that it was deaf', $listener->said());
$worker = Process::worker();
Tap::is(
    [ended($chat), count(payments($chat))],
    ['completed', 1],
    'what it has missed is found after the reconnect, and run once'
);
$chat = fresh('again');
say($chat, $refund($chat));
waits($chat, 1);
rests($chat);
approve_all($chat);
Tap::is(ended($chat), 'completed', 'the new connection hears as well');

// The server is away for a while.
$chat = fresh('restart');
say($chat, $refund($chat));
waits($chat, 1);
rests($chat);
$worker->kill();
$lost = $heard('lost');
$connected = $heard('connected');
exec('tools/cluster stop ' . getenv('CLUSTER'));
Wait::until('some tries in vain', static fn () => $heard('lost') > $lost + 2);
Tap::ok($listener->runs(), 'without a server it goes on trying');
exec('tools/cluster start ' . getenv('CLUSTER') . ' >/dev/null 2>&1');
Wait::until('a new connection', static fn () => $heard('connected') > $connected);
approve_all($chat);
$worker = Process::worker();
Tap::is([ended($chat), count(payments($chat))], ['completed', 1], 'and when it is back, the run goes on');
$worker->kill();

$listener->signal(SIGTERM);
Wait::until('its end', static fn () => !$listener->runs());
Tap::is($listener->runs(), false, 'SIGTERM ends it');

// A password that is wrong, or the like, is for the log; not twice a second.
$unknown = fresh('nobody');
$deaf = Process::start([PHP_BINARY, 'artisan', 'approval:listen', '-v'], ['DB_AGENT_USERNAME' => $unknown]);
Wait::until('some tries in vain', static fn () => preg_match_all('/^lost$/m', $deaf->said()) > 2);
$log = (string) @file_get_contents(storage_path('logs/laravel.log'));
Tap::is(preg_match_all("/^\[.*local\.ERROR: .*{$unknown}/m", $log), 1, 'a listener that cannot connect says so, once');
$deaf->kill();
