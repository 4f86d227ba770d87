/*
 * number_read.c
 *	  The double nearest to a decimal text, ties to even.
 *
 * The first 19 digits times a 128-bit power of ten give 192 bits of the value
 * and a bound on the error (after Daniel Lemire, "Number Parsing at a Gigabyte
 * per Second", 2021).  Where that leaves two doubles possible, big integers
 * decide.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <float.h>
#include <math.h>

#include "port/pg_bitutils.h"

#include "number.h"
#include "number_private.h"
#include "number_tables.h"

/* Beyond any exponent that matters, far below an overflow of int64. */
#define EXPONENT_LIMIT INT64CONST(1000000000000000)

/*
 * Half way between two doubles has at most 767 digits: of a longer text only
 * matters whether anything follows.
 */
#define BIG_DIGITS 800
#define BIG_LIMBS 160
#define FIVE_TO_THE_13 1220703125
#define TWO_TO_THE_31 (((uint32) 1) << 31)

typedef struct BigNumber
{
	int			used;
	uint32		limbs[BIG_LIMBS];	/* the lowest first */
} BigNumber;

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One more significant digit, after the zeros that were held back. */
static inline void
scan_digit(NumberDecimal *decimal, int *zeros, int digit)
{
	if (digit == 0)
	{
		if (decimal->count > 0)
			(*zeros)++;
		return;
	}
	while (*zeros > 0 && decimal->count < NUMBER_DIGITS_KEPT)
	{
		decimal->digits *= 10;
		decimal->count++;
		(*zeros)--;
	}
	if (decimal->count < NUMBER_DIGITS_KEPT)
		decimal->digits = decimal->digits * 10 + digit;
	decimal->count += *zeros + 1;
	*zeros = 0;
}

/* "e", an optional sign, digits: NULL if they are missing. */
static const char *
scan_exponent(const char *p, const char *end, int64 *exponent)
{
	bool		negative = false;
	int64		value = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end || !is_digit(*p))
		return NULL;
	for (; p < end && is_digit(*p); p++)
	{
		if (value < EXPONENT_LIMIT)
			value = value * 10 + (*p - '0');
	}
	*exponent = negative ? -value : value;
	return p;
}

/* Take a whole text apart; false if it is not a JSON number. */
bool
number_scan(const char *string, int len, NumberDecimal *decimal)
{
	const char *p = string;
	const char *end = string + len;
	const char *start;
	int64		exponent = 0;
	int			zeros = 0;
	int			fraction = 0;

	decimal->digits = 0;
	decimal->count = 0;
	decimal->negative = p < end && *p == '-';
	if (decimal->negative)
		p++;

	start = p;
	for (; p < end && is_digit(*p); p++)
		scan_digit(decimal, &zeros, *p - '0');
	if (p == start || (*start == '0' && p - start > 1))
		return false;
	if (p < end && *p == '.')
	{
		start = ++p;
		for (; p < end && is_digit(*p); p++)
			scan_digit(decimal, &zeros, *p - '0');
		fraction = (int) (p - start);
		if (fraction == 0)
			return false;
	}
	if (p < end && (*p == 'e' || *p == 'E'))
	{
		p = scan_exponent(p + 1, end, &exponent);
		if (p == NULL)
			return false;
	}
	decimal->exponent = exponent - fraction + zeros +
		(decimal->count - number_kept(decimal));
	return p == end;
}

static double
double_of_bits(uint64 bits)
{
	double		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * Put a binary number together.  "bits" has its highest bit at 63 or 62 and
 * stands for bits * 2^exponent, "more" says that a fraction follows.
 */
static double
assemble(uint64 bits, int exponent, bool more)
{
	int			leading = pg_leftmost_one_pos64(bits);
	int			unit = Max(leading + exponent, -1022) - 52 - exponent;
	uint64		mantissa;
	uint64		half;
	uint64		rest;

	/* less than half of the smallest double */
	if (unit > 64)
		return 0;
	mantissa = unit == 64 ? 0 : bits >> unit;
	half = UINT64CONST(1) << (unit - 1);
	rest = unit == 64 ? bits : bits & ((half << 1) - 1);
	if (rest > half || (rest == half && (more || (mantissa & 1) != 0)))
		mantissa++;

	/* a mantissa that overflowed, or a subnormal one, carries by itself */
	if (leading + exponent < -1022)
		return double_of_bits(mantissa);
	if (leading + exponent > 1023)
		return HUGE_VAL;
	return double_of_bits(mantissa + ((uint64) (leading + exponent + 1022) << 52));
}

/*
 * The nearest double to digits * 10^q.  False if 192 bits do not tell whether
 * it is that one or the next larger.
 */
static bool
nearest_of_digits(uint64 digits, int q, double *value)
{
	const NumberPower *power = number_power(q);
	bool		exact = q >= 0 && q <= 55;
	int			zeros = 63 - pg_leftmost_one_pos64(digits);
	uint64		power_high = power->high;
	uint64		power_low = power->low;
	uint64		high;
	uint64		middle;
	uint64		low;
	uint64		carried;

	/* the table rounds up; all that follows wants a lower bound */
	if (!exact && power_low-- == 0)
		power_high--;
	digits <<= zeros;
	low = number_multiply(digits, power_low, &carried);
	middle = number_multiply(digits, power_high, &high);
	middle += carried;
	if (middle < carried)
		high++;

	*value = assemble(high, number_log2_power(q) - zeros + 1,
					  !exact || middle != 0 || low != 0);

	/* the true product is larger, but by less than 2^64 */
	return exact || middle != PG_UINT64_MAX;
}

static void
big_multiply_add(BigNumber *big, uint32 factor, uint32 add)
{
	uint64		carry = add;
	int			i;

	for (i = 0; i < big->used; i++)
	{
		carry += (uint64) big->limbs[i] * factor;
		big->limbs[i] = (uint32) carry;
		carry >>= 32;
	}
	if (carry != 0)
		big->limbs[big->used++] = (uint32) carry;
	Assert(big->used < BIG_LIMBS);
}

/* Times base^power; "many" is base^chunk, as much as a limb holds. */
static void
big_multiply_power(BigNumber *big, int power, uint32 base, uint32 many, int chunk)
{
	for (; power >= chunk; power -= chunk)
		big_multiply_add(big, many, 0);
	for (; power > 0; power--)
		big_multiply_add(big, base, 0);
}

/* The digits of a text as an integer, and the power of ten it is short of. */
static int64
big_of_text(BigNumber *big, const char *string, int len, const NumberDecimal *decimal)
{
	int			taken = 0;
	int			i;

	big->used = 0;
	for (i = 0; i < len && taken < Min(decimal->count, BIG_DIGITS); i++)
	{
		if (!is_digit(string[i]) || (taken == 0 && string[i] == '0'))
			continue;
		big_multiply_add(big, 10, string[i] - '0');
		taken++;
	}
	/* the last digit is not zero: something does follow */
	if (decimal->count > BIG_DIGITS)
	{
		big_multiply_add(big, 10, 1);
		taken++;
	}
	return decimal->exponent + number_kept(decimal) - taken;
}

static int
big_compare(const BigNumber *a, const BigNumber *b)
{
	int			i;

	if (a->used != b->used)
		return a->used < b->used ? -1 : 1;
	for (i = a->used - 1; i >= 0; i--)
	{
		if (a->limbs[i] != b->limbs[i])
			return a->limbs[i] < b->limbs[i] ? -1 : 1;
	}
	return 0;
}

/* Compare the text with the middle between a double and the next larger one. */
static int
compare_with_middle(uint64 bits, const char *string, int len, const NumberDecimal *decimal)
{
	BigNumber	number;
	BigNumber	middle;
	int			biased = (int) (bits >> 52);
	uint64		mantissa = bits & (PG_UINT64_MAX >> 12);
	int			binary = Max(biased, 1) - 1076;
	int			tens = (int) big_of_text(&number, string, len, decimal);

	if (biased != 0)
		mantissa |= UINT64CONST(1) << 52;
	mantissa = 2 * mantissa + 1;
	middle.limbs[0] = (uint32) mantissa;
	middle.limbs[1] = (uint32) (mantissa >> 32);
	middle.used = middle.limbs[1] != 0 ? 2 : 1;

	/* number * 10^tens against middle * 2^binary, all exponents positive */
	binary -= tens;
	big_multiply_power(&number, tens, 5, FIVE_TO_THE_13, 13);
	big_multiply_power(&middle, -tens, 5, FIVE_TO_THE_13, 13);
	big_multiply_power(&number, -binary, 2, TWO_TO_THE_31, 31);
	big_multiply_power(&middle, binary, 2, TWO_TO_THE_31, 31);
	return big_compare(&number, &middle);
}

/* Decide between a double that is not too large and the next one. */
static double
nearest_of_text(double lower, const char *string, int len, const NumberDecimal *decimal)
{
	uint64		bits;
	int			order;

	memcpy(&bits, &lower, sizeof(bits));
	order = compare_with_middle(bits, string, len, decimal);
	if (order > 0 || (order == 0 && (bits & 1) != 0))
		bits++;
	return double_of_bits(bits);
}

/* The nearest double to the text that number_scan() took apart. */
double
number_nearest(const NumberDecimal *decimal, const char *string, int len)
{
	double		value;
	double		other;
	int64		q = decimal->exponent;

	if (decimal->count == 0 || q < NUMBER_POWER_FIRST)
		value = 0;
	else if (q > DBL_MAX_10_EXP)
		value = HUGE_VAL;
	else if (!nearest_of_digits(decimal->digits, (int) q, &value) ||
			 (decimal->count > NUMBER_DIGITS_KEPT &&
			  (!nearest_of_digits(decimal->digits + 1, (int) q, &other) ||
			   other != value)))
		value = nearest_of_text(value, string, len, decimal);
	return decimal->negative ? -value : value;
}
