/*-------------------------------------------------------------------------
 *
 * decide_many.c
 *	  decide_many and try_decide_many: the selection of an inbox.
 *
 * Exactly the requests named, each as it was seen, in the order of their ids,
 * so that two overlapping selections never wait for each other in a circle.
 * Approving in bulk is for one kind of thing: one tool, and not too many; and
 * where two people have to look, each of them looks at one request at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "answer.h"
#include "args.h"
#include "decisions.h"
#include "grant.h"
#include "row.h"
#include "settings.h"

PG_FUNCTION_INFO_V1(approval_decide_many);
PG_FUNCTION_INFO_V1(approval_try_decide_many);

static bool
same_column(const Request *a, const Request *b, RequestColumn column)
{
	return request_text_is(a, column, request_text(b, column));
}

static int
count_approvals(const Decisions *decisions)
{
	int			approvals = 0;
	int			i;

	for (i = 0; i < decisions->count; i++)
		approvals += decisions->entries[i].verdict.approve;
	return approvals;
}

/* One tool at a time, and not too many; tool and server of a request never change. */
static bool
check_bulk(Call *call, const Decisions *decisions, int approvals)
{
	const Request *first = NULL;
	int			i;

	if (approvals > setting_bulk_approvals)
	{
		errors_member_raw(&call->refusal, "limit", psprintf("%d", setting_bulk_approvals));
		decisions_bad(call, "$", "approves too many at a time");
		return false;
	}
	for (i = 0; approvals > 1 && i < decisions->count; i++)
	{
		const Entry *entry = &decisions->entries[i];
		const Request *request = entry->verdict.approve ? row_find(call->tenant, &entry->id, NULL) : NULL;

		if (request == NULL)
			continue;
		if (first && !(same_column(first, request, REQ_TOOL) && same_column(first, request, REQ_SERVER)))
		{
			decisions_bad(call, "$", "approves calls of more than one tool");
			return false;
		}
		if (first == NULL)
			first = request;
	}
	return true;
}

static bool
take_arguments(Call *call, FunctionCallInfo fcinfo, const char *verb, Decisions *decisions)
{
	text	   *json;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	verb_begin(call, fcinfo, verb);
	json = args_required_json(fcinfo, 0, "decisions");
	call_tenant(call, 2);
	return call_actor(call, 1, true) && decisions_list(call, json, decisions) &&
		check_bulk(call, decisions, count_approvals(decisions));
}

/* Lock, and rule: nothing is written yet. */
static Step
rule_one(Call *call, Entry *entry, bool bulk)
{
	entry->verdict.in_bulk = bulk;
	return call_lock(call, &entry->id) ? verdict_rule(call, &entry->verdict) : STEP_REFUSED;
}

/* decide_many(decisions, actor, tenant): all or nothing */
Datum
approval_decide_many(PG_FUNCTION_ARGS)
{
	Call		call;
	Decisions	decisions;
	Answered   *answers;
	bool		bulk;
	List	   *grants = NIL;
	int			i;

	if (!take_arguments(&call, fcinfo, "decide_many", &decisions))
		errors_raise(&call.refusal);
	bulk = count_approvals(&decisions) > 1;
	answers = palloc(sizeof(Answered) * decisions.count);
	for (i = 0; i < decisions.count; i++)
	{
		Answered   *answered = &answers[i];
		Step		step;

		CHECK_FOR_INTERRUPTS();
		answered->call = call;
		step = rule_one(&answered->call, &decisions.entries[i], bulk);
		if (step == STEP_REFUSED)
			errors_raise(&answered->call.refusal);
		answered->kind = step == STEP_WRITTEN ? ANSWERED_APPLIED : ANSWERED_UNCHANGED;
	}
	for (i = 0; i < decisions.count; i++)
		if (answers[i].kind == ANSWERED_APPLIED)
			grants = verdict_write(&answers[i].call, &decisions.entries[i].verdict, grants);
	call.now = GetCurrentTimestamp();
	grant_void(&call, grants);
	for (i = 0; i < decisions.count; i++)
		answer_put((ReturnSetInfo *) fcinfo->resultinfo, &answers[i]);
	verb_end(&call);
	return (Datum) 0;
}

/*
 * try_decide_many: what can be applied is, and every request gets its row.  A
 * document that is no list of decisions is refused as a whole.
 */
Datum
approval_try_decide_many(PG_FUNCTION_ARGS)
{
	Call		call;
	Decisions	decisions;
	List	   *grants = NIL;
	bool		bulk;
	int			i;

	if (!take_arguments(&call, fcinfo, "decide_many", &decisions))
		errors_raise(&call.refusal);
	bulk = count_approvals(&decisions) > 1;
	for (i = 0; i < decisions.count; i++)
	{
		Entry	   *entry = &decisions.entries[i];
		Answered	answered = {.call = call};
		Step		step;

		CHECK_FOR_INTERRUPTS();
		step = rule_one(&answered.call, entry, bulk);
		if (step == STEP_WRITTEN)
			grants = verdict_write(&answered.call, &entry->verdict, grants);
		if (step == STEP_REFUSED)
			call_keep_refusal(&answered.call, errors_detail(&answered.call.refusal));
		answered.kind = step == STEP_WRITTEN ? ANSWERED_APPLIED :
			step == STEP_UNCHANGED ? ANSWERED_UNCHANGED : ANSWERED_REFUSED;
		answer_put((ReturnSetInfo *) fcinfo->resultinfo, &answered);
	}
	call.now = GetCurrentTimestamp();
	grant_void(&call, grants);
	verb_end(&call);
	return (Datum) 0;
}
