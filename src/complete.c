/*-------------------------------------------------------------------------
 *
 * complete.c
 *	  complete, heartbeat and reconcile: what became of an execution.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "event.h"
#include "permit.h"
#include "results.h"
#include "verb.h"

PG_FUNCTION_INFO_V1(approval_complete);
PG_FUNCTION_INFO_V1(approval_try_complete);
PG_FUNCTION_INFO_V1(approval_heartbeat);
PG_FUNCTION_INFO_V1(approval_reconcile);

static Outcome
take_outcome(FunctionCallInfo fcinfo, int n, bool or_unknown)
{
	char	   *word = args_required(fcinfo, n, "outcome", ARGS_KEY_LIMIT);
	Outcome		outcome = state_outcome(word, strlen(word));

	if (outcome != OUTCOME_SUCCEEDED && outcome != OUTCOME_FAILED &&
		!(or_unknown && outcome == OUTCOME_UNKNOWN))
		args_bad_value("outcome", or_unknown ? "One of succeeded, failed and unknown." :
					   "One of succeeded and failed.");
	return outcome;
}

static bool
same_result(const Request *request, const text *result)
{
	text	   *stored;

	if (request->nulls[REQ_RESULT] || result == NULL)
		return request->nulls[REQ_RESULT] && result == NULL;
	stored = DatumGetTextPP(request->values[REQ_RESULT]);
	return VARSIZE_ANY_EXHDR(stored) == VARSIZE_ANY_EXHDR(result) &&
		memcmp(VARDATA_ANY(stored), VARDATA_ANY(result), VARSIZE_ANY_EXHDR(result)) == 0;
}

/* Whether the current attempt may still report, or has, or never may. */
static Step
report_again(Call *call, Outcome outcome, const text *result)
{
	bool		reported = !call->request->nulls[REQ_COMPLETED_AT];

	if (!reported && call->request->outcome == OUTCOME_IN_FLIGHT)
		return STEP_WRITTEN;
	if (call->request->outcome == outcome && same_result(call->request, result))
		return STEP_UNCHANGED;

	/* what was not good enough is a person's to settle, not the tool's */
	if (call->request->outcome == OUTCOME_UNKNOWN && outcome != OUTCOME_UNKNOWN &&
		!(reported && request_text_is(call->request, REQ_CAUSE, CAUSE_BAD_RESULT)))
		return STEP_WRITTEN;

	/* a person was first, and knew no result: the receipt must not be lost */
	if (call->request->outcome == outcome && call->request->nulls[REQ_RESULT])
		return STEP_WRITTEN;
	return call_refuse(call, REASON_OUTCOME_CONFLICT);
}

/* The same report once more, whatever the registry thinks of such a result by now. */
static bool
said_before(const Request *request, Outcome outcome, const text *result)
{
	if (request->nulls[REQ_COMPLETED_AT] || !same_result(request, result))
		return false;
	return request->outcome == outcome ||
		(request->outcome == OUTCOME_UNKNOWN && outcome == OUTCOME_SUCCEEDED &&
		 request_text_is(request, REQ_CAUSE, CAUSE_BAD_RESULT));
}

/* What the tool calls a success must have the result of one. */
static bool
good_enough(const Call *call, Outcome outcome, const text *result, BadResult *bad)
{
	memset(bad, 0, sizeof(*bad));
	if (outcome == OUTCOME_SUCCEEDED)
		results_check(permit_tool(call), result, false, bad);
	return bad->reason == REASON_NONE;
}

/* For the event: what was wrong with the result. */
static const char *
bad_note(const BadResult *bad)
{
	if (bad->reason == REASON_NONE)
		return NULL;
	return psprintf("%s: %s%s%s", errors_reason(bad->reason), bad->problem, bad->why ? ": " : "", bad->why ? bad->why : "");
}

/*
 * complete(id, execution_id, token, outcome, result, tenant): always records,
 * since the money may have moved.  Neither a lease that is over nor a row that
 * was tampered with stands in the way; the event says so.  A success with a
 * result that the registry does not take for one is recorded as unknown.
 */
static Step
complete(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Attempt		attempt;
	Outcome		outcome;
	text	   *result;
	BadResult	bad;
	Step		step;

	permit_attempt(call, &attempt);
	outcome = take_outcome(fcinfo, 3, true);
	result = args_json(fcinfo, 4);
	if (!permit_lock(call, &attempt, 5))
		return STEP_REFUSED;
	if (said_before(call->request, outcome, result))
		return STEP_UNCHANGED;
	if (!good_enough(call, outcome, result, &bad))
		outcome = OUTCOME_UNKNOWN;
	step = report_again(call, outcome, result);
	if (step != STEP_WRITTEN)
		return step;

	request_set_outcome(call->request, outcome);
	if (bad.reason != REASON_NONE)
		request_set_text(call->request, REQ_CAUSE, CAUSE_BAD_RESULT);
	request_set(call->request, REQ_COMPLETED_AT, TimestampTzGetDatum(call->now));
	if (result)
		request_set(call->request, REQ_RESULT, PointerGetDatum(result));
	else
		request_set_null(call->request, REQ_RESULT);
	return call_write(call, call->tampered ? EVENT_COMPLETED_TAMPERED : EVENT_COMPLETED, bad_note(&bad), NULL);
}

/* heartbeat(id, execution_id, token, lease, tenant) */
static Step
heartbeat(Call *call)
{
	Attempt		attempt;
	int64		asked;
	int64		lease;

	permit_attempt(call, &attempt);
	asked = permit_asked_lease(call, 3);
	if (!permit_lock(call, &attempt, 4))
		return STEP_REFUSED;
	lease = permit_lease(asked, permit_tool(call));
	if (call->request->outcome == OUTCOME_IN_FLIGHT && call->effective.outcome != OUTCOME_IN_FLIGHT)
		return call_refuse(call, REASON_LEASE_EXPIRED);
	if (call->effective.outcome != OUTCOME_IN_FLIGHT)
		return call_refuse(call, REASON_STALE_STATE);

	request_set(call->request, REQ_LEASE_UNTIL, TimestampTzGetDatum(call->now + lease));
	return call_renew_lease(call);
}

/*
 * Whose word settles an unknown outcome: a person's, who neither asked for the
 * action nor ran it.
 */
static bool
may_reconcile(const Call *call)
{
	const char *login = call->caller->login;

	return caller_may_judge(call->caller) &&
		!request_text_is(call->request, REQ_REQUESTER_LOGIN, login) &&
		!request_text_is(call->request, REQ_EXECUTOR_LOGIN, login) &&
		!request_text_is(call->request, REQ_REQUESTED_BY, call->actor);
}

/* reconcile(id, outcome, note, actor, tenant) */
static Step
reconcile(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	Outcome		outcome = take_outcome(fcinfo, 1, false);
	const char *note = args_text(fcinfo, 2, "note", ARGS_TEXT_LIMIT);

	call_tenant(call, 4);
	if (!call_actor(call, 3, true) || !call_lock(call, id))
		return STEP_REFUSED;
	if (!may_reconcile(call))
		return call_refuse(call, REASON_NOT_ELIGIBLE);
	if (call->effective.status != STATUS_CONSUMED || call->effective.outcome == OUTCOME_IN_FLIGHT ||
		call->effective.outcome == OUTCOME_UNTRACKED)
		return call_refuse(call, REASON_STALE_STATE);
	if (call->effective.outcome == outcome)
		return STEP_UNCHANGED;
	if (call->effective.outcome != OUTCOME_UNKNOWN)
		return call_refuse(call, REASON_OUTCOME_CONFLICT);

	request_set_outcome(call->request, outcome);
	request_set(call->request, REQ_COMPLETED_AT, TimestampTzGetDatum(call->now));
	request_set_text(call->request, REQ_RECONCILED_BY, call->actor);
	return call_write(call, call->tampered ? EVENT_RECONCILED_TAMPERED : EVENT_RECONCILED, note, NULL);
}

Datum
approval_complete(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "complete", complete, ANSWER_REQUEST);
}

Datum
approval_try_complete(PG_FUNCTION_ARGS)
{
	return verb_try(fcinfo, "complete", complete, ANSWER_REQUEST);
}

Datum
approval_heartbeat(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "heartbeat", heartbeat, ANSWER_REQUEST);
}

Datum
approval_reconcile(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "reconcile", reconcile, ANSWER_REQUEST);
}
