/*-------------------------------------------------------------------------
 *
 * row.c
 *	  Rows of approval.requests in the database: lock, check, insert, update.
 *
 * A change is one statement: the row, its event and its decision stand or fall
 * together, and the executor starts once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "event.h"
#include "guard.h"
#include "notify.h"
#include "param.h"
#include "row.h"

#define DECISION_PARAMS 3

static void build_lock(Statement *statement);
static void build_find(Statement *statement);
static void build_find_call(Statement *statement);
static void build_move(Statement *statement);
static void build_move_decision(Statement *statement);
static void build_born(Statement *statement);

static Statement lock_row = {.build = build_lock};
static Statement find_row = {.build = build_find};
static Statement find_call = {.build = build_find_call};
static Statement move_row = {.build = build_move};
static Statement move_row_decision = {.build = build_move_decision};
static Statement born_row = {.build = build_born};

static Statement renew_lease = {
	.sql = "UPDATE approval.requests SET lease_until = $3"
	" WHERE tenant OPERATOR(pg_catalog.=) $1 AND id OPERATOR(pg_catalog.=) $2::approval.ulid",
	.nparams = 3,
	.types = {TEXTOID, UUIDOID, TIMESTAMPTZOID},
};

static const Oid column_param_types[] = {
	[COLUMN_TEXT] = TEXTOID,
	[COLUMN_ULID] = UUIDOID,
	[COLUMN_DIGEST] = BYTEAOID,
	[COLUMN_JSON] = JSONOID,
	[COLUMN_TIME] = TIMESTAMPTZOID,
	[COLUMN_INT4] = INT4OID,
	[COLUMN_INT8] = INT8OID,
};

static const char *const column_casts[] = {
	[COLUMN_TEXT] = "",
	[COLUMN_ULID] = PARAM_ULID,
	[COLUMN_DIGEST] = PARAM_DIGEST,
	[COLUMN_JSON] = "",
	[COLUMN_TIME] = "",
	[COLUMN_INT4] = "",
	[COLUMN_INT8] = "",
};

/* All columns of the table, in the order of the enum. */
void
row_columns(StringInfo sql, const char *prefix)
{
	int			i;

	for (i = 0; i < REQ_COUNT; i++)
		appendStringInfo(sql, "%s%s%s", i ? ", " : "", prefix, request_columns[i].name);
}

static void
build_select(Statement *statement, const char *where, const char *suffix)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	row_columns(&sql, "r.");
	appendStringInfo(&sql, " FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND %s%s",
					 where, suffix);
	statement->sql = sql.data;
	statement->nparams = 2;
	statement->types[0] = TEXTOID;
	statement->types[1] = UUIDOID;
}

/*
 * The lock that an UPDATE of no key column takes.  Under READ COMMITTED the
 * row comes back as the previous holder left it.
 */
static void
build_lock(Statement *statement)
{
	build_select(statement, "r.id OPERATOR(pg_catalog.=) $2::approval.ulid", " FOR NO KEY UPDATE");
}

static void
build_find(Statement *statement)
{
	build_select(statement, "r.id OPERATOR(pg_catalog.=) $2::approval.ulid", "");
}

static void
build_find_call(Statement *statement)
{
	build_select(statement,
				 "r.conversation_id OPERATOR(pg_catalog.=) $2 AND r.tool_call_id OPERATOR(pg_catalog.=) $3", "");
	statement->types[1] = TEXTOID;
	statement->types[2] = TEXTOID;
	statement->nparams = 3;
}

static void
add_event(StringInfo sql, Statement *statement)
{
	memcpy(statement->types, event_param_types, sizeof(event_param_types));
	statement->nparams = EVENT_PARAMS;
	appendStringInfoString(sql, "INSERT INTO approval.events (" EVENT_INSERT_COLUMNS ")");
}

static void
add_decision(StringInfo sql, Statement *statement)
{
	int			first = statement->nparams;

	statement->types[first] = TEXTOID;
	statement->types[first + 1] = BYTEAOID;
	statement->types[first + 2] = TEXTOID;
	statement->nparams += DECISION_PARAMS;

	appendStringInfo(sql,
					 ", d AS (INSERT INTO approval.decisions"
					 " (tenant, request_id, n, at, actor, login, action_hash, review_hash, note, verdict, seen, result)"
					 " VALUES (" EVENT_PARAM_TENANT ", " EVENT_PARAM_REQUEST ", " EVENT_PARAM_N ", " EVENT_PARAM_AT
					 ", " EVENT_PARAM_ACTOR ", " EVENT_PARAM_LOGIN ", " EVENT_PARAM_ACTION ", " EVENT_PARAM_REVIEW
					 ", " EVENT_PARAM_NOTE ", $%d, $%d" PARAM_DIGEST ", $%d))",
					 first + 1, first + 2, first + 3);
}

static void
build_update(Statement *statement, bool with_decision)
{
	StringInfoData sql;
	const char *separator = "";
	int			i;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "WITH e AS (");
	add_event(&sql, statement);
	appendStringInfoString(&sql, " VALUES (");
	param_list(&sql, 1, EVENT_PARAMS, event_param_casts);
	appendStringInfoString(&sql, "))");
	if (with_decision)
		add_decision(&sql, statement);
	appendStringInfoString(&sql, " UPDATE approval.requests SET ");
	for (i = 0; i < REQ_COUNT; i++)
	{
		ColumnType	type = request_columns[i].type;

		if (request_columns[i].flags & COLUMN_FIXED)
			continue;
		statement->types[statement->nparams++] = column_param_types[type];
		appendStringInfo(&sql, "%s%s = $%d%s", separator, request_columns[i].name,
						 statement->nparams, column_casts[type]);
		separator = ", ";
	}
	appendStringInfoString(&sql,
						   " WHERE tenant OPERATOR(pg_catalog.=) " EVENT_PARAM_TENANT
						   " AND id OPERATOR(pg_catalog.=) " EVENT_PARAM_REQUEST);
	statement->sql = sql.data;
}

static void
build_move(Statement *statement)
{
	build_update(statement, false);
}

static void
build_move_decision(Statement *statement)
{
	build_update(statement, true);
}

static void
build_born(Statement *statement)
{
	StringInfoData sql;
	StringInfoData event;
	int			i;

	initStringInfo(&event);
	add_event(&event, statement);
	initStringInfo(&sql);
	appendStringInfoString(&sql, "WITH r AS (INSERT INTO approval.requests (");
	row_columns(&sql, "");
	appendStringInfoString(&sql, ") VALUES (");
	for (i = 0; i < REQ_COUNT; i++)
	{
		ColumnType	type = request_columns[i].type;

		statement->types[statement->nparams++] = column_param_types[type];
		appendStringInfo(&sql, "%s$%d%s", i ? ", " : "", statement->nparams, column_casts[type]);
	}
	appendStringInfoString(&sql,
						   ") ON CONFLICT (tenant, conversation_id, tool_call_id) DO NOTHING RETURNING 1) ");
	appendBinaryStringInfo(&sql, event.data, event.len);
	appendStringInfoString(&sql, " SELECT ");
	param_list(&sql, 1, EVENT_PARAMS, event_param_casts);
	appendStringInfoString(&sql, " FROM r");
	statement->sql = sql.data;
}

static Request *
take_row(uint64 rows)
{
	Request    *request;

	if (rows == 0)
		return NULL;
	request = palloc(sizeof(Request));
	request_load(request, SPI_tuptable->vals[0], SPI_tuptable->tupdesc);
	return request;
}

static Request *
select_by_id(Statement *statement, const char *tenant, const Ulid *id)
{
	Datum		values[2];
	char		nulls[2];

	param_text(values, nulls, 0, tenant);
	param_ulid(values, nulls, 1, id);
	return take_row(store_run(statement, values, nulls, SPI_OK_SELECT, 1));
}

/* Waits for whoever holds the row; NULL if there is none. */
Request *
row_lock(const char *tenant, const Ulid *id)
{
	return select_by_id(&lock_row, tenant, id);
}

Request *
row_find(const char *tenant, const Ulid *id)
{
	return select_by_id(&find_row, tenant, id);
}

Request *
row_find_call(const char *tenant, const char *conversation_id, const char *tool_call_id)
{
	Datum		values[3];
	char		nulls[3];

	param_text(values, nulls, 0, tenant);
	param_text(values, nulls, 1, conversation_id);
	param_text(values, nulls, 2, tool_call_id);
	return take_row(store_run(&find_call, values, nulls, SPI_OK_SELECT, 1));
}

bool
row_intact(Request *request)
{
	Digest		now;

	request_row_digest(request, &now);
	return memcmp(&now, request_digest_at(request, REQ_ROW_DIGEST), sizeof(Digest)) == 0;
}

static Datum
digest_copy(const Digest *digest)
{
	Digest	   *copy = palloc(sizeof(Digest));

	*copy = *digest;
	return PointerGetDatum(copy);
}

/* The next event of the request, and the row's new digest and head. */
static void
append_event(Call *call, const char *kind, const char *note,
			 Datum *values, char *nulls)
{
	Request    *request = call->request;
	Event		event;
	Digest		row;
	Digest		hash;
	const Digest *head = request_digest_at(request, REQ_HEAD);

	request_row_digest(request, &row);
	memset(&event, 0, sizeof(event));
	event.tenant = call->tenant;
	event.request = request_id(request);
	event.n = DatumGetInt32(request->values[REQ_EVENTS]) + 1;
	event.at = call->now;
	event.kind = kind;
	event.actor = call->actor;
	event.login = call->caller->login;
	event.role = call->caller->role;
	event.client = event_client();
	event.status_before = state_status_word(call->status_before);
	event.status_after = state_status_word(request->status);
	event.outcome_before = state_outcome_word(call->outcome_before);
	event.outcome_after = state_outcome_word(request->outcome);
	event.note = note;
	event.action_hash = *request_digest_at(request, REQ_ACTION_HASH);
	event.review_hash = *request_digest_at(request, REQ_REVIEW_HASH);
	event.row = row;
	event.previous = head;
	event_hash(&event, &hash);
	event_params(&event, &hash, values, nulls);

	request_set(request, REQ_EVENTS, Int32GetDatum(event.n));
	request_set(request, REQ_ROW_DIGEST, digest_copy(&row));
	request_set(request, REQ_HEAD, digest_copy(&hash));
}

static void
column_param(const Request *request, RequestColumn column, Datum *values, char *nulls, int n)
{
	if (request_columns[column].type == COLUMN_DIGEST)
		param_digest(values, nulls, n, request_digest_at(request, column));
	else
	{
		values[n] = request->values[column];
		nulls[n] = request->nulls[column] ? 'n' : ' ';
	}
}

void
row_write(Call *call, const char *kind, const char *note, const Decision *decision)
{
	Datum		values[STORE_MAX_PARAMS];
	char		nulls[STORE_MAX_PARAMS];
	int			n = EVENT_PARAMS;
	int			i;

	memset(nulls, ' ', sizeof(nulls));
	append_event(call, kind, note, values, nulls);
	if (decision)
	{
		param_text(values, nulls, n++, decision->verdict);
		param_digest(values, nulls, n++, decision->seen);
		param_text(values, nulls, n++, decision->result);
	}
	for (i = 0; i < REQ_COUNT; i++)
		if (!(request_columns[i].flags & COLUMN_FIXED))
			column_param(call->request, i, values, nulls, n++);
	if (guard_run(decision ? &move_row_decision : &move_row, values, nulls, SPI_OK_UPDATE) != 1)
		elog(ERROR, "a locked request was not found again");
	notify_ring(call, kind);
}

/* False if the tool call id stands for a request already. */
bool
row_insert(Call *call, const char *kind)
{
	Datum		values[STORE_MAX_PARAMS];
	char		nulls[STORE_MAX_PARAMS];
	int			i;

	memset(nulls, ' ', sizeof(nulls));
	append_event(call, kind, NULL, values, nulls);
	for (i = 0; i < REQ_COUNT; i++)
		column_param(call->request, i, values, nulls, EVENT_PARAMS + i);
	if (guard_run(&born_row, values, nulls, SPI_OK_INSERT) == 0)
		return false;
	notify_ring(call, kind);
	return true;
}

void
row_renew_lease(Call *call)
{
	Datum		values[3];
	char		nulls[3];

	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, request_id(call->request));
	values[2] = call->request->values[REQ_LEASE_UNTIL];
	nulls[2] = ' ';
	if (guard_run(&renew_lease, values, nulls, SPI_OK_UPDATE) != 1)
		elog(ERROR, "a locked request was not found again");
}

/* Who decided, and when: for DETAIL. */
void
row_tell_decision(const Request *request, Refusal *refusal)
{
	if (request->nulls[REQ_DECIDED_AT])
		return;
	errors_member(refusal, "decided_by", request_text(request, REQ_DECIDED_BY));
	errors_member_time(refusal, "decided_at", request_time(request, REQ_DECIDED_AT));
}
