#!/usr/bin/env python3
"""Writes src/number_tables.h: the powers of ten that number.c multiplies by.

usage: python3 src/gen/number_tables.py > src/number_tables.h

Entry k is ceil(10^k * 2^(127 - floor(log2(10^k)))), 128 bits with the top
bit set.  The range is the union of what reading (-342 .. 308) and writing
(-292 .. 324) a double needs.
"""

FIRST, LAST = -342, 324


def entry(k):
    if k >= 0:
        power = 10 ** k
        shift = 127 - (power.bit_length() - 1)
        value = power << shift if shift >= 0 else -(-power >> -shift)
    else:
        power = 10 ** -k
        # floor(log2(1/p)) is minus the bit length: p is no power of two
        value = -(-(1 << (127 + power.bit_length())) // power)
    assert value.bit_length() == 128, k
    return value


words = [f"P(0x{entry(k) >> 64:016x}, 0x{entry(k) & (2 ** 64 - 1):016x})"
         for k in range(FIRST, LAST + 1)]

print("/* made by src/gen/number_tables.py: do not edit */")
print(f"#if NUMBER_POWER_FIRST != {FIRST} || NUMBER_POWER_LAST != {LAST}")
print('#error "number_private.h names another range"')
print("#endif")
print("#define P(high, low) {UINT64CONST(high), UINT64CONST(low)}")
print("const NumberPower number_powers[] = {")
for i in range(0, len(words), 2):
    print("\t" + ", ".join(words[i:i + 2]) + ",")
print("};")
print("#undef P")
