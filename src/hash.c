/*
 * hash.c
 *	  The hashes of a request, each of one canonical JSON document, so that any
 *	  application can compute them with a JCS library.  docs/vectors.md has
 *	  examples.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "errors.h"
#include "hash.h"

/* Members of a tool definition that change without changing the tool. */
static const char *const loose_members[] = {"_meta", "icons", NULL};

static void
append_text(StringInfo out, const char *name, const char *value)
{
	appendStringInfoString(out, name);
	if (value == NULL)
		appendStringInfoString(out, "null");
	else
		canonical_append_string(out, value, (int) strlen(value));
}

static void
append_digest(StringInfo out, const char *name, const Digest *value)
{
	char		hex[DIGEST_TEXT_LEN + 1];

	if (value != NULL)
		digest_to_hex(value, hex);
	append_text(out, name, value == NULL ? NULL : hex);
}

/* The members' names are written in canonical order. */
void
hash_action(const Action *action, Digest *out)
{
	StringInfoData rest;

	initStringInfo(&rest);
	append_digest(&rest, ",\"definition\":", action->definition);
	append_text(&rest, ",\"resource\":", action->resource);
	append_text(&rest, ",\"server\":", action->server);
	append_text(&rest, ",\"tenant\":", action->tenant);
	append_text(&rest, ",\"tool\":", action->tool);
	appendStringInfoString(&rest, ",\"v\":1}");

	digest_start();
	digest_add("{\"arguments\":", strlen("{\"arguments\":"));
	digest_add(action->arguments, action->arguments_len);
	digest_add(rest.data, rest.len);
	digest_finish(out);
	pfree(rest.data);
}

void
hash_review(const Review *review, Digest *out)
{
	StringInfoData text;

	initStringInfo(&text);
	append_digest(&text, "{\"action\":", review->action);
	append_text(&text, ",\"on_behalf_of\":", review->on_behalf_of);
	append_digest(&text, ",\"preview\":", review->preview);
	append_text(&text, ",\"reason\":", review->reason);
	append_text(&text, ",\"requester\":", review->requester);
	append_text(&text, ",\"summary\":", review->summary);
	appendStringInfoString(&text, ",\"v\":1}");
	digest_of(text.data, text.len, out);
	pfree(text.data);
}

bool
hash_canonical_arguments(StringInfo out, const char *json, int len,
						 CanonicalError *error, bool *is_object)
{
	/* PHP has one empty array for both: it encodes as [] */
	if (canonical_is_empty_array(json, len))
	{
		*is_object = true;
		appendStringInfoString(out, "{}");
		return true;
	}
	*is_object = canonical_kind(json, len) == '{';
	if (!*is_object)
	{
		error->reason = "not_an_object";
		error->path = pstrdup("$");
		return false;
	}
	return canonical_append(out, json, len, CANONICAL_STRICT, error);
}

static void
require_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		errors_raise_null(name);
}

static char *
text_argument(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(number));
}

static const Digest *
digest_argument(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : PG_GETARG_DIGEST_P(number);
}

static Datum
canonical_text_of(FunctionCallInfo fcinfo, CanonicalMode mode)
{
	text	   *json;
	StringInfoData out;
	CanonicalError error;

	require_argument(fcinfo, 0, "document");
	json = PG_GETARG_TEXT_PP(0);
	initStringInfo(&out);
	appendBinaryStringInfo(&out, "\0\0\0\0", VARHDRSZ);
	if (!canonical_append(&out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), mode, &error))
		errors_raise_not_canonical(&error);
	SET_VARSIZE(out.data, out.len);
	PG_RETURN_TEXT_P((text *) out.data);
}

PG_FUNCTION_INFO_V1(approval_jcs);
Datum
approval_jcs(PG_FUNCTION_ARGS)
{
	return canonical_text_of(fcinfo, CANONICAL_JCS);
}

PG_FUNCTION_INFO_V1(approval_canonical);
Datum
approval_canonical(PG_FUNCTION_ARGS)
{
	return canonical_text_of(fcinfo, CANONICAL_STRICT);
}

/* (tool, arguments, server, resource, definition, tenant) */
PG_FUNCTION_INFO_V1(approval_hash_action);
Datum
approval_hash_action(PG_FUNCTION_ARGS)
{
	Action		action;
	Digest	   *digest = palloc(sizeof(Digest));
	StringInfoData canonical;
	CanonicalError error;
	bool		is_object;
	text	   *arguments;

	require_argument(fcinfo, 0, "tool");
	require_argument(fcinfo, 1, "arguments");
	require_argument(fcinfo, 2, "server");
	require_argument(fcinfo, 5, "tenant");
	arguments = PG_GETARG_TEXT_PP(1);
	initStringInfo(&canonical);
	if (!hash_canonical_arguments(&canonical, VARDATA_ANY(arguments),
								  VARSIZE_ANY_EXHDR(arguments), &error, &is_object))
	{
		if (!is_object)
			errors_raise_bad_arguments("not_an_object");
		errors_raise_not_canonical(&error);
	}
	action.tool = text_argument(fcinfo, 0);
	action.arguments = canonical.data;
	action.arguments_len = canonical.len;
	action.server = text_argument(fcinfo, 2);
	action.resource = text_argument(fcinfo, 3);
	action.definition = digest_argument(fcinfo, 4);
	action.tenant = text_argument(fcinfo, 5);
	hash_action(&action, digest);
	PG_RETURN_DIGEST_P(digest);
}

/* (action, summary, preview, reason, requester, on_behalf_of) */
PG_FUNCTION_INFO_V1(approval_hash_review);
Datum
approval_hash_review(PG_FUNCTION_ARGS)
{
	Review		review;
	Digest		preview;
	Digest	   *digest = palloc(sizeof(Digest));

	require_argument(fcinfo, 0, "action");
	require_argument(fcinfo, 1, "summary");
	review.action = PG_GETARG_DIGEST_P(0);
	review.summary = text_argument(fcinfo, 1);
	review.preview = NULL;
	if (!PG_ARGISNULL(2))
	{
		text	   *json = PG_GETARG_TEXT_PP(2);

		digest_of(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), &preview);
		review.preview = &preview;
	}
	review.reason = text_argument(fcinfo, 3);
	review.requester = text_argument(fcinfo, 4);
	review.on_behalf_of = text_argument(fcinfo, 5);
	hash_review(&review, digest);
	PG_RETURN_DIGEST_P(digest);
}

static bool
definition_without(const char *json, int len, const char *const *members, Digest *out,
				   CanonicalError *error)
{
	StringInfoData text;

	initStringInfo(&text);
	if (!canonical_append_without(&text, json, len, CANONICAL_STRICT, members, error))
		return false;
	digest_of(text.data, text.len, out);
	pfree(text.data);
	return true;
}

/*
 * The digest of a whole tool definition but its loose members.  False and an
 * error for what has no canonical form; not an object is told apart.
 */
bool
hash_definition(const char *json, int len, Digest *out,
				CanonicalError *error, bool *is_object)
{
	*is_object = canonical_kind(json, len) == '{';
	return !*is_object || definition_without(json, len, loose_members, out, error);
}

/* What the digest is of; NULL for what has no canonical form. */
char *
hash_definition_text(const text *json, int *len)
{
	StringInfoData out;
	CanonicalError error = {0};

	initStringInfo(&out);
	if (!canonical_append_without(&out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json),
								  CANONICAL_STRICT, loose_members, &error))
		return NULL;
	*len = out.len;
	return out.data;
}

/* The same without the name: equal for a tool that was only renamed. */
bool
hash_definition_shape(const char *json, int len, Digest *out)
{
	static const char *const members[] = {"_meta", "icons", "name", NULL};
	CanonicalError error = {0};

	return definition_without(json, len, members, out, &error);
}

PG_FUNCTION_INFO_V1(approval_tool_digest);
Datum
approval_tool_digest(PG_FUNCTION_ARGS)
{
	Digest	   *digest = palloc(sizeof(Digest));
	CanonicalError error;
	bool		is_object;
	text	   *json;

	require_argument(fcinfo, 0, "definition");
	json = PG_GETARG_TEXT_PP(0);
	if (!hash_definition(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), digest, &error, &is_object))
		errors_raise_not_canonical(&error);
	if (!is_object)
		errors_raise_bad_arguments("not_an_object");
	PG_RETURN_DIGEST_P(digest);
}
