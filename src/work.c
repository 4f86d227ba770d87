/*-------------------------------------------------------------------------
 *
 * work.c
 *	  claim, release, assign, comment and extend: working an inbox together.
 *
 * None of them decides anything, and none stands in the way of a decision: a
 * claim keeps others from claiming, and an assignee is eligible no more than
 * before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "event.h"
#include "row.h"
#include "settings.h"
#include "verdict.h"

PG_FUNCTION_INFO_V1(approval_claim);
PG_FUNCTION_INFO_V1(approval_release);
PG_FUNCTION_INFO_V1(approval_assign);
PG_FUNCTION_INFO_V1(approval_comment);
PG_FUNCTION_INFO_V1(approval_extend);

/* A login that only proposes may add so much to the trail of a request. */
#define COMMENTS_OF_REQUESTER 100

/*
 * Locks a row to write beside its state.  What has lapsed is not put away by
 * the way: the event tells what the row says.
 */
static bool
lock_beside(Call *call, const Ulid *id)
{
	if (!call_lock(call, id))
		return false;
	call->status_before = call->request->status;
	call->outcome_before = call->request->outcome;
	return true;
}

static bool
intact(Call *call)
{
	if (!call->tampered)
		return true;
	call_refuse(call, REASON_ROW_TAMPERED);
	return false;
}

/* Whether a person still has something to do with it; else a refusal. */
static bool
in_inbox(Call *call)
{
	if (call->effective.status == STATUS_PENDING || call->effective.outcome == OUTCOME_UNKNOWN)
		return true;
	if (call->effective.status == STATUS_EXPIRED && call->request->nulls[REQ_DECIDED_AT])
		call_refuse(call, REASON_EXPIRED);
	else
		call_refuse(call, REASON_ALREADY_DECIDED);
	return false;
}

/* Lock a row of the inbox for somebody who works there. */
static bool
take_up(Call *call, const Ulid *id)
{
	if (!caller_may_judge(call->caller))
	{
		call_refuse(call, REASON_NOT_ELIGIBLE);
		return false;
	}
	return lock_beside(call, id) && intact(call) && in_inbox(call);
}

static bool
is_claimed(const Call *call)
{
	return !call->request->nulls[REQ_CLAIMED_BY] &&
		request_time(call->request, REQ_CLAIMED_UNTIL) > call->now;
}

/* Somebody else's claim is told, not broken. */
static Step
refuse_claimed(Call *call)
{
	errors_member(&call->refusal, "claimed_by", request_text(call->request, REQ_CLAIMED_BY));
	errors_member_time(&call->refusal, "claimed_until", request_time(call->request, REQ_CLAIMED_UNTIL));
	return call_refuse(call, REASON_CLAIMED);
}

/* claim(id, actor, lease, tenant): again, by the same actor, renews it without an event */
static Step
claim(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	int64		lease = args_span(fcinfo, 2, "lease", setting_claim * USECS_PER_SEC, USECS_PER_SEC, USECS_PER_DAY);
	bool		mine;

	call_tenant(call, 3);
	if (!call_actor(call, 1, true) || !take_up(call, id))
		return STEP_REFUSED;
	if (call->effective.status == STATUS_PENDING && !verdict_within_reach(call))
		return STEP_REFUSED;
	mine = request_text_is(call->request, REQ_CLAIMED_BY, call->actor);
	if (is_claimed(call) && !mine)
		return refuse_claimed(call);
	mine = mine && is_claimed(call);
	request_set_text(call->request, REQ_CLAIMED_BY, call->actor);
	request_set(call->request, REQ_CLAIMED_UNTIL, TimestampTzGetDatum(call->now + lease));
	return mine ? call_renew_lease(call) : call_write(call, EVENT_CLAIMED, NULL, NULL);
}

/* release(id, actor, tenant) */
static Step
release(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");

	call_tenant(call, 2);
	if (!call_actor(call, 1, true))
		return STEP_REFUSED;
	if (!caller_may_judge(call->caller))
		return call_refuse(call, REASON_NOT_ELIGIBLE);
	if (!lock_beside(call, id) || !intact(call))
		return STEP_REFUSED;
	if (!is_claimed(call))
		return STEP_UNCHANGED;
	if (!request_text_is(call->request, REQ_CLAIMED_BY, call->actor))
		return refuse_claimed(call);
	request_set_null(call->request, REQ_CLAIMED_BY);
	request_set_null(call->request, REQ_CLAIMED_UNTIL);
	return call_write(call, EVENT_RELEASED, NULL, NULL);
}

/* assign(id, assignee, actor, tenant): NULL for nobody; the event's note is the assignee */
static Step
assign(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	const char *assignee = args_name(fcinfo, 1, "assignee");

	call_tenant(call, 3);
	if (!call_actor(call, 2, true) || !take_up(call, id))
		return STEP_REFUSED;
	if (assignee ? request_text_is(call->request, REQ_ASSIGNEE, assignee) : call->request->nulls[REQ_ASSIGNEE])
		return STEP_UNCHANGED;
	request_set_text(call->request, REQ_ASSIGNEE, assignee);
	return call_write(call, EVENT_ASSIGNED, assignee, NULL);
}

/* comment(id, note, actor, tenant): by who reviews, or by who proposed */
static Step
comment(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	const char *note = args_required(fcinfo, 1, "note", ARGS_TEXT_LIMIT);
	bool		judge = caller_may_judge(call->caller) && caller_is(call->caller, "approval_approver");

	args_check_name("note", note, ARGS_TEXT_LIMIT);
	call_tenant(call, 3);
	if (!call_actor(call, 2, judge) || !lock_beside(call, id))
		return STEP_REFUSED;
	if (!judge && !request_text_is(call->request, REQ_REQUESTER_LOGIN, call->caller->login))
	{
		call->request = NULL;
		return call_refuse(call, REASON_NOT_FOUND);
	}
	if (!intact(call))
		return STEP_REFUSED;
	if (!judge && DatumGetInt32(call->request->values[REQ_EVENTS]) >= COMMENTS_OF_REQUESTER)
	{
		errors_member(&call->refusal, "scope", "request");
		errors_member(&call->refusal, "of", "events");
		errors_member_raw(&call->refusal, "limit", psprintf("%d", COMMENTS_OF_REQUESTER));
		return call_refuse(call, REASON_QUOTA);
	}
	return call_write(call, EVENT_COMMENTED, note, NULL);
}

/*
 * extend(id, expires_in, actor, note, tenant): from now on; never sooner than it
 * is, and not again for the retry of a driver
 */
static Step
extend(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	const char *note = args_text(fcinfo, 3, "note", ARGS_TEXT_LIMIT);
	int64		most = setting_max_decide_within * USECS_PER_SEC;
	int64		within;
	TimestampTz latest;

	if (PG_ARGISNULL(1))
		errors_raise_null("expires_in");
	within = args_span(fcinfo, 1, "expires_in", 0, USECS_PER_SEC, most);
	call_tenant(call, 4);
	if (!call_actor(call, 2, true) || !take_up(call, id))
		return STEP_REFUSED;
	if (call->effective.status != STATUS_PENDING)
		return call_refuse(call, REASON_ALREADY_DECIDED);
	if (!verdict_within_reach(call))
		return STEP_REFUSED;
	if (call->now + within <= request_time(call->request, REQ_EXPIRES_AT) + Min(USECS_PER_MINUTE, within / 100))
		return STEP_UNCHANGED;
	latest = request_time(call->request, REQ_PROPOSED_AT) + most;
	if (call->now + within > latest)
	{
		errors_member_time(&call->refusal, "latest", latest);
		return call_refuse(call, REASON_STALE_STATE);
	}
	if (!call->request->nulls[REQ_REMIND_AT])
		request_set(call->request, REQ_REMIND_AT,
					TimestampTzGetDatum(request_time(call->request, REQ_REMIND_AT) + call->now + within -
										request_time(call->request, REQ_EXPIRES_AT)));
	request_set(call->request, REQ_EXPIRES_AT, TimestampTzGetDatum(call->now + within));
	return call_write(call, EVENT_EXTENDED, note, NULL);
}

Datum
approval_claim(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "claim", claim, ANSWER_REQUEST);
}

Datum
approval_release(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "release", release, ANSWER_REQUEST);
}

Datum
approval_assign(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "assign", assign, ANSWER_REQUEST);
}

Datum
approval_comment(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "comment", comment, ANSWER_REQUEST);
}

Datum
approval_extend(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "extend", extend, ANSWER_REQUEST);
}
