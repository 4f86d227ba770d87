<?php

declare(strict_types=1);

namespace App\Console;

use App\Agent\ListenCommand;
use Illuminate\Foundation\Console\Kernel as ConsoleKernel;

final class Kernel extends ConsoleKernel
{
    protected $commands = [ListenCommand::class, AddUserCommand::class];
}
