<?php

declare(strict_types=1);

namespace App\Agent;

use Illuminate\Database\Connection;
use Illuminate\Database\Query\Builder;

/**
 * What the model wanted, in the table "replies", saved before it is proposed: a worker that takes over
 * proposes the same calls under the same ids, and gets the requests that are there.
 */
final class Replies
{
    public function __construct(private readonly Connection $db)
    {
    }

    public function save(string $runId, Reply $reply): void
    {
        $rows = array_map(static fn (Call $call) => [
            'run_id' => $runId,
            'tool_call_id' => $call->id,
            'tool' => $call->tool,
            'arguments' => $call->arguments,
        ], $reply->calls);
        $this->table()->insert($rows);
    }

    /**
     * @param list<object> $outcomes
     * @return list<Call> what was saved and not proposed
     */
    public function unproposed(string $runId, array $outcomes): array
    {
        return $this->table()->where('run_id', $runId)
            ->whereNotIn('tool_call_id', array_column($outcomes, 'tool_call_id'))->orderBy('n')->get()
            ->map(static fn (object $row) => new Call($row->tool_call_id, $row->tool, $row->arguments))->all();
    }

    private function table(): Builder
    {
        return $this->db->table('replies')->useWritePdo();
    }
}
