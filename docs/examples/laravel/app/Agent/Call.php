<?php

declare(strict_types=1);

namespace App\Agent;

/** A call that a model wants to be made; its arguments are JSON text. */
final class Call
{
    public function __construct(
        public readonly string $id,
        public readonly string $tool,
        public readonly string $arguments
    ) {
    }
}
