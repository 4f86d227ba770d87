<?php

declare(strict_types=1);

return [
    // Which connection of config/database.php asks, which acts, and which decides.
    'connections' => [
        'requester' => 'agent',
        'executor' => 'executor',
        'approver' => 'web',
    ],

    // What the executor can run, by the name that is approved.
    'tools' => [
        'refund' => App\Payments\RefundTool::class,
    ],

    // How long a run, or an execution, may stay silent before somebody else takes over: longer than
    // the slowest call of the model, or of a tool.
    'run_lease' => env('APPROVAL_RUN_LEASE', '5 minutes'),
    'lease' => env('APPROVAL_LEASE', '5 minutes'),
];
