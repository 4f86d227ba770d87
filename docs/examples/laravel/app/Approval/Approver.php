<?php

declare(strict_types=1);

namespace App\Approval;

/** What the side of the people does. The application says who decides; the gate, whether they may. */
final class Approver
{
    public function __construct(private readonly Verbs $verbs)
    {
    }

    /** @return list<object> what waits in a conversation; seen_set, in each row, stands for the whole list */
    public function pending(string $conversation): array
    {
        return $this->verbs->all('pending', ['conversation_id' => $conversation]);
    }

    /**
     * The decision map of the agent SDKs: the member "decisions" of what was posted, as the text that
     * came. A PHP array would make a list of the ids "0" and "1", [] of {}, and one of two equal keys.
     *
     * @return object ok, http_status, reason, detail and request (JSON texts)
     * @throws \JsonException
     */
    public function decideAll(string $conversation, string $posted, int|string $user, ?string $seenSet): object
    {
        return $this->verbs->one('try_decide_all', [
            'conversation_id' => $conversation,
            'decisions' => $this->verbs->member($posted, 'decisions'),
            'seen_set' => $seenSet,
            'actor' => "user:{$user}",
        ]);
    }
}
