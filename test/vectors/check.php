#!/usr/bin/env php
<?php
// Recomputes hash_vectors.json with a JCS of its own, core extensions and iconv
// only; prints TAP.  usage: php test/vectors/check.php
declare(strict_types=1);
ini_set('serialize_precision', '-1');

// ECMAScript's Number::toString; json_encode() has the same digits.
function number(float $value): string
{
    if ($value == 0.0) {
        return '0';
    }
    $sign = $value < 0 ? '-' : '';
    [$mantissa, $exponent] = explode('e', strtolower(json_encode(abs($value)))) + [1 => '0'];
    [$whole, $fraction] = explode('.', $mantissa) + [1 => ''];
    $digits = $whole . $fraction;
    $point = strlen($whole) + (int) $exponent - (strlen($digits) - strlen(ltrim($digits, '0')));
    $digits = trim($digits, '0');
    $count = strlen($digits);
    if ($point >= $count && $point <= 21) {
        return $sign . str_pad($digits, $point, '0');
    }
    if ($point > 0 && $point <= 21) {
        return $sign . substr($digits, 0, $point) . '.' . substr($digits, $point);
    }
    if ($point > -6 && $point <= 0) {
        return $sign . '0.' . str_repeat('0', -$point) . $digits;
    }
    return $sign . $digits[0] . ($count > 1 ? '.' . substr($digits, 1) : '') . sprintf('e%+d', $point - 1);
}

function jcs(mixed $value): string
{
    if ($value instanceof stdClass) {
        $members = [];
        foreach ((array) $value as $key => $member) {
            $members[iconv('UTF-8', 'UTF-16BE', (string) $key)] = jcs((string) $key) . ':' . jcs($member);
        }
        // as strings: PHP would sort numeric keys as numbers
        uksort($members, fn ($a, $b) => strcmp((string) $a, (string) $b));
        return '{' . implode(',', $members) . '}';
    }
    if (is_array($value)) {
        return '[' . implode(',', array_map('jcs', $value)) . ']';
    }
    if (is_int($value) || is_float($value)) {
        return number((float) $value);
    }
    return json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS | JSON_THROW_ON_ERROR);
}

function action(stdClass $v): string
{
    $arguments = json_decode($v->arguments, false, 512, JSON_THROW_ON_ERROR);
    return jcs((object) [
        'v' => 1, 'tenant' => $v->tenant ?? '', 'server' => $v->server ?? '', 'tool' => $v->tool,
        'definition' => $v->definition ?? null, 'resource' => $v->resource ?? null,
        'arguments' => $arguments === [] ? new stdClass() : $arguments,
    ]);
}

function review(stdClass $v): string
{
    return jcs((object) [
        'v' => 1, 'action' => $v->action, 'summary' => $v->summary,
        'preview' => isset($v->preview) ? hash('sha256', $v->preview) : null,
        'reason' => $v->reason ?? null, 'requester' => $v->requester ?? null,
        'on_behalf_of' => $v->on_behalf_of ?? null,
    ]);
}

$vectors = json_decode(file_get_contents(__DIR__ . '/hash_vectors.json'), false, 512, JSON_THROW_ON_ERROR);
$count = $failed = 0;
foreach (['action', 'review'] as $kind) {
    foreach ($vectors->$kind as $vector) {
        $canonical = $kind($vector);
        $good = $canonical === $vector->canonical && hash('sha256', $canonical) === $vector->sha256;
        $count++;
        $failed += $good ? 0 : 1;
        echo $good ? 'ok' : 'not ok', " $count - PHP: $kind: $vector->why\n";
    }
}
echo "1..$count\n";
exit($failed ? 1 : 0);
