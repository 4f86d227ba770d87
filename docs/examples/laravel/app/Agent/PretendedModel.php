<?php

declare(strict_types=1);

namespace App\Agent;

/** In place of a model: each line "TOOL {JSON}" of the message is a call, and then it says how they went. */
final class PretendedModel implements Model
{
    public function reply(string $message, array $outcomes): Reply
    {
        if ($outcomes === [] && preg_match_all('/^(\w+) (\{.*\})$/m', $message, $lines, PREG_SET_ORDER)) {
            return Reply::calls(...array_map(
                static fn (array $line) => new Call('call_' . bin2hex(random_bytes(8)), $line[1], $line[2]),
                $lines
            ));
        }
        $told = array_map(
            static fn (object $call) => "{$call->tool}: " . ($call->outcome ?? $call->denial ?? $call->status),
            $outcomes
        );

        return Reply::answer($told === [] ? 'There is nothing to do.' : implode("\n", $told));
    }
}
