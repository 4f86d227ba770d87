/*-------------------------------------------------------------------------
 *
 * event.c
 *	  One line of the audit trail, and the hash that chains it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/sequence.h"
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/xid8.h"

#include "canonical.h"
#include "clock.h"
#include "event.h"
#include "table.h"

const ColumnInfo event_columns[EV_COUNT] = {
	[EV_TENANT] = {"tenant", COLUMN_TEXT, 0},
	[EV_REQUEST] = {"request_id", COLUMN_ULID, 0},
	[EV_N] = {"n", COLUMN_INT4, 0},
	[EV_SEQ] = {"seq", COLUMN_INT8, 0},
	[EV_XID] = {"xid", COLUMN_XID8, 0},
	[EV_ORIGIN] = {"origin", COLUMN_INT8, 0},
	[EV_AT] = {"at", COLUMN_TIME, 0},
	[EV_KIND] = {"kind", COLUMN_TEXT, 0},
	[EV_ACTOR] = {"actor", COLUMN_TEXT, 0},
	[EV_LOGIN] = {"login", COLUMN_TEXT, 0},
	[EV_ROLE] = {"role", COLUMN_TEXT, 0},
	[EV_CLIENT] = {"client", COLUMN_TEXT, 0},
	[EV_STATUS_BEFORE] = {"status_before", COLUMN_TEXT, 0},
	[EV_STATUS_AFTER] = {"status_after", COLUMN_TEXT, 0},
	[EV_OUTCOME_BEFORE] = {"outcome_before", COLUMN_TEXT, 0},
	[EV_OUTCOME_AFTER] = {"outcome_after", COLUMN_TEXT, 0},
	[EV_ACTION_HASH] = {"action_hash", COLUMN_DIGEST, 0},
	[EV_REVIEW_HASH] = {"review_hash", COLUMN_DIGEST, 0},
	[EV_NOTE] = {"note", COLUMN_TEXT, 0},
	[EV_ROW_DIGEST] = {"row_digest", COLUMN_DIGEST, 0},
	[EV_PREVIOUS] = {"previous", COLUMN_DIGEST, 0},
	[EV_HASH] = {"hash", COLUMN_DIGEST, 0},
};

/* A member after the first; the key is written with its punctuation. */
#define member(doc, key, value) append_member(doc, ",\"" key "\":", sizeof(",\"" key "\":") - 1, value)

static void
append_member(StringInfo doc, const char *key, int len, const char *value)
{
	appendBinaryStringInfo(doc, key, len);
	if (value)
		canonical_append_string(doc, value, strlen(value));
	else
		appendBinaryStringInfo(doc, "null", 4);
}

static const char *
hex_of(const Digest *digest, char hex[DIGEST_TEXT_LEN + 1])
{
	if (digest == NULL)
		return NULL;
	digest_to_hex(digest, hex);
	return hex;
}

/*
 * SHA-256 of the event as canonical JSON; the keys are written in their order.
 */
void
event_hash(const Event *event, Digest *out)
{
	StringInfoData doc;
	char		id[ULID_TEXT_LEN + 1];
	char		at[CLOCK_TEXT_LEN];
	char		hex[DIGEST_TEXT_LEN + 1];

	clock_text(event->at, at);
	ulid_to_text(event->request, id);

	initStringInfo(&doc);
	member(&doc, "action", hex_of(&event->action_hash, hex));
	doc.data[0] = '{';
	member(&doc, "actor", event->actor);
	member(&doc, "at", at);
	member(&doc, "client", event->client);
	member(&doc, "kind", event->kind);
	member(&doc, "login", event->login);
	appendStringInfo(&doc, ",\"n\":%d", event->n);
	member(&doc, "note", event->note);
	member(&doc, "outcome_after", event->outcome_after);
	member(&doc, "outcome_before", event->outcome_before);
	member(&doc, "previous", hex_of(event->previous, hex));
	member(&doc, "request", id);
	member(&doc, "review", hex_of(&event->review_hash, hex));
	member(&doc, "role", event->role);
	member(&doc, "row", hex_of(&event->row, hex));
	member(&doc, "status_after", event->status_after);
	member(&doc, "status_before", event->status_before);
	member(&doc, "tenant", event->tenant);
	appendStringInfoString(&doc, ",\"v\":1}");
	digest_of(doc.data, doc.len, out);
	pfree(doc.data);
}

/* Where the client is connected from; NULL in a background process. */
const char *
event_client(void)
{
	return MyProcPort ? MyProcPort->remote_host : NULL;
}

/*
 * Where transaction ids of an event mean something: this database of this
 * server.  A copy of the database, on whatever server, is another place.
 */
int64
event_origin(void)
{
	return (int64) (GetSystemIdentifier() ^ ((uint64) MyDatabaseId * UINT64CONST(0x9E3779B97F4A7C15)));
}

static void
set_text(Datum *values, bool *nulls, EventColumn column, const char *value)
{
	nulls[column] = (value == NULL);
	values[column] = value ? CStringGetTextDatum(value) : (Datum) 0;
}

/*
 * The row of an event; it refers to the event.  Its place in the whole trail
 * (seq, xid, origin) is not hashed: a restore gives rows another one.
 */
void
event_values(const Event *event, const Digest *hash, Datum *values, bool *nulls)
{
	memset(nulls, false, sizeof(bool) * EV_COUNT);
	set_text(values, nulls, EV_TENANT, event->tenant);
	values[EV_REQUEST] = UlidPGetDatum(event->request);
	values[EV_N] = Int32GetDatum(event->n);
	values[EV_SEQ] = Int64GetDatum(nextval_internal(table_oid(OWN_EVENTS_SEQUENCE), false));
	values[EV_XID] = FullTransactionIdGetDatum(GetTopFullTransactionId());
	values[EV_ORIGIN] = Int64GetDatum(event_origin());
	values[EV_AT] = TimestampTzGetDatum(event->at);
	set_text(values, nulls, EV_KIND, event->kind);
	set_text(values, nulls, EV_ACTOR, event->actor);
	set_text(values, nulls, EV_LOGIN, event->login);
	set_text(values, nulls, EV_ROLE, event->role);
	set_text(values, nulls, EV_CLIENT, event->client);
	set_text(values, nulls, EV_STATUS_BEFORE, event->status_before);
	set_text(values, nulls, EV_STATUS_AFTER, event->status_after);
	set_text(values, nulls, EV_OUTCOME_BEFORE, event->outcome_before);
	set_text(values, nulls, EV_OUTCOME_AFTER, event->outcome_after);
	values[EV_ACTION_HASH] = DigestPGetDatum(&event->action_hash);
	values[EV_REVIEW_HASH] = DigestPGetDatum(&event->review_hash);
	set_text(values, nulls, EV_NOTE, event->note);
	values[EV_ROW_DIGEST] = DigestPGetDatum(&event->row);
	values[EV_PREVIOUS] = DigestPGetDatum(event->previous);
	nulls[EV_PREVIOUS] = (event->previous == NULL);
	values[EV_HASH] = DigestPGetDatum(hash);
}
