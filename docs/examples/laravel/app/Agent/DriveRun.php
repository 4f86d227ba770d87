<?php

declare(strict_types=1);

namespace App\Agent;

use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Foundation\Bus\Dispatchable;
use Illuminate\Queue\InteractsWithQueue;

/** Says to a worker: look at this run. Delivered twice, late or in vain it does no harm. */
final class DriveRun implements ShouldQueue
{
    use Dispatchable;
    use InteractsWithQueue;
    use Queueable;

    public int $tries = 5;

    /** Seconds: Laravel's own 60 are few for a model. Less than retry_after of the queue. */
    public int $timeout = 280;

    /** @var list<int> seconds; less than what Turns::wake takes for lost */
    public array $backoff = [1, 5, 15, 30];

    public function __construct(public readonly string $runId, public readonly string $conversation)
    {
    }

    public function handle(AgentLoop $loop): void
    {
        $loop->drive($this->runId, $this->conversation);
    }

    public function failed(): void
    {
        app(AgentLoop::class)->giveUp($this->runId, $this->conversation);
    }
}
