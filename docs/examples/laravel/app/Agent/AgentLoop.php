<?php

declare(strict_types=1);

namespace App\Agent;

use App\Approval\Executor;
use App\Approval\Refusal;
use App\Approval\Requester;
use Illuminate\Contracts\Events\Dispatcher;
use JsonException;
use Throwable;

/** Model, tools, model, until there is an answer: one run, driven until it ends or waits. */
final class AgentLoop
{
    private const CHANGED = ['policy_changed', 'tool_changed', 'tool_retired'];

    public function __construct(
        private readonly Requester $requester,
        private readonly Executor $executor,
        private readonly Model $model,
        private readonly Turns $turns,
        private readonly Replies $replies,
        private readonly Dispatcher $events,
        private readonly string $lease
    ) {
    }

    /** Called twice, or by two workers at once, it does no harm: one of them holds the run. */
    public function drive(string $runId, string $conversation): void
    {
        $run = null;
        try {
            $run = $this->claim($runId, $conversation);
            if ($run !== null) {
                $this->goOn($run);
            }
        } catch (Throwable $e) {
            $this->giveBack($runId, $run);
            throw $e;
        }
    }

    /** The last word of a job that was tried too often. */
    public function giveUp(string $runId, string $conversation): void
    {
        $why = 'The worker failed, again and again.';
        try {
            $this->claim($runId, $conversation)?->fail($why);
            $this->settle($runId);
        } catch (Refusal $refusal) {
            // It could not even be started, and a turn without a run has no other end.
            if (!$this->isRun($runId)) {
                $this->turns->end($runId, 'failed', "{$why} The gate says: {$refusal->reason}.");
            }
        }
    }

    private function isRun(string $runId): bool
    {
        try {
            return $this->requester->runOf($runId)->run_id === $runId;
        } catch (Refusal) {
            return false;
        }
    }

    private function claim(string $runId, string $conversation): ?HeldRun
    {
        try {
            $this->requester->startRun($conversation, $runId);
            // Not before: a run that cannot be started is idle too, and the listener would queue it once more.
            $this->turns->taken($runId);
            $run = $this->requester->claimRun($runId, gethostname() . '-' . getmypid(), $this->lease);
        } catch (Refusal $refusal) {
            if (!in_array($refusal->reason, ['run_claimed', 'run_ended'], true)) {
                throw $refusal;
            }
            $this->settle($runId);

            return null;
        }

        return new HeldRun($this->requester, $runId, $conversation, $run->token);
    }

    private function goOn(HeldRun $run): void
    {
        $turn = $this->turns->find($run->id);
        do {
            $this->execute($run);
            $wanted = $this->wanted($run, $turn->message);
        } while ($wanted !== [] && $this->propose($run, $wanted, $turn->asked_by));
        $this->settle($run->id);
    }

    /** What is approved is run; what had no known outcome gets another attempt, where there is one. */
    private function execute(HeldRun $run): void
    {
        foreach ($run->calls(openOnly: true) as $call) {
            if (!$this->executor->concerns($call)) {
                continue;
            }
            $refusal = $this->executor->run($call);
            // What was approved is not what policy wants now: for the model it is a call that was not made. What has
            // begun may have been made, and waits for whoever finds out.
            if ($call->status === 'approved' && in_array($refusal?->reason, self::CHANGED, true)) {
                $this->requester->cancel($call->id, $refusal->reason);
            }
        }
    }

    /** @return list<Call> what is to be proposed; nothing once the run waits, or has ended */
    private function wanted(HeldRun $run, string $message): array
    {
        $calls = $run->calls();
        if (in_array(true, array_column($calls, 'stop'), true)) {
            $run->stop('A reviewer said stop.');

            return [];
        }
        // A worker may have died between two of them, and a person is to see them all.
        $rest = $this->replies->unproposed($run->id, $calls);
        if ($rest !== []) {
            return $rest;
        }
        $open = $run->calls(openOnly: true);
        if ($open !== []) {
            $this->pause($run, $open);

            return [];
        }

        return $run->iterate() ? $this->ask($run, $message, $calls) : [];
    }

    /**
     * @param list<object> $calls
     * @return list<Call> nothing with an answer, which ends the run
     */
    private function ask(HeldRun $run, string $message, array $calls): array
    {
        $reply = $this->model->reply($message, $calls);
        if ($reply->answer !== null) {
            $run->complete($reply->answer);
        } else {
            $this->replies->save($run->id, $reply);
        }

        return $reply->calls;
    }

    /** @param list<Call> $wanted */
    private function propose(HeldRun $run, array $wanted, string $onBehalfOf): bool
    {
        foreach ($wanted as $call) {
            $problem = $this->problem($run, $call, $onBehalfOf);
            if ($problem !== null) {
                $run->fail("{$call->tool}: {$problem}");

                return false;
            }
        }

        return true;
    }

    /** Proposes a call, or says why it cannot be one of this run. */
    private function problem(HeldRun $run, Call $call, string $onBehalfOf): ?string
    {
        try {
            // The same call under the same id in an earlier run is that one's, and never an outcome of this one.
            return $run->propose($call, $onBehalfOf)->run_id === $run->id ? null : 'an id that was used before';
        } catch (Refusal $refusal) {
            if (str_starts_with($refusal->reason, 'run_')) {
                throw $refusal;
            }

            return $refusal->reason;
        } catch (JsonException) {
            return 'not JSON';
        }
    }

    /**
     * Lets go of the run until something changes. What changed while it was still held has rung for a
     * job that was refused, so it is looked at once more.
     *
     * @param list<object> $open
     */
    private function pause(HeldRun $run, array $open): void
    {
        $this->events->dispatch(new RunPaused($run->id, $run->conversation));
        $this->turns->paused($run->id);
        $run->release();
        if ($run->calls(openOnly: true) != $open) {
            $this->turns->wake($run->id, $run->conversation);
        }
    }

    /** For the next attempt of the queue, which takes its time: a release rings, and nobody is to hurry. */
    private function giveBack(string $runId, ?HeldRun $run): void
    {
        try {
            $this->turns->retried($runId);
            $run?->release();
        } catch (Throwable $e) {
            // The lease lets go of it.
            report($e);
        }
    }

    /** An end that the gate knows of is an end here too, whoever made it. */
    private function settle(string $runId): void
    {
        $run = $this->requester->runOf($runId);
        if (in_array($run->status, ['completed', 'failed', 'cancelled', 'iteration_limit_reached'], true)) {
            $this->turns->end($runId, $run->status, $run->answer ?? $run->reason);
        }
    }
}
