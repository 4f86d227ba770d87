<?php

// The little TAP that the tests of the clients need.

declare(strict_types=1);

namespace Approval\Tests;

final class Tap
{
    private static int $number = 0;
    private static int $failed = 0;

    public static function ok(bool $good, string $what, mixed $told = null): bool
    {
        self::$failed += $good ? 0 : 1;
        printf("%s %d - %s\n", $good ? 'ok' : 'not ok', ++self::$number, str_replace('#', '\\#', $what));
        if (!$good && $told !== null) {
            $text = (string) json_encode($told, JSON_UNESCAPED_SLASHES | JSON_PARTIAL_OUTPUT_ON_ERROR);
            printf("# %s\n", substr($text, 0, 4000));
        }
        return $good;
    }

    public static function is(mixed $found, mixed $wanted, string $what): bool
    {
        return self::ok($found === $wanted, $what, ['found' => $found, 'wanted' => $wanted]);
    }

    /** A plan at the end: a test that breaks off in the middle has none, and fails. */
    public static function done(): int
    {
        printf("1..%d\n", self::$number);
        return self::$failed ? 1 : 0;
    }
}
