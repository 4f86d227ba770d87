/*-------------------------------------------------------------------------
 *
 * trace.c
 *	  trace and run_of: the whole story of a run, in one order.
 *
 * Steps and events of requests are numbered by one sequence.  Both are read by
 * their keys, so that a run costs what it is long, however many others there
 * are, and sorted on disk if need be.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_operator_d.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplesort.h"

#include "args.h"
#include "canonical.h"
#include "event.h"
#include "read.h"
#include "run_call.h"
#include "step.h"
#include "trace_context.h"

PG_FUNCTION_INFO_V1(approval_trace);
PG_FUNCTION_INFO_V1(approval_run_of);

/* The columns of the answer, in order. */
enum
{
	OUT_SEQ, OUT_AT, OUT_RUN_ID, OUT_SOURCE, OUT_KIND, OUT_SYSTEM, OUT_NAME, OUT_ACTOR, OUT_LOGIN, OUT_STATUS,
	OUT_REQUEST_ID, OUT_STEP_ID, OUT_PARENT_STEP, OUT_LINK, OUT_ITERATION, OUT_STARTED_AT, OUT_DURATION,
	OUT_INPUT_TOKENS, OUT_OUTPUT_TOKENS, OUT_COST, OUT_ERROR, OUT_DETAIL,
	OUT_COUNT
};

typedef struct Trace
{
	Call		call;
	Snapshot	snapshot;
	Relation	requests;
	Relation	events;
	Tuplesortstate *sort;
	TupleTableSlot *slot;		/* a row on its way */
	MemoryContext row;			/* of one row */
	bool		with_note;
	const char *run_id;			/* the run that is being walked */
	const char *span_id;		/* of it; NULL: nobody has started it */
	const Request *request;		/* the request whose events are walked */
} Trace;

/* What an event is about; what is in no list is about the request. */
static const char *
source_of_event(const char *kind)
{
	static const char *const executions[] = {
		EVENT_CONSUMED, EVENT_RESUMED, EVENT_COMPLETED, EVENT_RECONCILED, EVENT_ABANDONED,
		EVENT_COMPLETED_TAMPERED, EVENT_RECONCILED_TAMPERED
	};
	static const char *const decisions[] = {
		EVENT_APPROVED, EVENT_EDITED, EVENT_AMENDED, EVENT_REJECTED, EVENT_VOTED, EVENT_OBJECTED, EVENT_REVOKED
	};
	int			i;

	for (i = 0; i < (int) lengthof(executions); i++)
		if (strcmp(kind, executions[i]) == 0)
			return "execution";
	for (i = 0; i < (int) lengthof(decisions); i++)
		if (strcmp(kind, decisions[i]) == 0)
			return "decision";
	return "request";
}

/* By its kind, which nobody but us can choose where it is not open. */
static const char *
source_of_step(const char *kind)
{
	if (strcmp(kind, step_kind_word(STEP_HANDLE_ATTACHED)) == 0 || strcmp(kind, step_kind_word(STEP_CALLBACK)) == 0)
		return "handle";
	return step_kind_open(kind) ? "step" : "run";
}

static void
put(Trace *trace, int column, Datum value, bool isnull)
{
	trace->slot->tts_values[column] = isnull ? (Datum) 0 : value;
	trace->slot->tts_isnull[column] = isnull;
}

static void
put_text(Trace *trace, int column, const char *value)
{
	put(trace, column, value ? CStringGetTextDatum(value) : (Datum) 0, value == NULL);
}

static void
begin_row(Trace *trace)
{
	ExecClearTuple(trace->slot);
	memset(trace->slot->tts_isnull, true, sizeof(bool) * OUT_COUNT);
	put_text(trace, OUT_RUN_ID, trace->run_id);
}

static void
end_row(Trace *trace)
{
	ExecStoreVirtualTuple(trace->slot);
	tuplesort_puttupleslot(trace->sort, trace->slot);
}

static char *
slot_text(const TupleTableSlot *slot, int column)
{
	return slot->tts_isnull[column] ? NULL : TextDatumGetCString(slot->tts_values[column]);
}

static void
copy(Trace *trace, int column, const TupleTableSlot *from, int source)
{
	put(trace, column, from->tts_values[source], from->tts_isnull[source]);
}

static char *
hex_of_column(const TupleTableSlot *slot, int column)
{
	char	   *hex = palloc(DIGEST_TEXT_LEN + 1);

	digest_to_hex(DatumGetDigestP(slot->tts_values[column]), hex);
	return hex;
}

/* What an event is about, beyond the columns. */
static char *
event_detail(const Trace *trace, const TupleTableSlot *slot)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	canonical_append_member(&out, "tool_call_id", request_text(trace->request, REQ_TOOL_CALL_ID));
	canonical_append_member(&out, "resource", request_text(trace->request, REQ_RESOURCE));
	canonical_append_member(&out, "action_hash", hex_of_column(slot, EV_ACTION_HASH));
	canonical_append_member(&out, "review_hash", hex_of_column(slot, EV_REVIEW_HASH));
	canonical_append_member(&out, "status_before", slot_text(slot, EV_STATUS_BEFORE));
	canonical_append_member(&out, "status", slot_text(slot, EV_STATUS_AFTER));
	canonical_append_member(&out, "outcome", slot_text(slot, EV_OUTCOME_AFTER));
	canonical_append_member(&out, "note", trace->with_note ? slot_text(slot, EV_NOTE) : NULL);
	appendStringInfoChar(&out, '}');
	return out.data;
}

static bool
visit_event(TupleTableSlot *slot, void *arg)
{
	Trace	   *trace = arg;
	MemoryContext old = MemoryContextSwitchTo(trace->row);
	char	   *kind;
	char	   *status;
	char	   *outcome;

	slot_getallattrs(slot);
	kind = slot_text(slot, EV_KIND);
	status = slot_text(slot, EV_STATUS_AFTER);
	outcome = slot_text(slot, EV_OUTCOME_AFTER);
	begin_row(trace);
	copy(trace, OUT_SEQ, slot, EV_SEQ);
	copy(trace, OUT_AT, slot, EV_AT);
	put_text(trace, OUT_SOURCE, source_of_event(kind));
	put_text(trace, OUT_KIND, kind);
	put_text(trace, OUT_SYSTEM, request_text(trace->request, REQ_SERVER));
	put_text(trace, OUT_NAME, request_text(trace->request, REQ_TOOL));
	copy(trace, OUT_ACTOR, slot, EV_ACTOR);
	copy(trace, OUT_LOGIN, slot, EV_LOGIN);
	put_text(trace, OUT_STATUS, outcome ? psprintf("%s %s", status, outcome) : status);
	copy(trace, OUT_REQUEST_ID, slot, EV_REQUEST);
	put_text(trace, OUT_DETAIL, event_detail(trace, slot));
	end_row(trace);
	MemoryContextSwitchTo(old);
	MemoryContextReset(trace->row);
	return true;
}

static bool
visit_request(TupleTableSlot *slot, void *arg)
{
	Trace	   *trace = arg;
	Request		request;
	Datum		keys[2];

	slot_getallattrs(slot);
	request_of_slot(&request, slot);
	if (!read_allowed(&trace->call, &request))
		return true;
	trace->request = &request;
	keys[0] = request.values[REQ_TENANT];
	keys[1] = request.values[REQ_ID];
	table_visit(trace->events, OWN_EVENTS_BY_ID, keys, 2, trace->snapshot, visit_event, trace);
	return true;
}

static Datum
interval_of(int64 microseconds)
{
	Interval   *span = palloc0(sizeof(Interval));

	span->time = microseconds;
	return IntervalPGetDatum(span);
}

/* Step ids, and the parent, which may be of another system. */
static void
put_spans(Trace *trace, const TupleTableSlot *slot)
{
	char		span[SPAN_ID_LEN + 1];

	trace_step_span(trace->span_id, DatumGetInt64(slot->tts_values[STEP_SEQ]), span);
	put_text(trace, OUT_STEP_ID, span);
	if (!slot->tts_isnull[STEP_PARENT_SEQ])
	{
		trace_step_span(trace->span_id, DatumGetInt64(slot->tts_values[STEP_PARENT_SEQ]), span);
		put_text(trace, OUT_PARENT_STEP, span);
	}
	else
		copy(trace, OUT_PARENT_STEP, slot, STEP_PARENT_SPAN);
}

static bool
visit_step(TupleTableSlot *slot, void *arg)
{
	static const int columns[][2] = {
		{OUT_SEQ, STEP_SEQ}, {OUT_AT, STEP_AT}, {OUT_KIND, STEP_KIND}, {OUT_SYSTEM, STEP_SYSTEM},
		{OUT_NAME, STEP_NAME}, {OUT_ACTOR, STEP_ACTOR}, {OUT_LOGIN, STEP_LOGIN},
		{OUT_REQUEST_ID, STEP_REQUEST_ID}, {OUT_LINK, STEP_LINK}, {OUT_ITERATION, STEP_IN_ITERATION}, {OUT_STARTED_AT, STEP_STARTED_AT},
		{OUT_INPUT_TOKENS, STEP_INPUT_TOKENS}, {OUT_OUTPUT_TOKENS, STEP_OUTPUT_TOKENS}, {OUT_COST, STEP_COST},
		{OUT_ERROR, STEP_ERROR}, {OUT_DETAIL, STEP_DETAIL}
	};
	Trace	   *trace = arg;
	MemoryContext old = MemoryContextSwitchTo(trace->row);
	int			i;

	slot_getallattrs(slot);
	begin_row(trace);
	for (i = 0; i < (int) lengthof(columns); i++)
		copy(trace, columns[i][0], slot, columns[i][1]);
	put_text(trace, OUT_SOURCE, source_of_step(slot_text(slot, STEP_KIND)));
	if (!slot->tts_isnull[STEP_DURATION])
		put(trace, OUT_DURATION, interval_of(DatumGetInt64(slot->tts_values[STEP_DURATION])), false);
	put_spans(trace, slot);
	end_row(trace);
	MemoryContextSwitchTo(old);
	MemoryContextReset(trace->row);
	return true;
}

static bool
may_see(const Call *call, const Run *run)
{
	return call->caller->sight == SIGHT_TENANT ||
		(call->caller->sight == SIGHT_OWN && run_text_is(run, RUNC_LOGIN, call->caller->login));
}

/* A run as far as it is needed while others are walked. */
typedef struct Walked
{
	const char *run_id;
	const char *span_id;
} Walked;

static bool
keep_child(TupleTableSlot *slot, void *arg)
{
	List	  **walked = arg;
	Walked	   *child = palloc(sizeof(Walked));
	Run			run;

	slot_getallattrs(slot);
	run_of_slot(&run, slot);
	child->run_id = run_text(&run, RUNC_RUN_ID);
	child->span_id = run_text(&run, RUNC_SPAN_ID);
	*walked = lappend(*walked, child);
	return true;
}

/* The run and all below it; one that nobody has started has only its calls. */
static List *
runs_of(Trace *trace, const char *run_id, const Run *run)
{
	Relation	runs = table_of_ours(OWN_RUNS, AccessShareLock);
	Walked	   *first = palloc(sizeof(Walked));
	List	   *walked;
	Datum		keys[2];
	int			i;

	first->run_id = run_id;
	first->span_id = run ? run_text(run, RUNC_SPAN_ID) : NULL;
	walked = list_make1(first);
	keys[0] = CStringGetTextDatum(trace->call.tenant);
	for (i = 0; run && i < list_length(walked); i++)
	{
		keys[1] = CStringGetTextDatum(((Walked *) list_nth(walked, i))->run_id);
		table_visit(runs, OWN_RUNS_CHILDREN, keys, 2, trace->snapshot, keep_child, &walked);
	}
	table_close(runs, NoLock);
	return walked;
}

static void
walk_run(Trace *trace, const Walked *walked)
{
	Relation	steps = table_of_ours(OWN_STEPS, AccessShareLock);
	Datum		keys[2];

	trace->run_id = walked->run_id;
	trace->span_id = walked->span_id;
	keys[0] = CStringGetTextDatum(trace->call.tenant);
	keys[1] = CStringGetTextDatum(walked->run_id);
	table_visit(trace->requests, OWN_REQUESTS_RUN, keys, 2, trace->snapshot, visit_request, trace);
	if (walked->span_id)
		table_visit(steps, OWN_STEPS_BY_ID, keys, 2, trace->snapshot, visit_step, trace);
	table_close(steps, NoLock);
}

static void
begin_sort(Trace *trace, TupleDesc desc)
{
	AttrNumber	column = OUT_SEQ + 1;
	Oid			less = Int8LessOperator;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	trace->sort = tuplesort_begin_heap(desc, 1, &column, &less, &collation, &nulls_first,
									   work_mem, NULL, TUPLESORT_NONE);
	trace->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	trace->row = AllocSetContextCreate(CurrentMemoryContext, "approval trace", ALLOCSET_DEFAULT_SIZES);
}

/* Hands the rows out in order; how many there were. */
static int64
end_sort(Trace *trace, ReturnSetInfo *rsinfo)
{
	TupleTableSlot *sorted = MakeSingleTupleTableSlot(rsinfo->setDesc, &TTSOpsMinimalTuple);
	int64		count = 0;

	tuplesort_performsort(trace->sort);
	while (tuplesort_gettupleslot(trace->sort, true, false, sorted, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttupleslot(rsinfo->setResult, sorted);
		count++;
	}
	ExecDropSingleTupleTableSlot(sorted);
	ExecDropSingleTupleTableSlot(trace->slot);
	tuplesort_end(trace->sort);
	return count;
}

/* trace(run_id, tenant) */
Datum
approval_trace(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Trace		trace = {0};
	char	   *run_id;
	Run		   *run;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (rsinfo->setDesc->natts != OUT_COUNT)
		elog(ERROR, "trace() has %d columns instead of %d", rsinfo->setDesc->natts, OUT_COUNT);
	verb_begin(&trace.call, fcinfo, "trace");
	run_id = args_required(fcinfo, 0, "run_id", ARGS_KEY_LIMIT);
	call_tenant(&trace.call, 1);
	PushActiveSnapshot(GetTransactionSnapshot());
	trace.snapshot = GetActiveSnapshot();
	trace.with_note = read_notes(&trace.call);
	trace.requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	trace.events = table_of_ours(OWN_EVENTS, AccessShareLock);
	begin_sort(&trace, rsinfo->setDesc);
	run = run_find(trace.call.tenant, run_id, TABLE_NO_LOCK);
	if (run && !may_see(&trace.call, run))
		run = NULL;
	foreach(cell, runs_of(&trace, run_id, run))
		walk_run(&trace, lfirst(cell));
	if (end_sort(&trace, rsinfo) == 0)
	{
		call_refuse(&trace.call, REASON_NOT_FOUND);
		errors_raise(&trace.call.refusal);
	}
	table_close(trace.events, NoLock);
	table_close(trace.requests, NoLock);
	PopActiveSnapshot();
	verb_end(&trace.call);
	return (Datum) 0;
}

/* run_of(run_id, tenant) */
Datum
approval_run_of(PG_FUNCTION_ARGS)
{
	RunCall		run_call = {0};
	Call	   *call = &run_call.call;

	verb_begin(call, fcinfo, "run_of");
	run_call.run_id = args_required(fcinfo, 0, "run_id", ARGS_KEY_LIMIT);
	call_tenant(call, 1);
	call->now = GetCurrentStatementStartTimestamp();
	run_call.run = run_find(call->tenant, run_call.run_id, TABLE_NO_LOCK);
	if (run_call.run == NULL || !may_see(call, run_call.run))
	{
		run_call.run = NULL;
		run_refuse(&run_call, REASON_NOT_FOUND);
	}
	return run_answer(&run_call);
}
