<?php

declare(strict_types=1);

namespace App\Approval;

use Illuminate\Database\QueryException;
use Illuminate\Http\JsonResponse;
use RuntimeException;
use Throwable;

/**
 * An answer of the gate that is not yes. Thrown in a controller it is the HTTP response.
 *
 * It takes the place of Laravel's QueryException, whose message has the bound values in it: tokens
 * would get into logs.
 */
final class Refusal extends RuntimeException
{
    private function __construct(
        string $message,
        public readonly string $reason,
        public readonly int $status,
        /** DETAIL, as the JSON text that it is. */
        public readonly string $detail,
        ?Throwable $previous = null
    ) {
        parent::__construct($message, 0, $previous);
    }

    /** Null for an error that is none of the gate's. */
    public static function of(QueryException $e): ?self
    {
        if (!preg_match('/^PT(\d{3})$/', (string) $e->getCode(), $sqlstate)) {
            return null;
        }
        // Found by its JSON, not by the word DETAIL, which libpq translates.
        preg_match('/^\S[^{\n]*(\{.*\})$/m', (string) ($e->errorInfo[2] ?? ''), $line);
        $detail = $line[1] ?? '{}';
        $reason = (string) (json_decode($detail, true)['reason'] ?? 'unknown');

        return new self("the gate refuses: {$reason}", $reason, (int) $sqlstate[1], $detail, $e->getPrevious());
    }

    public function told(string $member): mixed
    {
        return json_decode($this->detail, true)[$member] ?? null;
    }

    public function render(): JsonResponse
    {
        return JsonResponse::fromJsonString($this->detail, $this->status);
    }

    /** To an HTTP client it is an answer, and nothing for the error log; where it stops a job, it is. */
    public function report(): bool
    {
        return !app()->runningInConsole();
    }
}
