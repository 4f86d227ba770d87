/*-------------------------------------------------------------------------
 *
 * read.c
 *	  request_of, request_for, pending and outcomes: what a loop goes on with.
 *
 * A requester sees what its own login proposed; whoever decides, executes,
 * audits or administers sees its tenants.  Everything else does not exist.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "canonical.h"
#include "param.h"
#include "read.h"
#include "row.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_request_of);
PG_FUNCTION_INFO_V1(approval_request_for);
PG_FUNCTION_INFO_V1(approval_pending);
PG_FUNCTION_INFO_V1(approval_outcomes);

static void build_all(Statement *statement);
static void build_open(Statement *statement);
static void build_pending(Statement *statement);

static Statement select_conversation[] = {
	[EXTENT_ALL] = {.build = build_all},
	[EXTENT_OPEN] = {.build = build_open},
	[EXTENT_PENDING] = {.build = build_pending},
};

/* Rows that are in memory at a time. */
#define BATCH 100

/* The condition is that of the index requests_open, or a part of it. */
static void
build_extent(Statement *statement, const char *condition)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	row_columns(&sql, "r.");
	appendStringInfo(&sql,
					 " FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
					 " AND r.conversation_id OPERATOR(pg_catalog.=) $2"
					 " AND ($3 IS NULL OR r.requester_login OPERATOR(pg_catalog.=) $3)"
					 " AND ($4 IS NULL OR r.run_id OPERATOR(pg_catalog.=) $4)"
					 "%s ORDER BY r.id", condition);
	statement->sql = sql.data;
	statement->nparams = 4;
	statement->types[0] = TEXTOID;
	statement->types[1] = TEXTOID;
	statement->types[2] = TEXTOID;
	statement->types[3] = TEXTOID;
}

static void
build_all(Statement *statement)
{
	build_extent(statement, "");
}

static void
build_open(Statement *statement)
{
	build_extent(statement,
				 " AND (r.status OPERATOR(pg_catalog.=) ANY ('{pending,approved}'::pg_catalog.text[])"
				 " OR r.outcome OPERATOR(pg_catalog.=) ANY ('{in_flight,unknown}'::pg_catalog.text[]))");
}

static void
build_pending(Statement *statement)
{
	build_extent(statement, " AND r.status OPERATOR(pg_catalog.=) 'pending'");
}

/* Whether the caller may see it. */
bool
read_allowed(const Call *call, const Request *request)
{
	switch (call->caller->sight)
	{
		case SIGHT_TENANT:
			return true;
		case SIGHT_OWN:
			return request_text_is(request, REQ_REQUESTER_LOGIN, call->caller->login);
		case SIGHT_NOTHING:
			break;
	}
	return false;
}

/* Remarks are for those who read the trail. */
bool
read_notes(const Call *call)
{
	return caller_is(call->caller, "approval_approver") || caller_is(call->caller, "approval_auditor") ||
		caller_is(call->caller, "approval_admin");
}

/* Readers go by the start of the statement, as the views do. */
static Step
found(Call *call, Request *request)
{
	return read_found(call, request, GetCurrentStatementStartTimestamp());
}

/* The row as it is at a time, if the caller may see it. */
Step
read_found(Call *call, Request *request, TimestampTz now)
{
	if (request == NULL || !read_allowed(call, request))
		return call_refuse(call, REASON_NOT_FOUND);
	call->request = request;
	call->effective = request_effective(request, now);
	return STEP_UNCHANGED;
}

/* request_of(id, tenant) */
static Step
request_of(Call *call)
{
	const Ulid *id = args_id(call->fcinfo, 0, "id");

	call_tenant(call, 1);
	call->id = *id;
	call->has_id = true;
	return found(call, row_find(call->tenant, id, NULL));
}

/* request_for(conversation_id, tool_call_id, tenant) */
static Step
request_for(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const char *conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	const char *tool_call_id = args_required(fcinfo, 1, "tool_call_id", ARGS_KEY_LIMIT);

	call_tenant(call, 2);
	return found(call, row_find_call(call->tenant, conversation_id, tool_call_id));
}

Datum
approval_request_of(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "request_of", request_of, ANSWER_REQUEST);
}

Datum
approval_request_for(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "request_for", request_for, ANSWER_REQUEST);
}

/*
 * Visits the rows of a conversation that the caller may see, in order of
 * proposal and in the active snapshot, a batch at a time.
 */
void
read_conversation(const Call *call, const char *conversation_id, const char *run_id,
				  ReadExtent extent, TimestampTz now, ReadVisit visit, void *state)
{
	Sight		sight = call->caller->sight;
	Datum		values[4];
	char		nulls[4];
	Portal		cursor;
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "approval rows",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	uint64		i;

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, conversation_id);
	param_text(values, nulls, 2, sight == SIGHT_TENANT ? NULL : call->caller->login);
	param_text(values, nulls, 3, run_id);
	cursor = store_cursor(&select_conversation[extent], values, nulls);
	do
	{
		SPI_cursor_fetch(cursor, true, BATCH);
		old = MemoryContextSwitchTo(batch);
		for (i = 0; i < SPI_processed; i++)
		{
			Request		request;

			request_load(&request, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
			visit(&request, request_effective(&request, now), state);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
		i = SPI_processed;
		SPI_freetuptable(SPI_tuptable);
	} while (i > 0);
	SPI_cursor_close(cursor);
	MemoryContextDelete(batch);
}

/* A reader's rows come from one snapshot. */
static void
begin_reading(Call *call, FunctionCallInfo fcinfo, const char *verb)
{
	InitMaterializedSRF(fcinfo, 0);
	verb_begin(call, fcinfo, verb);
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
end_reading(Call *call)
{
	PopActiveSnapshot();
	verb_end(call);
}

/* The columns of pending(), in order, followed by seen_set. */
static const RequestColumn pending_columns[] = {
	REQ_ID, REQ_TOOL_CALL_ID, REQ_CONVERSATION_ID, REQ_RUN_ID, REQ_SERVER, REQ_TOOL, REQ_RESOURCE,
	REQ_ARGUMENTS, REQ_ACTION_HASH, REQ_REVIEW_HASH, REQ_SUMMARY, REQ_GATE_REASON, REQ_AGENT_REASON,
	REQ_PREVIEW, REQ_REQUESTED_BY, REQ_ON_BEHALF_OF, REQ_ASSIGNEE, REQ_APPROVALS,
	REQ_APPROVALS_NEEDED, REQ_PROPOSED_AT, REQ_EXPIRES_AT
};

static void
put_columns(ReturnSetInfo *rsinfo, const Request *request, const RequestColumn *columns, int count,
			Datum *more, bool *more_nulls, int more_count)
{
	Datum		values[REQ_COUNT];
	bool		nulls[REQ_COUNT];
	int			i;

	for (i = 0; i < count; i++)
	{
		values[i] = request->values[columns[i]];
		nulls[i] = request->nulls[columns[i]];
	}
	for (i = 0; i < more_count; i++)
	{
		values[count + i] = more[i];
		nulls[count + i] = more_nulls[i];
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* pending() goes over its rows twice: for the digest, and to return them. */
typedef struct Waiting
{
	ReturnSetInfo *rsinfo;
	StringInfoData set;
	Digest		digest;
} Waiting;

static void
add_to_set(const Request *request, Effective effective, void *state)
{
	Waiting    *waiting = state;

	if (effective.status == STATUS_PENDING)
		subject_add_to_set(&waiting->set, request);
}

static void
put_waiting(const Request *request, Effective effective, void *state)
{
	Waiting    *waiting = state;
	Datum		set = DigestPGetDatum(&waiting->digest);
	bool		set_null = false;

	if (effective.status == STATUS_PENDING)
		put_columns(waiting->rsinfo, request, pending_columns, lengthof(pending_columns),
					&set, &set_null, 1);
}

/* pending(conversation_id, tenant): what waits for a person. */
Datum
approval_pending(PG_FUNCTION_ARGS)
{
	Call		call;
	const char *conversation_id;
	TimestampTz now = GetCurrentStatementStartTimestamp();
	Waiting		waiting;

	begin_reading(&call, fcinfo, "pending");
	waiting.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	call_tenant(&call, 1);

	initStringInfo(&waiting.set);
	appendStringInfoChar(&waiting.set, '[');
	read_conversation(&call, conversation_id, NULL, EXTENT_PENDING, now, add_to_set, &waiting);
	appendStringInfoChar(&waiting.set, ']');
	digest_of(waiting.set.data, waiting.set.len, &waiting.digest);
	read_conversation(&call, conversation_id, NULL, EXTENT_PENDING, now, put_waiting, &waiting);
	end_reading(&call);
	return (Datum) 0;
}

/* The columns of outcomes() that are columns of the row. */
static const RequestColumn outcomes_columns[] = {
	REQ_ID, REQ_TOOL_CALL_ID, REQ_RUN_ID, REQ_SERVER, REQ_TOOL, REQ_RESOURCE,
	REQ_ARGUMENTS, REQ_ACTION_HASH, REQ_STATUS, REQ_CAUSE, REQ_OUTCOME, REQ_RESULT,
	REQ_DECIDED_BY, REQ_DECIDED_AT, REQ_DENIAL
};

#define OUTCOMES_MORE 4

static bool
is_open(Effective effective)
{
	return effective.status == STATUS_PENDING || effective.status == STATUS_APPROVED ||
		effective.outcome == OUTCOME_IN_FLIGHT || effective.outcome == OUTCOME_UNKNOWN;
}

/* approve, reject, or nothing that holds. */
static const char *
verdict_word(Effective effective)
{
	if (effective.status == STATUS_REJECTED)
		return "reject";
	return effective.status == STATUS_APPROVED || effective.status == STATUS_CONSUMED ? "approve" : NULL;
}

/* In words for the model. */
static const char *
why_not(const Request *request, Effective effective)
{
	switch (effective.status)
	{
		case STATUS_REVOKED:
			return "The approval was taken back, and the call was not executed.";
		case STATUS_CANCELLED:
			return "The call was withdrawn, and not executed.";
		case STATUS_EXPIRED:
			return request->nulls[REQ_DECIDED_AT] ? "The call was not approved in time, and not executed." :
				"The approval has lapsed, and the call was not executed.";
		default:
			return "The call was not approved and not executed.";
	}
}

/* How a call that did not run stands in the conversation, ready to replay. */
static char *
not_executed_record(const Request *request, Effective effective)
{
	StringInfoData out;
	char	   *id;

	if (effective.status == STATUS_PENDING || effective.status == STATUS_APPROVED ||
		effective.status == STATUS_CONSUMED)
		return NULL;
	id = request_text(request, REQ_TOOL_CALL_ID);
	initStringInfo(&out);
	appendStringInfoString(&out, "{\"tool_call_id\":");
	canonical_append_string(&out, id, strlen(id));
	appendStringInfo(&out, ",\"status\":\"%s\",\"executed\":\"no\",\"content\":",
					 state_status_word(effective.status));
	if (request->nulls[REQ_DENIAL])
		appendStringInfo(&out, "\"%s\"", why_not(request, effective));
	else
	{
		char	   *denial = request_text(request, REQ_DENIAL);

		canonical_append_string(&out, denial, strlen(denial));
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

typedef struct Outcomes
{
	ReturnSetInfo *rsinfo;
	bool		open_only;
} Outcomes;

static void
put_outcome(const Request *request, Effective effective, void *state)
{
	Outcomes   *outcomes = state;
	Request		shown = *request;
	const char *verdict = verdict_word(effective);
	char	   *record = not_executed_record(request, effective);
	bool		denied = effective.status == STATUS_REJECTED;
	Datum		more[OUTCOMES_MORE] = {0};
	bool		nulls[OUTCOMES_MORE] = {false, false, false, false};

	if (outcomes->open_only && !is_open(effective))
		return;
	if (effective.status != request->status)
		request_move(&shown, effective.status, effective.cause);
	if (effective.outcome != request->outcome)
		request_set_outcome(&shown, effective.outcome);
	nulls[0] = (verdict == NULL);
	if (verdict)
		more[0] = CStringGetTextDatum(verdict);
	more[1] = BoolGetDatum(!request->nulls[REQ_PROPOSED_HASH]);
	more[2] = BoolGetDatum(denied && request->nulls[REQ_DENIAL]);
	nulls[3] = (record == NULL);
	if (record)
		more[3] = CStringGetTextDatum(record);
	put_columns(outcomes->rsinfo, &shown, outcomes_columns, lengthof(outcomes_columns),
				more, nulls, OUTCOMES_MORE);
}

/* The rows of outcomes() as they are at a time. */
void
read_put_outcomes(const Call *call, const char *conversation_id, TimestampTz now, ReturnSetInfo *rsinfo)
{
	Outcomes	outcomes = {rsinfo, false};

	read_conversation(call, conversation_id, NULL, EXTENT_ALL, now, put_outcome, &outcomes);
}

/* PDO binds false as '', so a switch is a text. */
static bool
take_switch(FunctionCallInfo fcinfo, int n, const char *name)
{
	char	   *word = args_text(fcinfo, n, name, ARGS_KEY_LIMIT);
	bool		value = false;

	if (word && word[0] != '\0' && !parse_bool(word, &value))
		args_bad_value(name, "One of true and false.");
	return value;
}

/* outcomes(conversation_id, run_id, open_only, tenant) */
Datum
approval_outcomes(PG_FUNCTION_ARGS)
{
	Call		call;
	const char *conversation_id;
	const char *run_id;
	Outcomes	outcomes;

	begin_reading(&call, fcinfo, "outcomes");
	outcomes.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	run_id = args_name(fcinfo, 1, "run_id");
	outcomes.open_only = take_switch(fcinfo, 2, "open_only");
	call_tenant(&call, 3);
	read_conversation(&call, conversation_id, run_id, outcomes.open_only ? EXTENT_OPEN : EXTENT_ALL,
					  GetCurrentStatementStartTimestamp(), put_outcome, &outcomes);
	end_reading(&call);
	return (Datum) 0;
}
