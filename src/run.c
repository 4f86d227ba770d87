/*-------------------------------------------------------------------------
 *
 * run.c
 *	  A row of approval.runs: the one table of its columns, and its rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "guard.h"
#include "run.h"
#include "trace_context.h"

PG_FUNCTION_INFO_V1(approval_sound_run);

#define RUN_INFO(symbol, name, type, flags) {name, COLUMN_##type, flags},
const ColumnInfo run_columns[RUN_COUNT] = {
	RUN_COLUMNS(RUN_INFO)
};
#undef RUN_INFO

static void
take_status(Run *run)
{
	text	   *status = DatumGetTextPP(run->values[RUNC_STATUS]);

	run->status = run_status(VARDATA_ANY(status), VARSIZE_ANY_EXHDR(status));
}

/* From a row of the table, maybe with columns that were dropped again. */
void
run_load(Run *run, HeapTuple row, TupleDesc desc)
{
	Datum		values[RUN_COUNT + TABLE_SPARE_COLUMNS];
	bool		nulls[RUN_COUNT + TABLE_SPARE_COLUMNS];

	heap_deform_tuple(row, desc, values, nulls);
	memcpy(run->values, values, sizeof(run->values));
	memcpy(run->nulls, nulls, sizeof(run->nulls));
	take_status(run);
}

/* From a slot whose attributes have been fetched; valid as long as it is. */
void
run_of_slot(Run *run, const TupleTableSlot *slot)
{
	memcpy(run->values, slot->tts_values, sizeof(run->values));
	memcpy(run->nulls, slot->tts_isnull, sizeof(run->nulls));
	run->tid = slot->tts_tid;
	take_status(run);
}

static Run *
find(const char *tenant, const char *run_id, Snapshot snapshot, TableLock lock)
{
	Relation	runs = table_of_ours(OWN_RUNS, lock == TABLE_NO_LOCK ? AccessShareLock : RowExclusiveLock);
	Run		   *run = NULL;
	Datum		keys[2];
	Found		found;

	keys[0] = CStringGetTextDatum(tenant);
	keys[1] = CStringGetTextDatum(run_id);
	if (table_find(runs, OWN_RUNS_BY_ID, keys, 2, snapshot, lock, &found))
	{
		run = palloc(sizeof(Run));
		run_load(run, found.tuple, RelationGetDescr(runs));
		run->tid = found.tid;
	}
	table_close(runs, NoLock);
	return run;
}

/* NULL if there is none. */
Run *
run_find(const char *tenant, const char *run_id, TableLock lock)
{
	return find(tenant, run_id, NULL, lock);
}

/* As it is now, whatever the snapshot of the transaction: who was fenced off stays so. */
Run *
run_find_latest(const char *tenant, const char *run_id)
{
	return find(tenant, run_id, GetLatestSnapshot(), TABLE_NO_LOCK);
}

/* False if its id, or the place of a live run in its conversation, is taken. */
bool
run_insert(const Run *run)
{
	Relation	runs = table_of_ours(OWN_RUNS, RowExclusiveLock);
	Writer		writer;
	bool		inserted;

	table_write_begin(&writer);
	inserted = table_insert_new(&writer, runs, OWN_ANY_KEY, run->values, run->nulls);
	table_write_end(&writer);
	table_close(runs, NoLock);
	return inserted;
}

/* Over the row that was locked, with the guard open for it. */
void
run_write(const Run *run)
{
	Relation	runs = table_of_ours(OWN_RUNS, RowExclusiveLock);
	Writer		writer;

	table_write_begin(&writer);
	guard_open_run(run_text(run, RUNC_TENANT), run_text(run, RUNC_RUN_ID));
	PG_TRY();
	{
		ItemPointerData tid = run->tid;

		table_update(&writer, runs, &tid, run->values, run->nulls);
	}
	PG_FINALLY();
	{
		guard_close_run();
	}
	PG_END_TRY();
	table_write_end(&writer);
	table_close(runs, NoLock);
}

void
run_empty(Run *run)
{
	memset(run, 0, sizeof(*run));
	memset(run->nulls, true, sizeof(run->nulls));
}

void
run_set(Run *run, RunColumn column, Datum value)
{
	run->values[column] = value;
	run->nulls[column] = false;
}

void
run_set_text(Run *run, RunColumn column, const char *value)
{
	run->nulls[column] = (value == NULL);
	run->values[column] = value ? CStringGetTextDatum(value) : (Datum) 0;
}

void
run_set_time(Run *run, RunColumn column, TimestampTz value)
{
	run_set(run, column, TimestampTzGetDatum(value));
}

/* To a status that is stored. */
void
run_move(Run *run, RunStatus status)
{
	Assert(status != RUN_AWAITING);
	run->status = status;
	run_set_text(run, RUNC_STATUS, run_status_word(status));
}

/* NULL for NULL. */
char *
run_text(const Run *run, RunColumn column)
{
	return run->nulls[column] ? NULL : TextDatumGetCString(run->values[column]);
}

bool
run_text_is(const Run *run, RunColumn column, const char *value)
{
	char	   *text = run_text(run, column);

	return text != NULL && strcmp(text, value) == 0;
}

int
run_int(const Run *run, RunColumn column)
{
	return DatumGetInt32(run->values[column]);
}

TimestampTz
run_time(const Run *run, RunColumn column)
{
	return DatumGetTimestampTz(run->values[column]);
}

/* What is passed on to systems that work for the run. */
char *
run_traceparent(const Run *run)
{
	return trace_header(run_text(run, RUNC_TRACE_ID), run_text(run, RUNC_SPAN_ID), run_text(run, RUNC_TRACE_FLAGS));
}

static bool
sound(RunStatus status, int iterations, int max_iterations, bool ended)
{
	return status != RUN_NONE && status != RUN_AWAITING &&
		iterations >= 0 && iterations <= max_iterations && run_status_live(status) != ended;
}

/* What the CHECK demands; the executor does not test it where a verb writes. */
bool
run_sound(const Run *run)
{
	return sound(run->status, run_int(run, RUNC_ITERATIONS), run_int(run, RUNC_MAX_ITERATIONS), !run->nulls[RUNC_ENDED_AT]);
}

/*
 * sound_run(status, iterations, max_iterations, ended_at): the CHECK of
 * approval.runs; not STRICT, since a CHECK lets NULL pass.
 */
Datum
approval_sound_run(PG_FUNCTION_ARGS)
{
	text	   *word;
	RunStatus	status;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_BOOL(false);
	word = PG_GETARG_TEXT_PP(0);
	status = run_status(VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word));
	PG_RETURN_BOOL(sound(status, PG_GETARG_INT32(1), PG_GETARG_INT32(2), !PG_ARGISNULL(3)));
}
