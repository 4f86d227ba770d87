<?php

declare(strict_types=1);

namespace App\Providers;

use App\Payments\Payments;
use App\Payments\PretendedPayments;
use Illuminate\Support\ServiceProvider;

final class AppServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        $this->app->singleton(Payments::class, fn () => new PretendedPayments(storage_path('payments.jsonl')));
    }

    public function boot(): void
    {
        $this->app['router']->middleware('auth:api')->group(base_path('routes/api.php'));
    }
}
