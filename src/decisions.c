/*-------------------------------------------------------------------------
 *
 * decisions.c
 *	  Many verdicts in one JSON document: a map by tool call, or a list.
 *
 * The document has to have a canonical form, so that no key stands in it twice
 * and every number in an edit is what the person saw; then what jsonb makes of
 * it is the same document.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "args.h"
#include "decisions.h"
#include "settings.h"

/* A document may hold edits: so many times approval.max_action_size. */
#define DOCUMENT_SHARE 16

#define VERDICT_EDIT "edit"

/* PT422 bad_decision with the place in the document. */
Step
decisions_bad(Call *call, const char *place, const char *problem)
{
	errors_member(&call->refusal, "place", place);
	errors_member_constant(&call->refusal, "problem", problem);
	return call_refuse(call, REASON_BAD_DECISION);
}

static bool
bad(Call *call, const Problem *problem)
{
	decisions_bad(call, problem->place, problem->problem);
	return false;
}

/* The document as jsonb, or NULL with a refusal. */
static Jsonb *
take_document(Call *call, const text *json, char **canonical)
{
	CanonicalError error = {0};
	Jsonb	   *document;

	if (VARSIZE_ANY_EXHDR(json) / DOCUMENT_SHARE > (size_t) setting_max_action_size)
	{
		errors_member(&call->refusal, "argument", "decisions");
		call_refuse(call, REASON_TOO_LARGE);
		return NULL;
	}
	document = document_read(json, canonical, &error);
	if (document == NULL)
	{
		errors_not_canonical(&call->refusal, &error);
		call_refuse(call, REASON_NOT_CANONICAL);
	}
	return document;
}

/* A digest written as hex; absent leaves *out as it is. */
static bool
take_digest(JsonbContainer *object, const char *name, const char *place, const Digest **out, Problem *problem)
{
	Digest	   *digest = palloc(sizeof(Digest));
	const char *hex = NULL;

	if (!document_text(object, name, place, ARGS_KEY_LIMIT, &hex, problem))
		return false;
	if (hex == NULL)
		return true;
	if (!digest_from_hex(hex, strlen(hex), digest))
		return document_problem(problem, document_place(place, name), "must be a digest: 64 hexadecimal digits");
	*out = digest;
	return true;
}

/* A text that may be empty, as people leave fields of a form. */
static bool
take_text(JsonbContainer *object, const char *name, const char *place, const char **out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);

	if (value == NULL)
		return true;
	if (value->type == jbvString && value->val.string.len == 0)
	{
		*out = "";
		return true;
	}
	return document_text(object, name, place, ARGS_TEXT_LIMIT, out, problem);
}

/* Arguments as text again; an empty array is taken for {} later, as ever. */
static bool
take_arguments(JsonbContainer *object, const char *place, const text **out, Problem *problem)
{
	JsonbValue *value = document_member(object, "arguments");
	char	   *json;

	if (value == NULL)
		return true;
	if (value->type != jbvBinary)
		return document_problem(problem, document_place(place, "arguments"), "must be an object");
	json = JsonbToCString(NULL, value->val.binary.data, value->val.binary.len);
	*out = cstring_to_text(json);
	return true;
}

/*
 * The members that make up a verdict.  The word stands in a member of its own,
 * "action" in a map and "verdict" in a list.
 */
static bool
take_members(JsonbContainer *object, const char *place, const char *word_member, Verdict *verdict, Problem *problem)
{
	const char *word = NULL;

	if (!document_word(object, word_member, place, VERDICT_APPROVE " " VERDICT_REJECT " " VERDICT_EDIT, &word, problem) ||
		!take_digest(object, "seen", place, &verdict->seen, problem) ||
		!take_arguments(object, place, &verdict->arguments, problem) ||
		!take_text(object, "result", place, &verdict->result, problem) ||
		!take_text(object, "note", place, &verdict->note, problem))
		return false;
	if (word == NULL)
		return document_problem(problem, document_place(place, word_member), "is required");
	verdict->approve = strcmp(word, VERDICT_REJECT) != 0;
	if (strcmp(word, VERDICT_EDIT) == 0 && verdict->arguments == NULL)
		return document_problem(problem, document_place(place, "arguments"), "is required for an edit");
	if (!verdict->approve && verdict->arguments)
		return document_problem(problem, document_place(place, "arguments"), "goes with approve and edit");
	if (verdict->approve && verdict->result)
		return document_problem(problem, document_place(place, "result"), "goes with reject");
	return true;
}

/* true, false, or an object */
static bool
take_map_value(const JsonbValue *value, const char *place, Verdict *verdict, Problem *problem)
{
	static const char *const members[] = {"action", "seen", "arguments", "result", "note"};

	if (value->type == jbvBool)
	{
		verdict->approve = value->val.boolean;
		return true;
	}
	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		return document_problem(problem, place, "must be true, false or an object");
	return document_known(value->val.binary.data, members, lengthof(members), place, problem) &&
		take_members(value->val.binary.data, place, "action", verdict, problem);
}

/* What holds for calls that are not named cannot be about one of them. */
static bool
check_rest(const Verdict *verdict, const char *place, Problem *problem)
{
	if (verdict->arguments)
		return document_problem(problem, place, "edits name their call");
	if (verdict->seen)
		return document_problem(problem, place, "takes seen_set, not seen");
	return true;
}

/* {"call_1": true, "call_2": {"action": "reject"}, "*": false} */
static bool
map_parse(Jsonb *json, Decisions *decisions, Problem *problem)
{
	JsonbIterator *it = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue	value;
	char	   *key = NULL;

	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		Entry	   *entry = &decisions->entries[decisions->count];
		char	   *place;

		if (token == WJB_KEY)
			key = pnstrdup(value.val.string.val, value.val.string.len);
		if (token != WJB_VALUE)
			continue;
		place = document_place("$", key);
		if (!take_map_value(&value, place, &entry->verdict, problem))
			return false;
		entry->tool_call_id = key;
		if (strcmp(key, DECISIONS_REST) != 0)
			decisions->count++;
		else if (check_rest(&entry->verdict, place, problem))
		{
			Verdict    *rest = palloc(sizeof(Verdict));

			*rest = entry->verdict;
			decisions->rest = rest;
			memset(entry, 0, sizeof(*entry));
		}
		else
			return false;
	}
	return true;
}

/* The entries of a document of this size; NULL for none, or too many. */
static bool
make_room(const Jsonb *json, Decisions *decisions, Problem *problem)
{
	memset(decisions, 0, sizeof(*decisions));
	if (JB_ROOT_COUNT(json) < 1 || JB_ROOT_COUNT(json) > DECISIONS_MOST)
		return document_problem(problem, "$", psprintf("must have 1 to %d members", DECISIONS_MOST));
	decisions->entries = palloc0(sizeof(Entry) * (JB_ROOT_COUNT(json) + 1));
	return true;
}

/* The decision map of an agent SDK; false with a refusal. */
bool
decisions_map(Call *call, const text *json, Decisions *decisions)
{
	char	   *canonical;
	Jsonb	   *document = take_document(call, json, &canonical);
	Problem		problem = {"$", "must be an object: tool call id to decision"};
	int			i;

	if (document == NULL)
		return false;
	if (!JB_ROOT_IS_OBJECT(document) || !make_room(document, decisions, &problem) ||
		!map_parse(document, decisions, &problem))
		return bad(call, &problem);
	decisions->canonical = canonical;
	for (i = 0; i < decisions->count; i++)
		if (!verdict_prepare(call, &decisions->entries[i].verdict))
			return false;
	return true;
}

/* {"id": …, "seen": …, "verdict": "approve", …} */
static bool
item_parse(const JsonbValue *value, const char *place, Entry *entry, Problem *problem)
{
	static const char *const members[] = {"id", "seen", "verdict", "arguments", "result", "note"};
	JsonbContainer *object;
	const char *id = NULL;

	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		return document_problem(problem, place, "must be an object");
	object = value->val.binary.data;
	if (!document_known(object, members, lengthof(members), place, problem) ||
		!document_text(object, "id", place, ARGS_KEY_LIMIT, &id, problem))
		return false;
	if (id == NULL || !ulid_from_text(id, strlen(id), &entry->id))
		return document_problem(problem, document_place(place, "id"), "must be the id of a request");
	if (!take_members(object, place, "verdict", &entry->verdict, problem))
		return false;
	if (entry->verdict.seen == NULL)
		return document_problem(problem, document_place(place, "seen"), "is required");
	return true;
}

static int
by_id(const void *a, const void *b)
{
	return memcmp(&((const Entry *) a)->id, &((const Entry *) b)->id, sizeof(Ulid));
}

/* An inbox's selection, put in the order of ids; false with a refusal. */
bool
decisions_list(Call *call, const text *json, Decisions *decisions)
{
	Jsonb	   *document = take_document(call, json, NULL);
	Problem		problem = {"$", "must be an array of decisions"};
	int			i;

	if (document == NULL)
		return false;
	if (!JB_ROOT_IS_ARRAY(document) || JB_ROOT_IS_SCALAR(document) ||
		!make_room(document, decisions, &problem))
		return bad(call, &problem);
	for (i = 0; i < (int) JB_ROOT_COUNT(document); i++)
	{
		Entry	   *entry = &decisions->entries[decisions->count++];

		if (!item_parse(getIthJsonbValueFromContainer(&document->root, i), psprintf("$[%d]", i), entry, &problem))
			return bad(call, &problem);
		if (!verdict_prepare(call, &entry->verdict))
			return false;
	}
	qsort(decisions->entries, decisions->count, sizeof(Entry), by_id);
	for (i = 0; i < decisions->count; i++)
	{
		decisions->entries[i].verdict.id = &decisions->entries[i].id;
		if (i > 0 && by_id(&decisions->entries[i - 1], &decisions->entries[i]) == 0)
		{
			char		id[ULID_TEXT_LEN + 1];

			ulid_to_text(&decisions->entries[i].id, id);
			errors_member(&call->refusal, "item", id);
			decisions_bad(call, "$", "names a request twice");
			return false;
		}
	}
	return true;
}
