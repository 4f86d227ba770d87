/*-------------------------------------------------------------------------
 *
 * consume.c
 *	  consume and resume: an approval is used, once, for exactly its action.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "alone.h"
#include "args.h"
#include "compat.h"
#include "diff.h"
#include "event.h"
#include "permit.h"
#include "recheck.h"
#include "settings.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_consume);
PG_FUNCTION_INFO_V1(approval_try_consume);
PG_FUNCTION_INFO_V1(approval_resume);

/* What this transaction has consumed, for as long as it lasts. */
typedef struct Consumed
{
	Ulid		id;
	struct Consumed *next;
} Consumed;

static Consumed *consumed = NULL;
static LocalTransactionId consumed_lxid = InvalidLocalTransactionId;

/*
 * A rolled back savepoint makes the row whole again, but the permit has been
 * seen.  The list is in TopTransactionContext, which goes with the transaction.
 */
static bool
consumed_before(const Ulid *id)
{
	Consumed   *item;

	if (consumed_lxid != MY_LXID)
		return false;
	for (item = consumed; item; item = item->next)
		if (memcmp(&item->id, id, sizeof(Ulid)) == 0)
			return true;
	return false;
}

static void
remember_consumed(const Ulid *id)
{
	Consumed   *item = MemoryContextAlloc(TopTransactionContext, sizeof(Consumed));

	item->id = *id;
	item->next = consumed_lxid == MY_LXID ? consumed : NULL;
	consumed = item;
	consumed_lxid = MY_LXID;
}

/* The action that the executor shows; false with a refusal. */
static bool
take_presented(Call *call, Action *presented, Digest *definition)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *arguments = args_required_json(fcinfo, 2, "arguments");
	text	   *json = args_json(fcinfo, 6);
	int			len = 0;

	presented->tenant = call->tenant;
	presented->tool = args_required(fcinfo, 1, "tool", ARGS_KEY_LIMIT);
	presented->server = args_text(fcinfo, 4, "server", ARGS_KEY_LIMIT);
	if (presented->server == NULL)
		presented->server = "";
	presented->resource = args_text(fcinfo, 5, "resource", ARGS_ADDRESS_LIMIT);
	presented->definition = NULL;
	if (json)
	{
		if (!subject_definition(call, json, definition))
			return false;
		presented->definition = definition;
	}
	presented->arguments = subject_arguments(call, arguments, &len);
	presented->arguments_len = len;
	return presented->arguments != NULL;
}

/* Why the request cannot be used now, or REASON_NONE. */
static Reason
unusable(const Call *call)
{
	switch (call->effective.status)
	{
		case STATUS_APPROVED:
			return consumed_before(&call->id) ? REASON_ALREADY_CONSUMED : REASON_NONE;
		case STATUS_CONSUMED:
			return REASON_ALREADY_CONSUMED;
		case STATUS_EXPIRED:
			return REASON_EXPIRED;
		default:
			return REASON_NOT_APPROVED;
	}
}

/*
 * Whether what is presented is what was approved; if not, says where not.  The
 * definition is held against the approved one and the pin by itself.
 */
static bool
matches(Call *call, const Action *presented)
{
	Action		approved;
	Action		shown = *presented;
	Digest		hash;

	subject_action(call->request, &approved);
	shown.definition = approved.definition;
	hash_action(&shown, &hash);
	if (memcmp(&hash, request_digest_at(call->request, REQ_ACTION_HASH), sizeof(Digest)) == 0)
		return true;
	errors_member_raw(&call->refusal, "differs", diff_actions(&approved, &shown));
	return false;
}

/* As it was when it was proposed, and as policy knows it now. */
static bool
inside_database(const Call *call, const Registered *registered)
{
	int			i;

	for (i = 0; i < registered->ntools; i++)
		if (strcmp(registered->tools[i].effect, "database") != 0)
			return false;
	return request_text_is(call->request, REQ_EFFECT, "database");
}

/*
 * An effect outside the database must not be followed by a rollback.  Inside the
 * database, effect and consumption stand or fall together in the caller's
 * transaction.
 */
static bool
commits_first(const Call *call, const Registered *registered)
{
	return inside_database(call, registered) ||
		alone_commits(call->spi_active, call->fcinfo->flinfo->fn_expr);
}

/* In the order of the contract: state, deadline, action, digest, policy. */
static bool
usable(Call *call, const Action *presented, const Registered *registered)
{
	Reason		reason;

	if (!recheck_executor(call, registered))
		return false;
	reason = unusable(call);
	if (reason == REASON_NONE && !matches(call, presented))
		reason = REASON_HASH_MISMATCH;
	else if (reason == REASON_NONE && call->tampered)
		reason = REASON_ROW_TAMPERED;
	if (reason != REASON_NONE)
	{
		call_refuse(call, reason);
		return false;
	}
	return recheck_policy(call, registered, presented->definition);
}

/* consume(id, tool, arguments, execution_id, server, resource, definition, lease, tenant) */
static Step
consume(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	char	   *execution_id = args_required(fcinfo, 3, "execution_id", ARGS_KEY_LIMIT);
	const Registered *registered;
	int64		asked = permit_asked_lease(call, 7);
	Digest		definition;
	Action		presented;

	args_check_name("execution_id", execution_id, ARGS_KEY_LIMIT);
	call_tenant(call, 8);
	if (!take_presented(call, &presented, &definition) || !call_lock(call, id))
		return STEP_REFUSED;
	registered = permit_tool(call);
	if (!usable(call, &presented, registered))
		return STEP_REFUSED;
	if (!commits_first(call, registered))
		return call_refuse(call, REASON_COMMIT_FIRST);

	call_force_sync();
	remember_consumed(id);
	request_move(call->request, STATUS_CONSUMED, request_text(call->request, REQ_CAUSE));
	request_set_outcome(call->request, OUTCOME_IN_FLIGHT);
	request_set(call->request, REQ_CONSUMED_AT, TimestampTzGetDatum(call->now));
	permit_grant(call, execution_id, permit_lease(asked, registered));
	return call_write(call, EVENT_CONSUMED, NULL, NULL);
}

Datum
approval_consume(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "consume", consume, ANSWER_PERMIT);
}

Datum
approval_try_consume(PG_FUNCTION_ARGS)
{
	return verb_try(fcinfo, "consume", consume, ANSWER_PERMIT);
}

/* How long after its first permit an action may be tried again. */
static int64
retry_within(const Call *call, const Registered *registered)
{
	int64		shortest = 0;
	int			i;

	for (i = 0; i < registered->ntools; i++)
	{
		int64		span = registered->tools[i].retry_within;

		if (span > 0 && (shortest == 0 || span < shortest))
			shortest = span;
	}
	return shortest > 0 ? shortest : DatumGetInt64(call->request->values[REQ_USE_WITHIN]);
}

/* Why a lost execution may not be tried again, for DETAIL; or NULL. */
static const char *
no_retry(const Call *call, const Registered *registered)
{
	int			attempts = registered->ntools > 0 ? registered->tools[0].max_attempts : 0;
	int			i;

	for (i = 0; i < registered->ntools; i++)
	{
		if (!registered->tools[i].idempotent)
			return "not_idempotent";
		attempts = Min(attempts, registered->tools[i].max_attempts);
	}
	if (registered->ntools == 0)
		return "not_registered";
	if (DatumGetInt32(call->request->values[REQ_ATTEMPT]) >= attempts)
		return "attempts_used_up";
	if (call->now >= request_time(call->request, REQ_CONSUMED_AT) + retry_within(call, registered))
		return "too_late";
	return NULL;
}

/* Whether there may be a next attempt now; false with a refusal. */
static bool
resumable(Call *call, const Registered *registered)
{
	const char *problem = no_retry(call, registered);
	Reason		reason = REASON_NONE;

	if (!recheck_executor(call, registered))
		return false;
	if (problem)
	{
		errors_member(&call->refusal, "problem", problem);
		reason = REASON_NOT_IDEMPOTENT;
	}
	else if (call->effective.outcome != OUTCOME_UNKNOWN)
		reason = REASON_STALE_STATE;
	else if (call->tampered)
		reason = REASON_ROW_TAMPERED;
	if (reason == REASON_NONE)
		return recheck_policy(call, registered, NULL);
	call_refuse(call, reason);
	return false;
}

/* The result of the attempt before was not good enough; why it may run is as it was. */
static void
restore_cause(Request *request)
{
	if (!request_text_is(request, REQ_CAUSE, CAUSE_BAD_RESULT))
		return;
	request_set_text(request, REQ_CAUSE, request_text_is(request, REQ_DECIDED_BY, "policy") ? CAUSE_POLICY :
					 DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]) > 1 ? CAUSE_QUORUM : CAUSE_PERSON);
}

/*
 * resume(id, execution_id, token, tenant): the next attempt after one whose
 * lease is over or that did not know its outcome, with the same idempotency
 * key.
 */
static Step
resume(Call *call)
{
	const Registered *registered;
	Attempt		attempt;

	permit_attempt(call, &attempt);
	if (!permit_lock(call, &attempt, 3))
		return STEP_REFUSED;
	registered = permit_tool(call);
	if (!resumable(call, registered))
		return STEP_REFUSED;
	if (!commits_first(call, registered))
		return call_refuse(call, REASON_COMMIT_FIRST);

	call_force_sync();
	request_set_outcome(call->request, OUTCOME_IN_FLIGHT);
	request_set_null(call->request, REQ_COMPLETED_AT);
	request_set_null(call->request, REQ_RESULT);
	restore_cause(call->request);
	permit_grant(call, attempt.execution_id, permit_lease(0, registered));
	return call_write(call, EVENT_RESUMED, NULL, NULL);
}

Datum
approval_resume(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "resume", resume, ANSWER_PERMIT);
}
