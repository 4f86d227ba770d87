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

#include "args.h"
#include "canonical.h"
#include "param.h"
#include "row.h"

PG_FUNCTION_INFO_V1(approval_request_of);
PG_FUNCTION_INFO_V1(approval_request_for);
PG_FUNCTION_INFO_V1(approval_pending);
PG_FUNCTION_INFO_V1(approval_outcomes);
PG_FUNCTION_INFO_V1(approval_caller_tenants);
PG_FUNCTION_INFO_V1(approval_caller_reads);

static void build_conversation(Statement *statement);

static Statement select_conversation = {.build = build_conversation};

/* All tenants that there are, one index probe each. */
static Statement select_tenants = {
	.sql = "WITH RECURSIVE t(tenant) AS ("
	" (SELECT r.tenant FROM approval.requests r ORDER BY r.tenant LIMIT 1)"
	" UNION ALL SELECT (SELECT r.tenant FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.>) t.tenant ORDER BY r.tenant LIMIT 1)"
	" FROM t WHERE t.tenant IS NOT NULL)"
	" SELECT t.tenant FROM t WHERE t.tenant IS NOT NULL",
};

static void
build_conversation(Statement *statement)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	row_columns(&sql, "r.");
	appendStringInfoString(&sql,
						   " FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
						   " AND r.conversation_id OPERATOR(pg_catalog.=) $2"
						   " AND ($3 IS NULL OR r.requester_login OPERATOR(pg_catalog.=) $3)"
						   " AND ($4 IS NULL OR r.run_id OPERATOR(pg_catalog.=) $4)"
						   " ORDER BY r.id");
	statement->sql = sql.data;
	statement->nparams = 4;
	statement->types[0] = TEXTOID;
	statement->types[1] = TEXTOID;
	statement->types[2] = TEXTOID;
	statement->types[3] = TEXTOID;
}

/* Readers go by the start of the statement, as the views do. */
static bool
may_see(const Call *call, const Request *request)
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

static Step
found(Call *call, Request *request)
{
	if (request == NULL || !may_see(call, request))
		return call_refuse(call, REASON_NOT_FOUND);
	call->request = request;
	call->effective = request_effective(request, GetCurrentStatementStartTimestamp());
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
	return found(call, row_find(call->tenant, id));
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

/* The rows of a conversation that the caller may see, in order of proposal. */
static Request *
conversation(Call *call, const char *conversation_id, const char *run_id, uint64 *count)
{
	Sight		sight = call->caller->sight;
	Datum		values[4];
	char		nulls[4];
	Request    *requests;
	uint64		i;

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, conversation_id);
	param_text(values, nulls, 2, sight == SIGHT_TENANT ? NULL : call->caller->login);
	param_text(values, nulls, 3, run_id);
	*count = store_run(&select_conversation, values, nulls, SPI_OK_SELECT, 0);
	requests = palloc(sizeof(Request) * (*count + 1));
	for (i = 0; i < *count; i++)
		request_load(&requests[i], SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	return requests;
}

/*
 * The digest of a set of pending calls: SHA-256 of the canonical JSON array of
 * [id, review_hash] in order of id.
 */
static void
seen_set(Request *const *requests, uint64 count, Digest *out)
{
	StringInfoData doc;
	uint64		i;

	initStringInfo(&doc);
	appendStringInfoChar(&doc, '[');
	for (i = 0; i < count; i++)
	{
		char		id[ULID_TEXT_LEN + 1];
		char		hex[DIGEST_TEXT_LEN + 1];

		ulid_to_text(request_id(requests[i]), id);
		digest_to_hex(request_digest_at(requests[i], REQ_REVIEW_HASH), hex);
		appendStringInfo(&doc, "%s[\"%s\",\"%s\"]", i ? "," : "", id, hex);
	}
	appendStringInfoChar(&doc, ']');
	digest_of(doc.data, doc.len, out);
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

/* pending(conversation_id, tenant): what waits for a person. */
Datum
approval_pending(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz now = GetCurrentStatementStartTimestamp();
	Call		call;
	const char *conversation_id;
	Request    *requests;
	Request   **waiting;
	Digest		digest;
	Datum		set = DigestPGetDatum(&digest);
	bool		set_null = false;
	uint64		count;
	uint64		n = 0;
	uint64		i;

	InitMaterializedSRF(fcinfo, 0);
	verb_begin(&call, fcinfo, "pending");
	conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	call_tenant(&call, 1);
	requests = conversation(&call, conversation_id, NULL, &count);
	waiting = palloc(sizeof(Request *) * (count + 1));
	for (i = 0; i < count; i++)
		if (request_effective(&requests[i], now).status == STATUS_PENDING)
			waiting[n++] = &requests[i];
	seen_set(waiting, n, &digest);
	for (i = 0; i < n; i++)
		put_columns(rsinfo, waiting[i], pending_columns, lengthof(pending_columns),
					&set, &set_null, 1);
	verb_end(&call);
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

/* approve, reject, or nothing yet. */
static const char *
verdict_word(const Request *request)
{
	if (request->nulls[REQ_DECIDED_AT])
		return NULL;
	return request->status == STATUS_REJECTED ? "reject" : "approve";
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
		appendStringInfoString(&out, "\"The call was not approved and not executed.\"");
	else
	{
		char	   *denial = request_text(request, REQ_DENIAL);

		canonical_append_string(&out, denial, strlen(denial));
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

static void
put_outcome(ReturnSetInfo *rsinfo, const Request *request, Effective effective)
{
	Request		shown = *request;
	const char *verdict = verdict_word(request);
	char	   *record = not_executed_record(request, effective);
	bool		denied = effective.status == STATUS_REJECTED;
	Datum		more[OUTCOMES_MORE] = {0};
	bool		nulls[OUTCOMES_MORE] = {false, false, false, false};

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
	put_columns(rsinfo, &shown, outcomes_columns, lengthof(outcomes_columns),
				more, nulls, OUTCOMES_MORE);
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
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz now = GetCurrentStatementStartTimestamp();
	Call		call;
	const char *conversation_id;
	const char *run_id;
	Request    *requests;
	bool		open_only;
	uint64		count;
	uint64		i;

	InitMaterializedSRF(fcinfo, 0);
	verb_begin(&call, fcinfo, "outcomes");
	conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	run_id = args_name(fcinfo, 1, "run_id");
	open_only = take_switch(fcinfo, 2, "open_only");
	call_tenant(&call, 3);
	requests = conversation(&call, conversation_id, run_id, &count);
	for (i = 0; i < count; i++)
	{
		Effective	effective = request_effective(&requests[i], now);

		if (!open_only || is_open(effective))
			put_outcome(rsinfo, &requests[i], effective);
	}
	verb_end(&call);
	return (Datum) 0;
}

static Datum
text_array(const char *const *words, int count)
{
	Datum	   *values = palloc(sizeof(Datum) * (count + 1));
	int			i;

	for (i = 0; i < count; i++)
		values[i] = CStringGetTextDatum(words[i]);
	return PointerGetDatum(construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * The tenants that the caller may see, as an array, so that a view can filter
 * by it in a form that indexes serve.  An unmapped login has tenant ''.
 */
Datum
approval_caller_tenants(PG_FUNCTION_ARGS)
{
	const Caller *caller = caller_get();
	MemoryContext context = CurrentMemoryContext;
	MemoryContext old;
	Store		store;
	uint64		rows;
	uint64		i;
	char	  **names;
	Datum		result;

	if (!caller->all_tenants)
		return text_array((const char *const *) caller->tenants, caller->ntenants);
	store_open(&store);
	rows = store_run(&select_tenants, NULL, NULL, SPI_OK_SELECT, 0);
	names = palloc(sizeof(char *) * (rows + 1));
	for (i = 0; i < rows; i++)
		names[i] = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
	old = MemoryContextSwitchTo(context);
	result = text_array((const char *const *) names, (int) rows);
	MemoryContextSwitchTo(old);
	store_close(&store);
	return result;
}

/* Whether the caller may see rows that this login proposed, within its tenants. */
Datum
approval_caller_reads(PG_FUNCTION_ARGS)
{
	const Caller *caller = caller_get();
	text	   *login;

	switch (caller->sight)
	{
		case SIGHT_TENANT:
			PG_RETURN_BOOL(true);
		case SIGHT_NOTHING:
			PG_RETURN_BOOL(false);
		case SIGHT_OWN:
			break;
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_BOOL(false);
	login = PG_GETARG_TEXT_PP(0);
	PG_RETURN_BOOL(strlen(caller->login) == VARSIZE_ANY_EXHDR(login) &&
				   memcmp(caller->login, VARDATA_ANY(login), VARSIZE_ANY_EXHDR(login)) == 0);
}
