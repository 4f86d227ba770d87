<?php

declare(strict_types=1);

namespace App\Http;

use App\Agent\Turns;
use App\Approval\Approver;
use Illuminate\Http\JsonResponse;
use Illuminate\Http\Request;
use Illuminate\Support\Str;
use JsonException;
use stdClass;

/** One address for a conversation: POST {"message": …} or {"decisions": {…}, "seen_set": …}; GET reads it. */
final class ConversationController
{
    public function __construct(private readonly Approver $approver, private readonly Turns $turns)
    {
    }

    public function show(string $conversation): JsonResponse
    {
        return $this->answer(200, ['turns' => $this->turns->of($conversation)] + $this->waiting($conversation));
    }

    public function store(Request $request, string $conversation): JsonResponse
    {
        // Not $request->input(): middleware trims its strings, and {} is [] there.
        $body = json_decode($request->getContent());
        $members = $body instanceof stdClass ? array_keys(get_object_vars($body)) : [];
        if ($members === ['message'] && $this->isText($body->message)) {
            return $this->say($request, $conversation, $body->message);
        }
        if (in_array('decisions', $members, true) && array_diff($members, ['decisions', 'seen_set']) === []) {
            return $this->decide($request, $conversation, $body->seen_set ?? null);
        }

        return $this->badRequest('Send either a message or decisions.');
    }

    private function isText(mixed $value): bool
    {
        return is_string($value) && trim($value) !== '' && !str_contains($value, "\0");
    }

    private function decide(Request $request, string $conversation, mixed $seenSet): JsonResponse
    {
        if ($seenSet !== null && !(is_string($seenSet) && preg_match('/^[0-9a-f]{64}$/', $seenSet))) {
            return $this->badRequest('seen_set is the one that was shown.');
        }
        try {
            $user = $request->user()->id;
            $attempt = $this->approver->decideAll($conversation, $request->getContent(), $user, $seenSet);
        } catch (JsonException) {
            return $this->badRequest('PostgreSQL cannot read these decisions.');
        }
        if (!$attempt->ok) {
            // A 409 says which calls are pending.
            return JsonResponse::fromJsonString($attempt->detail, $attempt->http_status);
        }

        return $this->answer(200, ['decided' => json_decode($attempt->request)] + $this->waiting($conversation));
    }

    private function say(Request $request, string $conversation, string $message): JsonResponse
    {
        $waiting = $this->waiting($conversation);
        if ($waiting['pending'] !== []) {
            return $this->answer(409, ['reason' => 'run_paused'] + $waiting);
        }
        $runId = (string) Str::uuid();

        return $this->turns->begin($conversation, $runId, $message, "user:{$request->user()->id}")
            ? $this->answer(202, ['run_id' => $runId])
            : $this->answer(409, ['reason' => 'run_conflict', 'hint' => 'The last message is being worked on.']);
    }

    /** @return array{pending: list<array>, seen_set: ?string} */
    private function waiting(string $conversation): array
    {
        $pending = $this->approver->pending($conversation);

        return [
            'pending' => array_map(static fn (object $call) => [
                'tool_call_id' => $call->tool_call_id,
                'tool' => $call->tool,
                'summary' => $call->summary,
                'arguments' => json_decode($call->arguments),
                'on_behalf_of' => $call->on_behalf_of,
                'seen' => $call->review_hash,
                'expires_at' => $call->expires_at,
            ], $pending),
            'seen_set' => $pending[0]->seen_set ?? null,
        ];
    }

    private function badRequest(string $hint): JsonResponse
    {
        return $this->answer(422, ['reason' => 'bad_request', 'hint' => $hint]);
    }

    private function answer(int $status, array $body): JsonResponse
    {
        return new JsonResponse($body, $status, [], JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
    }
}
