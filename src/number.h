/*
 * number.h
 *	  Numbers as RFC 8785 writes them: ECMAScript's Number::toString.
 *
 * Nothing behind this header calls the backend or looks at the locale, so
 * that test programs can link number.c and number_read.c alone.
 */
#ifndef APPROVAL_NUMBER_H
#define APPROVAL_NUMBER_H

/* "-1.2345678901234567e-300" and more than enough for the zero byte */
#define NUMBER_TEXT_SIZE 32

/* What became of a decimal text on its way through a double and back. */
typedef enum NumberFit
{
	NUMBER_EXACT,				/* what is written has the same value */
	NUMBER_ROUNDED,				/* it has another one */
	NUMBER_OVERFLOW,			/* infinite: nothing is written */
	NUMBER_UNDERFLOW,			/* was not zero, is written as 0 */
	NUMBER_MALFORMED			/* no JSON number: nothing is written */
} NumberFit;

extern int	number_to_text(double value, char *buf);
extern bool number_of_text(const char *string, int len, double *value);
extern NumberFit number_convert(const char *string, int len, char *buf, int *buflen);

#endif							/* APPROVAL_NUMBER_H */
