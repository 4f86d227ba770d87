<?php

declare(strict_types=1);

return [
    'default' => 'database',
    'connections' => [
        'database' => [
            'driver' => 'database',
            'table' => 'jobs',
            'queue' => 'default',
            // Longer than the longest job. One that comes twice finds the run claimed.
            'retry_after' => (int) env('QUEUE_RETRY_AFTER', 300),
        ],
    ],
    'failed' => ['driver' => 'null'],
];
