/*
 * condition_text.c
 *	  Parts of a condition as text.
 *
 * Two parts with the same text are the same: nothing is clipped, and every
 * operation has its parentheses.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"

#include "canonical.h"
#include "condition_private.h"

/* A place in a problem is for reading. */
#define PLACE_LIMIT 200

static void append_chain(StringInfo out, JsonPathItem *chain);

static bool
is_identifier(const char *key)
{
	return strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(key) &&
		key[0] != '\0' && (key[0] < '0' || key[0] > '9');
}

static void
append_key(StringInfo out, JsonPathItem *item)
{
	int32		len;
	const char *key = jspGetString(item, &len);

	appendStringInfoChar(out, '.');
	if (is_identifier(key))
		appendStringInfoString(out, key);
	else
		canonical_append_string(out, key, len);
}

static void
append_string(StringInfo out, JsonPathItem *item)
{
	int32		len;
	const char *string = jspGetString(item, &len);

	canonical_append_string(out, string, len);
}

static void
append_argument(StringInfo out, const char *before, JsonPathItem *item, const char *after)
{
	JsonPathItem argument;

	appendStringInfoString(out, before);
	jspGetArg(item, &argument);
	append_chain(out, &argument);
	appendStringInfoString(out, after);
}

static void
append_operation(StringInfo out, JsonPathItem *item)
{
	JsonPathItem operand;

	appendStringInfoChar(out, '(');
	jspGetLeftArg(item, &operand);
	append_chain(out, &operand);
	appendStringInfo(out, " %s ", jspOperationName(item->type));
	jspGetRightArg(item, &operand);
	append_chain(out, &operand);
	appendStringInfoChar(out, ')');
}

static void
append_like_regex(StringInfo out, JsonPathItem *item)
{
	JsonPathItem operand;

	appendStringInfoChar(out, '(');
	jspInitByBuffer(&operand, item->base, item->content.like_regex.expr);
	append_chain(out, &operand);
	appendStringInfoString(out, " like_regex ");
	canonical_append_string(out, item->content.like_regex.pattern,
							item->content.like_regex.patternlen);
	if (item->content.like_regex.flags)
		appendStringInfo(out, " flag %u", item->content.like_regex.flags);
	appendStringInfoChar(out, ')');
}

static void
append_subscripts(StringInfo out, JsonPathItem *item)
{
	JsonPathItem from;
	JsonPathItem to;
	bool		range;
	int			i;

	for (i = 0; i < item->content.array.nelems; i++)
	{
		appendStringInfoChar(out, i == 0 ? '[' : ',');
		range = jspGetArraySubscript(item, &from, &to, i);
		append_chain(out, &from);
		if (range)
		{
			appendStringInfoString(out, " to ");
			append_chain(out, &to);
		}
	}
	appendStringInfoChar(out, ']');
}

static void
append_any(StringInfo out, JsonPathItem *item)
{
	uint32		first = item->content.anybounds.first;
	uint32		last = item->content.anybounds.last;

	appendStringInfoString(out, ".**");
	if (first != 0 || last != PG_UINT32_MAX)
		appendStringInfo(out, "{%d to %d}", (int) first, (int) last);
}

/* Steps of a path. */
static void
append_step(StringInfo out, JsonPathItem *item)
{
	switch (item->type)
	{
		case jpiKey:
			append_key(out, item);
			break;
		case jpiAnyKey:
			appendStringInfoString(out, ".*");
			break;
		case jpiAnyArray:
			appendStringInfoString(out, "[*]");
			break;
		case jpiIndexArray:
			append_subscripts(out, item);
			break;
		case jpiAny:
			append_any(out, item);
			break;
		case jpiFilter:
			append_argument(out, " ? (", item, ")");
			break;
		default:
			appendStringInfo(out, ".%s()", jspOperationName(item->type));
	}
}

static void
append_operator(StringInfo out, JsonPathItem *item)
{
	switch (item->type)
	{
		case jpiNot:
			append_argument(out, "!(", item, ")");
			break;
		case jpiPlus:
			append_argument(out, "(+", item, ")");
			break;
		case jpiMinus:
			append_argument(out, "(-", item, ")");
			break;
		case jpiIsUnknown:
			append_argument(out, "((", item, ") is unknown)");
			break;
		case jpiExists:
			append_argument(out, "exists (", item, ")");
			break;
		case jpiLikeRegex:
			append_like_regex(out, item);
			break;
		default:
			append_operation(out, item);
	}
}

static void
append_number(StringInfo out, JsonPathItem *item)
{
	Datum		number = NumericGetDatum(jspGetNumeric(item));

	appendStringInfoString(out, DatumGetCString(DirectFunctionCall1(numeric_out, number)));
}

/* What a chain can begin with, operators apart. */
static bool
append_head(StringInfo out, JsonPathItem *item)
{
	switch (item->type)
	{
		case jpiRoot:
			appendStringInfoChar(out, '$');
			break;
		case jpiCurrent:
			appendStringInfoChar(out, '@');
			break;
		case jpiLast:
			appendStringInfoString(out, "last");
			break;
		case jpiVariable:
			appendStringInfoChar(out, '$');
			append_string(out, item);
			break;
		case jpiNull:
			appendStringInfoString(out, "null");
			break;
		case jpiBool:
			appendStringInfoString(out, jspGetBool(item) ? "true" : "false");
			break;
		case jpiNumeric:
			append_number(out, item);
			break;
		case jpiString:
			append_string(out, item);
			break;
		default:
			return false;
	}
	return true;
}

static void
append_chain(StringInfo out, JsonPathItem *chain)
{
	JsonPathItem item = *chain;
	JsonPathItem next;

	check_stack_depth();
	if (!append_head(out, &item))
		append_operator(out, &item);
	while (jspGetNext(&item, &next))
	{
		append_step(out, &next);
		item = next;
	}
}

char *
condition_text(JsonPathItem *chain)
{
	StringInfoData out;

	initStringInfo(&out);
	append_chain(&out, chain);
	return out.data;
}

/* Always false, for the caller to return. */
bool
condition_refuse(char **problem, const char *place, const char *why)
{
	int			len = strlen(place);

	if (len <= PLACE_LIMIT)
		*problem = psprintf("%s: %s", place, why);
	else
		*problem = psprintf("%.*s...: %s", pg_mbcliplen(place, len, PLACE_LIMIT), place, why);
	return false;
}
