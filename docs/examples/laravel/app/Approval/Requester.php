<?php

declare(strict_types=1);

namespace App\Approval;

use SensitiveParameter;

/** What the side of the agent does: asks, drives its runs, reads what became of its calls. */
final class Requester
{
    public function __construct(private readonly Verbs $verbs)
    {
    }

    /**
     * @param string|array|object $arguments the text of the model as it came, or a PHP value
     * @param array<string, mixed> $more other arguments of propose, by name
     */
    public function propose(
        string $conversation,
        string $toolCallId,
        string $tool,
        string|array|object $arguments,
        array $more = []
    ): object {
        return $this->verbs->one('propose', [
            'tool_call_id' => $toolCallId,
            'tool' => $tool,
            'arguments' => Json::text($arguments),
            'conversation_id' => $conversation,
        ] + $more);
    }

    public function cancel(string $id, string $why): object
    {
        return $this->verbs->one('cancel', ['id' => $id, 'reason' => $why]);
    }

    /** @return list<object> every call, or only those that are not settled */
    public function outcomes(string $conversation, ?string $runId = null, bool $openOnly = false): array
    {
        return $this->verbs->all('outcomes', [
            'conversation_id' => $conversation,
            'run_id' => $runId,
            'open_only' => $openOnly ? 'true' : null,
        ]);
    }

    /** The same run id again is the same run. */
    public function startRun(string $conversation, string $runId, array $more = []): object
    {
        return $this->verbs->one('start_run', ['conversation_id' => $conversation, 'run_id' => $runId] + $more);
    }

    /** Makes this worker the only one that drives the run. */
    public function claimRun(string $runId, string $worker, string $lease): object
    {
        return $this->verbs->one('claim_run', ['run_id' => $runId, 'claimed_by' => $worker, 'lease' => $lease]);
    }

    public function nextIteration(string $runId, #[SensitiveParameter] string $token): object
    {
        return $this->verbs->one('next_iteration', ['run_id' => $runId, 'token' => $token]);
    }

    public function releaseRun(string $runId, #[SensitiveParameter] string $token): object
    {
        return $this->verbs->one('release_run', ['run_id' => $runId, 'token' => $token]);
    }

    public function completeRun(string $runId, #[SensitiveParameter] string $token, string $answer): object
    {
        return $this->verbs->one('complete_run', ['run_id' => $runId, 'token' => $token, 'answer' => $answer]);
    }

    public function failRun(string $runId, #[SensitiveParameter] string $token, string $why): object
    {
        return $this->verbs->one('fail_run', ['run_id' => $runId, 'token' => $token, 'reason' => $why]);
    }

    public function cancelRun(string $runId, #[SensitiveParameter] string $token, string $why): object
    {
        return $this->verbs->one('cancel_run', ['run_id' => $runId, 'token' => $token, 'reason' => $why]);
    }

    public function runOf(string $runId): object
    {
        return $this->verbs->one('run_of', ['run_id' => $runId]);
    }
}
