/*-------------------------------------------------------------------------
 *
 * diff_rows.c
 *	  approval.diff and approval.preview_diff: what a change changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "diff.h"
#include "errors.h"

PG_FUNCTION_INFO_V1(approval_diff);
PG_FUNCTION_INFO_V1(approval_preview_diff);

/* Nobody reads more, and a view must not return a million rows for one. */
#define MAX_ROWS 1000
#define MAX_ENTRIES 100

/* Bytes of one value in a preview's difference. */
#define MAX_VALUE 2000

/* A preview that is nested deeper has no difference: see preview_value(). */
#define MAX_DEPTH 200

static const char *
change_word(const JsonbValue *a, const JsonbValue *b)
{
	return a == NULL ? "added" : b == NULL ? "removed" : "changed";
}

static char *
json_of(JsonbValue *value)
{
	Jsonb	   *json = JsonbValueToJsonb(value);

	return JsonbToCString(NULL, &json->root, VARSIZE(json));
}

typedef struct Rows
{
	ReturnSetInfo *rsinfo;
	int			count;
} Rows;

static void
put_value(Datum *values, bool *nulls, int n, JsonbValue *value)
{
	nulls[n] = (value == NULL);
	values[n] = value ? CStringGetTextDatum(json_of(value)) : (Datum) 0;
}

static bool
put_row(void *arg, const char *path, JsonbValue *a, JsonbValue *b)
{
	Rows	   *rows = arg;
	bool		full = rows->count++ >= MAX_ROWS;
	Datum		values[4];
	bool		nulls[4] = {0};

	values[0] = CStringGetTextDatum(full ? "..." : path);
	values[1] = CStringGetTextDatum(full ? "truncated" : change_word(a, b));
	put_value(values, nulls, 2, full ? NULL : a);
	put_value(values, nulls, 3, full ? NULL : b);
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc, values, nulls);
	return !full;
}

/* NULL for a NULL argument. */
static JsonbValue *
document(FunctionCallInfo fcinfo, int n)
{
	JsonbValue *value = palloc(sizeof(JsonbValue));
	CanonicalError error = {0};
	StringInfoData out;
	text	   *json;

	if (PG_ARGISNULL(n))
		return NULL;
	json = PG_GETARG_TEXT_PP(n);
	initStringInfo(&out);
	if (!canonical_append(&out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), CANONICAL_STRICT, &error))
		errors_raise_not_canonical(&error);
	diff_parse(out.data, out.len, value);
	return value;
}

/* Two values, of which either may be missing. */
static void
walk(JsonbValue *before, JsonbValue *after, DiffSink sink, void *arg)
{
	if (before && after)
		diff_walk(before, after, sink, arg);
	else if (before || after)
		(void) sink(arg, "$", before, after);
}

/* diff(before, after) */
Datum
approval_diff(PG_FUNCTION_ARGS)
{
	Rows		rows = {(ReturnSetInfo *) fcinfo->resultinfo, 0};

	InitMaterializedSRF(fcinfo, 0);
	walk(document(fcinfo, 0), document(fcinfo, 1), put_row, &rows);
	return (Datum) 0;
}

typedef struct Entries
{
	StringInfoData out;
	int			count;
} Entries;

/* A value, or the head of a long one as a string. */
static void
append_value(StringInfo out, const char *name, JsonbValue *value)
{
	char	   *json;
	int			len;

	if (value == NULL)
		return;
	json = json_of(value);
	len = strlen(json);
	appendStringInfo(out, ",\"%s\":", name);
	if (len > MAX_VALUE)
	{
		int			head = pg_encoding_mbcliplen(PG_UTF8, json, len, MAX_VALUE);

		json = psprintf("%.*s... (%d bytes)", head, json, len);
		canonical_append_string(out, json, strlen(json));
	}
	else
		appendStringInfoString(out, json);
}

static bool
put_entry(void *arg, const char *path, JsonbValue *a, JsonbValue *b)
{
	Entries    *entries = arg;
	StringInfo	out = &entries->out;

	appendStringInfoString(out, entries->count++ > 0 ? "," : "");
	if (entries->count > MAX_ENTRIES)
	{
		appendStringInfoString(out, "{\"change\":\"truncated\"}");
		return false;
	}
	appendStringInfo(out, "{\"change\":\"%s\",\"path\":", change_word(a, b));
	canonical_append_string(out, path, strlen(path));
	append_value(out, "before", a);
	append_value(out, "after", b);
	appendStringInfoChar(out, '}');
	return true;
}

static bool
too_deep(const char *json, int len)
{
	int			depth = 0;
	bool		quoted = false;
	int			i;

	for (i = 0; i < len && depth <= MAX_DEPTH; i++)
	{
		if (quoted && json[i] == '\\')
			i++;
		else if (json[i] == '"')
			quoted = !quoted;
		else if (!quoted && (json[i] == '{' || json[i] == '['))
			depth++;
		else if (!quoted && (json[i] == '}' || json[i] == ']'))
			depth--;
	}
	return depth > MAX_DEPTH;
}

/*
 * The preview as a value; false for one that cannot be compared.  It comes from
 * an agent and is read in a view, so it must not be able to raise an error:
 * depth is looked at first, since nesting is what the readers of JSON raise.
 */
static bool
preview_value(const text *json, JsonbValue *value)
{
	CanonicalError error = {0};
	StringInfoData out;

	if (too_deep(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json)) ||
		canonical_kind(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json)) != '{')
		return false;
	initStringInfo(&out);
	if (!canonical_append(&out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), CANONICAL_STRICT, &error))
		return false;
	diff_parse(out.data, out.len, value);
	return true;
}

/* preview_diff(preview) */
Datum
approval_preview_diff(PG_FUNCTION_ARGS)
{
	JsonbValue	preview;
	JsonbValue *before;
	JsonbValue *after;
	Entries		entries = {0};

	if (PG_ARGISNULL(0) || !preview_value(PG_GETARG_TEXT_PP(0), &preview))
		PG_RETURN_NULL();
	before = getKeyJsonValueFromContainer(preview.val.binary.data, "before", strlen("before"), NULL);
	after = getKeyJsonValueFromContainer(preview.val.binary.data, "after", strlen("after"), NULL);
	if (before == NULL && after == NULL)
		PG_RETURN_NULL();
	initStringInfo(&entries.out);
	appendStringInfoChar(&entries.out, '[');
	walk(before, after, put_entry, &entries);
	appendStringInfoChar(&entries.out, ']');
	PG_RETURN_TEXT_P(cstring_to_text_with_len(entries.out.data, entries.out.len));
}
