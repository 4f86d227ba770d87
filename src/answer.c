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
#include "utils/typcache.h"

#include "answer.h"

/* The columns of approval.answer, in order. */
enum
{
	ANS_ID, ANS_TOOL_CALL_ID, ANS_CONVERSATION_ID, ANS_ANSWER, ANS_OK, ANS_REASON, ANS_HTTP_STATUS,
	ANS_DETAIL, ANS_STATUS, ANS_REQUEST, ANS_COUNT
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
	set_text(values, nulls, ANS_TOOL_CALL_ID, request_text(call->request, REQ_TOOL_CALL_ID));
	set_text(values, nulls, ANS_CONVERSATION_ID, request_text(call->request, REQ_CONVERSATION_ID));
	set_text(values, nulls, ANS_STATUS, state_status_word(call->effective.status));
	values[ANS_REQUEST] = DirectFunctionCall1(row_to_json, call_request_datum(call, call_own_type("request")));
	nulls[ANS_REQUEST] = false;
}

void
answer_put(ReturnSetInfo *rsinfo, const Answered *answered)
{
	Datum		values[ANS_COUNT];
	bool		nulls[ANS_COUNT];

	fill(answered, values, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
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
