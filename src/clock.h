/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  Times inside hashes and DETAIL: RFC 3339, UTC, six digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_CLOCK_H
#define APPROVAL_CLOCK_H

#include "utils/timestamp.h"

/* "2026-11-30T12:00:00.000000Z" and some room for far years */
#define CLOCK_TEXT_LEN 40

extern void clock_text(TimestampTz at, char text[CLOCK_TEXT_LEN]);
extern int64 clock_unix_ms(TimestampTz at);
extern int64 clock_span(const Interval *span);

#endif							/* APPROVAL_CLOCK_H */
