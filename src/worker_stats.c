/*-------------------------------------------------------------------------
 *
 * worker_stats.c
 *	  worker_state: what the worker of this database tells about itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "caller.h"
#include "notify.h"
#include "worker_shmem.h"

PG_FUNCTION_INFO_V1(approval_worker_state);

enum
{
	STATE_PRELOADED, STATE_LAUNCHER_PID, STATE_WORKER_PID, STATE_STATE, STATE_NOTIFY, STATE_NEXT_DUE,
	STATE_STARTED_AT, STATE_SWEPT_AT, STATE_SWEEP_TIME, STATE_EXPIRED, STATE_ABANDONED, STATE_REMINDED,
	STATE_ESCALATED, STATE_SET_ASIDE, STATE_ANNOUNCED, STATE_ANNOUNCED_AT, STATE_ERRORS, STATE_ERROR,
	STATE_ERROR_AT, STATE_FAILURES, STATE_RETRY_AT, STATE_WAITS, STATE_COLUMNS
};

static const char *const state_words[] = {
	[WORKER_NONE] = "sleeping",[WORKER_STARTING] = "starting",[WORKER_RUNNING] = "running"
};

static const char *const notify_words[] = {
	[NOTIFY_AUTO] = "auto",[NOTIFY_WORKER] = "worker",[NOTIFY_TRANSACTION] = "transaction",[NOTIFY_OFF] = "off"
};

typedef struct Row
{
	Datum		values[STATE_COLUMNS];
	bool		nulls[STATE_COLUMNS];
} Row;

static void
set(Row *row, int column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

static void
set_text(Row *row, int column, const char *value)
{
	if (value[0] != '\0')
		set(row, column, CStringGetTextDatum(value));
}

static void
set_time(Row *row, int column, TimestampTz at)
{
	if (at != 0 && !TIMESTAMP_NOT_FINITE(at))
		set(row, column, TimestampTzGetDatum(at));
}

static void
set_pid(Row *row, int column, int pid)
{
	if (pid != 0)
		set(row, column, Int32GetDatum(pid));
}

static Datum
span_datum(int64 microseconds)
{
	Interval   *span = palloc0(sizeof(Interval));

	span->time = microseconds;
	return IntervalPGetDatum(span);
}

static void
put_stats(Row *row, const WorkerStats *stats)
{
	set_time(row, STATE_STARTED_AT, stats->started_at);
	set_time(row, STATE_SWEPT_AT, stats->swept_at);
	if (stats->swept_at != 0)
		set(row, STATE_SWEEP_TIME, span_datum(stats->sweep_time));
	set(row, STATE_EXPIRED, Int64GetDatum(stats->expired));
	set(row, STATE_ABANDONED, Int64GetDatum(stats->abandoned));
	set(row, STATE_REMINDED, Int64GetDatum(stats->reminded));
	set(row, STATE_ESCALATED, Int64GetDatum(stats->escalated));
	set(row, STATE_SET_ASIDE, Int64GetDatum(stats->set_aside));
	set(row, STATE_ANNOUNCED, Int64GetDatum(stats->announced));
	set_time(row, STATE_ANNOUNCED_AT, stats->announced_at);
	set(row, STATE_ERRORS, Int64GetDatum(stats->errors));
	set_text(row, STATE_ERROR, stats->error);
	set_time(row, STATE_ERROR_AT, stats->error_at);
}

/* What happened in all tenants together is for those who may see all. */
static void
put_slot(Row *row, DatabaseSlot *slot, bool all_tenants)
{
	DatabaseSlot copy;

	SpinLockAcquire(&slot->mutex);
	memcpy(&copy, slot, sizeof(copy));
	SpinLockRelease(&slot->mutex);
	set_pid(row, STATE_WORKER_PID, copy.pid);
	set_text(row, STATE_STATE, state_words[copy.state]);
	set(row, STATE_FAILURES, Int32GetDatum(copy.failures));
	set_time(row, STATE_RETRY_AT, copy.not_before);
	if (!all_tenants)
		return;
	set_time(row, STATE_NEXT_DUE, copy.next_due);
	put_stats(row, &copy.stats);
}

static int
count_waits(void)
{
	int			count = 0;
	int			i;

	for (i = 0; i < MaxBackends; i++)
		count += OidIsValid(worker_waits[i]);
	return count;
}

/* worker_state(): one row */
Datum
approval_worker_state(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Row			row;
	DatabaseSlot *slot = worker_slot_of(MyDatabaseId, false);
	int			launcher;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != STATE_COLUMNS)
		elog(ERROR, "worker_state must return a row of %d columns", STATE_COLUMNS);
	memset(&row, 0, sizeof(row));
	memset(row.nulls, true, sizeof(row.nulls));
	set(&row, STATE_PRELOADED, BoolGetDatum(worker_shared != NULL));
	set_text(&row, STATE_NOTIFY, notify_words[notify_mode()]);
	set_text(&row, STATE_STATE, worker_shared ? state_words[WORKER_NONE] : "absent");
	if (worker_shared)
	{
		SpinLockAcquire(&worker_shared->mutex);
		launcher = worker_shared->launcher_pid;
		SpinLockRelease(&worker_shared->mutex);
		set_pid(&row, STATE_LAUNCHER_PID, launcher);
		set(&row, STATE_WAITS, Int32GetDatum(count_waits()));
	}
	if (slot)
		put_slot(&row, slot, caller_get()->all_tenants || superuser());
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), row.values, row.nulls)));
}
