/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Parts of a canonical JSON text, found without parsing it into a tree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "scan.h"

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

/* The next member of an object; false after the last. */
bool
scan_member(const Slice *object, MemberScan *scan)
{
	const char *end = object->text + object->len;
	const char *p = scan->at ? scan->at : object->text + 1;

	CHECK_FOR_INTERRUPTS();
	if (p >= end || *p == '}')
		return false;
	scan->key.text = p;
	p = string_end(p, end);
	scan->key.len = p - scan->key.text;
	scan->value.text = ++p;
	p = value_end(p, end);
	scan->value.len = p - scan->value.text;
	scan->at = p < end && *p == ',' ? p + 1 : p;
	return true;
}

/* The member with this key, quoted as canonical text has it. */
bool
scan_find(const Slice *object, const Slice *key, Slice *value)
{
	MemberScan	scan = {0};

	if (object->len == 0 || object->text[0] != '{')
		return false;
	while (scan_member(object, &scan))
		if (scan.key.len == key->len && memcmp(scan.key.text, key->text, key->len) == 0)
		{
			*value = scan.value;
			return true;
		}
	return false;
}

bool
scan_element(const Slice *array, int index, Slice *value)
{
	const char *end = array->text + array->len;
	const char *p = array->text + 1;
	int			i;

	if (array->len == 0 || array->text[0] != '[')
		return false;
	for (i = 0; p < end && *p != ']'; i++)
	{
		const char *start = p;

		CHECK_FOR_INTERRUPTS();
		p = value_end(p, end);
		if (i == index)
		{
			value->text = start;
			value->len = p - start;
			return true;
		}
		if (p < end && *p == ',')
			p++;
	}
	return false;
}
