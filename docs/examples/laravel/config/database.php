<?php

declare(strict_types=1);

$server = [
    'driver' => 'pgsql',
    'host' => env('DB_HOST', env('PGHOST', 'localhost')),
    'port' => env('DB_PORT', env('PGPORT', 5432)),
    'database' => env('DB_DATABASE', env('PGDATABASE', 'shop')),
    'charset' => 'utf8',
    'schema' => 'shop',
    'options' => [
        // For PgBouncer in transaction mode.
        PDO::PGSQL_ATTR_DISABLE_PREPARES => (bool) env('DB_DISABLE_PREPARES', false),
    ],
];

return [
    // What this process is. A worker does not need the password of "web", nor a web server that of "agent".
    'default' => env('DB_CONNECTION', 'web'),

    'connections' => [
        // Asks and executes: requester and executor.
        'agent' => [
            'username' => env('DB_AGENT_USERNAME', 'shop_agent'),
            'password' => env('DB_AGENT_PASSWORD', ''),
            'application_name' => 'agent',
        ] + $server,

        // Decides in the name of the users it has authenticated: approver, and delegate.
        'web' => [
            'username' => env('DB_WEB_USERNAME', 'shop_web'),
            'password' => env('DB_WEB_PASSWORD', ''),
            'application_name' => 'web',
        ] + $server,
    ],
];
