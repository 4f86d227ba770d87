<?php

declare(strict_types=1);

namespace App\Payments;

use App\Approval\Tool;

final class RefundTool implements Tool
{
    public function __construct(private readonly Payments $payments)
    {
    }

    public function run(string $arguments, string $idempotencyKey): string
    {
        return $this->payments->refund($arguments, $idempotencyKey);
    }
}
