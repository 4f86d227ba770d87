<?php

declare(strict_types=1);

use Approval\Tests\Tap;
use Illuminate\Contracts\Console\Kernel;

require __DIR__ . '/../tap.php';
require __DIR__ . '/../../../docs/examples/laravel/bootstrap/autoload.php';
$app = require __DIR__ . '/../../../docs/examples/laravel/bootstrap/app.php';
$app->make(Kernel::class)->bootstrap();

// Whoever ends this test ends what it has started.
pcntl_async_signals(true);
pcntl_signal(SIGINT, static fn () => exit(130));
pcntl_signal(SIGTERM, static fn () => exit(143));

require __DIR__ . '/lib.php';
config(['database.connections.admin' => [
    'username' => getenv('PGUSER'),
    'application_name' => 'admin',
] + config('database.connections.agent')]);
$parts = [
    'adapter', 'refusals', 'retries', 'endpoint', 'input', 'listener', 'loop', 'killed', 'endless', 'policy',
    'shipping',
];
foreach ($parts as $part) {
    printf("# %s\n", $part);
    // In a scope of its own, at whose end its processes are killed.
    (static function (string $file): void {
        require $file;
    })(__DIR__ . "/{$part}.php");
}
exit(Tap::done());
