<?php

declare(strict_types=1);

use Approval\Tests\Tap;
use Illuminate\Contracts\Console\Kernel;

require __DIR__ . '/../tap.php';
require __DIR__ . '/../../../docs/examples/laravel/bootstrap/autoload.php';
$app = require __DIR__ . '/../../../docs/examples/laravel/bootstrap/app.php';
$app->make(Kernel::class)->bootstrap();

require __DIR__ . '/lib.php';
foreach (['adapter', 'refusals', 'retries'] as $part) {
    printf("# %s\n", $part);
    require __DIR__ . "/{$part}.php";
}
exit(Tap::done());
