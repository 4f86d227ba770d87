<?php

declare(strict_types=1);

namespace App\Agent;

/** An event of the application: a run waits for a person, and its worker is about to let go of it. */
final class RunPaused
{
    public function __construct(public readonly string $runId, public readonly string $conversation)
    {
    }
}
