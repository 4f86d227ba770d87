<?php

declare(strict_types=1);

namespace App\Approval;

use Illuminate\Contracts\Container\Container;
use SensitiveParameter;
use Throwable;

/** Consumes what was approved, runs it, and reports what became of it. Not inside a transaction. */
final class Executor
{
    /** @param array<string, class-string<Tool>> $tools by name */
    public function __construct(
        private readonly Verbs $verbs,
        private readonly Permits $permits,
        private readonly Container $container,
        private readonly array $tools,
        private readonly string $lease
    ) {
    }

    /** Whether run() has something to do for a row of outcomes. */
    public function concerns(object $call): bool
    {
        return isset($this->tools[$call->tool])
            && ($call->status === 'approved'
                || ($call->outcome === 'unknown' && $this->permits->resumable($call->id) !== null));
    }

    /** @return Refusal|null null if it was run, whatever came of it */
    public function run(object $call): ?Refusal
    {
        try {
            $permit = $call->status === 'approved' ? $this->consume($call) : $this->resume($call->id);
        } catch (Refusal $refusal) {
            return $refusal;
        }
        $this->permits->keep($permit);
        [$outcome, $result] = $this->outcome($permit);
        $this->complete($permit->id, $permit->execution_id, $permit->token, $outcome, $result);

        return null;
    }

    /** What is shown is what will be run: the arguments as approved, as the text that they are. */
    private function consume(object $call): object
    {
        return $this->verbs->one('consume', [
            'id' => $call->id,
            'tool' => $call->tool,
            'arguments' => $call->arguments,
            'execution_id' => gethostname() . '-' . getmypid() . '-' . $call->id,
            'server' => $call->server,
            'resource' => $call->resource,
            'lease' => $this->lease,
        ]);
    }

    private function resume(string $id): object
    {
        $last = $this->permits->resumable($id);
        try {
            return $this->verbs->one('resume', [
                'id' => $id,
                'execution_id' => $last->execution_id,
                'token' => $last->token,
            ]);
        } catch (Refusal $refusal) {
            // No further attempt: a person finds out what happened, and reconciles.
            if ($refusal->reason === 'not_idempotent') {
                $this->permits->giveUp($id, (string) $refusal->told('problem'));
            }
            throw $refusal;
        }
    }

    /** @return array{string, string} outcome and result */
    private function outcome(object $permit): array
    {
        try {
            $tool = $this->container->make($this->tools[$permit->tool]);

            return ['succeeded', Json::text($tool->run($permit->arguments, $permit->idempotency_key))];
        } catch (ToolFailed $e) {
            return ['failed', Json::text(['error' => mb_scrub($e->getMessage(), 'UTF-8')])];
        } catch (Throwable $e) {
            report($e);

            return ['unknown', Json::text(['error' => $e::class])];
        }
    }

    private function complete(
        string $id,
        string $execution,
        #[SensitiveParameter] string $token,
        string $outcome,
        string $result
    ): void {
        $this->verbs->one('complete', [
            'id' => $id,
            'execution_id' => $execution,
            'token' => $token,
            'outcome' => $outcome,
            'result' => $result,
        ]);
    }
}
