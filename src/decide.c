/*-------------------------------------------------------------------------
 *
 * decide.c
 *	  decide and its short forms: a person's verdict on one request.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "args.h"
#include "verdict.h"

PG_FUNCTION_INFO_V1(approval_decide);
PG_FUNCTION_INFO_V1(approval_try_decide);
PG_FUNCTION_INFO_V1(approval_approve);
PG_FUNCTION_INFO_V1(approval_reject);
PG_FUNCTION_INFO_V1(approval_edit);

/* Lock, test, write: the whole of a decision. */
static Step
decide_on(Call *call, Verdict *verdict)
{
	Writing		writing;
	Step		step;

	if (!verdict_prepare(call, verdict) || !call_lock(call, verdict->id))
		return STEP_REFUSED;
	step = verdict_rule(call, verdict);
	if (step != STEP_WRITTEN)
		return step;
	verdict_begin(&writing);
	verdict_write(&writing, call, verdict);
	verdict_end(&writing, call);
	return step;
}

/* decide(id, verdict, seen, actor, arguments, result, note, tenant) */
static Step
decide(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {0};
	const char *word;

	verdict.id = args_id(fcinfo, 0, "id");
	word = args_required(fcinfo, 1, "verdict", ARGS_TEXT_LIMIT);
	verdict.seen = args_digest(fcinfo, 2, "seen");
	verdict.arguments = args_json(fcinfo, 4);
	verdict.result = args_text(fcinfo, 5, "result", ARGS_TEXT_LIMIT);
	verdict.note = args_text(fcinfo, 6, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 7);
	if (!call_actor(call, 3, true) || !verdict_take(call, &verdict, word))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

/* approve(id, seen, actor, note, tenant) */
static Step
approve(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {.approve = true};

	verdict.id = args_id(fcinfo, 0, "id");
	verdict.seen = args_digest(fcinfo, 1, "seen");
	verdict.note = args_text(fcinfo, 3, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 4);
	if (!call_actor(call, 2, true))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

/* reject(id, seen, actor, result, note, tenant) */
static Step
reject(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {.approve = false};

	verdict.id = args_id(fcinfo, 0, "id");
	verdict.seen = args_digest(fcinfo, 1, "seen");
	verdict.result = args_text(fcinfo, 3, "result", ARGS_TEXT_LIMIT);
	verdict.note = args_text(fcinfo, 4, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 5);
	if (!call_actor(call, 2, true))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

/* edit(id, seen, arguments, actor, note, tenant) */
static Step
edit(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {.approve = true};

	verdict.id = args_id(fcinfo, 0, "id");
	verdict.seen = args_digest(fcinfo, 1, "seen");
	verdict.arguments = args_required_json(fcinfo, 2, "arguments");
	verdict.note = args_text(fcinfo, 4, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 5);
	if (!call_actor(call, 3, true))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

Datum
approval_decide(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "decide", decide, ANSWER_REQUEST);
}

Datum
approval_try_decide(PG_FUNCTION_ARGS)
{
	return verb_try(fcinfo, "decide", decide, ANSWER_REQUEST);
}

Datum
approval_approve(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "approve", approve, ANSWER_REQUEST);
}

Datum
approval_reject(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "reject", reject, ANSWER_REQUEST);
}

Datum
approval_edit(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "edit", edit, ANSWER_REQUEST);
}
