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

/* One tool at a time, and not too many; what is not there is of none. */
static bool
check_bulk(Call *call, const Decisions *decisions, const Answered *answers)
{
	const Request *first = NULL;
	int			i;

	if (count_approvals(decisions) > setting_bulk_approvals)
	{
		errors_member_raw(&call->refusal, "limit", psprintf("%d", setting_bulk_approvals));
		decisions_bad(call, "$", "approves too many at a time");
		return false;
	}
	for (i = 0; i < decisions->count; i++)
	{
		const Request *request = answers[i].call.request;

		if (!decisions->entries[i].verdict.approve || request == NULL)
			continue;
		if (first && !(same_column(first, request, REQ_TOOL) && same_column(first, request, REQ_SERVER)))
		{
			decisions_bad(call, "$", "approves calls of more than one tool");
			return false;
		}
		first = request;
	}
	return true;
}

/* All of them in the order of their ids; what is not there has its refusal. */
static void
lock_all(const Call *call, const Decisions *decisions, Answered *answers)
{
	int			i;

	for (i = 0; i < decisions->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		answers[i].call = *call;
		(void) call_lock(&answers[i].call, &decisions->entries[i].id);
	}
}

/* What each verdict comes to; false at the first refusal, unless they are kept. */
static bool
rule_all(Call *call, Decisions *decisions, Answered *answers, bool keep)
{
	bool		bulk = count_approvals(decisions) > 1;
	int			i;

	for (i = 0; i < decisions->count; i++)
	{
		Call	   *one = &answers[i].call;
		Verdict    *verdict = &decisions->entries[i].verdict;
		Step		step;

		CHECK_FOR_INTERRUPTS();
		verdict->in_bulk = bulk;
		step = one->request ? verdict_rule(one, verdict) : STEP_REFUSED;
		answers[i].kind = step == STEP_WRITTEN ? ANSWERED_APPLIED :
			step == STEP_UNCHANGED ? ANSWERED_UNCHANGED : ANSWERED_REFUSED;
		if (step != STEP_REFUSED)
			continue;
		if (!keep)
		{
			call->refusal = one->refusal;
			return false;
		}
		call_keep_refusal(one, errors_detail(&one->refusal));
	}
	return true;
}

/* (decisions, actor, tenant): the whole of both */
static void
decide_list(Call *call, FunctionCallInfo fcinfo, bool keep)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	text	   *json = args_required_json(fcinfo, 0, "decisions");
	Decisions	decisions;
	Answered   *answers;
	Writing		writing;
	int			i;

	call_tenant(call, 2);
	if (!call_actor(call, 1, true) || !decisions_list(call, json, &decisions))
		errors_raise(&call->refusal);
	answers = palloc(sizeof(Answered) * decisions.count);
	lock_all(call, &decisions, answers);
	if (!check_bulk(call, &decisions, answers) || !rule_all(call, &decisions, answers, keep))
		errors_raise(&call->refusal);
	verdict_begin(&writing);
	for (i = 0; i < decisions.count; i++)
		if (answers[i].kind == ANSWERED_APPLIED)
			verdict_write(&writing, &answers[i].call, &decisions.entries[i].verdict);
	verdict_end(&writing, call);
	answer_put(rsinfo, answers, decisions.count);
}

/* all or nothing */
Datum
approval_decide_many(PG_FUNCTION_ARGS)
{
	Call		call;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	verb_begin(&call, fcinfo, "decide_many");
	decide_list(&call, fcinfo, false);
	verb_end(&call);
	return (Datum) 0;
}

/*
 * What can be applied is, and every request gets its row.  A document that is no
 * list of decisions is refused as a whole.
 */
Datum
approval_try_decide_many(PG_FUNCTION_ARGS)
{
	Call		call;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	verb_begin(&call, fcinfo, "decide_many");
	decide_list(&call, fcinfo, true);
	verb_end(&call);
	return (Datum) 0;
}
