<?php

declare(strict_types=1);

namespace App\Console;

use Illuminate\Console\Command;
use Illuminate\Database\Connection;
use Illuminate\Support\Str;

final class AddUserCommand extends Command
{
    protected $signature = 'shop:user {id : a number}';

    protected $description = 'Makes a user, or a new token for one, and shows the token';

    public function handle(Connection $db): int
    {
        $token = Str::random(60);
        $user = ['id' => (int) $this->argument('id'), 'api_token' => hash('sha256', $token)];
        $db->table('users')->upsert([$user], ['id'], ['api_token']);
        $this->line($token);

        return self::SUCCESS;
    }
}
