<?php

// artisan, in a process that kills itself (-9) at the point that DIE_AT names, in which something is out of
// order, or with the model that MODEL names.

declare(strict_types=1);

use App\Agent\Call;
use App\Agent\Model;
use App\Agent\Reply;
use App\Agent\RunPaused;
use App\Approval\ToolFailed;
use App\Payments\Payments;
use Illuminate\Contracts\Console\Kernel;
use Illuminate\Database\Events\QueryExecuted;
use Illuminate\Support\Facades\DB;
use Symfony\Component\Console\Input\ArgvInput;
use Symfony\Component\Console\Output\ConsoleOutput;

require __DIR__ . '/../../../docs/examples/laravel/bootstrap/autoload.php';
$app = require __DIR__ . '/../../../docs/examples/laravel/bootstrap/app.php';
$kernel = $app->make(Kernel::class);
$kernel->bootstrap();

$at = (string) getenv('DIE_AT');
$die = static function () use ($at): void {
    echo "dies at {$at}\n";
    posix_kill(getmypid(), SIGKILL);
};
// "paused": it holds the run, and knows that it has to wait.
$app['events']->listen(RunPaused::class, static fn () => $at !== 'paused' || $die());
// The name of a verb: its answer has arrived, and nothing has been made of it.
DB::listen(static fn (QueryExecuted $query) => !str_contains($query->sql, "approval.{$at}(") || $die());
// "paid": money has moved, and nobody knows. The other two: none has, and it is known or not.
$before = static fn () => match ($at) {
    'tool refuses' => throw new ToolFailed('no such order'),
    'tool breaks' => throw new RuntimeException('the payment system is away'),
    default => null,
};
$after = static fn () => $at !== 'paid' || $die();
$app->extend(Payments::class, static fn (Payments $real) => new class ($real, $before, $after) implements Payments {
    public function __construct(
        private readonly Payments $payments,
        private readonly Closure $before,
        private readonly Closure $after
    ) {
    }

    public function refund(string $body, string $idempotencyKey): string
    {
        ($this->before)();
        $answer = $this->payments->refund($body, $idempotencyKey);
        ($this->after)();

        return $answer;
    }
});

$app->extend(Model::class, static fn (Model $real) => new class ($real, (string) getenv('MODEL')) implements Model {
    public function __construct(private readonly Model $real, private readonly string $kind)
    {
    }

    public function reply(string $message, array $outcomes): Reply
    {
        return match ($this->kind) {
            'broken' => throw new RuntimeException('the model is away'),
            'slow' => sleep(3) === 0 ? $this->real->reply($message, $outcomes) : null,
            'counting' => $this->counted($this->real->reply($message, $outcomes)),
            default => $this->real->reply($message, $outcomes),
        };
    }

    /** Call ids that begin anew with each run. */
    private function counted(Reply $reply): Reply
    {
        $calls = array_map(
            static fn (Call $call, int $n) => new Call("call_{$n}", $call->tool, $call->arguments),
            $reply->calls,
            array_keys($reply->calls)
        );

        return $calls === [] ? $reply : Reply::calls(...$calls);
    }
});

$input = new ArgvInput();
$status = $kernel->handle($input, new ConsoleOutput());
$kernel->terminate($input, $status);
exit($status);
