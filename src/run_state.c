/*-------------------------------------------------------------------------
 *
 * run_state.c
 *	  The states of a run and the one table of legal moves.
 *
 * Verbs, the guard trigger, approval.run_transitions(), the diagram in the docs
 * and the tests all read this table.  Whether a run awaits approval follows
 * from its requests, so those moves have no verb of their own, and what is
 * stored says "running" meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "run_state.h"

typedef struct Move
{
	RunStatus	from;
	RunStatus	to;
	const char *verb;			/* what makes the move */
} Move;

static const Move moves[] = {
	{RUN_NONE, RUN_PENDING, "start_run"},
	{RUN_PENDING, RUN_RUNNING, "claim_run"},
	{RUN_PENDING, RUN_CANCELLED, "cancel_run"},
	{RUN_RUNNING, RUN_AWAITING, "propose"},
	{RUN_AWAITING, RUN_RUNNING, "decide, cancel, expire"},
	{RUN_RUNNING, RUN_COMPLETED, "complete_run"},
	{RUN_RUNNING, RUN_FAILED, "fail_run"},
	{RUN_RUNNING, RUN_LIMIT, "next_iteration"},
	{RUN_RUNNING, RUN_CANCELLED, "cancel_run"},
	{RUN_AWAITING, RUN_FAILED, "fail_run"},
	{RUN_AWAITING, RUN_CANCELLED, "cancel_run"},
};

static const char *const words[] = {
	NULL, "pending", "running", "awaiting_approval", "completed", "failed",
	"iteration_limit_reached", "cancelled"
};

PG_FUNCTION_INFO_V1(approval_run_transitions);

const char *
run_status_word(RunStatus status)
{
	return words[status];
}

/* RUN_NONE for what is not a status. */
RunStatus
run_status(const char *word, int len)
{
	int			i;

	for (i = 1; i < (int) lengthof(words); i++)
		if (strlen(words[i]) == (size_t) len && memcmp(words[i], word, len) == 0)
			return (RunStatus) i;
	return RUN_NONE;
}

bool
run_status_live(RunStatus status)
{
	return status == RUN_PENDING || status == RUN_RUNNING || status == RUN_AWAITING;
}

/* Staying where one is is no move; what has ended stays as it is. */
bool
run_status_legal(RunStatus from, RunStatus to)
{
	int			i;

	if (from == to)
		return run_status_live(from);
	for (i = 0; i < (int) lengthof(moves); i++)
		if (moves[i].from == from && moves[i].to == to)
			return true;
	return false;
}

/* approval.run_transitions(): the table above */
Datum
approval_run_transitions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < (int) lengthof(moves); i++)
	{
		Datum		values[3] = {0};
		bool		nulls[3] = {false, false, false};

		nulls[0] = (moves[i].from == RUN_NONE);
		if (!nulls[0])
			values[0] = CStringGetTextDatum(words[moves[i].from]);
		values[1] = CStringGetTextDatum(words[moves[i].to]);
		values[2] = CStringGetTextDatum(moves[i].verb);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
