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
    // What this process is. A worker has no password of "web", and a web server none of the other two.
    'default' => env('DB_CONNECTION', 'web'),

    'connections' => [
        // The side of the agent: it asks ...
        'agent' => [
            'username' => env('DB_AGENT_USERNAME', 'agent'),
            'password' => env('DB_AGENT_PASSWORD', ''),
            'application_name' => 'agent',
        ] + $server,

        // ... and acts. A login of its own, so that the one that asked can never use an approval.
        'executor' => [
            'username' => env('DB_EXECUTOR_USERNAME', 'executor'),
            'password' => env('DB_EXECUTOR_PASSWORD', ''),
            'application_name' => 'executor',
        ] + $server,

        // The side of the people. It decides in the name of the users it has authenticated.
        'web' => [
            'username' => env('DB_WEB_USERNAME', 'web'),
            'password' => env('DB_WEB_PASSWORD', ''),
            'application_name' => 'web',
        ] + $server,
    ],
];
