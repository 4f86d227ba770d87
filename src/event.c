/*-------------------------------------------------------------------------
 *
 * event.c
 *	  One line of the audit trail, and the hash that chains it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "canonical.h"
#include "clock.h"
#include "event.h"
#include "param.h"

const Oid	event_param_types[EVENT_PARAMS] = {
	TEXTOID, UUIDOID, INT4OID, INT8OID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
	TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
	BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID
};

const char *const event_param_casts[EVENT_PARAMS] = {
	"", "::approval.ulid", "", "", "", "", "", "", "", "",
	"", "", "", "", "",
	PARAM_DIGEST, PARAM_DIGEST, PARAM_DIGEST, PARAM_DIGEST, PARAM_DIGEST
};

static void
member(StringInfo doc, const char *key, const char *value)
{
	appendStringInfo(doc, ",\"%s\":", key);
	if (value)
		canonical_append_string(doc, value, strlen(value));
	else
		appendStringInfoString(doc, "null");
}

static void
member_digest(StringInfo doc, const char *key, const Digest *digest)
{
	char		hex[DIGEST_TEXT_LEN + 1];

	if (digest)
		digest_to_hex(digest, hex);
	member(doc, key, digest ? hex : NULL);
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

	clock_text(event->at, at);
	ulid_to_text(event->request, id);

	initStringInfo(&doc);
	member_digest(&doc, "action", &event->action_hash);
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
	member_digest(&doc, "previous", event->previous);
	member(&doc, "request", id);
	member_digest(&doc, "review", &event->review_hash);
	member(&doc, "role", event->role);
	member_digest(&doc, "row", &event->row);
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

void
event_params(const Event *event, const Digest *hash, Datum *values, char *nulls)
{
	int			n = 0;

	param_text(values, nulls, n++, event->tenant);
	param_ulid(values, nulls, n++, event->request);
	values[n++] = Int32GetDatum(event->n);
	values[n++] = Int64GetDatum((int64) GetSystemIdentifier());
	values[n++] = TimestampTzGetDatum(event->at);
	param_text(values, nulls, n++, event->kind);
	param_text(values, nulls, n++, event->actor);
	param_text(values, nulls, n++, event->login);
	param_text(values, nulls, n++, event->role);
	param_text(values, nulls, n++, event->client);
	param_text(values, nulls, n++, event->status_before);
	param_text(values, nulls, n++, event->status_after);
	param_text(values, nulls, n++, event->outcome_before);
	param_text(values, nulls, n++, event->outcome_after);
	param_text(values, nulls, n++, event->note);
	param_digest(values, nulls, n++, &event->action_hash);
	param_digest(values, nulls, n++, &event->review_hash);
	param_digest(values, nulls, n++, &event->row);
	param_digest(values, nulls, n++, event->previous);
	param_digest(values, nulls, n++, hash);
	Assert(n == EVENT_PARAMS);
}
