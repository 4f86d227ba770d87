<?php

declare(strict_types=1);

namespace App\Testing;

final class Wait
{
    /**
     * Until it returns something; for as long as that takes.
     *
     * @template T
     * @param callable(): ?T $condition
     * @return T
     */
    public static function until(string $what, callable $condition): mixed
    {
        for ($i = 1; !($found = $condition()); $i++) {
            usleep(100_000);
            if ($i % 100 === 0) {
                fwrite(STDERR, "# waiting for {$what}\n");
            }
        }

        return $found;
    }
}
