/*-------------------------------------------------------------------------
 *
 * sweep.c
 *	  What time does to requests: expiry, lost executions, reminders.
 *
 * A deadline holds without it; this writes down what holds, gives it its event
 * and rings.  Rows come in the order of the time at which something is due
 * (due_at) and are locked one by one as the index is walked, so that what
 * somebody holds is left for the next time.  Each gets one event in a pass.
 *
 * A batch is one subtransaction.  If it fails, its rows are tried one by one:
 * those that fail again are set aside and tried again later, at growing
 * intervals, and the rest goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "event.h"
#include "row.h"
#include "set_aside.h"
#include "sweep.h"

/*
 * So many rows that fail without one that does not: it is not the rows.  They
 * are left as they are, and the error goes on.
 */
#define FAILURES_OF_ALL 100

/* A batch while its rows are walked. */
typedef struct Batch
{
	Sweep	   *sweep;
	Relation	requests;
	MemoryContext context;		/* of one row */
	int64		written;
	int64		limit;
	bool		full;			/* there may be more */
	List	   *found;			/* of Due: only looked at, not written */
	bool		only_look;
} Batch;

typedef struct Due
{
	const char *tenant;
	Ulid		id;
} Due;

int64
sweep_written(const Swept *swept)
{
	return swept->expired + swept->abandoned + swept->reminded + swept->escalated;
}

void
sweep_begin(Sweep *sweep, Call *call, TimestampTz until)
{
	memset(sweep, 0, sizeof(*sweep));
	sweep->call = call;
	sweep->until = until;
	sweep->from = DT_NOBEGIN;
}

static bool
has_passed(const Request *request, RequestColumn at, RequestColumn done, TimestampTz now)
{
	return !request->nulls[at] && request->nulls[done] && request_time(request, at) <= now;
}

/* The event tells what the row said; verbs tell what holds. */
static void
put_away(Call *call, Swept *swept)
{
	Request    *request = call->request;

	call->status_before = request->status;
	call->outcome_before = request->outcome;
	set_aside_forget(call->tenant, request_id(request));
	if (call->effective.status != request->status)
	{
		request_move(request, call->effective.status, call->effective.cause);
		call_write(call, EVENT_EXPIRED, NULL, NULL);
		swept->expired++;
	}
	else if (call->effective.outcome != request->outcome)
	{
		request_set_outcome(request, call->effective.outcome);
		call_write(call, EVENT_ABANDONED, NULL, NULL);
		swept->abandoned++;
	}
	else if (request->status != STATUS_PENDING)
		row_renew_due(call);
	else if (has_passed(request, REQ_ESCALATE_AT, REQ_ESCALATED_AT, call->now))
	{
		request_set(request, REQ_ESCALATED_AT, TimestampTzGetDatum(call->now));
		call_write(call, EVENT_ESCALATED, request_text(request, REQ_ESCALATE_TO), NULL);
		swept->escalated++;
	}
	else if (has_passed(request, REQ_REMIND_AT, REQ_REMINDED_AT, call->now))
	{
		request_set(request, REQ_REMINDED_AT, TimestampTzGetDatum(call->now));
		call_write(call, EVENT_REMINDED, NULL, NULL);
		swept->reminded++;
	}
	else
		row_renew_due(call);
}

/* Somebody may have dealt with it before it was locked. */
static bool
is_due(const Request *request, TimestampTz until)
{
	return !request->nulls[REQ_DUE_AT] && request_time(request, REQ_DUE_AT) <= until;
}

/* A row that is locked: lock, then clock, then test, then write. */
static void
take_row(Sweep *sweep, Call *call, TupleTableSlot *slot, Request *request)
{
	slot_getallattrs(slot);
	request_of_slot(request, slot);
	request->tid = slot->tts_tid;
	memset(&call->refusal, 0, sizeof(call->refusal));
	call->tenant = request_text(request, REQ_TENANT);
	call_adopt(call, request);
	if (call->tampered)
	{
		set_aside_row(call->tenant, request_id(request), "PT412", "row_tampered");
		sweep->swept.set_aside++;
		return;
	}
	if (is_due(request, sweep->until))
		put_away(call, &sweep->swept);
}

static bool
may_touch(const Sweep *sweep, const char *tenant)
{
	const Caller *caller = sweep->call->caller;
	int			i;

	if (sweep->all_tenants || caller->all_tenants)
		return true;
	for (i = 0; i < caller->ntenants; i++)
		if (strcmp(caller->tenants[i], tenant) == 0)
			return true;
	return false;
}

/* Is it one of the caller's, and not one that is to wait? */
static bool
is_wanted(Batch *batch, TupleTableSlot *slot)
{
	bool		isnull;
	char	   *tenant = TextDatumGetCString(slot_getattr(slot, REQ_TENANT + 1, &isnull));
	const Ulid *id = DatumGetUlidP(slot_getattr(slot, REQ_ID + 1, &isnull));

	return may_touch(batch->sweep, tenant) && !set_aside_waits(id);
}

static void
note_found(Batch *batch, TupleTableSlot *slot, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	Due		   *due = palloc(sizeof(Due));
	bool		isnull;

	due->tenant = TextDatumGetCString(slot_getattr(slot, REQ_TENANT + 1, &isnull));
	due->id = *DatumGetUlidP(slot_getattr(slot, REQ_ID + 1, &isnull));
	batch->found = lappend(batch->found, due);
	MemoryContextSwitchTo(old);
}

/* Where the pass has come to, for the next batch. */
static void
note_place(Batch *batch, TupleTableSlot *slot)
{
	bool		isnull;

	batch->sweep->from = DatumGetTimestampTz(slot_getattr(slot, REQ_DUE_AT + 1, &isnull));
}

static bool
look_at(TupleTableSlot *slot, void *arg)
{
	Batch	   *batch = arg;
	MemoryContext old;
	Request		request;

	if (batch->written >= batch->limit)
	{
		batch->full = true;
		return false;
	}
	note_place(batch, slot);
	MemoryContextReset(batch->context);
	old = MemoryContextSwitchTo(batch->context);
	if (is_wanted(batch, slot))
	{
		if (batch->only_look)
		{
			note_found(batch, slot, old);
			batch->written++;
		}
		else if (table_lock_visited(batch->requests, slot))
		{
			take_row(batch->sweep, batch->sweep->call, slot, &request);
			batch->written++;
		}
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* Walks what is due, in the caller's (sub)transaction. */
static void
walk(Batch *batch)
{
	Sweep	   *sweep = batch->sweep;
	Writer		writer;
	Datum		from;
	Datum		until;

	batch->requests = table_of_ours(OWN_REQUESTS, RowExclusiveLock);
	batch->context = AllocSetContextCreate(CurrentMemoryContext, "approval sweep", ALLOCSET_DEFAULT_SIZES);
	if (!batch->only_look)
	{
		table_write_begin(&writer);
		sweep->call->writer = &writer;
	}
	PushActiveSnapshot(GetLatestSnapshot());
	from = TimestampTzGetDatum(sweep->from);
	until = TimestampTzGetDatum(sweep->until);
	table_visit_range(batch->requests, OWN_REQUESTS_DUE, NULL, &from, &until, NULL, look_at, batch);
	PopActiveSnapshot();
	if (!batch->only_look)
		table_write_end(&writer);
	sweep->call->writer = NULL;
	sweep->call->request = NULL;
	MemoryContextDelete(batch->context);
	table_close(batch->requests, NoLock);
}

/* One row by itself, for batches that have failed. */
static void
walk_one(Sweep *sweep, const Due *due)
{
	Call	   *call = sweep->call;
	Writer		writer;

	call->tenant = due->tenant;
	memset(&call->refusal, 0, sizeof(call->refusal));
	table_write_begin(&writer);
	call->writer = &writer;
	if (call_lock_free(call, &due->id))
	{
		if (call->tampered)
		{
			set_aside_row(due->tenant, &due->id, "PT412", "row_tampered");
			sweep->swept.set_aside++;
		}
		else if (is_due(call->request, sweep->until))
			put_away(call, &sweep->swept);
	}
	table_write_end(&writer);
	call->writer = NULL;
	call->request = NULL;
}

/*
 * Somebody wants an end, or there is no room: mostly not the fault of a row.
 * But a trigger may raise what it likes.
 */
static bool
is_systemic(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		error->sqlerrcode == ERRCODE_UNDEFINED_TABLE ||
		error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TRANSACTION_ROLLBACK;
}

/* Runs a part of the work; NULL, or what went wrong, with all of it undone. */
static ErrorData *
attempt(Sweep *sweep, void (*work) (Sweep *sweep, void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	Swept		before = sweep->swept;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(sweep, arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		sweep->swept = before;
		sweep->call->writer = NULL;
		sweep->call->request = NULL;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;

	/* a caller hears of it at once; the worker looks whether all rows fail */
	if (error && is_systemic(error) && !sweep->all_tenants)
		ReThrowError(error);
	return error;
}

static void
work_batch(Sweep *sweep, void *arg)
{
	walk(arg);
}

static void
work_one(Sweep *sweep, void *arg)
{
	walk_one(sweep, arg);
}

static void
set_aside_failed(Sweep *sweep, const Due *due, const ErrorData *error)
{
	set_aside_row(due->tenant, &due->id, unpack_sql_state(error->sqlerrcode), error->message);
	sweep->swept.set_aside++;
}

/* What may be nobody's fault is one row's if others of the batch do not have it. */
static void
judge(Sweep *sweep, List *rows, List *errors, bool any_good)
{
	ListCell   *row;
	ListCell   *error;

	if (rows != NIL && !any_good)
		ReThrowError(linitial(errors));
	forboth(row, rows, error, errors)
		set_aside_failed(sweep, lfirst(row), lfirst(error));
}

/* One by one, after their batch has failed. */
static void
one_by_one(Sweep *sweep, List *found)
{
	ListCell   *cell;
	List	   *rows = NIL;
	List	   *errors = NIL;
	int			failures = 0;
	bool		any_good = false;

	foreach(cell, found)
	{
		Due		   *due = lfirst(cell);
		ErrorData  *error = attempt(sweep, work_one, due);

		if (error == NULL)
		{
			any_good = true;
			continue;
		}
		if (!any_good && ++failures >= FAILURES_OF_ALL)
			ReThrowError(error);
		if (is_systemic(error))
		{
			rows = lappend(rows, due);
			errors = lappend(errors, error);
			continue;
		}
		set_aside_failed(sweep, due, error);
		FreeErrorData(error);
	}
	judge(sweep, rows, errors, any_good);
}

/*
 * One batch of at most so many rows; false when nothing is left of what was
 * due.  With the store open, and inside a transaction.
 */
bool
sweep_batch(Sweep *sweep, int64 limit)
{
	TimestampTz from = sweep->from;
	Batch		batch = {.sweep = sweep,.limit = Min(limit, SWEEP_BATCH)};
	ErrorData  *error;

	set_aside_read();
	error = attempt(sweep, work_batch, &batch);
	if (error == NULL)
		return batch.full;
	FreeErrorData(error);
	memset(&batch, 0, sizeof(batch));
	batch.sweep = sweep;
	batch.limit = Min(limit, SWEEP_BATCH);
	batch.only_look = true;
	sweep->from = from;
	walk(&batch);
	one_by_one(sweep, batch.found);
	return batch.full;
}
