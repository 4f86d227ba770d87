/*-------------------------------------------------------------------------
 *
 * visible.c
 *	  Text that a person decides on: nothing in it is hidden.
 *
 * Characters that cannot be seen are written out, and of a long value both
 * ends are shown with what is left out between them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "visible.h"

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

/* Can it be seen? */
bool
visible_character(pg_wchar c)
{
	int			i;

	for (i = 0; i < (int) lengthof(invisible_ranges); i++)
		if (c >= invisible_ranges[i].first && c <= invisible_ranges[i].last)
			return false;
	return true;
}

/* Appends text with invisible characters written as <U+202E>. */
void
visible_append(StringInfo out, const char *text, int len)
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
		if (!visible_character(c))
			appendStringInfo(out, "<U+%04X>", (unsigned int) c);
		else
			appendBinaryStringInfo(out, text, width);
		text += width;
	}
}

/* Does an escape begin right before this place? */
static bool
splits_escape(const char *text, int place)
{
	int			start = place;

	while (start > 0 && text[start - 1] == '\\')
		start--;
	return (place - start) % 2 == 1;
}

/*
 * Both ends of a long JSON value, cut between characters, and how much is left
 * out.  Of an escaped quote no half may stay: it would read as the end of its
 * string, and the rest of the string as something else.
 */
void
visible_append_clipped(StringInfo out, const char *text, int len)
{
	int			head;
	int			tail;

	if (len <= VALUE_HEAD + VALUE_TAIL)
	{
		visible_append(out, text, len);
		return;
	}
	head = pg_encoding_mbcliplen(PG_UTF8, text, len, VALUE_HEAD);
	if (splits_escape(text, head))
		head--;
	tail = len - VALUE_TAIL;
	while (tail < len && ((unsigned char) text[tail] & 0xC0) == 0x80)
		tail++;
	if (splits_escape(text, tail))
		tail++;
	visible_append(out, text, head);
	appendStringInfo(out, " [... %d of %d bytes left out ...] ", tail - head, len);
	visible_append(out, text + tail, len - tail);
}
