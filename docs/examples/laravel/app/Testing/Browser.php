<?php

declare(strict_types=1);

namespace App\Testing;

/** A person at one of the web servers, for the shipping test. */
final class Browser
{
    private function __construct(private readonly string $base, private readonly string $token)
    {
    }

    public static function at(Process $server, string $token): self
    {
        $base = Wait::until('the web server', static function () use ($server) {
            preg_match('#\((http://127\.0\.0\.1:\d+)\) started#', $server->said(), $started);

            return $started[1] ?? null;
        });

        return new self($base, $token);
    }

    /** @return array{int, mixed, string} status, body, and that as the text that came */
    public function get(string $conversation): array
    {
        return $this->send($conversation, ['method' => 'GET']);
    }

    /** @return array{int, mixed, string} status, body, and that as the text that came */
    public function post(string $conversation, string|array $body): array
    {
        return $this->send($conversation, [
            'method' => 'POST',
            'content' => is_string($body) ? $body : json_encode($body),
        ]);
    }

    private function send(string $conversation, array $request): array
    {
        $http = $request + [
            'header' => ["Authorization: Bearer {$this->token}", 'Content-Type: application/json'],
            'ignore_errors' => true,
        ];
        $body = file_get_contents(
            "{$this->base}/conversations/{$conversation}",
            false,
            stream_context_create(['http' => $http])
        );
        preg_match('#^HTTP/\S+ (\d+)#', $http_response_header[0] ?? '', $status);

        return [(int) ($status[1] ?? 0), json_decode((string) $body), (string) $body];
    }
}
