/*-------------------------------------------------------------------------
 *
 * withdraw.c
 *	  cancel, revoke and revoke_by: closing the gate again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "args.h"
#include "change.h"
#include "event.h"
#include "param.h"
#include "row.h"

PG_FUNCTION_INFO_V1(approval_cancel);
PG_FUNCTION_INFO_V1(approval_revoke);
PG_FUNCTION_INFO_V1(approval_revoke_by);

/*
 * What the actor had a voice in, or allowed in advance, in id order; but what is
 * free is taken first.
 */
static Statement select_approved_by = {
	.sql = "SELECT r.id FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND r.status OPERATOR(pg_catalog.=) 'approved'"
	" AND (r.decided_by OPERATOR(pg_catalog.=) $2"
	" OR EXISTS (SELECT FROM approval.decisions d WHERE d.tenant OPERATOR(pg_catalog.=) r.tenant"
	" AND d.request_id OPERATOR(pg_catalog.=) r.id AND d.actor OPERATOR(pg_catalog.=) $2"
	" AND d.verdict OPERATOR(pg_catalog.=) 'approve' AND d.review_hash OPERATOR(pg_catalog.=) r.review_hash)"
	" OR EXISTS (SELECT FROM approval.grants g WHERE g.tenant OPERATOR(pg_catalog.=) r.tenant"
	" AND g.id OPERATOR(pg_catalog.=) r.grant_id AND $2 OPERATOR(pg_catalog.=) ANY (g.grantors)))"
	" ORDER BY r.id",
	.nparams = 2,
	.types = {TEXTOID, TEXTOID},
};

/* What a stolen session has allowed in advance goes with what it approved. */
static Statement void_grants_of = {
	.sql = "WITH theirs AS (SELECT g.id FROM approval.grants g WHERE g.tenant OPERATOR(pg_catalog.=) $1"
	" AND $2 OPERATOR(pg_catalog.=) ANY (g.grantors) AND g.voided_at IS NULL ORDER BY g.id FOR NO KEY UPDATE)"
	" UPDATE approval.grants g SET voided_at = pg_catalog.clock_timestamp(), voided_by = $3,"
	" void_reason = 'revoked' FROM theirs WHERE g.tenant OPERATOR(pg_catalog.=) $1"
	" AND g.id OPERATOR(pg_catalog.=) theirs.id AND g.voided_at IS NULL",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

/* cancel(id, reason, tenant): the requester takes its own request back. */
static Step
cancel(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	const char *reason = args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT);

	call_tenant(call, 2);
	if (!call_lock(call, id))
		return STEP_REFUSED;
	if (!request_text_is(call->request, REQ_REQUESTER_LOGIN, call->caller->login))
	{
		call->request = NULL;
		return call_refuse(call, REASON_NOT_FOUND);
	}
	if (call->tampered)
		return call_refuse(call, REASON_ROW_TAMPERED);
	switch (call->effective.status)
	{
		case STATUS_PENDING:
		case STATUS_APPROVED:
			break;
		case STATUS_CANCELLED:
			return STEP_UNCHANGED;
		case STATUS_CONSUMED:
			return call_refuse(call, REASON_ALREADY_CONSUMED);
		case STATUS_EXPIRED:
			return call_refuse(call, REASON_EXPIRED);
		default:
			return call_refuse(call, REASON_ALREADY_DECIDED);
	}
	call_force_sync();
	request_move(call->request, STATUS_CANCELLED, CAUSE_WITHDRAWN);
	return call_write(call, EVENT_CANCELLED, reason, NULL);
}

static Step
revoke_locked(Call *call, const char *reason)
{
	if (call->tampered)
		return call_refuse(call, REASON_ROW_TAMPERED);
	switch (call->effective.status)
	{
		case STATUS_APPROVED:
			break;
		case STATUS_REVOKED:
			return STEP_UNCHANGED;
		case STATUS_CONSUMED:
			return call_refuse(call, REASON_ALREADY_CONSUMED);
		case STATUS_EXPIRED:
			return call_refuse(call, REASON_EXPIRED);
		default:
			return call_refuse(call, REASON_NOT_APPROVED);
	}
	call_force_sync();
	request_move(call->request, STATUS_REVOKED, CAUSE_REVOKED);
	return call_write(call, EVENT_REVOKED, reason, NULL);
}

/* revoke(id, reason, actor, tenant) */
static Step
revoke_one(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const Ulid *id = args_id(fcinfo, 0, "id");
	const char *reason = args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT);

	call_tenant(call, 3);
	if (!call_actor(call, 2, true) || !call_lock(call, id))
		return STEP_REFUSED;
	return revoke_locked(call, reason);
}

Datum
approval_cancel(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "cancel", cancel, ANSWER_REQUEST);
}

Datum
approval_revoke(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "revoke", revoke_one, ANSWER_REQUEST);
}

/* The ids of what an actor approved and nobody has used, copied out of SPI. */
static Ulid *
approved_by(const Call *call, const char *actor, uint64 *count)
{
	Datum		values[2];
	char		nulls[2];
	Ulid	   *ids;
	uint64		i;

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, actor);
	*count = store_run(&select_approved_by, values, nulls, SPI_OK_SELECT, 0);
	ids = palloc(sizeof(Ulid) * (*count + 1));
	for (i = 0; i < *count; i++)
	{
		bool		isnull;

		ids[i] = *DatumGetUlidP(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
	}
	return ids;
}

static void
void_grants(const Call *call, const char *actor)
{
	Datum		values[3];
	char		nulls[3];

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, actor);
	param_text(values, nulls, 2, call->actor);
	store_run(&void_grants_of, values, nulls, SPI_OK_UPDATE, 0);
}

/* One row of revoke_by: whether it was there to be locked. */
static bool
revoke_if(Call *call, const Ulid *id, const char *reason, bool wait, ReturnSetInfo *rsinfo)
{
	memset(&call->refusal, 0, sizeof(call->refusal));
	call->request = NULL;
	if (!(wait ? call_lock(call, id) : call_lock_free(call, id)))
		return false;
	if (revoke_locked(call, reason) == STEP_WRITTEN)
		call_put(call, rsinfo, get_func_rettype(call->fcinfo->flinfo->fn_oid));
	return true;
}

/*
 * Waits for a row that somebody holds.  Who decides on many may hold it and wait
 * for one of ours: should that end us, all would be open again.  So the row is
 * left then, and shown as it is; false.
 */
static bool
revoke_busy(Call *call, const Ulid *id, const char *reason, ReturnSetInfo *rsinfo)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		revoke_if(call, id, reason, true, rsinfo);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		done = false;
	}
	PG_END_TRY();
	return done;
}

/* A row that is left, as a row of the answer. */
static void
put_left(Call *call, const Ulid *id, ReturnSetInfo *rsinfo)
{
	call->request = row_find(call->tenant, id, NULL);
	if (call->request == NULL)
		return;
	call->effective = request_effective(call->request, GetCurrentTimestamp());
	if (call->effective.status == STATUS_APPROVED)
		call_put(call, rsinfo, get_func_rettype(call->fcinfo->flinfo->fn_oid));
}

/* What is free first, then the rest. */
static void
revoke_all(Call *call, const char *actor, const char *reason, ReturnSetInfo *rsinfo)
{
	MemoryContext row_context;
	MemoryContext old;
	uint64		count;
	uint64		busy = 0;
	uint64		i;
	Ulid	   *ids = approved_by(call, actor, &count);

	row_context = AllocSetContextCreate(CurrentMemoryContext, "approval revoke_by",
										ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(row_context);
	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);
		if (!revoke_if(call, &ids[i], reason, false, rsinfo))
			ids[busy++] = ids[i];
	}
	for (i = 0; i < busy; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);
		if (!revoke_busy(call, &ids[i], reason, rsinfo))
			put_left(call, &ids[i], rsinfo);
	}
	MemoryContextSwitchTo(old);
}

/*
 * revoke_by(actor, reason, revoked_by, tenant): everything that a stolen
 * session approved.  What is free goes first, so that nobody who holds one row
 * can keep the others open; then the rest is waited for, as far as that is no
 * deadlock: a row that is left shows as approved.  What was used or
 * lapsed meanwhile is passed over; a row that does not match its digest is
 * passed over too, since consume refuses it.  The actor's votes on what still
 * waits count no more: the event says from when (quorum.c).
 */
Datum
approval_revoke_by(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Change		change;
	const char *actor;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	actor = args_required(fcinfo, 0, "actor", ARGS_KEY_LIMIT);
	change_open(&change, fcinfo, "revoke_by", CHAIN_FREEZE, 3, 2);
	if (strcmp(change.call.tenant, CALLER_ALL_TENANTS) == 0)
		args_bad_value("tenant", "One tenant at a time.");
	change.subject = actor;
	change.note = args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT);
	revoke_all(&change.call, actor, change.note, rsinfo);
	void_grants(&change.call, actor);

	/* last: who waits for a row must not keep others from freezing */
	change_lock(&change);
	change_event(&change);
	verb_end(&change.call);
	return (Datum) 0;
}
