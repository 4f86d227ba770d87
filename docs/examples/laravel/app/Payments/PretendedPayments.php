<?php

declare(strict_types=1);

namespace App\Payments;

use RuntimeException;

/**
 * In place of a payment system: a file that no transaction and no dead worker takes back. Each call
 * is a line of it; the first one with a key moves money.
 */
final class PretendedPayments implements Payments
{
    public function __construct(private readonly string $file)
    {
    }

    public function refund(string $body, string $idempotencyKey): string
    {
        $file = fopen($this->file, 'c+') ?: throw new RuntimeException('the payment system is away');
        flock($file, LOCK_EX);
        $known = array_column(self::lines($file), 'refund', 'key');
        $refund = $known[$idempotencyKey] ?? sprintf('re_%04d', count(array_unique($known)) + 1);
        fwrite($file, json_encode(['key' => $idempotencyKey, 'refund' => $refund, 'body' => $body]) . "\n");
        fflush($file);
        fclose($file);

        return json_encode(['refund' => $refund]);
    }

    /**
     * @param resource $file
     * @return list<array{key: string, refund: string, body: string}>
     */
    private static function lines($file): array
    {
        return array_map(
            static fn (string $line) => json_decode($line, true),
            array_filter(explode("\n", (string) stream_get_contents($file)))
        );
    }
}
