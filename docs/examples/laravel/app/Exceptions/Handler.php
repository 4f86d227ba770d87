<?php

declare(strict_types=1);

namespace App\Exceptions;

use Illuminate\Foundation\Exceptions\Handler as ExceptionHandler;
use Throwable;

/** Every answer of this application is JSON. */
final class Handler extends ExceptionHandler
{
    protected function shouldReturnJson($request, Throwable $e): bool
    {
        return true;
    }
}
