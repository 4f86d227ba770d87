/*-------------------------------------------------------------------------
 *
 * subject.c
 *	  What is decided on: the action, and what a person is shown of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "settings.h"
#include "subject.h"
#include "summary.h"

/* False, with a refusal, for a document that is larger than allowed. */
bool
subject_check_size(Call *call, const char *what, const text *json)
{
	if (json == NULL || VARSIZE_ANY_EXHDR(json) <= (size_t) setting_max_action_size)
		return true;
	errors_member(&call->refusal, "argument", what);
	errors_member_raw(&call->refusal, "limit", psprintf("%d", setting_max_action_size));
	call_refuse(call, REASON_TOO_LARGE);
	return false;
}

/* Turns what hash.c says of a document into a refusal; false for one. */
static bool
acceptable(Call *call, bool canonical, const CanonicalError *error, bool is_object)
{
	if (!is_object)
	{
		errors_member(&call->refusal, "problem", "not_an_object");
		call_refuse(call, REASON_BAD_ARGUMENTS);
		return false;
	}
	if (!canonical)
	{
		errors_not_canonical(&call->refusal, error);
		call_refuse(call, REASON_NOT_CANONICAL);
		return false;
	}
	return true;
}

/* The canonical text of arguments, or NULL with a refusal. */
char *
subject_arguments(Call *call, const text *json, int *len)
{
	CanonicalError error = {0};
	StringInfoData out;
	bool		is_object = false;
	bool		canonical;

	if (!subject_check_size(call, "arguments", json))
		return NULL;
	initStringInfo(&out);
	canonical = hash_canonical_arguments(&out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), &error, &is_object);
	if (!acceptable(call, canonical, &error, is_object))
		return NULL;
	*len = out.len;
	return out.data;
}

/* The digest of a tool's definition; false with a refusal. */
bool
subject_definition(Call *call, const text *json, Digest *out)
{
	CanonicalError error = {0};
	bool		is_object = false;
	bool		canonical;

	if (!subject_check_size(call, "definition", json))
		return false;
	canonical = hash_definition(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), out, &error, &is_object);
	return acceptable(call, canonical, &error, is_object);
}

/* The name that a definition gives itself; NULL if it gives none. */
const char *
subject_defined_name(const text *definition)
{
	int			len = 0;
	char	   *canonical = hash_definition_text(definition, &len);
	Jsonb	   *json;
	JsonbValue *name;

	if (canonical == NULL)
		return NULL;
	json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(canonical)));
	name = getKeyJsonValueFromContainer(&json->root, "name", strlen("name"), NULL);
	if (name == NULL || name->type != jbvString)
		return NULL;
	return pnstrdup(name->val.string.val, name->val.string.len);
}

/* The action that a row stands for. */
void
subject_action(const Request *request, Action *action)
{
	text	   *arguments = DatumGetTextPP(request->values[REQ_ARGUMENTS]);

	action->tenant = request_text(request, REQ_TENANT);
	action->server = request_text(request, REQ_SERVER);
	action->tool = request_text(request, REQ_TOOL);
	action->definition = request_digest_at(request, REQ_DEFINITION);
	action->resource = request_text(request, REQ_RESOURCE);
	action->arguments = VARDATA_ANY(arguments);
	action->arguments_len = VARSIZE_ANY_EXHDR(arguments);
}

/*
 * One more of a list of requests that is shown together.  The digest of the
 * list is SHA-256 of the canonical JSON array of [id, review_hash] in the order
 * of ids: what this makes, between brackets.
 */
void
subject_add_to_set(StringInfo set, const Request *request)
{
	char		id[ULID_TEXT_LEN + 1];
	char		hex[DIGEST_TEXT_LEN + 1];

	ulid_to_text(request_id(request), id);
	digest_to_hex(request_digest_at(request, REQ_REVIEW_HASH), hex);
	appendStringInfo(set, "%s[\"%s\",\"%s\"]", set->len > 1 ? "," : "", id, hex);
}

static Datum
digest_datum(const Digest *digest)
{
	Digest	   *copy = palloc(sizeof(Digest));

	*copy = *digest;
	return PointerGetDatum(copy);
}

/*
 * Puts an action into a row: its arguments, the summary that a person reads,
 * and both hashes.  What else the review hash covers must be there already.
 */
void
subject_bind(Request *request, const Action *action, const char *template)
{
	Review		review = {0};
	Digest		preview;
	Digest		digest;

	request_set(request, REQ_ARGUMENTS,
				PointerGetDatum(cstring_to_text_with_len(action->arguments, action->arguments_len)));
	request_set_text(request, REQ_SUMMARY, summary_of(action, template));
	hash_action(action, &digest);
	request_set(request, REQ_ACTION_HASH, digest_datum(&digest));

	if (!request->nulls[REQ_PREVIEW])
	{
		text	   *json = DatumGetTextPP(request->values[REQ_PREVIEW]);

		digest_of(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), &preview);
		review.preview = &preview;
	}
	review.action = request_digest_at(request, REQ_ACTION_HASH);
	review.summary = request_text(request, REQ_SUMMARY);
	review.reason = request_text(request, REQ_AGENT_REASON);
	review.requester = request_text(request, REQ_REQUESTED_BY);
	review.on_behalf_of = request_text(request, REQ_ON_BEHALF_OF);
	hash_review(&review, &digest);
	request_set(request, REQ_REVIEW_HASH, digest_datum(&digest));
}
