/*-------------------------------------------------------------------------
 *
 * claim_run.c
 *	  claim_run and release_run: one orchestrator at a time.
 *
 * Each claim makes a new token and a greater fence, so that whoever was thought
 * dead and comes back is refused by every verb of the run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "notify.h"
#include "run_call.h"
#include "settings.h"
#include "step.h"

PG_FUNCTION_INFO_V1(approval_claim_run);
PG_FUNCTION_INFO_V1(approval_release_run);

static Statement select_open_handle = {
	.sql = "SELECT FROM approval.handles h WHERE h.tenant OPERATOR(pg_catalog.=) $1"
	" AND h.run_id OPERATOR(pg_catalog.=) $2 AND h.answered_at IS NULL LIMIT 1",
	.nparams = 2,
	.types = {TEXTOID, TEXTOID},
};

static bool
leased(const Run *run, TimestampTz now)
{
	return !run->nulls[RUNC_TOKEN_HASH] && run_time(run, RUNC_LEASE_UNTIL) > now;
}

static void
extend(RunCall *run_call, int64 lease)
{
	run_set(run_call->run, RUNC_LEASE, Int64GetDatum(lease));
	run_set_time(run_call->run, RUNC_LEASE_UNTIL, run_call->call.now + lease);
}

/* The holder, whose lease may be over, goes on under the same token. */
static void
renew(RunCall *run_call, const char *token, int64 lease)
{
	Reason		reason = run_held(run_call->run, token, run_call->call.now);

	if (reason != REASON_NONE && reason != REASON_RUN_LEASE_EXPIRED)
		run_refuse(run_call, reason);
	run_call->token = token;
	extend(run_call, lease);
	run_write(run_call->run);
}

static void
claim(RunCall *run_call, const char *claimed_by, int64 lease)
{
	Run		   *run = run_call->run;

	if (leased(run, run_call->call.now))
		run_refuse(run_call, REASON_RUN_CLAIMED);
	run_new_token(run_call);
	run_set_text(run, RUNC_CLAIMED_BY, claimed_by);
	run_set_time(run, RUNC_CLAIMED_AT, run_call->call.now);
	extend(run_call, lease);
	run_move(run, RUN_RUNNING);
	run_write(run);
	step_journal(&run_call->call, run, STEP_RUN_CLAIMED, claimed_by, NULL);
}

/* claim_run(run_id, lease, token, claimed_by, tenant) */
Datum
approval_claim_run(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	int64		lease = args_span(fcinfo, 1, "lease", 0, 1, setting_max_lease * USECS_PER_SEC);
	const char *token = args_text(fcinfo, 2, "token", ARGS_KEY_LIMIT);
	const char *claimed_by = args_name(fcinfo, 3, "claimed_by");

	run_begin(&run_call, fcinfo, "claim_run", 4);
	run_lock_own_soon(&run_call);
	call_force_sync();
	if (run_call.run->status == RUN_LIMIT)
		run_refuse(&run_call, REASON_ITERATION_LIMIT);
	if (!run_status_live(run_call.run->status))
		run_refuse(&run_call, REASON_RUN_ENDED);
	if (token)
		renew(&run_call, token, lease > 0 ? lease : DatumGetInt64(run_call.run->values[RUNC_LEASE]));
	else
		claim(&run_call, claimed_by, lease > 0 ? lease : setting_lease * USECS_PER_SEC);
	return run_answer(&run_call);
}

static bool
no_live(TupleTableSlot *slot, void *arg)
{
	bool	   *live = arg;
	Run			run;

	slot_getallattrs(slot);
	run_of_slot(&run, slot);
	*live = run_status_live(run.status);
	return !*live;
}

static bool
has_live_child(const Run *run)
{
	Relation	runs = table_of_ours(OWN_RUNS, AccessShareLock);
	Datum		keys[2];
	bool		live = false;

	keys[0] = run->values[RUNC_TENANT];
	keys[1] = run->values[RUNC_RUN_ID];
	table_visit(runs, OWN_RUNS_CHILDREN, keys, 2, GetLatestSnapshot(), no_live, &live);
	table_close(runs, NoLock);
	return live;
}

/* In the latest snapshot, as everything that a release looks at. */
static bool
has_open_handle(const Run *run)
{
	Datum		values[2];
	uint64		rows;

	values[0] = run->values[RUNC_TENANT];
	values[1] = run->values[RUNC_RUN_ID];
	PushActiveSnapshot(GetLatestSnapshot());
	rows = store_read(&select_open_handle, values, NULL);
	PopActiveSnapshot();
	return rows > 0;
}

/*
 * Whoever comes could go on at once.  While a call, a handle or a run below it is
 * open there is nothing to do but to release the run again, and the next event of
 * that one rings.
 */
static bool
may_go_on(const Run *run, TimestampTz now)
{
	OpenCalls	open = {.now = now};

	run_begin_open(&open);
	run_add_open(run, &open);
	return open.count == 0 && open.executing == 0 && !has_open_handle(run) && !has_live_child(run);
}

/* release_run(run_id, token, tenant): the next one need not wait for the lease. */
Datum
approval_release_run(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	Run		   *run;

	run_begin(&run_call, fcinfo, "release_run", 2);
	run_lock_held(&run_call, 1);
	run = run_call.run;
	run_set_time(run, RUNC_LEASE_UNTIL, run_call.call.now);
	run->nulls[RUNC_TOKEN_HASH] = true;
	run_write(run);
	step_journal(&run_call.call, run, STEP_RUN_RELEASED, NULL, NULL);
	if (may_go_on(run, run_call.call.now))
		notify_run(run_call.call.tenant, run_call.run_id, "released", run_status_word(run->status));
	return run_answer(&run_call);
}
