/*-------------------------------------------------------------------------
 *
 * repeat.c
 *	  Whether a person has just rejected the same action.
 *
 * The same, that is for one login and one tool: equal at the tool's key paths,
 * or in all arguments where it has none.  Other words in a free text do not
 * make a rejected refund another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "condition.h"
#include "repeat.h"

/* The latest rejection found so far. */
typedef struct Search
{
	TimestampTz after;
	Rejection  *rejection;
	bool		found;
} Search;

/* The longest of the rows, or 0. */
static int64
cool_down(const Registered *registered)
{
	int64		longest = 0;
	int			i;

	for (i = 0; i < registered->ntools; i++)
		longest = Max(longest, registered->tools[i].cool_down);
	return longest;
}

static void
add_text(const char *text)
{
	digest_add(text, strlen(text) + 1);
}

/* One text for each key path; none if one of them selects no string or number. */
static List *
selected_texts(const Tool *tool, Jsonb *arguments)
{
	List	   *texts = NIL;
	int			i;

	for (i = 0; i < tool->nkeys; i++)
	{
		char	   *key = condition_key(tool->keys[i], arguments);

		if (key == NULL)
			return NIL;
		texts = lappend(texts, key);
	}
	return texts;
}

/* False for a tool without a cool-down. */
bool
repeat_key(const Call *call, const Registered *registered, Subject *subject, Digest *key)
{
	const Action *action = subject->action;
	const Tool *keyed = NULL;	/* of two rows, that with fewer keys */
	List	   *texts = NIL;
	ListCell   *cell;
	int			i;

	if (registered->ntools == 0 || cool_down(registered) == 0)
		return false;
	for (i = 0; i < registered->ntools; i++)
		if (registered->tools[i].nkeys > 0 && (keyed == NULL || registered->tools[i].nkeys < keyed->nkeys))
			keyed = &registered->tools[i];
	if (keyed)
		texts = selected_texts(keyed, policy_arguments(subject));
	digest_start();
	add_text(call->caller->login);
	add_text(action->server);
	add_text(action->tool);
	if (texts == NIL)
	{
		add_text(action->resource ? action->resource : "");
		digest_add(action->arguments, action->arguments_len);
	}
	foreach(cell, texts)
		add_text(lfirst(cell));
	digest_finish(key);
	return true;
}

/* What policy rejected does not count, or a cool-down would prolong itself. */
static bool
take_rejection(TupleTableSlot *slot, void *arg)
{
	Search	   *search = arg;
	TimestampTz decided;

	slot_getallattrs(slot);
	decided = DatumGetTimestampTz(slot->tts_values[REQ_DECIDED_AT]);
	if (slot->tts_isnull[REQ_DECIDED_AT] || decided <= search->after ||
		slot->tts_isnull[REQ_CAUSE] ||
		strcmp(TextDatumGetCString(slot->tts_values[REQ_CAUSE]), CAUSE_POLICY) == 0)
		return true;
	search->found = true;
	search->after = decided;
	search->rejection->id = *DatumGetUlidP(slot->tts_values[REQ_ID]);
	search->rejection->denial = slot->tts_isnull[REQ_DENIAL] ? NULL :
		TextDatumGetCString(slot->tts_values[REQ_DENIAL]);
	return true;
}

bool
repeat_rejected(const Call *call, const Registered *registered, const Digest *key, Rejection *rejection)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	Search		search = {.rejection = rejection};
	Datum		keys[2];

	search.after = GetCurrentTimestamp() - cool_down(registered);
	keys[0] = CStringGetTextDatum(call->tenant);
	keys[1] = DigestPGetDatum(key);
	table_visit(requests, OWN_REQUESTS_REPEAT, keys, 2, GetLatestSnapshot(), take_rejection, &search);
	table_close(requests, NoLock);
	return search.found;
}
