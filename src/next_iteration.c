/*-------------------------------------------------------------------------
 *
 * next_iteration.c
 *	  next_iteration: once more round the loop, if the budget allows it.
 *
 * What was counted must not be taken back by a rollback, or by a crash: as
 * consume, it has to commit before its answer is used.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "alone.h"
#include "args.h"
#include "end_run.h"
#include "step.h"

PG_FUNCTION_INFO_V1(approval_next_iteration);

/* The run and those above it, the run first. */
typedef struct Path
{
	int			count;
	Run		   *runs[RUN_MOST_DEPTH + 1];
} Path;

/*
 * A child spends what is its parents': all of them are locked, from the root
 * down.  Who is whose parent never changes, so it is read before.
 */
static void
lock_above(RunCall *run_call, Path *path)
{
	Call	   *call = &run_call->call;
	const Run  *run = run_call->run;
	const char *names[RUN_MOST_DEPTH + 1];
	int			count = 0;
	int			i;

	while (run && !run->nulls[RUNC_PARENT] && count < RUN_MOST_DEPTH)
	{
		names[count] = run_text(run, RUNC_PARENT);
		run = run_find(call->tenant, names[count++], TABLE_NO_LOCK);
	}
	for (i = count; i > 0; i--)
	{
		path->runs[i] = run_find(call->tenant, names[i - 1], TABLE_LOCK_WAIT);
		if (path->runs[i] == NULL)
			errors_raise_serialization();
	}
	path->count = count + 1;
}

static bool
above_live(const Path *path)
{
	int			i;

	for (i = 1; i < path->count; i++)
		if (!run_status_live(path->runs[i]->status))
			return false;
	return true;
}

static bool
exhausted(const Path *path)
{
	int			i;

	for (i = 0; i < path->count; i++)
		if (run_int(path->runs[i], RUNC_ITERATIONS) >= run_int(path->runs[i], RUNC_MAX_ITERATIONS))
			return true;
	return false;
}

static void
count_one(Path *path, TimestampTz now)
{
	int			i;

	for (i = 0; i < path->count; i++)
	{
		Run		   *run = path->runs[i];

		run_set(run, RUNC_ITERATIONS, Int32GetDatum(run_int(run, RUNC_ITERATIONS) + 1));
		run_set_time(run, RUNC_ITERATED_AT, now);
		if (i == 0)
			run_set_time(run, RUNC_LEASE_UNTIL, now + DatumGetInt64(run->values[RUNC_LEASE]));
		run_write(run);
	}
}

/* next_iteration(run_id, token, tenant) */
Datum
approval_next_iteration(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	OpenCalls	open = {0};
	Path		path;

	run_begin(&run_call, fcinfo, "next_iteration", 2);
	(void) args_required(fcinfo, 1, "token", ARGS_KEY_LIMIT);
	run_see_own(&run_call);
	lock_above(&run_call, &path);
	run_lock_held(&run_call, 1);
	path.runs[0] = run_call.run;
	if (!above_live(&path))
		run_refuse(&run_call, REASON_RUN_ENDED);
	open.now = run_call.call.now;
	run_waiting(run_call.run, &open);
	if (open.pending > 0)
		run_refuse_paused(&run_call, &open);
	if (!alone_commits(run_call.call.spi_active, fcinfo->flinfo->fn_expr))
		run_refuse(&run_call, REASON_COMMIT_FIRST);
	call_force_sync();
	if (exhausted(&path))
		end_run(&run_call, RUN_LIMIT, "the iterations are used up");
	else
	{
		count_one(&path, run_call.call.now);
		step_journal(&run_call.call, run_call.run, STEP_ITERATION, NULL, NULL);
	}
	return run_answer(&run_call);
}
