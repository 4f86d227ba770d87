<?php

declare(strict_types=1);

namespace App\Approval;

use Generator;
use Illuminate\Database\Connectors\ConnectionFactory;
use PDO;
use PDOException;

/**
 * Rings when something may have changed: after each (re)connect, at a notification, and now and then.
 * Whoever hears it reads.
 *
 * The PDO is its own. On a connection of the DatabaseManager a query would silently reconnect, and the
 * LISTEN would be gone with the old session.
 */
final class Doorbell
{
    /** @param array<string, mixed> $config of a connection in config/database.php */
    public function __construct(private readonly ConnectionFactory $factory, private readonly array $config)
    {
    }

    /** @return Generator<int, string> why it rings */
    public function rings(int $pauseMs): Generator
    {
        $pdo = null;
        $lost = false;
        while (true) {
            try {
                $why = $pdo ? $this->wait($pdo, $pauseMs) : 'connected';
                $pdo ??= $this->listen();
                $lost = false;
            } catch (PDOException $e) {
                if (!$lost) {
                    // Only the message: the trace has arguments of Laravel's connector, and the password is one.
                    logger()->error("The doorbell is lost: {$e->getMessage()}");
                }
                $lost = true;
                $pdo = null;
                usleep(500_000);
                $why = 'lost';
            }
            yield $why;
        }
    }

    private function listen(): PDO
    {
        $pdo = $this->factory->make($this->config, 'doorbell')->getPdo();
        $channel = $pdo->query("SELECT approval.channel('tenant')")->fetchColumn();
        $pdo->exec("LISTEN {$channel}");

        return $pdo;
    }

    private function wait(PDO $pdo, int $pauseMs): string
    {
        $rung = $pdo->pgsqlGetNotify(PDO::FETCH_ASSOC, $pauseMs) !== false;
        // Many notifications are one ring.
        while ($pdo->pgsqlGetNotify() !== false) {
            continue;
        }
        // Throws where nobody is there any more; a silent connection looks like a quiet one.
        $pdo->query('SELECT 1');

        return $rung ? 'notified' : 'paused';
    }
}
