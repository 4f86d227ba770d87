/*-------------------------------------------------------------------------
 *
 * run_call.c
 *	  What every verb of a run goes through: who calls, which run, may it.
 *
 * A run belongs to the login that started it; to others it does not exist.  Its
 * verbs lock the row, then read the clock, then test, then write.  Where several
 * runs are locked it is from the root down, and requests come after runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "args.h"
#include "run_call.h"
#include "secret.h"
#include "step.h"

/* Columns of approval.run that are not of the table: three sums, traceparent, token. */
#define RUN_MADE 5

void
run_begin(RunCall *run_call, FunctionCallInfo fcinfo, const char *verb, int tenant_argument)
{
	Call	   *call = &run_call->call;

	memset(run_call, 0, sizeof(*run_call));
	verb_begin(call, fcinfo, verb);
	PreventCommandIfReadOnly(verb);
	run_call->run_id = args_required(fcinfo, 0, "run_id", ARGS_KEY_LIMIT);
	args_check_name("run_id", run_call->run_id, ARGS_KEY_LIMIT);
	call_tenant(call, tenant_argument);
}

/* The value of the type approval.run. */
Datum
run_datum(const Run *run, const char *token, TimestampTz now, Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Datum		values[RUN_COUNT + RUN_MADE] = {0};
	bool		nulls[RUN_COUNT + RUN_MADE] = {0};
	RunStatus	status = run_effective(run, now);
	StepSums	sums;
	HeapTuple	tuple;
	int			count = 0;
	int			i;

	step_sums(run, &sums);
	for (i = 0; i < RUN_COUNT; i++)
	{
		if (!(run_columns[i].flags & RUN_PUBLIC))
			continue;
		values[count] = run->values[i];
		nulls[count] = run->nulls[i];
		if (i == RUNC_STATUS)
			values[count] = CStringGetTextDatum(run_status_word(status));
		count++;
		if (i != RUNC_ITERATIONS)
			continue;
		values[count++] = Int64GetDatum(sums.input_tokens);
		values[count++] = Int64GetDatum(sums.output_tokens);
		values[count++] = sums.cost;
	}
	values[count++] = CStringGetTextDatum(run_traceparent(run));
	nulls[count] = (token == NULL);
	if (token)
		values[count] = CStringGetTextDatum(token);
	count++;
	if (desc->natts != count)
		elog(ERROR, "type approval.run has %d columns instead of %d", desc->natts, count);
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}

/* Ends the verb with the run as it is. */
Datum
run_answer(RunCall *run_call)
{
	Call	   *call = &run_call->call;
	Oid			type = get_func_rettype(call->fcinfo->flinfo->fn_oid);
	MemoryContext old = MemoryContextSwitchTo(call->result_context);
	Datum		result = run_datum(run_call->run, run_call->token, call->now, type);

	MemoryContextSwitchTo(old);
	verb_end(call);
	return result;
}

/* For DETAIL: which run, and what of it matters to who was refused. */
void
run_tell(const Run *run, TimestampTz now, Refusal *refusal)
{
	refusal->status = run_status_word(run_effective(run, now));
	errors_member(refusal, "run_id", run_text(run, RUNC_RUN_ID));
	if (run_status_live(run->status) && !run->nulls[RUNC_LEASE_UNTIL])
	{
		errors_member(refusal, "claimed_by", run_text(run, RUNC_CLAIMED_BY));
		errors_member_time(refusal, "lease_until", run_time(run, RUNC_LEASE_UNTIL));
	}
	if (run->status == RUN_LIMIT)
		errors_member_raw(refusal, "max_iterations", psprintf("%d", run_int(run, RUNC_MAX_ITERATIONS)));
}

/* What the run says is told only once it was found. */
void
run_refuse(RunCall *run_call, Reason reason)
{
	Call	   *call = &run_call->call;

	call->refusal.reason = reason;
	if (run_call->run && reason != REASON_NOT_FOUND)
		run_tell(run_call->run, call->now, &call->refusal);
	errors_raise(&call->refusal);
}

/*
 * Another login's run does not exist, and is not locked either.  Whose it is, and
 * what it stands under, never changes: that much may be read before the lock.
 */
void
run_see_own(RunCall *run_call)
{
	const Call *call = &run_call->call;
	Run		   *run;

	if (run_call->run)
		return;
	run = run_find_latest(call->tenant, run_call->run_id);
	if (run == NULL || !run_text_is(run, RUNC_LOGIN, call->caller->login))
		run_refuse(run_call, REASON_NOT_FOUND);
	run_call->run = run;
}

static void
take_locked(RunCall *run_call, Run *run)
{
	if (run == NULL)
		errors_raise_serialization();
	run_call->call.now = GetCurrentTimestamp();
	run_call->run = run;
}

/* Locks the run, and reads the clock. */
void
run_lock_own(RunCall *run_call)
{
	run_see_own(run_call);
	take_locked(run_call, run_find(run_call->call.tenant, run_call->run_id, TABLE_LOCK_WAIT));
}

/* The same for who wants to take the run over. */
void
run_lock_own_soon(RunCall *run_call)
{
	run_see_own(run_call);
	take_locked(run_call, run_lock_soon(run_call));
}

/* Waits a moment for somebody else, if there is time left. */
void
run_wait(RunCall *run_call, const char *problem)
{
	Call	   *call = &run_call->call;

	if (turn_pause(&run_call->wait))
		return;
	call->now = GetCurrentTimestamp();
	errors_member_constant(&call->refusal, "problem", problem);
	run_refuse(run_call, REASON_RUN_CLAIMED);
}

/*
 * The run, locked, if that is to be had within approval.turn_wait: a loop that
 * hangs in an open transaction must not make everybody wait who wants to take
 * over, or to stop it, and what they gave up must not happen afterwards.
 */
Run *
run_lock_soon(RunCall *run_call)
{
	const Call *call = &run_call->call;
	Run		   *run;

	while ((run = run_find(call->tenant, run_call->run_id, TABLE_LOCK_SKIP)) == NULL)
	{
		run_call->run = run_find(call->tenant, run_call->run_id, TABLE_NO_LOCK);
		if (run_call->run == NULL)
			return NULL;
		run_wait(run_call, "a transaction that works on the run is open");
	}
	return run;
}

/* Why whoever shows this token may not act for the run, or REASON_NONE. */
Reason
run_held(const Run *run, const char *token, TimestampTz now)
{
	if (run->status == RUN_LIMIT)
		return REASON_ITERATION_LIMIT;
	if (!run_status_live(run->status))
		return REASON_RUN_ENDED;
	if (token == NULL || run->nulls[RUNC_TOKEN_HASH])
		return REASON_RUN_CLAIMED;
	if (!secret_is(token, DatumGetDigestP(run->values[RUNC_TOKEN_HASH])))
		return REASON_RUN_CLAIMED;
	return run_time(run, RUNC_LEASE_UNTIL) <= now ? REASON_RUN_LEASE_EXPIRED : REASON_NONE;
}

/* The same, for a verb that only the holder may call. */
void
run_lock_held(RunCall *run_call, int token_argument)
{
	const char *token = args_required(run_call->call.fcinfo, token_argument, "token", ARGS_KEY_LIMIT);
	Reason		reason;

	run_lock_own(run_call);
	reason = run_held(run_call->run, token, run_call->call.now);
	if (reason != REASON_NONE)
		run_refuse(run_call, reason);
}

/* A new random token, of which only the hash is kept; the fence goes up. */
void
run_new_token(RunCall *run_call)
{
	Run		   *run = run_call->run;
	Digest	   *kept = palloc(sizeof(Digest));
	char	   *token = palloc(DIGEST_TEXT_LEN + 1);

	secret_new(token, kept);
	run_set(run, RUNC_TOKEN_HASH, PointerGetDatum(kept));
	run_set(run, RUNC_FENCE, Int32GetDatum(run_int(run, RUNC_FENCE) + 1));
	run_call->token = token;
}

/* With the list of the calls that wait. */
void
run_refuse_paused(RunCall *run_call, const OpenCalls *open)
{
	errors_member_raw(&run_call->call.refusal, "pending", psprintf("[%s]", open->told.data));
	run_refuse(run_call, REASON_RUN_PAUSED);
}

/*
 * For propose.  A run id that nobody has started a run with is only a
 * correlation id.  A call is of the conversation of its run.  The run is locked
 * in share mode, so that calls of one run are proposed in parallel, but none
 * while it ends or is claimed by somebody else.
 */
bool
run_admits(Call *call, const char *run_id, const char *conversation_id, const char *token)
{
	Run		   *run = run_find(call->tenant, run_id, TABLE_LOCK_SHARE);
	Reason		reason;

	if (run == NULL && token == NULL)
	{
		/* one that is there, and not to be seen, may be held by somebody */
		if (IsolationUsesXactSnapshot() && run_find_latest(call->tenant, run_id))
			errors_raise_serialization();
		return true;
	}
	if (run == NULL)
	{
		call_refuse(call, REASON_NOT_FOUND);
		return false;
	}
	call->now = GetCurrentTimestamp();
	if (!run_text_is(run, RUNC_LOGIN, call->caller->login))
	{
		errors_member_constant(&call->refusal, "problem", "the run_id stands for another run");
		call_refuse(call, REASON_RUN_CONFLICT);
		return false;
	}
	reason = run_held(run, token, call->now);
	if (reason == REASON_NONE && run_text_is(run, RUNC_CONVERSATION_ID, conversation_id))
		return true;
	if (reason == REASON_NONE)
	{
		errors_member_constant(&call->refusal, "problem", "the run is of another conversation");
		reason = REASON_RUN_CONFLICT;
	}
	call_refuse(call, reason);
	run_tell(run, call->now, &call->refusal);
	return false;
}
