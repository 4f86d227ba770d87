/*-------------------------------------------------------------------------
 *
 * sitting.c
 *	  The calls of a conversation that a map decides together: found, locked in
 *	  the order of their ids, and told of where the map does not match them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "clock.h"
#include "param.h"
#include "sitting.h"
#include "subject.h"

/* No list in DETAIL is longer than this. */
#define TOLD_MOST 200

static Statement select_waiting = {
	.sql = "SELECT u.id, pg_catalog.bool_or(u.mapped) FROM ("
	"SELECT r.id, false AS mapped FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
	" AND r.conversation_id OPERATOR(pg_catalog.=) $2 AND r.status OPERATOR(pg_catalog.=) 'pending'"
	" UNION ALL SELECT r.id, false FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
	" AND r.conversation_id OPERATOR(pg_catalog.=) $2 AND r.tool_call_id OPERATOR(pg_catalog.=) ANY ($3)"
	" UNION ALL SELECT r.id, true FROM approval.requests r JOIN approval.decisions d"
	" ON d.tenant OPERATOR(pg_catalog.=) r.tenant AND d.request_id OPERATOR(pg_catalog.=) r.id"
	" WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND r.conversation_id OPERATOR(pg_catalog.=) $2"
	" AND d.map_hash OPERATOR(pg_catalog.=) $5::approval.digest AND d.actor OPERATOR(pg_catalog.=) $6"
	") u GROUP BY u.id ORDER BY u.id LIMIT $4",
	.nparams = 6,
	.types = {TEXTOID, TEXTOID, TEXTARRAYOID, INT8OID, TEXTOID, TEXTOID},
};

/* What was last decided by people in this conversation, for DETAIL. */
static Statement select_decided = {
	.sql = "SELECT r.tool_call_id, CASE WHEN r.status OPERATOR(pg_catalog.=) 'approved'"
	" AND r.use_by OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp() THEN 'expired' ELSE r.status END, r.decided_by, r.decided_at FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND r.conversation_id OPERATOR(pg_catalog.=) $2"
	" AND r.decided_at IS NOT NULL AND r.cause OPERATOR(pg_catalog.<>) 'policy'"
	" ORDER BY r.decided_at DESC, r.id DESC LIMIT $3",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, INT8OID},
};

static const Entry *
entry_for(const Decisions *decisions, const Request *request)
{
	int			i;

	for (i = 0; i < decisions->count; i++)
		if (request_text_is(request, REQ_TOOL_CALL_ID, decisions->entries[i].tool_call_id))
			return &decisions->entries[i];
	return NULL;
}

/*
 * By what one's own map is known again: SHA-256 of the canonical JSON array
 * [conversation_id, seen_set or null, decisions].
 */
static void
hash_map(Sitting *sitting)
{
	StringInfoData doc;
	char		hex[DIGEST_TEXT_LEN + 1];

	initStringInfo(&doc);
	appendStringInfoChar(&doc, '[');
	canonical_append_string(&doc, sitting->conversation_id, strlen(sitting->conversation_id));
	if (sitting->seen_set)
		digest_to_hex(sitting->seen_set, hex);
	appendStringInfoString(&doc, sitting->seen_set ? psprintf(",\"%s\",", hex) : ",null,");
	appendStringInfoString(&doc, sitting->decisions.canonical);
	appendStringInfoChar(&doc, ']');
	digest_of(doc.data, doc.len, &sitting->map_hash);
}

/* What waits, what is named, and what was decided by the same map before. */
static void
part_params(const Sitting *sitting, const char *const *names, Datum *values, char *nulls)
{
	char		hex[DIGEST_TEXT_LEN + 1];

	memset(nulls, ' ', 6);
	digest_to_hex(&sitting->map_hash, hex);
	param_text(values, nulls, 0, sitting->call->tenant);
	param_text(values, nulls, 1, sitting->conversation_id);
	values[2] = param_texts(names, sitting->decisions.count);
	values[3] = Int64GetDatum(DECISIONS_MOST + 1);
	param_text(values, nulls, 4, hex);
	param_text(values, nulls, 5, sitting->call->actor);
}

/* The calls to be locked, in the order of their ids; false with a refusal. */
static bool
find_parts(Sitting *sitting)
{
	Call	   *call = sitting->call;
	const Decisions *decisions = &sitting->decisions;
	const char **names = palloc(sizeof(char *) * (decisions->count + 1));
	Datum		values[6];
	char		nulls[6];
	uint64		i;

	for (i = 0; i < (uint64) decisions->count; i++)
		names[i] = decisions->entries[i].tool_call_id;
	part_params(sitting, names, values, nulls);
	sitting->count = store_run(&select_waiting, values, nulls, SPI_OK_SELECT, 0);
	if (sitting->count > DECISIONS_MOST)
	{
		errors_member_raw(&call->refusal, "limit", psprintf("%d", DECISIONS_MOST));
		call_refuse(call, REASON_TOO_LARGE);
		return false;
	}
	sitting->parts = palloc0(sizeof(Part) * (sitting->count + 1));
	for (i = 0; i < (uint64) sitting->count; i++)
	{
		bool		isnull;

		sitting->parts[i].answered.call = *call;
		sitting->parts[i].answered.call.id =
			*DatumGetUlidP(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
		sitting->parts[i].mapped = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull));
	}
	return true;
}

bool
sitting_waits(const Part *part)
{
	return part->answered.call.effective.status == STATUS_PENDING;
}

/* Locks them all, and works out the digest of those that wait, as pending() does. */
static bool
lock_parts(Sitting *sitting)
{
	StringInfoData set;
	int			i;

	initStringInfo(&set);
	appendStringInfoChar(&set, '[');
	for (i = 0; i < sitting->count; i++)
	{
		Part	   *part = &sitting->parts[i];
		Ulid		id = part->answered.call.id;

		CHECK_FOR_INTERRUPTS();
		if (!call_lock(&part->answered.call, &id))
		{
			sitting->call->refusal = part->answered.call.refusal;
			return false;
		}
		part->entry = entry_for(&sitting->decisions, part->answered.call.request);
		if (sitting_waits(part))
		{
			part->shown = *request_digest_at(part->answered.call.request, REQ_REVIEW_HASH);
			subject_add_to_set(&set, part->answered.call.request);
		}
	}
	appendStringInfoChar(&set, ']');
	digest_of(set.data, set.len, &sitting->current_set);
	return true;
}

/* Finds and locks them; false with a refusal. */
bool
sitting_open(Sitting *sitting)
{
	initStringInfo(&sitting->unknown);
	initStringInfo(&sitting->missing);
	initStringInfo(&sitting->ended);
	hash_map(sitting);
	return find_parts(sitting) && lock_parts(sitting);
}

/* An element of a list in DETAIL. */
void
sitting_add_name(StringInfo list, const char *name)
{
	if (list->len > 0)
		appendStringInfoChar(list, ',');
	errors_escape(list, name);
}

/* A call that is named and does not wait, with its state. */
void
sitting_add_ended(Sitting *sitting, const Part *part)
{
	const Call *call = &part->answered.call;

	appendStringInfo(&sitting->ended, "%s{\"tool_call_id\":", sitting->ended.len > 0 ? "," : "");
	errors_escape(&sitting->ended, request_text(call->request, REQ_TOOL_CALL_ID));
	appendStringInfo(&sitting->ended, ",\"status\":\"%s\"}", state_status_word(call->effective.status));
}

static void
tell_waiting(const Sitting *sitting, Refusal *refusal)
{
	StringInfoData out;
	int			told = 0;
	int			i;
	char		hex[DIGEST_TEXT_LEN + 1];

	initStringInfo(&out);
	for (i = 0; i < sitting->count && told < TOLD_MOST; i++)
	{
		const Request *request = sitting->parts[i].answered.call.request;
		char		id[ULID_TEXT_LEN + 1];

		if (!sitting_waits(&sitting->parts[i]))
			continue;
		told++;
		ulid_to_text(request_id(request), id);
		digest_to_hex(&sitting->parts[i].shown, hex);
		appendStringInfo(&out, "%s{\"id\":\"%s\",\"tool_call_id\":", out.len > 0 ? "," : "[", id);
		errors_escape(&out, request_text(request, REQ_TOOL_CALL_ID));
		appendStringInfoString(&out, ",\"tool\":");
		errors_escape(&out, request_text(request, REQ_TOOL));
		appendStringInfo(&out, ",\"review_hash\":\"%s\"}", hex);
	}
	errors_member_raw(refusal, "pending", out.len > 0 ? psprintf("%s]", out.data) : "[]");
	digest_to_hex(&sitting->current_set, hex);
	errors_member(refusal, "seen_set", hex);
}

static const char *
decided_column(uint64 row, int n)
{
	char	   *value = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, n);

	return value ? value : "";
}

static uint64
find_decided(const Sitting *sitting)
{
	Datum		values[3];

	values[0] = CStringGetTextDatum(sitting->call->tenant);
	values[1] = CStringGetTextDatum(sitting->conversation_id);
	values[2] = Int64GetDatum(TOLD_MOST);
	return store_run(&select_decided, values, NULL, SPI_OK_SELECT, 0);
}

/* Who won: the latest decisions of people in this conversation. */
static void
tell_decided(const Sitting *sitting, Refusal *refusal)
{
	StringInfoData out;
	uint64		count = find_decided(sitting);
	uint64		i;

	initStringInfo(&out);
	for (i = 0; i < count; i++)
	{
		bool		isnull;
		char		at[CLOCK_TEXT_LEN];

		clock_text(DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 4, &isnull)), at);
		appendStringInfo(&out, "%s{\"tool_call_id\":", out.len > 0 ? "," : "");
		errors_escape(&out, decided_column(i, 1));
		appendStringInfo(&out, ",\"status\":\"%s\",\"decided_by\":", decided_column(i, 2));
		errors_escape(&out, decided_column(i, 3));
		appendStringInfo(&out, ",\"decided_at\":\"%s\"}", at);
	}
	errors_member_raw(refusal, "decided", psprintf("[%s]", out.data));
}

/* The whole map is for another state of the conversation: this is what waits now. */
Step
sitting_mismatch(Sitting *sitting, Reason reason)
{
	Refusal    *refusal = &sitting->call->refusal;

	memset(refusal, 0, sizeof(*refusal));
	errors_member(refusal, "conversation_id", sitting->conversation_id);
	errors_member_raw(refusal, "unknown", psprintf("[%s]", sitting->unknown.data));
	errors_member_raw(refusal, "missing", psprintf("[%s]", sitting->missing.data));
	errors_member_raw(refusal, "ended", psprintf("[%s]", sitting->ended.data));
	tell_waiting(sitting, refusal);
	tell_decided(sitting, refusal);
	return call_refuse(sitting->call, reason);
}
