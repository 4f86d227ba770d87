/*-------------------------------------------------------------------------
 *
 * end_run.c
 *	  How runs end: complete_run, fail_run, cancel_run.
 *
 * With a run end the runs below it, and the calls that any of them has open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "blank.h"
#include "end_run.h"
#include "event.h"
#include "notify.h"
#include "row.h"
#include "secret.h"
#include "step.h"

PG_FUNCTION_INFO_V1(approval_complete_run);
PG_FUNCTION_INFO_V1(approval_fail_run);
PG_FUNCTION_INFO_V1(approval_cancel_run);

static StepKind
journal_kind(RunStatus status)
{
	switch (status)
	{
		case RUN_COMPLETED:
			return STEP_RUN_COMPLETED;
		case RUN_FAILED:
			return STEP_RUN_FAILED;
		case RUN_LIMIT:
			return STEP_RUN_LIMIT;
		default:
			return STEP_RUN_CANCELLED;
	}
}

/* A run that is locked, without its calls. */
static void
end_one(const Call *call, Run *run, RunStatus status, const char *reason)
{
	run_move(run, status);
	run_set_text(run, RUNC_REASON, reason);
	run_set_time(run, RUNC_ENDED_AT, call->now);
	run_set_text(run, RUNC_ENDED_BY, call->actor);
	run_write(run);
	step_journal(call, run, journal_kind(status), NULL,
				 status == RUN_COMPLETED ? NULL : reason ? reason : run_status_word(status));
	notify_run(call->tenant, run_text(run, RUNC_RUN_ID), run_status_word(status), run_status_word(status));
}

/* Whoever waits for it is not told by its own channel. */
static void
ring_parent(const Call *call, const Run *run)
{
	char	   *parent_id = run_text(run, RUNC_PARENT);
	Run		   *parent = parent_id ? run_find(call->tenant, parent_id, TABLE_NO_LOCK) : NULL;

	if (parent)
		notify_run(call->tenant, parent_id, "child_ended", run_status_word(run_effective(parent, call->now)));
}

static bool
keep_name(TupleTableSlot *slot, void *arg)
{
	List	  **names = arg;
	Run			run;

	slot_getallattrs(slot);
	run_of_slot(&run, slot);
	if (run_status_live(run.status))
		*names = lappend(*names, run_text(&run, RUNC_RUN_ID));
	return true;
}

static Run *
lock_one_below(RunCall *run_call, const char *run_id)
{
	const char *tenant = run_call->call.tenant;
	Run		   *run;

	while ((run = run_find(tenant, run_id, run_call->soon ? TABLE_LOCK_SKIP : TABLE_LOCK_WAIT)) == NULL)
	{
		if (!run_call->soon || run_find(tenant, run_id, TABLE_NO_LOCK) == NULL)
			errors_raise_serialization();
		run_wait(run_call, "a transaction that works on a run below it is open");
	}
	return run;
}

/*
 * The live runs below it, locked level by level, so that a run always is before
 * those below it.  One that has been started since the snapshot of this
 * transaction is for a new transaction to end.
 */
static List *
lock_below(RunCall *run_call)
{
	const Call *call = &run_call->call;
	List	   *above = list_make1(pstrdup(run_call->run_id));
	List	   *locked = NIL;
	Relation	runs = table_of_ours(OWN_RUNS, AccessShareLock);

	while (above != NIL)
	{
		List	   *below = NIL;
		ListCell   *cell;
		Datum		keys[2];

		keys[0] = CStringGetTextDatum(call->tenant);
		foreach(cell, above)
		{
			keys[1] = CStringGetTextDatum((char *) lfirst(cell));
			table_visit(runs, OWN_RUNS_CHILDREN, keys, 2, GetLatestSnapshot(), keep_name, &below);
		}
		foreach(cell, below)
		{
			CHECK_FOR_INTERRUPTS();
			locked = lappend(locked, lock_one_below(run_call, lfirst(cell)));
		}
		above = below;
	}
	table_close(runs, NoLock);
	return locked;
}

static int
by_id(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Ulid));
}

/* Before anything is written: who cannot have them all must have done nothing. */
static void
lock_calls(RunCall *run_call, OpenCalls *open)
{
	int			i;

	if (open->count > 1)
		qsort(open->ids, open->count, sizeof(Ulid), by_id);
	for (i = 0; i < open->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		while (row_lock(run_call->call.tenant, &open->ids[i], !run_call->soon) == NULL)
		{
			if (!run_call->soon)
				errors_raise_serialization();
			run_wait(run_call, "a transaction that works on a call of the run is open");
		}
	}
}

/*
 * Nothing that a run asked for is approved, or used, once it has ended.  What
 * somebody has dealt with meanwhile, or has tampered with, stays as it is.
 */
static void
withdraw_calls(const Call *call, const OpenCalls *open)
{
	int			i;

	for (i = 0; i < open->count; i++)
	{
		Call		one = *call;

		CHECK_FOR_INTERRUPTS();
		if (!call_lock(&one, &open->ids[i]))
			errors_raise_serialization();
		if (one.tampered ||
			(one.effective.status != STATUS_PENDING && one.effective.status != STATUS_APPROVED))
			continue;
		request_move(one.request, STATUS_CANCELLED, CAUSE_WITHDRAWN);
		(void) call_write(&one, EVENT_CANCELLED, "the run has ended", NULL);
	}
}

/*
 * Ends the run that is locked, and everything below it.  An answer has to wait
 * for whatever waits for a person; other ends do not.  Requests are locked
 * after all runs and in the order of their ids, as everywhere.
 */
void
end_run(RunCall *run_call, RunStatus status, const char *reason)
{
	Call	   *call = &run_call->call;
	List	   *below = lock_below(run_call);
	OpenCalls	open = {0};
	ListCell   *cell;

	open.now = GetCurrentTimestamp();
	run_begin_open(&open);
	run_add_open(run_call->run, &open);
	foreach(cell, below)
		run_add_open(lfirst(cell), &open);
	if (status == RUN_COMPLETED && open.pending > 0)
		run_refuse_paused(run_call, &open);
	lock_calls(run_call, &open);

	/* the others may have been waited for */
	call->now = GetCurrentTimestamp();
	call_force_sync();
	end_one(call, run_call->run, status, reason);
	ring_parent(call, run_call->run);
	foreach(cell, below)
	{
		Run		   *run = lfirst(cell);

		if (run_status_live(run->status))
			end_one(call, run, RUN_CANCELLED, "the run above it has ended");
	}
	withdraw_calls(call, &open);
}

/* The same report of who held the run when it ended is no error. */
static bool
said_before(const RunCall *run_call, const char *token, RunStatus status, RunColumn column, const char *value)
{
	const Run  *run = run_call->run;

	return run->status == status && !run->nulls[RUNC_TOKEN_HASH] && run_text_is(run, column, value) &&
		secret_is(token, DatumGetDigestP(run->values[RUNC_TOKEN_HASH]));
}

/* Locks the run; false if the same was said before. */
static bool
begin_end(RunCall *run_call, RunStatus status, RunColumn column, const char *value)
{
	const char *token = args_required(run_call->call.fcinfo, 1, "token", ARGS_KEY_LIMIT);
	Reason		reason;

	run_lock_own(run_call);
	if (said_before(run_call, token, status, column, value))
		return false;
	reason = run_held(run_call->run, token, run_call->call.now);
	if (reason != REASON_NONE)
		run_refuse(run_call, reason);
	return true;
}

/* complete_run(run_id, token, answer, tenant) */
Datum
approval_complete_run(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	char	   *answer;

	run_begin(&run_call, fcinfo, "complete_run", 3);
	answer = args_required(fcinfo, 2, "answer", ARGS_TEXT_LIMIT);
	if (!begin_end(&run_call, RUN_COMPLETED, RUNC_ANSWER, answer))
		return run_answer(&run_call);
	if (blank_text(answer))
		run_refuse(&run_call, REASON_EMPTY_RESULT);
	run_set_text(run_call.run, RUNC_ANSWER, answer);
	end_run(&run_call, RUN_COMPLETED, NULL);
	return run_answer(&run_call);
}

/* fail_run(run_id, token, reason, tenant) */
Datum
approval_fail_run(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	char	   *reason;

	run_begin(&run_call, fcinfo, "fail_run", 3);
	reason = args_required(fcinfo, 2, "reason", ARGS_TEXT_LIMIT);
	if (begin_end(&run_call, RUN_FAILED, RUNC_REASON, reason))
		end_run(&run_call, RUN_FAILED, reason);
	return run_answer(&run_call);
}

/*
 * Who may stop a run: reviewers any of their tenants; its login with the
 * token, or while nobody holds it.
 */
static void
lock_to_cancel(RunCall *run_call, const char *token)
{
	Call	   *call = &run_call->call;
	const Run  *seen = run_find_latest(call->tenant, run_call->run_id);
	bool		reviews = caller_is(call->caller, "approval_approver");
	Run		   *run;
	Reason		reason;

	if (seen == NULL || !(reviews || run_text_is(seen, RUNC_LOGIN, call->caller->login)))
		run_refuse(run_call, REASON_NOT_FOUND);
	run = run_lock_soon(run_call);
	if (run == NULL)
		errors_raise_serialization();
	call->now = GetCurrentTimestamp();
	run_call->run = run;
	if (!run_status_live(run->status))
		return;
	if (reviews || run->nulls[RUNC_TOKEN_HASH] ||
		(token == NULL && run_time(run, RUNC_LEASE_UNTIL) <= call->now))
		return;
	reason = run_held(run, token, call->now);
	if (reason != REASON_NONE && reason != REASON_RUN_LEASE_EXPIRED)
		run_refuse(run_call, reason);
}

/* cancel_run(run_id, reason, token, actor, tenant) */
Datum
approval_cancel_run(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	Call	   *call = &run_call.call;
	const char *reason = args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT);
	const char *token = args_text(fcinfo, 2, "token", ARGS_KEY_LIMIT);

	run_begin(&run_call, fcinfo, "cancel_run", 4);
	run_call.soon = true;
	if (!call_actor(call, 3, false))
		errors_raise(&call->refusal);
	lock_to_cancel(&run_call, token);
	if (run_call.run->status == RUN_CANCELLED)
		return run_answer(&run_call);
	if (run_call.run->status == RUN_LIMIT)
		run_refuse(&run_call, REASON_ITERATION_LIMIT);
	if (!run_status_live(run_call.run->status))
		run_refuse(&run_call, REASON_RUN_ENDED);
	end_run(&run_call, RUN_CANCELLED, reason);
	return run_answer(&run_call);
}
