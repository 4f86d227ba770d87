/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  What became of each of several verdicts: rows of approval.answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "answer.h"

/* The columns of approval.answer, in order; the last ones are columns of the request. */
enum
{
	ANS_ID, ANS_TOOL_CALL_ID, ANS_CONVERSATION_ID, ANS_ANSWER, ANS_OK, ANS_REASON, ANS_HTTP_STATUS,
	ANS_DETAIL, ANS_STATUS, ANS_CAUSE, ANS_APPROVALS, ANS_APPROVALS_NEEDED, ANS_DECIDED_BY,
	ANS_DECIDED_AT, ANS_REVIEW_HASH, ANS_COUNT
};

static const struct
{
	int			answer;
	RequestColumn column;
}			from_request[] = {
	{ANS_TOOL_CALL_ID, REQ_TOOL_CALL_ID}, {ANS_CONVERSATION_ID, REQ_CONVERSATION_ID},
	{ANS_CAUSE, REQ_CAUSE}, {ANS_APPROVALS, REQ_APPROVALS}, {ANS_APPROVALS_NEEDED, REQ_APPROVALS_NEEDED},
	{ANS_DECIDED_BY, REQ_DECIDED_BY}, {ANS_DECIDED_AT, REQ_DECIDED_AT}, {ANS_REVIEW_HASH, REQ_REVIEW_HASH}
};

static const char *const kind_words[] = {"applied", "unchanged", "remaining", "refused"};

static void
set_text(Datum *values, bool *nulls, int n, const char *value)
{
	nulls[n] = (value == NULL);
	values[n] = value ? CStringGetTextDatum(value) : (Datum) 0;
}

/* Why not, and the request where the caller may see it. */
static void
fill(const Answered *answered, Datum *values, bool *nulls)
{
	const Call *call = &answered->call;
	int			i;
	Reason		reason = answered->kind == ANSWERED_APPLIED || answered->kind == ANSWERED_UNCHANGED ?
	REASON_NONE : call->refusal.reason;

	memset(nulls, true, sizeof(bool) * ANS_COUNT);
	values[ANS_ID] = UlidPGetDatum(&call->id);
	nulls[ANS_ID] = !call->has_id;
	set_text(values, nulls, ANS_ANSWER, kind_words[answered->kind]);
	values[ANS_OK] = BoolGetDatum(answered->kind != ANSWERED_REFUSED);
	nulls[ANS_OK] = false;
	values[ANS_HTTP_STATUS] = Int32GetDatum(answered->kind == ANSWERED_REFUSED ? errors_http(reason) : 200);
	nulls[ANS_HTTP_STATUS] = false;
	if (reason != REASON_NONE)
	{
		set_text(values, nulls, ANS_REASON, errors_reason(reason));
		set_text(values, nulls, ANS_DETAIL, errors_detail(&call->refusal));
	}
	if (call->request == NULL)
		return;
	for (i = 0; i < (int) lengthof(from_request); i++)
	{
		values[from_request[i].answer] = call->request->values[from_request[i].column];
		nulls[from_request[i].answer] = call->request->nulls[from_request[i].column];
	}
	set_text(values, nulls, ANS_STATUS, state_status_word(call->effective.status));
	if (call->effective.cause)
		set_text(values, nulls, ANS_CAUSE, call->effective.cause);
}

void
answer_put(ReturnSetInfo *rsinfo, const Answered *answers, int count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "approval answers",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			i;

	for (i = 0; i < count; i++)
	{
		Datum		values[ANS_COUNT];
		bool		nulls[ANS_COUNT];

		MemoryContextReset(context);
		fill(&answers[i], values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* All of them as one JSON array. */
Datum
answer_json(const Answered *answers, int count)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(call_own_type("answer"), -1);
	StringInfoData out;
	int			i;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	for (i = 0; i < count; i++)
	{
		Datum		values[ANS_COUNT];
		bool		nulls[ANS_COUNT];
		Datum		json;

		fill(&answers[i], values, nulls);
		json = DirectFunctionCall1(row_to_json,
								   HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
		if (i > 0)
			appendStringInfoChar(&out, ',');
		appendStringInfoString(&out, TextDatumGetCString(json));
	}
	appendStringInfoChar(&out, ']');
	ReleaseTupleDesc(desc);
	return CStringGetTextDatum(out.data);
}
