<?php

declare(strict_types=1);

namespace App\Approval;

/** Something that an agent may do once it is approved. */
interface Tool
{
    /**
     * @param string $arguments the JSON text of the permit
     * @param string $idempotencyKey the same for every attempt: pass it on to the system that acts
     * @return string the result, as JSON text
     * @throws ToolFailed where nothing has happened; anything else that is thrown leaves that open
     */
    public function run(string $arguments, string $idempotencyKey): string;
}
