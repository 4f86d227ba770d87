<?php

declare(strict_types=1);

// "Authorization: Bearer TOKEN"; the table has SHA-256 of tokens.
return [
    'defaults' => ['guard' => 'api'],
    'guards' => ['api' => ['driver' => 'token', 'provider' => 'users', 'hash' => true]],
    'providers' => ['users' => ['driver' => 'database', 'table' => 'users']],
];
