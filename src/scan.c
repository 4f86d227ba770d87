/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Finding the way in canonical JSON text, without reading it.
 *
 * The text is canonical: without white space, and checked before.  Of other
 * text the answer would be wrong, but never beyond its end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan.h"

/* Where the JSON string that starts here ends. */
const char *
scan_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return Min(p + 1, end);
}

/* Where the canonical JSON value that starts here ends. */
const char *
scan_value(const char *p, const char *end)
{
	int			depth = 0;

	while (p < end)
	{
		if (*p == '"')
		{
			p = scan_string(p, end);
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

/*
 * Takes the next member of an object, from behind its opening brace or the
 * member before.  False if there is none.
 */
bool
scan_member(const char **next, const char *end, MemberText *member)
{
	const char *p = *next;

	if (p < end && *p == ',')
		p++;
	if (p >= end || *p != '"')
		return false;
	member->key = p;
	p = scan_string(p, end);
	member->key_len = p - member->key;
	member->value = Min(p + 1, end);
	p = scan_value(member->value, end);
	member->value_len = p - member->value;
	*next = p;
	return true;
}
