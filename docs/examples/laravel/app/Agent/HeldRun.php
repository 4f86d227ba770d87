<?php

declare(strict_types=1);

namespace App\Agent;

use App\Approval\Requester;
use SensitiveParameter;

/** A run that this worker has claimed. The token stays in here. */
final class HeldRun
{
    public function __construct(
        private readonly Requester $requester,
        public readonly string $id,
        public readonly string $conversation,
        #[SensitiveParameter] private readonly string $token
    ) {
    }

    public function propose(Call $call, string $onBehalfOf): object
    {
        return $this->requester->propose($this->conversation, $call->id, $call->tool, $call->arguments, [
            'on_behalf_of' => $onBehalfOf,
            'run_id' => $this->id,
            'run_token' => $this->token,
        ]);
    }

    /** @return list<object> */
    public function calls(bool $openOnly = false): array
    {
        return $this->requester->outcomes($this->conversation, $this->id, $openOnly);
    }

    /** False once the budget is used up, and with it the run. */
    public function iterate(): bool
    {
        return $this->requester->nextIteration($this->id, $this->token)->status === 'running';
    }

    public function release(): void
    {
        $this->requester->releaseRun($this->id, $this->token);
    }

    public function complete(string $answer): void
    {
        $this->requester->completeRun($this->id, $this->token, $answer);
    }

    public function fail(string $why): void
    {
        $this->requester->failRun($this->id, $this->token, $why);
    }

    public function stop(string $why): void
    {
        $this->requester->cancelRun($this->id, $this->token, $why);
    }
}
