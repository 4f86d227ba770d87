<?php

declare(strict_types=1);

namespace App\Testing;

use RuntimeException;

/** A process of this application, for the shipping test. */
final class Process
{
    /** @param resource $handle */
    private function __construct(private $handle, private readonly string $log, public readonly int $pid)
    {
    }

    public function __destruct()
    {
        $this->kill();
    }

    /**
     * @param list<string> $command
     * @param array<string, string> $environment besides this process's own
     */
    public static function start(array $command, array $environment = []): self
    {
        $log = tempnam(storage_path('logs'), 'process-');
        $handle = proc_open(
            $command,
            [['file', '/dev/null', 'r'], ['file', $log, 'w'], ['file', $log, 'a']],
            $pipes,
            base_path(),
            $environment + getenv()
        );
        if ($handle === false) {
            throw new RuntimeException("cannot start {$command[0]}");
        }

        return new self($handle, $log, proc_get_status($handle)['pid']);
    }

    /** @param array<string, string> $environment */
    public static function worker(string $artisan = 'artisan', array $environment = []): self
    {
        return self::start(
            [PHP_BINARY, $artisan, 'queue:work', '--sleep=0.2'],
            $environment + ['DB_CONNECTION' => 'agent']
        );
    }

    /** @param int $pause seconds after which it looks without having heard anything */
    public static function listener(int $pause = 1): self
    {
        return self::start(
            [PHP_BINARY, 'artisan', 'approval:listen', "--pause={$pause}", '-v'],
            ['DB_CONNECTION' => 'agent']
        );
    }

    public static function webServer(): self
    {
        return self::start(
            [PHP_BINARY, '-S', '127.0.0.1:0', '-t', 'public', 'public/index.php'],
            ['DB_CONNECTION' => 'web']
        );
    }

    public function said(): string
    {
        return (string) file_get_contents($this->log);
    }

    public function runs(): bool
    {
        return is_resource($this->handle) && proc_get_status($this->handle)['running'];
    }

    public function signal(int $signal): void
    {
        proc_terminate($this->handle, $signal);
    }

    /** -9: it gets no chance to tidy up. */
    public function kill(): void
    {
        if (is_resource($this->handle)) {
            proc_terminate($this->handle, SIGKILL);
            proc_close($this->handle);
        }
    }
}
