<?php

declare(strict_types=1);

use App\Console\Kernel as ConsoleKernel;
use App\Exceptions\Handler;
use App\Http\Kernel as HttpKernel;
use Illuminate\Contracts\Console\Kernel as ConsoleKernelContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel as HttpKernelContract;
use Illuminate\Foundation\Application;

$app = new Application(dirname(__DIR__));

// Nobody else may write there: what is cached in it is run.
$storage = getenv('SHOP_STORAGE') ?: dirname(__DIR__) . '/storage';
foreach (['cache', 'logs', 'framework/cache'] as $directory) {
    if (!is_dir("{$storage}/{$directory}")) {
        mkdir("{$storage}/{$directory}", 0700, true);
    }
}
$app->useStoragePath($storage);
$_ENV['APP_SERVICES_CACHE'] = "{$storage}/cache/services.php";
$_ENV['APP_PACKAGES_CACHE'] = "{$storage}/cache/packages.php";

$app->singleton(HttpKernelContract::class, HttpKernel::class);
$app->singleton(ConsoleKernelContract::class, ConsoleKernel::class);
$app->singleton(ExceptionHandler::class, Handler::class);

return $app;
