<?php

declare(strict_types=1);

namespace App\Approval;

use DateTimeInterface;
use Illuminate\Database\Connection;
use Illuminate\Database\QueryException;
use JsonException;

/** Calls functions of the schema "approval" with named arguments, over one connection. */
final class Verbs
{
    public function __construct(private readonly Connection $db)
    {
    }

    /**
     * @param array<string, mixed> $arguments null: left out
     * @throws Refusal
     */
    public function one(string $verb, array $arguments): object
    {
        return $this->all($verb, $arguments)[0];
    }

    /**
     * @param array<string, mixed> $arguments null: left out
     * @return list<object>
     * @throws Refusal
     */
    public function all(string $verb, array $arguments): array
    {
        $given = array_filter($arguments, static fn ($value) => $value !== null);
        $names = implode(', ', array_map(static fn ($name) => "{$name} => ?", array_keys($given)));
        $values = array_map(self::bind(...), array_values($given));
        try {
            // Never on a read replica: verbs write.
            return $this->db->select("SELECT * FROM approval.{$verb}({$names})", $values, false);
        } catch (QueryException $e) {
            // The driver's exception has the same code, and no bound values in its message.
            throw Refusal::of($e) ?? $e->getPrevious() ?? $e;
        }
    }

    /**
     * A member of a JSON text, as it was written: json_decode keeps one of two keys, and no long number.
     *
     * @throws JsonException
     */
    public function member(string $json, string $name): string
    {
        try {
            return $this->db->selectOne('SELECT ?::json -> ?::text AS member', [Json::text($json), $name])->member;
        } catch (QueryException $e) {
            // "\u0000" is JSON, and no text of PostgreSQL.
            throw $e->getCode() === '22P05' ? new JsonException('unsupported Unicode escape') : $e;
        }
    }

    private static function bind(mixed $value): mixed
    {
        return match (true) {
            // Laravel itself would drop the offset and the microseconds.
            $value instanceof DateTimeInterface => $value->format('Y-m-d\TH:i:s.uP'),
            is_array($value), is_object($value) => Json::text($value),
            default => $value,
        };
    }
}
