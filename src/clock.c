/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  Times inside hashes and DETAIL: RFC 3339, UTC, six digits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/datetime.h"

#include "clock.h"

static char *
put_digits(char *p, int value, int width)
{
	int			i;

	for (i = width - 1; i >= 0; i--)
	{
		p[i] = '0' + value % 10;
		value /= 10;
	}
	return p + width;
}

/*
 * RFC 3339 section 5.6, independent of DateStyle and TimeZone.  Our times are
 * clock readings, so the year has four digits; a row forged beyond that is
 * written with as many digits as it needs.
 */
void
clock_text(TimestampTz at, char text[CLOCK_TEXT_LEN])
{
	int64		day = at / USECS_PER_DAY;
	int64		in_day = at % USECS_PER_DAY;
	int			year,
				month,
				mday;
	int			seconds;
	char	   *p = text;

	if (in_day < 0)
	{
		in_day += USECS_PER_DAY;
		day--;
	}
	if (TIMESTAMP_NOT_FINITE(at))
	{
		strlcpy(text, TIMESTAMP_IS_NOBEGIN(at) ? "-infinity" : "infinity", CLOCK_TEXT_LEN);
		return;
	}
	j2date((int) (day + POSTGRES_EPOCH_JDATE), &year, &month, &mday);
	if (year >= 0 && year <= 9999)
		p = put_digits(p, year, 4);
	else
		p += snprintf(p, 12, "%d", year);
	*p++ = '-';
	p = put_digits(p, month, 2);
	*p++ = '-';
	p = put_digits(p, mday, 2);
	*p++ = 'T';
	seconds = (int) (in_day / USECS_PER_SEC);
	p = put_digits(p, seconds / SECS_PER_HOUR, 2);
	*p++ = ':';
	p = put_digits(p, seconds / SECS_PER_MINUTE % MINS_PER_HOUR, 2);
	*p++ = ':';
	p = put_digits(p, seconds % SECS_PER_MINUTE, 2);
	*p++ = '.';
	p = put_digits(p, (int) (in_day % USECS_PER_SEC), 6);
	*p++ = 'Z';
	*p = '\0';
}

/*
 * Microseconds of an interval, a month counted as 30 days and a day as 24
 * hours, as core's own comparison of intervals does.  What does not fit, or is
 * infinite (17 and newer), becomes PG_INT64_MAX or PG_INT64_MIN: callers
 * compare with a bound anyway.
 */
int64
clock_span(const Interval *span)
{
	int64		days = (int64) span->month * DAYS_PER_MONTH + span->day;
	int64		result;

	if (pg_mul_s64_overflow(days, USECS_PER_DAY, &result))
		return days < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	if (pg_add_s64_overflow(result, span->time, &result))
		return span->time < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	return result;
}

/* Milliseconds since 1970; times before it count as 0. */
int64
clock_unix_ms(TimestampTz at)
{
	int64		epoch = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1000;

	if (TIMESTAMP_IS_NOBEGIN(at))
		return 0;
	return Max(at / 1000 + epoch, 0);
}
