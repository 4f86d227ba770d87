/*-------------------------------------------------------------------------
 *
 * blank.c
 *	  Texts in which there is nothing to read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "blank.h"

/*
 * Code points that leave no mark: White_Space, and the Default_Ignorable ones
 * with the control characters (Unicode, PropList and DerivedCoreProperties).
 */
static const struct
{
	pg_wchar	first;
	pg_wchar	last;
}			unseen[] = {
	{0x0000, 0x0020}, {0x007F, 0x00A0}, {0x00AD, 0x00AD}, {0x034F, 0x034F}, {0x061C, 0x061C},
	{0x115F, 0x1160}, {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2000, 0x200F},
	{0x2028, 0x202F}, {0x205F, 0x206F}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164},
	{0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3},
	{0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

/* Whether a character leaves no mark. */
bool
blank_char(pg_wchar c)
{
	int			i;

	for (i = 0; i < (int) lengthof(unseen); i++)
		if (c >= unseen[i].first && c <= unseen[i].last)
			return true;
	return false;
}

/* Whether a person would see nothing of it; UTF-8. */
bool
blank_text(const char *text)
{
	const unsigned char *p = (const unsigned char *) text;

	for (; *p; p += pg_utf_mblen(p))
		if (!blank_char(utf8_to_unicode(p)))
			return false;
	return true;
}
