<?php

declare(strict_types=1);

namespace App\Approval;

use Illuminate\Contracts\Foundation\Application;
use Illuminate\Database\Connection;
use Illuminate\Support\ServiceProvider;

/** Which side speaks over which connection: config/approval.php. */
final class ApprovalServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        Connection::resolverFor('pgsql', static fn (...$arguments) => new GateConnection(...$arguments));
        // No singletons: a worker outlives connections, and DB::purge makes another one.
        $this->app->bind(Requester::class, fn () => new Requester($this->verbs('requester')));
        $this->app->bind(Approver::class, fn () => new Approver($this->verbs('approver')));
        $this->app->bind(Executor::class, fn (Application $app) => new Executor(
            $this->verbs('executor'),
            new Permits($app['db']->connection(config('approval.connections.executor'))),
            $app,
            config('approval.tools'),
            config('approval.lease')
        ));
        $this->app->bind(Doorbell::class, fn (Application $app) => new Doorbell(
            $app['db.factory'],
            ['application_name' => 'doorbell']
                + config('database.connections.' . config('approval.connections.requester'))
        ));
    }

    private function verbs(string $side): Verbs
    {
        return new Verbs($this->app['db']->connection(config("approval.connections.{$side}")));
    }
}
