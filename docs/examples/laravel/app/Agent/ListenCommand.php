<?php

declare(strict_types=1);

namespace App\Agent;

use App\Approval\Doorbell;
use App\Approval\Executor;
use App\Approval\Requester;
use Illuminate\Console\Command;
use Throwable;

/** Resumes conversations: once nothing of a run is pending, a job is queued that goes on with it. */
final class ListenCommand extends Command
{
    protected $signature = 'approval:listen {--pause=10 : seconds without a ring after which it looks anyway}';

    protected $description = 'Goes on with the runs whose calls are decided';

    private bool $asked = false;

    public function handle(Doorbell $doorbell, Turns $turns, Requester $requester, Executor $executor): int
    {
        pcntl_async_signals(true);
        pcntl_signal(SIGTERM, fn () => $this->asked = true);
        pcntl_signal(SIGINT, fn () => $this->asked = true);
        foreach ($doorbell->rings(1000 * max(1, (int) $this->option('pause'))) as $why) {
            if ($this->asked) {
                break;
            }
            $this->line($why, null, 'v');
            if ($why !== 'lost') {
                $this->look($turns, $requester, $executor);
            }
        }

        return self::SUCCESS;
    }

    /** All of it, whatever rang: a notification that was missed is made up for. */
    private function look(Turns $turns, Requester $requester, Executor $executor): void
    {
        try {
            $this->wake($turns, $requester, $executor);
        } catch (Throwable $e) {
            // The next ring looks again.
            report($e);
        }
    }

    private function wake(Turns $turns, Requester $requester, Executor $executor): void
    {
        foreach ($turns->idle() as $turn) {
            if ($turn->paused_at === null || $this->canGoOn($turn, $requester, $executor)) {
                $turns->wake($turn->run_id, $turn->conversation_id);
            }
        }
    }

    /** A call that others are at, an executor or whoever reconciles, rings when it is settled. */
    private function canGoOn(object $turn, Requester $requester, Executor $executor): bool
    {
        $open = $requester->outcomes($turn->conversation_id, $turn->run_id, openOnly: true);

        return $open === [] || array_filter($open, $executor->concerns(...)) !== [];
    }
}
