/*-------------------------------------------------------------------------
 *
 * record_step.c
 *	  record_step: a model call, a tool call, evidence, a workflow.
 *
 * On the hot path of every agent: the run is only looked at, and one row is
 * stored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "args.h"
#include "clock.h"
#include "document.h"
#include "row.h"
#include "run_call.h"
#include "step.h"
#include "subject.h"
#include "trace_context.h"

PG_FUNCTION_INFO_V1(approval_record_step);

enum
{
	ARG_RUN_ID, ARG_TOKEN, ARG_SYSTEM, ARG_KIND, ARG_DETAIL, ARG_NAME, ARG_REQUEST_ID, ARG_PARENT_STEP,
	ARG_STARTED_AT, ARG_DURATION, ARG_INPUT_TOKENS, ARG_OUTPUT_TOKENS, ARG_COST, ARG_ERROR,
	ARG_TRACEPARENT, ARG_TENANT
};

/* The longest a step may have taken. */
#define LONGEST_STEP (INT64CONST(366) * USECS_PER_DAY)

/* Of one step. */
#define MOST_TOKENS INT64CONST(1000000000000)

/* Of a cost, with its point. */
#define COST_DIGITS 31

#define ANSWER_COLUMNS 8

static StepKind
take_kind(FunctionCallInfo fcinfo)
{
	char	   *kind = args_required(fcinfo, ARG_KIND, "kind", ARGS_KEY_LIMIT);
	int			i;

	for (i = 0; i < STEP_KIND_COUNT; i++)
		if (strcmp(step_kind_word(i), kind) == 0 && step_kind_open(kind))
			return (StepKind) i;
	args_bad_value("kind", "One of model_call, tool_call, retrieval, workflow and note.");
}

/* The run: of the caller, or of whoever gave an executor its token.  It is not locked. */
static void
find_run(RunCall *run_call)
{
	Call	   *call = &run_call->call;
	const char *token = args_required(call->fcinfo, ARG_TOKEN, "token", ARGS_KEY_LIMIT);
	Run		   *run = run_find_latest(call->tenant, run_call->run_id);
	Reason		reason;

	call->now = GetCurrentTimestamp();
	if (run == NULL || !(run_text_is(run, RUNC_LOGIN, call->caller->login) ||
						 caller_is(call->caller, "approval_executor")))
		run_refuse(run_call, REASON_NOT_FOUND);
	reason = run_held(run, token, call->now);
	if (reason == REASON_RUN_CLAIMED && !run_text_is(run, RUNC_LOGIN, call->caller->login))
		run_refuse(run_call, REASON_NOT_FOUND);
	run_call->run = run;
	if (reason != REASON_NONE)
		run_refuse(run_call, reason);
}

static int64
take_count(FunctionCallInfo fcinfo, int n, const char *name)
{
	int64		count;

	if (PG_ARGISNULL(n))
		return 0;
	count = PG_GETARG_INT64(n);
	if (count < 0 || count > MOST_TOKENS)
		args_bad_value(name, "From 0 to 1000000000000.");
	return count;
}

static bool
below_zero(Numeric value)
{
	return DatumGetBool(DirectFunctionCall2(numeric_lt, NumericGetDatum(value),
											DirectFunctionCall1(int4_numeric, Int32GetDatum(0))));
}

static Numeric
take_cost(FunctionCallInfo fcinfo)
{
	Numeric		cost;

	if (PG_ARGISNULL(ARG_COST))
		return NULL;
	cost = PG_GETARG_NUMERIC(ARG_COST);
	if (numeric_is_nan(cost) || numeric_is_inf(cost) || below_zero(cost) ||
		strlen(DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(cost)))) > COST_DIGITS)
		args_bad_value("cost", "A finite amount of at least 0, of at most 30 digits.");
	return cost;
}

/* Whether a JSON value can name a chunk and say how well it fits. */
static bool
sound_chunk(JsonbValue *value)
{
	JsonbValue *id;
	JsonbValue *score;

	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		return false;
	id = document_member(value->val.binary.data, "id");
	score = document_member(value->val.binary.data, "score");
	return id && (id->type == jbvString || id->type == jbvNumeric) && score && score->type == jbvNumeric;
}

/* Evidence names its chunks: {"chunks":[{"id":…,"score":…},…]}, none found is []. */
static bool
sound_evidence(const text *detail)
{
	Jsonb	   *json;
	JsonbValue *chunks;
	uint32		i;

	if (detail == NULL)
		return false;
	json = document_loose(detail);
	if (json == NULL || !JB_ROOT_IS_OBJECT(json))
		return false;
	chunks = document_member(&json->root, "chunks");
	if (chunks == NULL || chunks->type != jbvBinary || !JsonContainerIsArray(chunks->val.binary.data))
		return false;
	for (i = 0; i < JsonContainerSize(chunks->val.binary.data); i++)
		if (!sound_chunk(getIthJsonbValueFromContainer(chunks->val.binary.data, i)))
			return false;
	return true;
}

static void
set_detail(Call *call, StepRow *row, StepKind kind)
{
	text	   *detail = args_json(call->fcinfo, ARG_DETAIL);

	if (!subject_check_size(call, "detail", detail))
		errors_raise(&call->refusal);
	if (kind == STEP_RETRIEVAL && !sound_evidence(detail))
		args_bad_value("detail", "Of a retrieval: an object whose member chunks is an array of objects with id and score (a number), empty where nothing was found; no zero bytes.");
	if (detail)
		step_set(row, STEP_DETAIL, PointerGetDatum(detail));
}

/*
 * A call of this run, of the tool that the step names: an action is told apart
 * from one that no gate has seen.
 */
static void
set_request(RunCall *run_call, StepRow *row)
{
	Call	   *call = &run_call->call;
	FunctionCallInfo fcinfo = call->fcinfo;
	Request    *request;

	if (PG_ARGISNULL(ARG_REQUEST_ID))
		return;
	request = row_find(call->tenant, args_id(fcinfo, ARG_REQUEST_ID, "request_id"), NULL);
	if (request == NULL || !request_text_is(request, REQ_RUN_ID, run_call->run_id) ||
		!request_text_is(request, REQ_REQUESTER_LOGIN, run_text(run_call->run, RUNC_LOGIN)))
	{
		call->has_id = true;
		call->id = *args_id(fcinfo, ARG_REQUEST_ID, "request_id");
		call_refuse(call, REASON_NOT_FOUND);
		errors_raise(&call->refusal);
	}
	if (row->nulls[STEP_NAME])
		step_set(row, STEP_NAME, request->values[REQ_TOOL]);
	else if (!request_text_is(request, REQ_TOOL, TextDatumGetCString(row->values[STEP_NAME])))
		args_bad_value("name", "With a request, the tool that the request is for.");
	step_set(row, STEP_REQUEST_ID, UlidPGetDatum(args_id(fcinfo, ARG_REQUEST_ID, "request_id")));
}

static bool
step_exists(const Run *run, int64 seq)
{
	Relation	steps = table_of_ours(OWN_STEPS, AccessShareLock);
	Datum		keys[3];
	Found		found;
	bool		there;

	keys[0] = run->values[RUNC_TENANT];
	keys[1] = run->values[RUNC_RUN_ID];
	keys[2] = Int64GetDatum(seq);
	there = table_find(steps, OWN_STEPS_BY_ID, keys, 3, NULL, TABLE_NO_LOCK, &found);
	table_close(steps, NoLock);
	return there;
}

/* The step of this run that a span belongs to; false for any other span. */
static bool
set_parent_step(const Run *run, StepRow *row, const char *span)
{
	int64		seq;

	if (!trace_span_step(run_text(run, RUNC_SPAN_ID), span, &seq) || !step_exists(run, seq))
		return false;
	step_set(row, STEP_PARENT_SEQ, Int64GetDatum(seq));
	return true;
}

/*
 * Under what the step stands: a step that the caller names, or the span in its
 * traceparent.  A context of another trace is kept as a link.
 */
static void
set_parent(RunCall *run_call, StepRow *row)
{
	FunctionCallInfo fcinfo = run_call->call.fcinfo;
	const Run  *run = run_call->run;
	const char *step = args_text(fcinfo, ARG_PARENT_STEP, "parent_step", ARGS_KEY_LIMIT);
	TraceParent context;

	if (step && !set_parent_step(run, row, step))
		args_bad_value("parent_step", "The step_id of an earlier step of this run.");
	if (!trace_argument(fcinfo, ARG_TRACEPARENT, &context))
		return;
	if (!run_text_is(run, RUNC_TRACE_ID, context.trace_id))
		step_set_text(row, STEP_LINK, trace_header(context.trace_id, context.span_id, context.flags));
	else if (step == NULL && !run_text_is(run, RUNC_SPAN_ID, context.span_id) &&
			 !set_parent_step(run, row, context.span_id))
		step_set_text(row, STEP_PARENT_SPAN, context.span_id);
}

/* When it began and how long it took; one follows from the other. */
static void
set_times(Call *call, StepRow *row)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	int64		duration = args_span(fcinfo, ARG_DURATION, "duration", -1, 0, LONGEST_STEP);
	TimestampTz started;

	if (!PG_ARGISNULL(ARG_STARTED_AT))
	{
		started = PG_GETARG_TIMESTAMPTZ(ARG_STARTED_AT);
		if (TIMESTAMP_NOT_FINITE(started) || started < call->now - LONGEST_STEP || started > call->now + USECS_PER_DAY)
			args_bad_value("started_at", "A time within the last year.");
		if (duration < 0)
			duration = Max(call->now - started, 0);
	}
	else
		started = call->now - Max(duration, 0);
	step_set(row, STEP_STARTED_AT, TimestampTzGetDatum(started));
	if (duration >= 0)
		step_set(row, STEP_DURATION, Int64GetDatum(duration));
}

/* The value of the type approval.step. */
static Datum
answer(RunCall *run_call, const StepRow *row)
{
	Call	   *call = &run_call->call;
	TupleDesc	desc = lookup_rowtype_tupdesc(get_func_rettype(call->fcinfo->flinfo->fn_oid), -1);
	static const StepColumn columns[] = {STEP_TENANT, STEP_RUN_ID, STEP_SEQ, STEP_AT, STEP_SYSTEM, STEP_KIND};
	Datum		values[ANSWER_COLUMNS];
	bool		nulls[ANSWER_COLUMNS] = {0};
	char		span[SPAN_ID_LEN + 1];
	HeapTuple	tuple;
	int			i;

	for (i = 0; i < (int) lengthof(columns); i++)
		values[i] = row->values[columns[i]];
	trace_step_span(run_text(run_call->run, RUNC_SPAN_ID), DatumGetInt64(row->values[STEP_SEQ]), span);
	values[6] = CStringGetTextDatum(span);
	values[7] = CStringGetTextDatum(trace_header(run_text(run_call->run, RUNC_TRACE_ID), span,
												 run_text(run_call->run, RUNC_TRACE_FLAGS)));
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}

Datum
approval_record_step(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	Call	   *call = &run_call.call;
	StepRow		row;
	StepKind	kind;
	char	   *system;
	int64		input;
	int64		output;
	Numeric		cost;
	MemoryContext old;
	Datum		result;

	run_begin(&run_call, fcinfo, "record_step", ARG_TENANT);
	if (PG_ARGISNULL(ARG_TOKEN))
		errors_raise_null("token");
	system = args_required(fcinfo, ARG_SYSTEM, "system", ARGS_KEY_LIMIT);
	args_check_name("system", system, ARGS_KEY_LIMIT);
	if (strcmp(system, STEP_OWN_SYSTEM) == 0)
		args_bad_value("system", "approval stands for the verbs of this extension.");
	kind = take_kind(fcinfo);
	input = take_count(fcinfo, ARG_INPUT_TOKENS, "input_tokens");
	output = take_count(fcinfo, ARG_OUTPUT_TOKENS, "output_tokens");
	cost = take_cost(fcinfo);

	find_run(&run_call);
	step_begin(&row, call, run_call.run, kind, system);
	step_set_text(&row, STEP_NAME, args_name(fcinfo, ARG_NAME, "name"));
	step_set_text(&row, STEP_ERROR, args_text(fcinfo, ARG_ERROR, "error", ARGS_TEXT_LIMIT));
	set_detail(call, &row, kind);
	set_request(&run_call, &row);
	if (kind == STEP_TOOL_CALL && row.nulls[STEP_NAME])
		errors_raise_null("name");
	set_parent(&run_call, &row);
	set_times(call, &row);
	if (!PG_ARGISNULL(ARG_INPUT_TOKENS))
		step_set(&row, STEP_INPUT_TOKENS, Int64GetDatum(input));
	if (!PG_ARGISNULL(ARG_OUTPUT_TOKENS))
		step_set(&row, STEP_OUTPUT_TOKENS, Int64GetDatum(output));
	if (cost)
		step_set(&row, STEP_COST, NumericGetDatum(cost));
	step_insert(&row);

	old = MemoryContextSwitchTo(call->result_context);
	result = answer(&run_call, &row);
	MemoryContextSwitchTo(old);
	verb_end(call);
	return result;
}
