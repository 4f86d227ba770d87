/*-------------------------------------------------------------------------
 *
 * verb.c
 *	  What every verb goes through: caller, lock, clock, test, write, answer.
 *
 * A verb is a function over a Call.  It locks its row with call_lock, tests,
 * and ends in call_refuse, STEP_UNCHANGED or call_write; it never reads a clock
 * or writes a row by itself.  verb_plain and verb_try are its two faces: one
 * raises a refusal, the other returns and keeps it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "alone.h"
#include "args.h"
#include "budget.h"
#include "param.h"
#include "permit.h"
#include "row.h"
#include "settings.h"
#include "verb.h"

#define REFUSAL_PARAMS 10
#define ATTEMPT_COLUMNS 7

static Statement insert_refusal = {
	.sql = "INSERT INTO approval.refusal_log"
	" (tenant, at, verb, login, role, actor, request_id, reason, http_status, detail)"
	" VALUES ($1, $2, $3, $4, $5, $6, $7::approval.ulid, $8, $9, $10)",
	.nparams = REFUSAL_PARAMS,
	.types = {TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, UUIDOID, TEXTOID, INT4OID, JSONOID},
};

/* Capture who calls, then act as the owner of the tables. */
void
verb_begin(Call *call, FunctionCallInfo fcinfo, const char *verb)
{
	const Caller *caller;

	memset(call, 0, sizeof(*call));
	call->fcinfo = fcinfo;
	call->verb = verb;
	call->result_context = CurrentMemoryContext;
	caller = caller_get();
	call->spi_active = alone_spi_active();
	store_open(&call->store);
	call->caller = caller_copy(caller);
	call->actor = call->caller->actor;
}

void
verb_end(Call *call)
{
	store_close(&call->store);
}

/* Says no.  What the row says is told only once the row was found. */
Step
call_refuse(Call *call, Reason reason)
{
	Refusal    *refusal = &call->refusal;

	refusal->reason = reason;
	refusal->has_id = call->has_id;
	refusal->id = call->id;
	refusal->status = NULL;
	if (call->request && reason != REASON_NOT_FOUND)
	{
		refusal->status = state_status_word(call->effective.status);
		if (reason == REASON_ALREADY_DECIDED || reason == REASON_ALREADY_CONSUMED ||
			reason == REASON_NOT_APPROVED)
			row_tell_decision(call->request, refusal);
		if (reason == REASON_ALREADY_CONSUMED)
			errors_member(refusal, "execution_id", request_text(call->request, REQ_EXECUTION_ID));
		if (call->effective.outcome != OUTCOME_NONE)
			errors_member_raw(refusal, "outcome",
							  psprintf("\"%s\"", state_outcome_word(call->effective.outcome)));
	}
	return STEP_REFUSED;
}

/* The tenant is the last argument of every verb. */
void
call_tenant(Call *call, int argument)
{
	call->tenant = caller_tenant(call->caller,
								 args_text(call->fcinfo, argument, "tenant", ARGS_KEY_LIMIT));
}

/* The actor named in an argument, or the login's own; false if refused. */
bool
call_actor(Call *call, int argument, bool must_name)
{
	const char *wanted = args_text(call->fcinfo, argument, "actor", ARGS_KEY_LIMIT);
	const char *actor = caller_actor(call->caller, wanted, must_name, &call->refusal);

	if (actor == NULL)
	{
		call_refuse(call, REASON_ACTOR_NOT_ALLOWED);
		return false;
	}
	call->actor = actor;
	return true;
}

Datum
call_request_datum(const Call *call, Oid type)
{
	bool		with_reply_to = request_text_is(call->request, REQ_REQUESTER_LOGIN, call->caller->login) ||
	caller_is(call->caller, "approval_executor");

	return request_datum(call->request, type, call->effective, with_reply_to);
}

/* Puts the row into the set that a function returns. */
void
call_put(Call *call, ReturnSetInfo *rsinfo, Oid type)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(call_request_datum(call, type));
	HeapTupleData tuple;

	tuple.t_len = HeapTupleHeaderGetDatumLength(row);
	tuple.t_data = row;
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuplestore_puttuple(rsinfo->setResult, &tuple);
}

/*
 * A decision that was answered must survive a crash: synchronous_commit can be
 * switched off by any user.
 */
void
call_force_sync(void)
{
	if (setting_force_sync)
		ForceSyncCommit();
}

static Datum
answer_datum(const Call *call, Answer answer, Oid type)
{
	return answer == ANSWER_PERMIT ? permit_datum(call, type) : call_request_datum(call, type);
}

/* The face that raises. */
Datum
verb_plain(FunctionCallInfo fcinfo, const char *verb, VerbBody body, Answer answer)
{
	Call		call;
	MemoryContext old;
	Datum		result;

	verb_begin(&call, fcinfo, verb);
	if (body(&call) == STEP_REFUSED)
		errors_raise(&call.refusal);
	old = MemoryContextSwitchTo(call.result_context);
	result = answer_datum(&call, answer, get_func_rettype(fcinfo->flinfo->fn_oid));
	MemoryContextSwitchTo(old);
	verb_end(&call);
	return result;
}

/* For approval.refusals. */
void
call_keep_refusal(const Call *call, const char *detail)
{
	Datum		values[REFUSAL_PARAMS];
	char		nulls[REFUSAL_PARAMS];

	memset(nulls, ' ', sizeof(nulls));
	param_text(values, nulls, 0, call->tenant);
	values[1] = TimestampTzGetDatum(GetCurrentTimestamp());
	param_text(values, nulls, 2, call->verb);
	param_text(values, nulls, 3, call->caller->login);
	param_text(values, nulls, 4, call->caller->role);
	param_text(values, nulls, 5, call->actor);
	param_ulid(values, nulls, 6, call->has_id ? &call->id : NULL);
	param_text(values, nulls, 7, errors_reason(call->refusal.reason));
	values[8] = Int32GetDatum(errors_http(call->refusal.reason));
	param_text(values, nulls, 9, detail);
	store_run(&insert_refusal, values, nulls, SPI_OK_INSERT, 0);
}

Oid
call_own_type(const char *name)
{
	Oid			space = get_namespace_oid("approval", false);

	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
						   CStringGetDatum(name), ObjectIdGetDatum(space));
}

static Datum
json_of_row(Datum row)
{
	return DirectFunctionCall1(row_to_json, row);
}

/* The value of the type approval.attempt. */
static Datum
attempt_datum(Call *call, Answer answer, Step step, const char *detail)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(get_func_rettype(call->fcinfo->flinfo->fn_oid), -1);
	Datum		values[ATTEMPT_COLUMNS] = {0};
	bool		nulls[ATTEMPT_COLUMNS];
	HeapTuple	tuple;

	memset(nulls, true, sizeof(nulls));
	values[0] = BoolGetDatum(step != STEP_REFUSED);
	values[6] = TimestampTzGetDatum(GetCurrentTimestamp());
	nulls[0] = nulls[6] = false;
	values[2] = Int32GetDatum(200);
	nulls[2] = false;
	if (step == STEP_REFUSED)
	{
		values[1] = CStringGetTextDatum(errors_reason(call->refusal.reason));
		values[2] = Int32GetDatum(errors_http(call->refusal.reason));
		values[3] = CStringGetTextDatum(detail);
		nulls[1] = nulls[3] = false;
	}
	if (answer == ANSWER_SEVERAL && call->has_answers)
	{
		values[4] = call->answers;
		nulls[4] = false;
	}
	else if (call->request)
	{
		values[4] = json_of_row(call_request_datum(call, call_own_type("request")));
		nulls[4] = false;
	}
	if (answer == ANSWER_PERMIT && call->permit.granted)
	{
		values[5] = json_of_row(permit_datum(call, call_own_type("permit")));
		nulls[5] = false;
	}
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}

/* The face that returns what it refused, and keeps it. */
Datum
verb_try(FunctionCallInfo fcinfo, const char *verb, VerbBody body, Answer answer)
{
	Call		call;
	Step		step;
	MemoryContext old;
	const char *detail = NULL;
	Datum		result;

	verb_begin(&call, fcinfo, verb);
	step = body(&call);
	if (step == STEP_REFUSED)
	{
		detail = errors_detail(&call.refusal);
		call_keep_refusal(&call, detail);
	}
	old = MemoryContextSwitchTo(call.result_context);
	result = attempt_datum(&call, answer, step, detail);
	MemoryContextSwitchTo(old);
	verb_end(&call);
	return result;
}

/* A row that has just been locked: read the clock, then say what its state is. */
void
call_adopt(Call *call, Request *request)
{
	call->id = *request_id(request);
	call->has_id = true;
	call->now = GetCurrentTimestamp();
	call->request = request;
	call->effective = request_effective(request, call->now);
	call->status_before = call->effective.status;
	call->outcome_before = call->effective.outcome;
	call->tampered = !row_intact(request);
}

static bool
lock_row(Call *call, const Ulid *id, bool wait)
{
	Request    *request;

	call->id = *id;
	call->has_id = true;
	PreventCommandIfReadOnly(call->verb);
	request = row_lock(call->tenant, id, wait);
	call->now = GetCurrentTimestamp();
	if (request == NULL)
	{
		call_refuse(call, REASON_NOT_FOUND);
		return false;
	}
	call_adopt(call, request);
	return true;
}

/*
 * Lock the row, then read the clock, then say what its state is.  False, with
 * a refusal, for a row that does not exist for this caller.
 */
bool
call_lock(Call *call, const Ulid *id)
{
	return lock_row(call, id, true);
}

/* The same, but false also for a row that somebody else holds. */
bool
call_lock_free(Call *call, const Ulid *id)
{
	return lock_row(call, id, false);
}

/* Writes the changed row, its event and its decision, and rings. */
Step
call_write(Call *call, const char *kind, const char *note, const Decision *decision)
{
	if (!state_legal(call->status_before, call->outcome_before,
					 call->request->status, call->request->outcome))
		elog(ERROR, "illegal move of a request by verb %s", call->verb);
	row_write(call, kind, note, decision);
	if (!call->request->nulls[REQ_RESERVED])
		budget_settle(call);
	call->effective = request_effective(call->request, call->now);
	return STEP_WRITTEN;
}

/* Stores a new row; STEP_UNCHANGED if its tool call id is taken. */
Step
call_born(Call *call, const char *kind, const char *note)
{
	if (!state_legal(STATUS_NONE, OUTCOME_NONE, call->request->status, call->request->outcome))
		elog(ERROR, "a request cannot be born like that");
	PreventCommandIfReadOnly(call->verb);
	if (!row_insert(call, kind, note))
		return STEP_UNCHANGED;
	call->effective = request_effective(call->request, call->now);
	return STEP_WRITTEN;
}

/* A heartbeat moves nothing, so it makes no event. */
Step
call_renew_lease(Call *call)
{
	row_renew_lease(call);
	call->effective = request_effective(call->request, call->now);
	return STEP_WRITTEN;
}
