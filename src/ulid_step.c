/*
 * ulid_step.c
 *	  From one ULID to the next, and to and from Crockford's base 32.
 *
 * Nothing here calls the backend: test/unit/ulid_step.c links it alone.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "ulid.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void
set_time(Ulid *ulid, uint64 milliseconds)
{
	int			i;

	for (i = ULID_TIME_SIZE - 1; i >= 0; i--)
	{
		ulid->bytes[i] = (uint8) milliseconds;
		milliseconds >>= 8;
	}
}

/* Milliseconds since 1970. */
uint64
ulid_time(const Ulid *ulid)
{
	uint64		milliseconds = 0;
	int			i;

	for (i = 0; i < ULID_TIME_SIZE; i++)
		milliseconds = milliseconds << 8 | ulid->bytes[i];
	return milliseconds;
}

/*
 * Turn the last identifier into a larger one.  True if its random part has to
 * be drawn by the caller.  A clock that stands still or has been set back
 * keeps the last time and counts the random part up; a random part that
 * overflows borrows the next millisecond.
 */
bool
ulid_step(Ulid *ulid, uint64 now)
{
	uint64		last = ulid_time(ulid);
	int			i;

	if (now > last)
	{
		set_time(ulid, now);
		return true;
	}
	for (i = ULID_SIZE - 1; i >= ULID_TIME_SIZE; i--)
	{
		if (++ulid->bytes[i] != 0)
			return false;
	}
	set_time(ulid, last + 1);
	return true;
}

/* 26 characters of five bits, the first of three, and a zero byte. */
void
ulid_to_text(const Ulid *ulid, char string[ULID_TEXT_LEN + 1])
{
	uint32		bits = 0;
	int			have = 2;		/* 128 bits with two zeros before them */
	int			next = 0;
	int			i;

	for (i = 0; i < ULID_SIZE; i++)
	{
		bits = bits << 8 | ulid->bytes[i];
		have += 8;
		while (have >= 5)
		{
			have -= 5;
			string[next++] = alphabet[(bits >> have) & 0x1f];
		}
		bits &= 0xff;
	}
	string[ULID_TEXT_LEN] = '\0';
}

/* The value of a character in either case, I and L as 1, O as 0; else -1. */
static int
base32_value(char c)
{
	const char *found;

	if (c >= 'a' && c <= 'z')
		c += 'A' - 'a';
	if (c == 'I' || c == 'L')
		return 1;
	if (c == 'O')
		return 0;
	found = c == '\0' ? NULL : strchr(alphabet, c);
	return found == NULL ? -1 : (int) (found - alphabet);
}

bool
ulid_from_text(const char *string, int len, Ulid *out)
{
	uint32		bits = 0;
	int			have = -2;		/* the two zeros must be zeros */
	int			next = 0;
	int			i;

	if (len != ULID_TEXT_LEN)
		return false;
	for (i = 0; i < ULID_TEXT_LEN; i++)
	{
		int			value = base32_value(string[i]);

		if (value < 0 || (i == 0 && value > 7))
			return false;
		bits = bits << 5 | (uint32) value;
		have += 5;
		if (have >= 8)
		{
			have -= 8;
			out->bytes[next++] = (uint8) (bits >> have);
		}
		bits &= 0xff;
	}
	return true;
}
