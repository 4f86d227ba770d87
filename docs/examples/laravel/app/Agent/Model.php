<?php

declare(strict_types=1);

namespace App\Agent;

interface Model
{
    /** @param list<object> $outcomes of the calls so far: rows of approval.outcomes */
    public function reply(string $message, array $outcomes): Reply;
}
