<?php

declare(strict_types=1);

namespace App\Agent;

use Illuminate\Contracts\Foundation\Application;
use Illuminate\Support\ServiceProvider;

final class AgentServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        $this->app->bind(Model::class, PretendedModel::class);
        // The application's own tables, over the connection of the process: agent or web.
        $this->app->bind(Turns::class, fn (Application $app) => new Turns($app['db']->connection()));
        $this->app->bind(Replies::class, fn (Application $app) => new Replies($app['db']->connection()));
        $this->app->when(AgentLoop::class)->needs('$lease')->giveConfig('approval.run_lease');
    }
}
