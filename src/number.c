/*
 * number.c
 *	  The shortest decimal text of a double, written as ECMAScript writes it.
 *
 * The digits come from Raffaello Giulietti's Schubfach ("The Schubfach way to
 * render doubles", 2020): the shortest ones that read back as the same double
 * and, among those, the ones nearest to it.  PostgreSQL's own float8out has
 * other digits for 1e23 and the like, and trying printf("%.*g") with rising
 * precision fails at powers of two.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "number.h"
#include "number_private.h"

/*
 * A decimal of at most DBL_DIG digits is the shortest text of its nearest
 * double (two such decimals never share one), as long as that double is a
 * normal one.
 */
#define SHORT_DIGITS 15
#define SHORT_EXPONENT 300

#define MANTISSA_BITS 52
#define HIDDEN_BIT (UINT64CONST(1) << MANTISSA_BITS)
#define EXPONENT_OFFSET 1075

static const char two_digits[] =
"0001020304050607080910111213141516171819"
"2021222324252627282930313233343536373839"
"4041424344454647484950515253545556575859"
"6061626364656667686970717273747576777879"
"8081828384858687888990919293949596979899";

/* The product of a 128-bit power and a factor, rounded to odd. */
static inline uint64
round_to_odd(const NumberPower *power, uint64 factor)
{
	uint64		carried;
	uint64		high;
	uint64		low;

	(void) number_multiply(power->low, factor, &carried);
	low = number_multiply(power->high, factor, &high);
	low += carried;
	if (low < carried)
		high++;
	return high | (low > 1);
}

/* Of the candidates around "four_times" / 4, the one that Schubfach picks. */
static void
pick_digits(uint64 lower, uint64 middle, uint64 upper, int k, NumberDecimal *decimal)
{
	uint64		s = middle / 4;
	bool		below;
	bool		above;

	if (s >= 10)
	{
		uint64		tens = s / 10;

		below = lower <= 40 * tens;
		above = 40 * tens + 40 <= upper;
		if (below != above)
		{
			decimal->digits = tens + above;
			decimal->exponent = k + 1;
			return;
		}
	}
	below = lower <= 4 * s;
	above = 4 * s + 4 <= upper;
	if (below == above)
		above = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1) != 0);
	decimal->digits = s + above;
	decimal->exponent = k;
}

/* Trailing zeros into the exponent, and count what is left. */
static void
strip_zeros(NumberDecimal *decimal)
{
	uint64		rest;

	while (decimal->digits % 10 == 0)
	{
		decimal->digits /= 10;
		decimal->exponent++;
	}
	decimal->count = 0;
	for (rest = decimal->digits; rest != 0; rest /= 10)
		decimal->count++;
}

/* The shortest decimal of a finite double other than zero. */
static void
shortest_decimal(double value, NumberDecimal *decimal)
{
	uint64		bits;
	uint64		mantissa;
	int			biased;
	int			q;
	int			k;
	int			shift;
	bool		lower_is_closer;
	bool		odd;
	const NumberPower *power;

	memcpy(&bits, &value, sizeof(bits));
	decimal->negative = (bits >> 63) != 0;
	mantissa = bits & (HIDDEN_BIT - 1);
	biased = (int) (bits >> MANTISSA_BITS) & 0x7ff;
	lower_is_closer = mantissa == 0 && biased > 1;
	if (biased != 0)
		mantissa |= HIDDEN_BIT;
	q = Max(biased, 1) - EXPONENT_OFFSET;
	odd = (mantissa & 1) != 0;

	/* floor(log10(2^q)), or of 3/4 of it */
	k = (q * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;
	shift = q + number_log2_power(-k) + 1;
	power = number_power(-k);
	pick_digits(round_to_odd(power, (4 * mantissa - 2 + lower_is_closer) << shift) + odd,
				round_to_odd(power, (4 * mantissa) << shift),
				round_to_odd(power, (4 * mantissa + 2) << shift) - odd,
				k, decimal);
	strip_zeros(decimal);
}

/* Exactly "count" digits, right to left. */
static void
write_digits(char *buf, uint64 digits, int count)
{
	char	   *end = buf + count;

	while (end - buf >= 2)
	{
		end -= 2;
		memcpy(end, two_digits + 2 * (digits % 100), 2);
		digits /= 100;
	}
	if (end > buf)
		*buf = (char) ('0' + digits);
}

/* 1.5e-7: a digit, a point and the rest, the exponent with its sign. */
static char *
write_exponential(char *p, const NumberDecimal *decimal, int exponent)
{
	int			magnitude = abs(exponent);

	write_digits(p + 1, decimal->digits, decimal->count);
	p[0] = p[1];
	p[1] = '.';
	p += decimal->count > 1 ? decimal->count + 1 : 1;
	*p++ = 'e';
	*p++ = exponent < 0 ? '-' : '+';
	if (magnitude >= 100)
		*p++ = (char) ('0' + magnitude / 100);
	if (magnitude >= 10)
		*p++ = (char) ('0' + magnitude / 10 % 10);
	*p++ = (char) ('0' + magnitude % 10);
	return p;
}

/*
 * The digits laid out by the rules of Number::toString, at most 25 bytes,
 * without a zero byte.  The decimal has at most 17 digits and an exponent
 * that a double can have.
 */
static int
write_decimal(const NumberDecimal *decimal, char *buf)
{
	char	   *p = buf;
	int			count = decimal->count;
	int			point = count + (int) decimal->exponent;

	if (decimal->negative)
		*p++ = '-';
	if (point > 21 || point <= -6)
		return write_exponential(p, decimal, point - 1) - buf;
	if (point <= 0)
	{
		memcpy(p, "0.000000", 8);
		p += 2 - point;
		write_digits(p, decimal->digits, count);
		return p + count - buf;
	}
	if (point < count)
	{
		write_digits(p, decimal->digits, count);
		memmove(p + point + 1, p + point, count - point);
		p[point] = '.';
		return p + count + 1 - buf;
	}
	write_digits(p, decimal->digits, count);
	memset(p + count, '0', point - count);
	return p + point - buf;
}

/* The text of a finite double and its length; "buf" has NUMBER_TEXT_SIZE. */
int
number_to_text(double value, char *buf)
{
	NumberDecimal decimal;
	int			len = 1;

	if (value == 0)
		buf[0] = '0';
	else
	{
		shortest_decimal(value, &decimal);
		len = write_decimal(&decimal, buf);
	}
	buf[len] = '\0';
	return len;
}

/* The nearest double, also an infinite one; false for malformed text. */
bool
number_of_text(const char *string, int len, double *value)
{
	NumberDecimal decimal;

	if (!number_scan(string, len, &decimal))
		return false;
	*value = number_nearest(&decimal, string, len);
	return true;
}

/* JSON's text of a number to RFC 8785's, and whether that changes its value. */
NumberFit
number_convert(const char *string, int len, char *buf, int *buflen)
{
	NumberDecimal read;
	NumberDecimal written;
	int64		leading;
	double		value;

	if (!number_scan(string, len, &read))
		return NUMBER_MALFORMED;
	leading = read.exponent + number_kept(&read) - 1;
	if (read.count > 0 && read.count <= SHORT_DIGITS &&
		leading >= -SHORT_EXPONENT && leading <= SHORT_EXPONENT)
	{
		*buflen = write_decimal(&read, buf);
		return NUMBER_EXACT;
	}

	value = number_nearest(&read, string, len);
	if (isinf(value))
		return NUMBER_OVERFLOW;
	if (value == 0)
	{
		buf[0] = '0';
		*buflen = 1;
		return read.count == 0 ? NUMBER_EXACT : NUMBER_UNDERFLOW;
	}
	shortest_decimal(value, &written);
	*buflen = write_decimal(&written, buf);
	if (read.count == written.count && read.digits == written.digits &&
		read.exponent == written.exponent)
		return NUMBER_EXACT;
	return NUMBER_ROUNDED;
}
