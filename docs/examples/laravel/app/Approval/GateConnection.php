<?php

declare(strict_types=1);

namespace App\Approval;

use Closure;
use Illuminate\Database\PostgresConnection;
use InvalidArgumentException;
use Throwable;

/**
 * A connection that does not take an answer for an accident.
 *
 * Laravel knows a lost connection and a deadlock by phrases in the text of the error, and then runs the
 * statement, or the transaction, again. The text has in it what was sent, and what was sent may be an
 * agent's words. Here the SQLSTATE has the first word, and the text of an error has no bound values.
 */
final class GateConnection extends PostgresConnection
{
    public function bindValues($statement, $bindings)
    {
        foreach ($bindings as $value) {
            // libpq would cut it off there: chat-1\0x is no chat-1.
            if (is_string($value) && str_contains($value, "\0")) {
                throw new InvalidArgumentException('PostgreSQL has no text with a NUL in it.');
            }
        }
        parent::bindValues($statement, $bindings);
    }

    protected function runQueryCallback($query, $bindings, Closure $callback)
    {
        // What the QueryException is not given is in no log.
        return parent::runQueryCallback($query, [], static fn () => $callback($query, $bindings));
    }

    protected function causedByLostConnection(Throwable $e): bool
    {
        return !self::isAnswer($e) && parent::causedByLostConnection($e);
    }

    protected function causedByConcurrencyError(Throwable $e): bool
    {
        return !self::isAnswer($e) && parent::causedByConcurrencyError($e);
    }

    /** The gate's refusals, and the errors about what was sent: data, constraints, names and rights. */
    private static function isAnswer(Throwable $e): bool
    {
        return preg_match('/^(PT|22|23|42)\w{3}$/', (string) $e->getCode()) === 1;
    }
}
