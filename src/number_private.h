/*
 * number_private.h
 *	  What number.c (writing) and number_read.c (reading) share.
 */
#ifndef APPROVAL_NUMBER_PRIVATE_H
#define APPROVAL_NUMBER_PRIVATE_H

/* As many significant digits as always fit into 64 bits. */
#define NUMBER_DIGITS_KEPT 19

#define NUMBER_POWER_FIRST (-342)
#define NUMBER_POWER_LAST 324

/* digits * 10^exponent, where "digits" is not divisible by ten. */
typedef struct NumberDecimal
{
	uint64		digits;			/* the first NUMBER_DIGITS_KEPT of them */
	int			count;			/* significant digits, those not kept too */
	int64		exponent;		/* of the last digit kept */
	bool		negative;
} NumberDecimal;

/* ceil(10^k * 2^(127 - floor(log2(10^k)))): 128 bits, the top one set */
typedef struct NumberPower
{
	uint64		high;
	uint64		low;
} NumberPower;

extern const NumberPower number_powers[];

extern bool number_scan(const char *string, int len, NumberDecimal *decimal);
extern double number_nearest(const NumberDecimal *decimal, const char *string, int len);

static inline const NumberPower *
number_power(int k)
{
	Assert(k >= NUMBER_POWER_FIRST && k <= NUMBER_POWER_LAST);
	return &number_powers[k - NUMBER_POWER_FIRST];
}

/* floor(log2(10^k)), right for |k| <= 1233 */
static inline int
number_log2_power(int k)
{
	return (k * 1741647) >> 19;
}

/* The low half of a * b; the high half goes to *high. */
static inline uint64
number_multiply(uint64 a, uint64 b, uint64 *high)
{
#ifdef HAVE_INT128
	uint128		product = (uint128) a * b;

	*high = (uint64) (product >> 64);
	return (uint64) product;
#else
	uint64		a0 = (uint32) a,
				a1 = a >> 32,
				b0 = (uint32) b,
				b1 = b >> 32;
	uint64		low = a0 * b0;
	uint64		middle = a1 * b0 + (low >> 32);
	uint64		other = a0 * b1 + (uint32) middle;

	*high = a1 * b1 + (middle >> 32) + (other >> 32);
	return (other << 32) | (uint32) low;
#endif
}

/* How many digits of the number stand in "digits". */
static inline int
number_kept(const NumberDecimal *decimal)
{
	return Min(decimal->count, NUMBER_DIGITS_KEPT);
}

#endif							/* APPROVAL_NUMBER_PRIVATE_H */
