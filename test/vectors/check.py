#!/usr/bin/env python3
"""Recomputes hash_vectors.json with a JCS of its own, standard library only.

Prints TAP.  usage: python3 test/vectors/check.py
"""
import hashlib
import json
import pathlib
import sys


def number(value):
    """ECMAScript's Number::toString; repr() has the same digits."""
    value = float(value)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e%+d" % (point - 1)
    return sign + text


def jcs(value):
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(jcs(key) + ":" + jcs(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    if isinstance(value, str):
        # json.dumps escapes U+007F only with ensure_ascii
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def action(vector):
    arguments = json.loads(vector["arguments"])
    return jcs({"v": 1, "tenant": vector.get("tenant", ""), "server": vector.get("server", ""),
                "tool": vector["tool"], "definition": vector.get("definition"),
                "resource": vector.get("resource"), "arguments": {} if arguments == [] else arguments})


def review(vector):
    preview = vector.get("preview")
    return jcs({"v": 1, "action": vector["action"], "summary": vector["summary"],
                "preview": None if preview is None else sha256(preview),
                "reason": vector.get("reason"), "requester": vector.get("requester"),
                "on_behalf_of": vector.get("on_behalf_of")})


def main():
    vectors = json.loads(pathlib.Path(__file__).with_name("hash_vectors.json").read_text("utf-8"))
    count = failed = 0
    for kind, text in (("action", action), ("review", review)):
        for vector in vectors[kind]:
            canonical = text(vector)
            good = canonical == vector["canonical"] and sha256(canonical) == vector["sha256"]
            count += 1
            failed += not good
            print("%s %d - Python: %s: %s" % ("ok" if good else "not ok", count, kind, vector["why"]))
    print("1..%d" % count)
    return 1 if failed else 0


sys.exit(main())
