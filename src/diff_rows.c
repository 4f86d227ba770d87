/*-------------------------------------------------------------------------
 *
 * diff_rows.c
 *	  diff and preview_diff: where two documents differ, with the values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "args.h"
#include "diff.h"
#include "errors.h"

PG_FUNCTION_INFO_V1(approval_diff);
PG_FUNCTION_INFO_V1(approval_preview_diff);

#define ROWS_MOST 1000
#define ENTRIES_MOST 100

/* Of the JSON text of a value that a person is to see, in bytes. */
#define ENTRY_VALUE_LIMIT 2000

/*
 * A view must not fail because of what an agent sent.  These keep a preview
 * away from everything that raises an error: the depth from the smallest stack
 * that can be set, the size, in bytes, from the limits of jsonb and of memory.
 */
#define PREVIEW_DEPTH_LIMIT 200
#define PREVIEW_SIZE_LIMIT (4 * 1024 * 1024)

static const char *
change_word(const JsonbValue *before, const JsonbValue *after)
{
	if (before == NULL)
		return "added";
	return after == NULL ? "removed" : "changed";
}

/* The canonical form, which the document had and every part of it has. */
static void
append_value(StringInfo out, JsonbValue *value)
{
	Jsonb	   *json = JsonbValueToJsonb(value);
	char	   *text = JsonbToCString(NULL, &json->root, VARSIZE(json));
	CanonicalError error;

	if (!canonical_append(out, text, (int) strlen(text), CANONICAL_STRICT, &error))
		elog(ERROR, "part of a canonical document has no canonical form: %s", error.reason);
	pfree(text);
	pfree(json);
}

/* NULL: no canonical form. */
static Jsonb *
read_document(text *json, CanonicalError *error)
{
	StringInfoData canonical;
	Jsonb	   *document = NULL;

	initStringInfo(&canonical);
	if (canonical_append(&canonical, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json),
						 CANONICAL_STRICT, error))
		document = diff_parse(canonical.data, canonical.len);
	pfree(canonical.data);
	return document;
}

/* An argument that may be NULL: then there is no such document. */
static JsonbValue *
document_argument(FunctionCallInfo fcinfo, int n, JsonbValue *value)
{
	text	   *json = args_json(fcinfo, n);
	CanonicalError error;
	Jsonb	   *document;

	if (json == NULL)
		return NULL;
	document = read_document(json, &error);
	if (document == NULL)
		errors_raise_not_canonical(&error);
	return diff_root(document, value);
}

static Datum
value_datum(JsonbValue *value)
{
	StringInfoData out;
	Datum		datum;

	initStringInfo(&out);
	append_value(&out, value);
	datum = PointerGetDatum(cstring_to_text_with_len(out.data, out.len));
	pfree(out.data);
	return datum;
}

static void
put_row(ReturnSetInfo *rsinfo, const char *path, const char *change,
		JsonbValue *before, JsonbValue *after)
{
	Datum		values[4] = {0};
	bool		nulls[4] = {false, false, before == NULL, after == NULL};
	int			i;

	values[0] = CStringGetTextDatum(path);
	values[1] = CStringGetTextDatum(change);
	if (before)
		values[2] = value_datum(before);
	if (after)
		values[3] = value_datum(after);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	for (i = 0; i < 4; i++)
		if (!nulls[i])
			pfree(DatumGetPointer(values[i]));
}

static void
tell_row(Diff *diff, const char *path, JsonbValue *before, JsonbValue *after)
{
	put_row(diff->state, path, change_word(before, after), before, after);
}

/* diff(before, after) */
Datum
approval_diff(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Diff		diff = {.tell = tell_row,.state = rsinfo,.most = ROWS_MOST,.in_order = true};
	JsonbValue	before;
	JsonbValue	after;

	InitMaterializedSRF(fcinfo, 0);
	diff_documents(&diff, document_argument(fcinfo, 0, &before),
				   document_argument(fcinfo, 1, &after));
	if (diff.count > diff.most)
		put_row(rsinfo, "...", "truncated", NULL, NULL);
	return (Datum) 0;
}

/* A member of an entry; what is long becomes a string with its beginning. */
static void
append_member(StringInfo out, const char *name, JsonbValue *value)
{
	StringInfoData text;

	if (value == NULL)
		return;
	appendStringInfo(out, ",\"%s\":", name);
	initStringInfo(&text);
	append_value(&text, value);
	if (text.len <= ENTRY_VALUE_LIMIT)
		appendBinaryStringInfo(out, text.data, text.len);
	else
	{
		int			len = text.len;

		text.len = pg_mbcliplen(text.data, len, ENTRY_VALUE_LIMIT);
		appendStringInfo(&text, "... (%d bytes)", len);
		canonical_append_string(out, text.data, text.len);
	}
	pfree(text.data);
}

static void
tell_entry(Diff *diff, const char *path, JsonbValue *before, JsonbValue *after)
{
	StringInfo	out = diff->state;

	if (diff->count > 1)
		appendStringInfoChar(out, ',');
	appendStringInfoString(out, "{\"path\":");
	canonical_append_string(out, path, (int) strlen(path));
	appendStringInfo(out, ",\"change\":\"%s\"", change_word(before, after));
	append_member(out, "before", before);
	append_member(out, "after", after);
	appendStringInfoChar(out, '}');
}

/* Are containers nested more than "limit" deep?  Never recurses. */
static bool
is_deeper(const char *json, int len, int limit)
{
	const char *end = json + len;
	bool		in_string = false;
	int			depth = 0;

	for (; json < end; json++)
	{
		if (in_string && *json == '\\')
			json++;
		else if (*json == '"')
			in_string = !in_string;
		else if (!in_string && (*json == '{' || *json == '['))
		{
			if (++depth > limit)
				return true;
		}
		else if (!in_string && (*json == '}' || *json == ']'))
			depth--;
	}
	return false;
}

/* NULL: nothing that could be compared. */
static Jsonb *
read_preview(text *json)
{
	const char *data = VARDATA_ANY(json);
	int			len = VARSIZE_ANY_EXHDR(json);
	CanonicalError error;

	if (len > PREVIEW_SIZE_LIMIT || canonical_kind(data, len) != '{' ||
		is_deeper(data, len, PREVIEW_DEPTH_LIMIT))
		return NULL;
	return read_document(json, &error);
}

static JsonbValue *
find_side(Jsonb *preview, const char *name, JsonbValue *value)
{
	return getKeyJsonValueFromContainer(&preview->root, name, (int) strlen(name), value);
}

/* NULL for a preview that says nothing of before and after. */
text *
diff_of_preview(text *json)
{
	Jsonb	   *preview = json ? read_preview(json) : NULL;
	StringInfoData out;
	Diff		diff = {.tell = tell_entry,.state = &out,.most = ENTRIES_MOST,.in_order = true};
	JsonbValue	values[2];
	JsonbValue *before;
	JsonbValue *after;

	if (preview == NULL)
		return NULL;
	before = find_side(preview, "before", &values[0]);
	after = find_side(preview, "after", &values[1]);
	if (before == NULL && after == NULL)
		return NULL;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	diff_documents(&diff, before, after);
	if (diff.count > diff.most)
		appendStringInfoString(&out, ",{\"change\":\"truncated\"}");
	appendStringInfoChar(&out, ']');
	return cstring_to_text_with_len(out.data, out.len);
}

/* preview_diff(preview) */
Datum
approval_preview_diff(PG_FUNCTION_ARGS)
{
	text	   *diff = diff_of_preview(args_json(fcinfo, 0));

	if (diff == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(diff);
}
