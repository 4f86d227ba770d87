<?php

declare(strict_types=1);

return [
    'name' => 'shop',
    'env' => 'local',
    'debug' => false,
    'timezone' => 'UTC',
    'locale' => 'en',
    'providers' => [
        Illuminate\Auth\AuthServiceProvider::class,
        Illuminate\Bus\BusServiceProvider::class,
        Illuminate\Cache\CacheServiceProvider::class,
        Illuminate\Database\DatabaseServiceProvider::class,
        Illuminate\Filesystem\FilesystemServiceProvider::class,
        Illuminate\Foundation\Providers\ConsoleSupportServiceProvider::class,
        Illuminate\Foundation\Providers\FoundationServiceProvider::class,
        Illuminate\Hashing\HashServiceProvider::class,
        Illuminate\Queue\QueueServiceProvider::class,
        Illuminate\Translation\TranslationServiceProvider::class,
        Illuminate\View\ViewServiceProvider::class,
        App\Approval\ApprovalServiceProvider::class,
        App\Agent\AgentServiceProvider::class,
        App\Providers\AppServiceProvider::class,
    ],
];
