<?php

declare(strict_types=1);

namespace App\Approval;

/** JSON on its way to the gate. */
final class Json
{
    /**
     * JSON text as it came, so that {} stays {}; or a PHP value, encoded.
     *
     * Text is looked at before it is sent: PostgreSQL's own error for broken JSON quotes it, and what an
     * agent writes does not belong into error texts and logs.
     *
     * @throws \JsonException
     */
    public static function text(string|array|object $value): string
    {
        if (!is_string($value)) {
            return json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
        }
        json_decode($value, true, 512, JSON_THROW_ON_ERROR);

        return $value;
    }
}
