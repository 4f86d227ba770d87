<?php

declare(strict_types=1);

namespace App\Payments;

interface Payments
{
    /**
     * @param string $body JSON text
     * @param string $idempotencyKey the same key again is the same refund
     * @return string JSON text
     */
    public function refund(string $body, string $idempotencyKey): string;
}
