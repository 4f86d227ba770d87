/*-------------------------------------------------------------------------
 *
 * start_run.c
 *	  start_run: an agent begins a pass over a conversation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "run_call.h"
#include "run_limits.h"
#include "step.h"
#include "subject.h"
#include "trace_context.h"
#include "turn.h"

PG_FUNCTION_INFO_V1(approval_start_run);

enum
{
	ARG_CONVERSATION_ID, ARG_RUN_ID, ARG_PARENT, ARG_PARENT_TOKEN, ARG_AGENT, ARG_MAX_ITERATIONS,
	ARG_REQUESTED_BY, ARG_METADATA, ARG_TRACEPARENT, ARG_TENANT
};

/* The application's id, or a ULID. */
static char *
take_run_id(FunctionCallInfo fcinfo)
{
	char	   *run_id = args_name(fcinfo, ARG_RUN_ID, "run_id");
	Ulid		id;

	if (run_id)
		return run_id;
	run_id = palloc(ULID_TEXT_LEN + 1);
	ulid_generate(&id);
	ulid_to_text(&id, run_id);
	return run_id;
}

/* Of whom the trace is: the caller's, the parent's, or a new one. */
static void
set_trace(FunctionCallInfo fcinfo, Run *run, const Run *parent)
{
	TraceParent context = {.flags = "01"};
	bool		given = trace_argument(fcinfo, ARG_TRACEPARENT, &context);
	char		span[SPAN_ID_LEN + 1];

	trace_new_id(span, SPAN_ID_LEN);
	run_set_text(run, RUNC_SPAN_ID, span);
	if (parent)
	{
		run_set(run, RUNC_TRACE_ID, parent->values[RUNC_TRACE_ID]);
		run_set(run, RUNC_TRACE_FLAGS, parent->values[RUNC_TRACE_FLAGS]);
		run_set(run, RUNC_PARENT_SPAN, parent->values[RUNC_SPAN_ID]);
		if (given && run_text_is(parent, RUNC_TRACE_ID, context.trace_id))
			run_set_text(run, RUNC_PARENT_SPAN, context.span_id);
		return;
	}
	if (!given)
		trace_new_id(context.trace_id, TRACE_ID_LEN);
	run_set_text(run, RUNC_TRACE_ID, context.trace_id);
	run_set_text(run, RUNC_TRACE_FLAGS, context.flags);
	run_set_text(run, RUNC_PARENT_SPAN, given ? context.span_id : NULL);
}

static void
conflict(RunCall *run_call, const char *problem)
{
	errors_member_constant(&run_call->call.refusal, "problem", problem);
	run_refuse(run_call, REASON_RUN_CONFLICT);
}

/*
 * Starts in one conversation take turns, each until its transaction ends, so that
 * none reckons with what is left of a day while another one spends it.
 */
static void
take_turn(RunCall *run_call, const char *conversation_id)
{
	const Call *call = &run_call->call;
	Digest		what;

	digest_start();
	digest_add("start_run", sizeof("start_run"));
	digest_add(call->tenant, strlen(call->tenant) + 1);
	digest_add(conversation_id, strlen(conversation_id) + 1);
	digest_finish(&what);
	if (!turn_take(&what))
		conflict(run_call, "another run of the conversation is being started");
}

/* The parent, locked: it has to be the caller's, and held. */
static Run *
lock_parent(RunCall *run_call, const char *conversation_id, const char *parent_id, const char *parent_token)
{
	RunCall		parent = *run_call;
	Reason		reason;

	parent.run_id = parent_id;
	run_lock_own(&parent);
	reason = run_held(parent.run, parent_token, parent.call.now);
	if (reason != REASON_NONE)
		run_refuse(&parent, reason);
	if (run_int(parent.run, RUNC_DEPTH) >= RUN_MOST_DEPTH)
		args_bad_value("parent_run_id", "Runs nest 8 deep, the one without a parent included.");
	if (!run_text_is(parent.run, RUNC_CONVERSATION_ID, conversation_id))
		conflict(&parent, "a child is of the conversation of its parent");
	return parent.run;
}

/* What is asked for only makes it less. */
static int
asked_iterations(FunctionCallInfo fcinfo)
{
	int			asked = RUN_NO_LIMIT;

	if (!PG_ARGISNULL(ARG_MAX_ITERATIONS))
		asked = PG_GETARG_INT32(ARG_MAX_ITERATIONS);
	if (asked < 1)
		args_bad_value("max_iterations", "At least 1; policy says how many at most.");
	return asked;
}

/* What policy, the day, the parent and the caller leave; 0: nothing. */
static int
budget(const Call *call, const Run *run, const Run *parent)
{
	int			most = asked_iterations(call->fcinfo);
	RunLimits	limits;
	int64		left;

	run_limits_get(call->tenant, &limits);
	most = Min(most, limits.max_iterations);
	if (parent)
		return Min(most, run_int(parent, RUNC_MAX_ITERATIONS) - run_int(parent, RUNC_ITERATIONS));
	if (limits.per_day == RUN_NO_LIMIT)
		return most;
	left = limits.per_day - run_limits_spent(call->tenant, run_text(run, RUNC_CONVERSATION_ID), call->now);
	return (int) Max(Min((int64) most, left), 0);
}

static void
set_arguments(Call *call, Run *run, const char *run_id, const char *conversation_id, const Run *parent)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *metadata = args_json(fcinfo, ARG_METADATA);

	if (!subject_check_size(call, "metadata", metadata))
		errors_raise(&call->refusal);
	run_set_text(run, RUNC_TENANT, call->tenant);
	run_set_text(run, RUNC_RUN_ID, run_id);
	run_set_text(run, RUNC_CONVERSATION_ID, conversation_id);
	run_set_text(run, RUNC_PARENT, parent ? run_text(parent, RUNC_RUN_ID) : NULL);
	run_set_text(run, RUNC_ROOT, parent ? run_text(parent, RUNC_ROOT) : run_id);
	run_set(run, RUNC_DEPTH, Int32GetDatum(parent ? run_int(parent, RUNC_DEPTH) + 1 : 1));
	run_set_text(run, RUNC_LOGIN, call->caller->login);
	run_set_text(run, RUNC_REQUESTED_BY, call->actor);
	run_set_text(run, RUNC_AGENT, args_name(fcinfo, ARG_AGENT, "agent"));
	if (metadata)
		run_set(run, RUNC_METADATA, PointerGetDatum(metadata));
	set_trace(fcinfo, run, parent);
}

static void
set_counters(const Call *call, Run *run)
{
	run_move(run, RUN_PENDING);
	run_set(run, RUNC_ITERATIONS, Int32GetDatum(0));
	run_set(run, RUNC_FENCE, Int32GetDatum(0));
	run_set(run, RUNC_LEASE, Int64GetDatum(0));
	run_set_time(run, RUNC_STARTED_AT, call->now);
}

static bool
take_slot(TupleTableSlot *slot, void *arg)
{
	Run		  **found = arg;

	slot_getallattrs(slot);
	*found = palloc(sizeof(Run));
	run_load(*found, ExecCopySlotHeapTuple(slot), slot->tts_tupleDescriptor);
	return false;
}

/* The live run of the conversation, whoever started it; NULL if there is none. */
static Run *
find_live(const Call *call, const char *conversation_id)
{
	Relation	runs = table_of_ours(OWN_RUNS, AccessShareLock);
	Run		   *run = NULL;
	Datum		keys[2];

	keys[0] = CStringGetTextDatum(call->tenant);
	keys[1] = CStringGetTextDatum(conversation_id);
	table_visit(runs, OWN_RUNS_LIVE, keys, 2, GetLatestSnapshot(), take_slot, &run);
	table_close(runs, NoLock);
	return run;
}

/* What a run that is to be started has to be told apart by. */
typedef struct Wanted
{
	const char *conversation_id;
	const char *parent_id;		/* NULL: none */
} Wanted;

/* The same run again, or why it cannot be started. */
static Run *
existing(RunCall *run_call, const Wanted *wanted)
{
	Call	   *call = &run_call->call;
	Run		   *run = run_find(call->tenant, run_call->run_id, TABLE_NO_LOCK);

	if (run == NULL)
		return NULL;
	if (!run_text_is(run, RUNC_LOGIN, call->caller->login) ||
		!run_text_is(run, RUNC_CONVERSATION_ID, wanted->conversation_id) ||
		run->nulls[RUNC_PARENT] != (wanted->parent_id == NULL) ||
		(wanted->parent_id && !run_text_is(run, RUNC_PARENT, wanted->parent_id)))
	{
		errors_member_constant(&call->refusal, "problem", "the run_id stands for another run");
		errors_member(&call->refusal, "run_id", run_call->run_id);
		run_refuse(run_call, REASON_RUN_CONFLICT);
	}
	return run;
}

/* One live run a conversation; its children run beside it.  It may be the wanted one. */
static void
check_conversation(RunCall *run_call, const Wanted *wanted)
{
	Call	   *call = &run_call->call;
	const char *conversation_id = wanted->conversation_id;
	OpenCalls	open = {.now = call->now,.login = call->caller->login};
	Run		   *live = find_live(call, conversation_id);

	if (live && run_text_is(live, RUNC_RUN_ID, run_call->run_id))
	{
		run_call->run = existing(run_call, wanted);
		return;
	}
	if (live && run_text_is(live, RUNC_LOGIN, call->caller->login))
		errors_member(&call->refusal, "live_run_id", run_text(live, RUNC_RUN_ID));
	run_conversation_waits(call->tenant, conversation_id, &open);
	if (open.pending > 0)
		run_refuse_paused(run_call, &open);
	if (live == NULL)
		return;
	conflict(run_call, "the conversation has a live run");
}

/* A new row, or the one that was there; at once with somebody else it is his. */
static void
store(RunCall *run_call, Run *run, const Run *parent, const Wanted *wanted)
{
	Call	   *call = &run_call->call;

	if (!run_insert(run))
	{
		run_call->run = existing(run_call, wanted);
		if (run_call->run)
			return;
		if (parent == NULL)
			check_conversation(run_call, wanted);
		if (run_call->run)
			return;
		errors_raise_serialization();
	}
	run_call->run = run;
	step_journal(call, run, STEP_RUN_STARTED, run_text(run, RUNC_AGENT), NULL);
	if (parent)
		step_journal(call, parent, STEP_CHILD_STARTED, run_call->run_id, NULL);
}

/* (conversation_id, run_id, parent_run_id, parent_token, ...) */
Datum
approval_start_run(PG_FUNCTION_ARGS)
{
	RunCall		run_call = {0};
	Call	   *call = &run_call.call;
	Wanted		wanted;
	const char *parent_token;
	Run			run;
	Run		   *parent = NULL;
	int			most;

	verb_begin(call, fcinfo, "start_run");
	PreventCommandIfReadOnly(call->verb);
	wanted.conversation_id = args_required(fcinfo, ARG_CONVERSATION_ID, "conversation_id", ARGS_KEY_LIMIT);
	args_check_name("conversation_id", wanted.conversation_id, ARGS_KEY_LIMIT);
	call_tenant(call, ARG_TENANT);
	if (!call_actor(call, ARG_REQUESTED_BY, false))
		errors_raise(&call->refusal);
	run_call.run_id = take_run_id(fcinfo);
	wanted.parent_id = args_name(fcinfo, ARG_PARENT, "parent_run_id");
	parent_token = args_text(fcinfo, ARG_PARENT_TOKEN, "parent_token", ARGS_KEY_LIMIT);
	if (wanted.parent_id && parent_token == NULL)
		errors_raise_null("parent_token");
	run_call.run = existing(&run_call, &wanted);
	if (run_call.run)
		return run_answer(&run_call);
	if (wanted.parent_id)
		parent = lock_parent(&run_call, wanted.conversation_id, wanted.parent_id, parent_token);
	else
	{
		take_turn(&run_call, wanted.conversation_id);
		call->now = GetCurrentTimestamp();
		check_conversation(&run_call, &wanted);
	}
	if (run_call.run)
		return run_answer(&run_call);
	call->now = GetCurrentTimestamp();
	run_empty(&run);
	set_arguments(call, &run, run_call.run_id, wanted.conversation_id, parent);
	most = budget(call, &run, parent);
	if (most < 1)
	{
		run_call.run = parent;
		errors_member_constant(&call->refusal, "problem", parent ? "the parent has no iterations left" :
							   "the conversation has no iterations left for this day");
		run_refuse(&run_call, REASON_ITERATION_LIMIT);
	}
	run_set(&run, RUNC_MAX_ITERATIONS, Int32GetDatum(most));
	set_counters(call, &run);
	store(&run_call, &run, parent, &wanted);
	return run_answer(&run_call);
}
