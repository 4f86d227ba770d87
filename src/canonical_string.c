/*
 * canonical_string.c
 *	  Strings as RFC 8785 writes them: only the quote, the backslash and the
 *	  characters below U+0020 are escaped, everything else stands as UTF-8.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#include "canonical_private.h"

#define EVERY_BYTE(value) (PG_UINT64_MAX / 0xff * (value))

/*
 * The top bit of the first byte, in memory order, that cannot be copied as it
 * is: below U+0020, a quote or a backslash.  Bits above that one may be wrong.
 */
static inline uint64
special_bytes(uint64 word)
{
	uint64		quote = word ^ EVERY_BYTE('"');
	uint64		backslash = word ^ EVERY_BYTE('\\');

	return (((quote - EVERY_BYTE(1)) & ~quote) |
			((backslash - EVERY_BYTE(1)) & ~backslash) |
			((word - EVERY_BYTE(0x20)) & ~word)) & EVERY_BYTE(0x80);
}

static inline uint64
load_word(const char *p)
{
	uint64		word;

	memcpy(&word, p, sizeof(word));
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	return word;
}

static inline bool
is_special(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\';
}

/*
 * Copy up to the first byte that is special, or to the end.  Writes up to
 * eight bytes more than it counts.  *seen collects the bits of all bytes.
 */
static inline const char *
copy_plain(const char *p, const char *end, char **write, uint64 *seen)
{
	char	   *w = *write;

	while (end - p >= 8)
	{
		uint64		word = load_word(p);
		uint64		special = special_bytes(word);

		memcpy(w, p, 8);
		if (special != 0)
		{
			int			count = pg_rightmost_one_pos64(special) / 8;

			*seen |= word & ((UINT64CONST(1) << (8 * count)) - 1);
			*write = w + count;
			return p + count;
		}
		*seen |= word;
		p += 8;
		w += 8;
	}
	while (p < end && !is_special((unsigned char) *p))
	{
		*seen |= (unsigned char) *p;
		*w++ = *p++;
	}
	*write = w;
	return p;
}

/* The escape of a character that needs one; at most six bytes. */
static char *
write_escaped(char *w, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char names[] = "uuuuuuuubtnufruu";

	*w++ = '\\';
	if (c >= 0x20)
		*w++ = (char) c;
	else if (c < 0x10 && names[c] != 'u')
		*w++ = names[c];
	else
	{
		memcpy(w, "u00", 3);
		w[3] = hex[c >> 4];
		w[4] = hex[c & 0xf];
		w += 5;
	}
	return w;
}

/* UTF-8; the caller has paired the surrogates. */
static char *
write_character(char *w, uint32 c)
{
	if (c < 0x80)
	{
		if (is_special((unsigned char) c))
			return write_escaped(w, (unsigned char) c);
		*w++ = (char) c;
	}
	else if (c < 0x800)
	{
		*w++ = (char) (0xc0 | (c >> 6));
		*w++ = (char) (0x80 | (c & 0x3f));
	}
	else if (c < 0x10000)
	{
		*w++ = (char) (0xe0 | (c >> 12));
		*w++ = (char) (0x80 | ((c >> 6) & 0x3f));
		*w++ = (char) (0x80 | (c & 0x3f));
	}
	else
	{
		*w++ = (char) (0xf0 | (c >> 18));
		*w++ = (char) (0x80 | ((c >> 12) & 0x3f));
		*w++ = (char) (0x80 | ((c >> 6) & 0x3f));
		*w++ = (char) (0x80 | (c & 0x3f));
	}
	return w;
}

/* "\uXXXX" at the place to be read; -1 if something else stands there. */
static int
read_unit(const Canonical *state)
{
	const char *p = state->next;
	int			unit = 0;
	int			i;

	if (state->end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (i = 2; i < 6; i++)
	{
		char		c = p[i];

		if (c >= '0' && c <= '9')
			unit = unit * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			unit = unit * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			unit = unit * 16 + (c - 'A' + 10);
		else
			return -1;
	}
	return unit;
}

/* One \u escape, or the two of a surrogate pair. */
static bool
read_unicode(Canonical *state)
{
	int			unit = read_unit(state);
	int			low;
	uint32		c = (uint32) unit;

	if (unit < 0)
		return canonical_malformed();
	state->next += 6;
	if (unit == 0 && state->mode == CANONICAL_STRICT)
		return canonical_refuse(state, "nul_character");
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return canonical_refuse(state, "lone_surrogate");
	if (unit >= 0xd800 && unit <= 0xdbff)
	{
		low = read_unit(state);
		if (low < 0xdc00 || low > 0xdfff)
			return canonical_refuse(state, "lone_surrogate");
		state->next += 6;
		c = 0x10000 + (((uint32) unit - 0xd800) << 10) + ((uint32) low - 0xdc00);
	}
	state->write = write_character(state->write, c);
	return true;
}

/* An escape, from its backslash. */
static bool
read_escape(Canonical *state)
{
	char		c = state->end - state->next < 2 ? '\0' : state->next[1];

	switch (c)
	{
		case '"':
		case '\\':
		case 'b':
		case 'f':
		case 'n':
		case 'r':
		case 't':
			*state->write++ = '\\';
			*state->write++ = c;
			break;
		case '/':
			*state->write++ = c;
			break;
		case 'u':
			return read_unicode(state);
		default:
			return canonical_malformed();
	}
	state->next += 2;
	return true;
}

/*
 * A string, from its opening quote.  *unusual says that its bytes, as written,
 * may not sort as its UTF-16 code units do.
 */
bool
canonical_read_string(Canonical *state, bool *unusual)
{
	uint64		seen = 0;

	*unusual = false;
	state->next++;
	*state->write++ = '"';
	for (;;)
	{
		state->next = copy_plain(state->next, state->end, &state->write, &seen);
		if (state->next == state->end)
			return canonical_malformed();
		if (*state->next == '"')
			break;
		if (*state->next != '\\')
			return canonical_malformed();
		*unusual = true;
		if (!read_escape(state))
			return false;
	}
	state->next++;
	*state->write++ = '"';
	if ((seen & EVERY_BYTE(0x80)) != 0)
		*unusual = true;
	return true;
}

/* Append UTF-8 text as a quoted string. */
void
canonical_append_string(StringInfo out, const char *s, int len)
{
	const char *end = s + len;
	char	   *write;
	uint64		seen = 0;

	/* quotes, an escape and what the copy overshoots by */
	enlargeStringInfo(out, len + 24);
	out->data[out->len++] = '"';
	for (;;)
	{
		write = out->data + out->len;
		s = copy_plain(s, end, &write, &seen);
		if (s == end)
			break;
		write = write_escaped(write, (unsigned char) *s++);
		out->len = write - out->data;
		enlargeStringInfo(out, (int) (end - s) + 24);
	}
	*write++ = '"';
	*write = '\0';
	out->len = write - out->data;
}

/* A member of an object that has been opened; NULL is null. */
void
canonical_append_member(StringInfo out, const char *name, const char *value)
{
	appendStringInfo(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name);
	if (value)
		canonical_append_string(out, value, strlen(value));
	else
		appendStringInfoString(out, "null");
}
