<?php

declare(strict_types=1);

namespace App\Agent;

/** What a model says: an answer, or calls that it wants to be made first. */
final class Reply
{
    /** @param list<Call> $calls */
    private function __construct(public readonly ?string $answer, public readonly array $calls)
    {
    }

    public static function answer(string $text): self
    {
        return new self($text, []);
    }

    public static function calls(Call $first, Call ...$more): self
    {
        return new self(null, [$first, ...array_values($more)]);
    }
}
