<?php

declare(strict_types=1);

namespace App\Agent;

use Illuminate\Database\Connection;
use Illuminate\Database\Query\Builder;

/** A message of a person and, in the end, the answer: the table "turns". Each is one run. */
final class Turns
{
    public function __construct(private readonly Connection $db)
    {
    }

    /** False if the conversation has a turn that has not ended. Dispatches the job that begins it. */
    public function begin(string $conversation, string $runId, string $message, string $askedBy): bool
    {
        return $this->db->transaction(function () use ($conversation, $runId, $message, $askedBy) {
            $turn = [
                'run_id' => $runId,
                'conversation_id' => $conversation,
                'message' => $message,
                'asked_by' => $askedBy,
            ];
            if ($this->table()->insertOrIgnore($turn) === 0) {
                return false;
            }
            DriveRun::dispatch($runId, $conversation);

            return true;
        });
    }

    /** One job at a time, unless it seems to be lost. */
    public function wake(string $runId, string $conversation): void
    {
        $this->db->transaction(function () use ($runId, $conversation) {
            $taken = $this->table()->where('run_id', $runId)->whereNull('ended_at')
                ->whereRaw("(queued_at IS NULL OR queued_at < clock_timestamp() - interval '1 minute')")
                ->update(['queued_at' => $this->db->raw('clock_timestamp()')]);
            if ($taken === 1) {
                DriveRun::dispatch($runId, $conversation);
            }
        });
    }

    /** A job is on its way, because the queue tries it again. */
    public function retried(string $runId): void
    {
        $this->table()->where('run_id', $runId)->update(['queued_at' => $this->db->raw('clock_timestamp()')]);
    }

    /** From here on, whatever changes needs another job. */
    public function taken(string $runId): void
    {
        $this->table()->where('run_id', $runId)->update(['queued_at' => null, 'paused_at' => null]);
    }

    /** All that the model wanted is proposed, and what is open is for others. */
    public function paused(string $runId): void
    {
        $this->table()->where('run_id', $runId)->update(['paused_at' => $this->db->raw('clock_timestamp()')]);
    }

    public function find(string $runId): object
    {
        return $this->table()->where('run_id', $runId)->first(['message', 'asked_by']);
    }

    public function end(string $runId, string $status, ?string $answer): void
    {
        $this->table()->where('run_id', $runId)->whereNull('ended_at')
            ->update(['status' => $status, 'answer' => $answer, 'ended_at' => $this->db->raw('clock_timestamp()')]);
    }

    /** @return list<object> */
    public function of(string $conversation): array
    {
        return $this->table()->where('conversation_id', $conversation)->orderBy('begun_at')
            ->get(['run_id', 'message', 'status', 'answer'])->all();
    }

    /**
     * Those that nobody drives and that wait for no person: new ones, paused ones whose calls are
     * decided, those whose worker has died, and those whose run was ended by somebody else.
     *
     * @return list<object> run_id, conversation_id, paused_at
     */
    public function idle(): array
    {
        return $this->db->select(<<<'SQL'
            SELECT t.run_id, t.conversation_id, t.paused_at
            FROM turns t LEFT JOIN approval.run_list r ON r.run_id = t.run_id
            WHERE t.ended_at IS NULL
                AND (t.paused_at IS NULL OR r.status IS DISTINCT FROM 'awaiting_approval')
                AND (r.status IN ('running', 'awaiting_approval') AND r.lease_until > clock_timestamp()) IS NOT TRUE
            ORDER BY t.begun_at
            SQL, [], false);
    }

    private function table(): Builder
    {
        return $this->db->table('turns')->useWritePdo();
    }
}
