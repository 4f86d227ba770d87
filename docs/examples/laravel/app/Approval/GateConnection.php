<?php

declare(strict_types=1);

namespace App\Approval;

use Illuminate\Database\PostgresConnection;
use Throwable;

/**
 * A connection that does not take an answer for an accident.
 *
 * Laravel knows a lost connection and a deadlock by phrases in the text of the error, and then runs the
 * statement, or the transaction, again. The text has in it what was sent, and what was sent may be an
 * agent's words. Here the SQLSTATE has the first word.
 */
final class GateConnection extends PostgresConnection
{
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
