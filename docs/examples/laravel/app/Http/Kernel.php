<?php

declare(strict_types=1);

namespace App\Http;

use Illuminate\Auth\Middleware\Authenticate;
use Illuminate\Foundation\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Http\Middleware\ConvertEmptyStringsToNull;
use Illuminate\Foundation\Http\Middleware\TrimStrings;

final class Kernel extends HttpKernel
{
    protected $middleware = [TrimStrings::class, ConvertEmptyStringsToNull::class];

    protected $routeMiddleware = ['auth' => Authenticate::class];
}
