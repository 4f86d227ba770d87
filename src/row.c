/*-------------------------------------------------------------------------
 *
 * row.c
 *	  Rows of approval.requests in the database: lock, check, insert, update.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "event.h"
#include "guard.h"
#include "notify.h"
#include "row.h"
#include "sound.h"
#include "table.h"
#include "worker_hooks.h"

const ColumnInfo decision_columns[DEC_COUNT] = {
	[DEC_TENANT] = {"tenant", COLUMN_TEXT, 0},
	[DEC_REQUEST] = {"request_id", COLUMN_ULID, 0},
	[DEC_N] = {"n", COLUMN_INT4, 0},
	[DEC_AT] = {"at", COLUMN_TIME, 0},
	[DEC_VERDICT] = {"verdict", COLUMN_TEXT, 0},
	[DEC_ACTOR] = {"actor", COLUMN_TEXT, 0},
	[DEC_LOGIN] = {"login", COLUMN_TEXT, 0},
	[DEC_SEEN] = {"seen", COLUMN_DIGEST, 0},
	[DEC_REVIEW_HASH] = {"review_hash", COLUMN_DIGEST, 0},
	[DEC_ACTION_HASH] = {"action_hash", COLUMN_DIGEST, 0},
	[DEC_RESULT] = {"result", COLUMN_TEXT, 0},
	[DEC_NOTE] = {"note", COLUMN_TEXT, 0},
	[DEC_MAP_HASH] = {"map_hash", COLUMN_DIGEST, 0},
};

/* All columns of the table, in the order of the enum. */
void
row_columns(StringInfo sql, const char *prefix)
{
	int			i;

	for (i = 0; i < REQ_COUNT; i++)
		appendStringInfo(sql, "%s%s%s", i ? ", " : "", prefix, request_columns[i].name);
}

static Request *
find(OwnRelation index, const Datum *keys, int nkeys, Snapshot snapshot, TableLock lock)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, lock ? RowExclusiveLock : AccessShareLock);
	Request    *request = NULL;
	Found		found;

	if (table_find(requests, index, keys, nkeys, snapshot, lock, &found))
	{
		request = palloc(sizeof(Request));
		request_load(request, found.tuple, RelationGetDescr(requests));
		request->tid = found.tid;
	}
	table_close(requests, NoLock);
	return request;
}

static Request *
find_by_id(const char *tenant, const Ulid *id, Snapshot snapshot, TableLock lock)
{
	Datum		keys[2];

	keys[0] = CStringGetTextDatum(tenant);
	keys[1] = UlidPGetDatum(id);
	return find(OWN_REQUESTS_BY_ID, keys, 2, snapshot, lock);
}

/* NULL if there is none, or if it is held by somebody and we do not wait. */
Request *
row_lock(const char *tenant, const Ulid *id, bool wait)
{
	return find_by_id(tenant, id, NULL, wait ? TABLE_LOCK_WAIT : TABLE_LOCK_SKIP);
}

/* Without locking it, in a snapshot of the caller's or, if NULL, in a fresh one. */
Request *
row_find(const char *tenant, const Ulid *id, Snapshot snapshot)
{
	return find_by_id(tenant, id, snapshot, TABLE_NO_LOCK);
}

Request *
row_find_call(const char *tenant, const char *conversation_id, const char *tool_call_id)
{
	Datum		keys[3];

	keys[0] = CStringGetTextDatum(tenant);
	keys[1] = CStringGetTextDatum(conversation_id);
	keys[2] = CStringGetTextDatum(tool_call_id);
	return find(OWN_REQUESTS_BY_CALL, keys, 3, NULL, TABLE_NO_LOCK);
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

/* What this call makes the next event of the request; previous is the head. */
static void
make_event(const Call *call, const char *kind, const char *note, Event *event)
{
	Request    *request = call->request;

	memset(event, 0, sizeof(*event));
	event->tenant = call->tenant;
	event->request = request_id(request);
	event->n = DatumGetInt32(request->values[REQ_EVENTS]) + 1;
	event->at = call->now;
	event->kind = kind;
	event->actor = call->actor;
	event->login = call->caller->login;
	event->role = call->caller->role;
	event->client = event_client();
	event->status_before = state_status_word(call->status_before);
	event->status_after = state_status_word(request->status);
	event->outcome_before = state_outcome_word(call->outcome_before);
	event->outcome_after = state_outcome_word(request->outcome);
	event->note = note;
	event->action_hash = *request_digest_at(request, REQ_ACTION_HASH);
	event->review_hash = *request_digest_at(request, REQ_REVIEW_HASH);
	request_row_digest(request, &event->row);
	event->previous = request_digest_at(request, REQ_HEAD);
}

/* For the worker, and for whoever has to do without it. */
static void
set_due(Request *request)
{
	TimestampTz due;

	if (!request_next_due(request, &due))
	{
		request_set_null(request, REQ_DUE_AT);
		return;
	}
	request_set(request, REQ_DUE_AT, TimestampTzGetDatum(due));
	worker_due(due);
}

/* The event and its hash, which become the row's new digest and head. */
static void
append_event(Call *call, const char *kind, const char *note, Event *event, Digest *hash)
{
	Request    *request = call->request;

	sound_check(request);
	make_event(call, kind, note, event);
	event_hash(event, hash);
	set_due(request);
	request_set(request, REQ_EVENTS, Int32GetDatum(event->n));
	request_set(request, REQ_ROW_DIGEST, digest_copy(&event->row));
	request_set(request, REQ_HEAD, digest_copy(hash));
}

static void
insert_event(Writer *writer, const Event *event, const Digest *hash)
{
	Relation	events = table_of_ours(OWN_EVENTS, RowExclusiveLock);
	Datum		values[EV_COUNT];
	bool		nulls[EV_COUNT];

	event_values(event, hash, values, nulls);
	table_insert(writer, events, values, nulls);
	table_close(events, NoLock);
}

static void
set_text(Datum *values, bool *nulls, DecisionColumn column, const char *value)
{
	nulls[column] = (value == NULL);
	values[column] = value ? CStringGetTextDatum(value) : (Datum) 0;
}

static void
insert_decision(Writer *writer, const Event *event, const Decision *decision)
{
	Relation	decisions = table_of_ours(OWN_DECISIONS, RowExclusiveLock);
	Datum		values[DEC_COUNT];
	bool		nulls[DEC_COUNT] = {0};

	set_text(values, nulls, DEC_TENANT, event->tenant);
	values[DEC_REQUEST] = UlidPGetDatum(event->request);
	values[DEC_N] = Int32GetDatum(event->n);
	values[DEC_AT] = TimestampTzGetDatum(event->at);
	set_text(values, nulls, DEC_VERDICT, decision->verdict);
	set_text(values, nulls, DEC_ACTOR, event->actor);
	set_text(values, nulls, DEC_LOGIN, event->login);
	values[DEC_SEEN] = DigestPGetDatum(decision->seen);
	values[DEC_REVIEW_HASH] = DigestPGetDatum(&event->review_hash);
	values[DEC_ACTION_HASH] = DigestPGetDatum(&event->action_hash);
	set_text(values, nulls, DEC_RESULT, decision->result);
	set_text(values, nulls, DEC_NOTE, event->note);
	values[DEC_MAP_HASH] = DigestPGetDatum(decision->map_hash);
	nulls[DEC_MAP_HASH] = (decision->map_hash == NULL);
	table_insert(writer, decisions, values, nulls);
	table_close(decisions, NoLock);
}

/* Writes the row over the one that was locked, with the guard open for it. */
static void
update_request(Writer *writer, Request *request)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, RowExclusiveLock);

	guard_open(request_id(request), request_digest_at(request, REQ_ROW_DIGEST));
	PG_TRY();
	{
		table_update(writer, requests, &request->tid, request->values, request->nulls);
	}
	PG_FINALLY();
	{
		guard_close();
	}
	PG_END_TRY();
	table_close(requests, NoLock);
}

/* The row, its event and its decision, in one command, which others may share. */
void
row_write(Call *call, const char *kind, const char *note, const Decision *decision)
{
	Writer		own = {0};
	Writer	   *writer = call->writer ? call->writer : &own;
	Event		event;
	Digest		hash;

	append_event(call, kind, note, &event, &hash);
	if (writer == &own)
		table_write_begin(&own);
	update_request(writer, call->request);
	insert_event(writer, &event, &hash);
	if (decision)
		insert_decision(writer, &event, decision);
	if (writer == &own)
		table_write_end(&own);
	notify_ring(call, kind);
}

/* False if the tool call id stands for a request already. */
bool
row_insert(Call *call, const char *kind, const char *note)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, RowExclusiveLock);
	Writer		writer;
	Event		event;
	Digest		hash;
	bool		inserted;

	append_event(call, kind, note, &event, &hash);
	table_write_begin(&writer);
	inserted = table_insert_new(&writer, requests, OWN_REQUESTS_BY_CALL,
								call->request->values, call->request->nulls);
	if (inserted)
		insert_event(&writer, &event, &hash);
	table_write_end(&writer);
	table_close(requests, NoLock);
	if (inserted)
		notify_ring(call, kind);
	return inserted;
}

/*
 * A longer lease leaves due_at where it is, so that the index need not be
 * touched with every heartbeat: who looks then sees that it is too early.
 */
void
row_renew_lease(Call *call)
{
	Request    *request = call->request;
	Writer		writer;

	if (request_time(request, REQ_LEASE_UNTIL) < request_time(request, REQ_DUE_AT))
		set_due(request);
	table_write_begin(&writer);
	update_request(&writer, request);
	table_write_end(&writer);
}

/* The same for a row that was looked at too early, in the command of the others. */
void
row_renew_due(Call *call)
{
	set_due(call->request);
	update_request(call->writer, call->request);
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
