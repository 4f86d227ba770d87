<?php

declare(strict_types=1);

namespace App\Approval;

use Illuminate\Database\Connection;
use Illuminate\Database\Query\Builder;

/**
 * Permits that are in use, in the application's table "executions". The gate shows the token of a
 * permit once, and takes it for the next attempt: a worker that died must not have taken it along.
 */
final class Permits
{
    public function __construct(private readonly Connection $db)
    {
    }

    public function keep(object $permit): void
    {
        $this->table()->upsert(
            ['request_id' => $permit->id, 'execution_id' => $permit->execution_id, 'token' => $permit->token],
            ['request_id'],
            ['execution_id', 'token']
        );
    }

    /** The permit of the last attempt, while there may be another one. */
    public function resumable(string $requestId): ?object
    {
        return $this->table()->where('request_id', $requestId)->whereNull('given_up')->first();
    }

    public function giveUp(string $requestId, string $why): void
    {
        $this->table()->where('request_id', $requestId)->update(['given_up' => $why]);
    }

    private function table(): Builder
    {
        return $this->db->table('executions')->useWritePdo();
    }
}
