/*-------------------------------------------------------------------------
 *
 * summary.c
 *	  What the gate itself says will happen.
 *
 * The person decides on this text, so it must not be possible to hide anything
 * in it, or to make it read like another action: names are quoted unless they
 * are plain, every argument is listed, long values are clipped one by one, and
 * characters that cannot be seen are written out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "summary.h"

/* Of a longer value both ends are shown, in bytes. */
#define VALUE_HEAD 300
#define VALUE_TAIL 100

/* Default_Ignorable_Code_Point (Unicode 15), controls, and what breaks lines. */
static const struct
{
	pg_wchar	first;
	pg_wchar	last;
}			invisible_ranges[] = {
	{0x0000, 0x001F}, {0x007F, 0x009F}, {0x00AD, 0x00AD}, {0x034F, 0x034F},
	{0x061C, 0x061C}, {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F},
	{0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x2800, 0x2800},
	{0x3164, 0x3164}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0},
	{0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool
invisible(pg_wchar c)
{
	int			i;

	for (i = 0; i < (int) lengthof(invisible_ranges); i++)
		if (c >= invisible_ranges[i].first && c <= invisible_ranges[i].last)
			return true;
	return false;
}

/* Appends text with invisible characters written as <U+202E>. */
static void
append_visible(StringInfo out, const char *text, int len)
{
	const char *end = text + len;

	while (text < end)
	{
		const char *plain = text;
		int			width;
		pg_wchar	c;

		while (plain < end && *plain >= 0x20 && *plain < 0x7F)
			plain++;
		appendBinaryStringInfo(out, text, plain - text);
		text = plain;
		if (text == end)
			break;
		width = pg_utf_mblen((const unsigned char *) text);
		c = utf8_to_unicode((const unsigned char *) text);
		if (invisible(c))
			appendStringInfo(out, "<U+%04X>", (unsigned int) c);
		else
			appendBinaryStringInfo(out, text, width);
		text += width;
	}
}

/* Both ends of a long value, cut between characters, and how much is left out. */
static void
append_clipped(StringInfo out, const char *text, int len)
{
	int			head;
	int			tail;

	if (len <= VALUE_HEAD + VALUE_TAIL)
	{
		append_visible(out, text, len);
		return;
	}
	head = pg_encoding_mbcliplen(PG_UTF8, text, len, VALUE_HEAD);
	tail = len - VALUE_TAIL;
	while (tail < len && ((unsigned char) text[tail] & 0xC0) == 0x80)
		tail++;
	append_visible(out, text, head);
	appendStringInfo(out, " [... %d of %d bytes left out ...] ", tail - head, len);
	append_visible(out, text + tail, len - tail);
}

/* A name as it is if it is plain, else quoted as JSON, so that it ends where it ends. */
static void
append_name(StringInfo out, const char *name)
{
	static const char plain[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-";
	StringInfoData quoted;

	if (strspn(name, plain) == strlen(name))
	{
		appendStringInfoString(out, name);
		return;
	}
	initStringInfo(&quoted);
	canonical_append_string(&quoted, name, strlen(name));
	append_clipped(out, quoted.data, quoted.len);
	pfree(quoted.data);
}

/* Where the JSON string that starts here ends. */
static const char *
string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return Min(p + 1, end);
}

/* Where the canonical JSON value that starts here ends. */
static const char *
value_end(const char *p, const char *end)
{
	int			depth = 0;

	while (p < end)
	{
		if (*p == '"')
		{
			p = string_end(p, end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if ((*p == '}' || *p == ']') && depth-- == 0)
			break;
		else if (*p == ',' && depth == 0)
			break;
		p++;
	}
	return p;
}

/* Every member of the outermost object, key and value each clipped by itself. */
static void
append_members(StringInfo out, const char *json, int len)
{
	const char *end = json + len;
	const char *p = json + 1;

	appendStringInfoChar(out, '{');
	while (p < end && *p != '}')
	{
		const char *key = p;

		p = string_end(p, end);
		append_clipped(out, key, p - key);
		appendStringInfoChar(out, ':');
		key = ++p;
		p = value_end(p, end);
		append_clipped(out, key, p - key);
		if (p < end && *p == ',')
		{
			appendStringInfoChar(out, ',');
			p++;
		}
	}
	appendStringInfoChar(out, '}');
}

/*
 * From hashed members only: server/tool on resource with {arguments}.
 */
char *
summary_of(const Action *action)
{
	StringInfoData out;

	initStringInfo(&out);
	if (action->server[0] != '\0')
	{
		append_name(&out, action->server);
		appendStringInfoChar(&out, '/');
	}
	append_name(&out, action->tool);
	if (action->resource)
	{
		appendStringInfoString(&out, " on ");
		append_name(&out, action->resource);
	}
	appendStringInfoString(&out, " with ");
	append_members(&out, action->arguments, action->arguments_len);
	return out.data;
}
