/*-------------------------------------------------------------------------
 *
 * request.c
 *	  A row of approval.requests in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "canonical.h"
#include "clock.h"
#include "request.h"

#define COLUMN_INFO(symbol, name, type, flags) {name, COLUMN_##type, flags},
const ColumnInfo request_columns[REQ_COUNT] = {
	REQUEST_COLUMNS(COLUMN_INFO)
};

#undef COLUMN_INFO

/* The bound columns by name, as canonical JSON wants its keys. */
static RequestColumn bound[REQ_COUNT];
static int	bound_count = 0;

/* Their names as keys: "name":  */
static struct
{
	char		text[NAMEDATALEN];
	int			len;
}			bound_keys[REQ_COUNT];

static int
compare_names(const void *a, const void *b)
{
	return strcmp(request_columns[*(const RequestColumn *) a].name,
				  request_columns[*(const RequestColumn *) b].name);
}

void
request_init(void)
{
	int			i;

	bound_count = 0;
	for (i = 0; i < REQ_COUNT; i++)
		if (request_columns[i].flags & COLUMN_BOUND)
			bound[bound_count++] = i;
	qsort(bound, bound_count, sizeof(bound[0]), compare_names);
	for (i = 0; i < bound_count; i++)
		bound_keys[i].len = snprintf(bound_keys[i].text, NAMEDATALEN, "\"%s\":",
									 request_columns[bound[i]].name);
}

void
request_empty(Request *request)
{
	memset(request, 0, sizeof(*request));
	memset(request->nulls, true, sizeof(request->nulls));
}

static void
take_states(Request *request)
{
	text	   *word = DatumGetTextPP(request->values[REQ_STATUS]);

	request->status = state_status(VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word));
	request->outcome = OUTCOME_NONE;
	if (!request->nulls[REQ_OUTCOME])
	{
		word = DatumGetTextPP(request->values[REQ_OUTCOME]);
		request->outcome = state_outcome(VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word));
	}
}

/* Takes a row of the table. */
void
request_load(Request *request, HeapTuple row, TupleDesc desc)
{
	Datum		values[REQ_COUNT + TABLE_SPARE_COLUMNS];
	bool		nulls[REQ_COUNT + TABLE_SPARE_COLUMNS];

	Assert(desc->natts >= REQ_COUNT && desc->natts <= (int) lengthof(values));
	heap_deform_tuple(row, desc, values, nulls);
	memcpy(request->values, values, sizeof(request->values));
	memcpy(request->nulls, nulls, sizeof(request->nulls));
	memset(request->hashed, false, sizeof(request->hashed));
	take_states(request);
}

/* Takes a row that a scan has found, all of its columns deformed. */
void
request_of_slot(Request *request, const TupleTableSlot *slot)
{
	memcpy(request->values, slot->tts_values, sizeof(request->values));
	memcpy(request->nulls, slot->tts_isnull, sizeof(request->nulls));
	memset(request->hashed, false, sizeof(request->hashed));
	take_states(request);
}

void
request_set(Request *request, RequestColumn column, Datum value)
{
	request->values[column] = value;
	request->nulls[column] = false;
	request->hashed[column] = false;
}

void
request_set_null(Request *request, RequestColumn column)
{
	request->values[column] = (Datum) 0;
	request->nulls[column] = true;
	request->hashed[column] = false;
}

void
request_set_text(Request *request, RequestColumn column, const char *value)
{
	if (value)
		request_set(request, column, CStringGetTextDatum(value));
	else
		request_set_null(request, column);
}

/* A new status, with its cause; whether the move is legal is tested later. */
void
request_move(Request *request, Status status, const char *cause)
{
	request->status = status;
	request_set_text(request, REQ_STATUS, state_status_word(status));
	request_set_text(request, REQ_CAUSE, cause);
}

void
request_set_outcome(Request *request, Outcome outcome)
{
	request->outcome = outcome;
	request_set_text(request, REQ_OUTCOME, state_outcome_word(outcome));
}

char *
request_text(const Request *request, RequestColumn column)
{
	return request->nulls[column] ? NULL : TextDatumGetCString(request->values[column]);
}

/* NULL equals nothing. */
bool
request_text_is(const Request *request, RequestColumn column, const char *value)
{
	text	   *stored;

	if (request->nulls[column] || value == NULL)
		return false;
	stored = DatumGetTextPP(request->values[column]);
	return strlen(value) == VARSIZE_ANY_EXHDR(stored) &&
		memcmp(value, VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored)) == 0;
}

const Digest *
request_digest_at(const Request *request, RequestColumn column)
{
	return request->nulls[column] ? NULL : (const Digest *) DatumGetPointer(request->values[column]);
}

const Ulid *
request_id(const Request *request)
{
	return (const Ulid *) DatumGetPointer(request->values[REQ_ID]);
}

TimestampTz
request_time(const Request *request, RequestColumn column)
{
	return request->nulls[column] ? 0 : DatumGetTimestampTz(request->values[column]);
}

/*
 * A deadline holds without any worker.  Strictly before it is in time; a
 * deadline that is missing has passed.
 */
Effective
request_effective(const Request *request, TimestampTz now)
{
	Effective	effective = {request->status, request->outcome, NULL};

	if (request->status == STATUS_PENDING && now >= request_time(request, REQ_EXPIRES_AT))
	{
		effective.status = STATUS_EXPIRED;
		effective.cause = CAUSE_DECIDE_DEADLINE;
	}
	else if (request->status == STATUS_APPROVED && now >= request_time(request, REQ_USE_BY))
	{
		effective.status = STATUS_EXPIRED;
		effective.cause = CAUSE_USE_DEADLINE;
	}
	else if (request->outcome == OUTCOME_IN_FLIGHT && now >= request_time(request, REQ_LEASE_UNTIL))
		effective.outcome = OUTCOME_UNKNOWN;
	return effective;
}

/*
 * When something has to be done about a request, without anybody's doing: its
 * deadline, or what policy wants to happen before.  False: never.
 */
bool
request_next_due(const Request *request, TimestampTz *due)
{
	if (request->outcome == OUTCOME_IN_FLIGHT)
		*due = request_time(request, REQ_LEASE_UNTIL);
	else if (request->status == STATUS_APPROVED)
		*due = request_time(request, REQ_USE_BY);
	else if (request->status == STATUS_PENDING)
	{
		*due = request_time(request, REQ_EXPIRES_AT);
		if (!request->nulls[REQ_REMIND_AT] && request->nulls[REQ_REMINDED_AT])
			*due = Min(*due, request_time(request, REQ_REMIND_AT));
		if (!request->nulls[REQ_ESCALATE_AT] && request->nulls[REQ_ESCALATED_AT])
			*due = Min(*due, request_time(request, REQ_ESCALATE_AT));
	}
	else
		return false;
	return true;
}

static void
append_text(StringInfo out, Datum value)
{
	text	   *t = DatumGetTextPP(value);

	canonical_append_string(out, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

static void
append_hex(StringInfo out, const Digest *digest)
{
	char		hex[DIGEST_TEXT_LEN + 1];

	digest_to_hex(digest, hex);
	appendStringInfoChar(out, '"');
	appendBinaryStringInfo(out, hex, DIGEST_TEXT_LEN);
	appendStringInfoChar(out, '"');
}

/* JSON is bound by the hash of its text, which is worked out once. */
static const Digest *
json_hash(Request *request, RequestColumn column)
{
	if (!request->hashed[column])
	{
		text	   *t = DatumGetTextPP(request->values[column]);

		digest_of(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t), &request->json_hash[column]);
		request->hashed[column] = true;
	}
	return &request->json_hash[column];
}

static void
append_int(StringInfo out, int64 value)
{
	char		digits[MAXINT8LEN + 1];
	int			len = pg_lltoa(value, digits);

	appendBinaryStringInfo(out, digits, len);
}

static void
append_value(StringInfo out, Request *request, RequestColumn column)
{
	Datum		value = request->values[column];
	char		buffer[CLOCK_TEXT_LEN];

	switch (request_columns[column].type)
	{
		case COLUMN_TEXT:
			append_text(out, value);
			break;
		case COLUMN_ULID:
			ulid_to_text((const Ulid *) DatumGetPointer(value), buffer);
			canonical_append_string(out, buffer, ULID_TEXT_LEN);
			break;
		case COLUMN_DIGEST:
			append_hex(out, (const Digest *) DatumGetPointer(value));
			break;
		case COLUMN_JSON:
			append_hex(out, json_hash(request, column));
			break;
		case COLUMN_TIME:
			clock_text(DatumGetTimestampTz(value), buffer);
			canonical_append_string(out, buffer, strlen(buffer));
			break;
		case COLUMN_INT4:
			append_int(out, DatumGetInt32(value));
			break;
		case COLUMN_XID8:
		case COLUMN_INT8:

			/* a string: not every integer of 64 bits survives a double */
			appendStringInfoChar(out, '"');
			append_int(out, DatumGetInt64(value));
			appendStringInfoChar(out, '"');
			break;
		case COLUMN_NUMERIC:
			elog(ERROR, "requests have no such column");
	}
}

/*
 * SHA-256 of the canonical JSON object of all bound columns that have a value,
 * keys being the columns' names, and "v".
 */
void
request_row_digest(Request *request, Digest *out)
{
	StringInfoData doc;
	int			i;

	initStringInfo(&doc);
	enlargeStringInfo(&doc, 4096);
	appendStringInfoChar(&doc, '{');
	for (i = 0; i < bound_count; i++)
	{
		if (request->nulls[bound[i]])
			continue;
		appendBinaryStringInfo(&doc, bound_keys[i].text, bound_keys[i].len);
		append_value(&doc, request, bound[i]);
		appendStringInfoCharMacro(&doc, ',');
	}
	appendBinaryStringInfo(&doc, "\"v\":1}", 6);
	digest_of(doc.data, doc.len, out);
	pfree(doc.data);
}

/* The row as a value of the type approval.request. */
Datum
request_datum(const Request *request, Oid type, Effective effective, bool with_reply_to)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Request		shown = *request;
	Datum		values[REQ_COUNT];
	bool		nulls[REQ_COUNT];
	HeapTuple	tuple;
	int			n = 0;
	int			i;

	if (effective.status != request->status)
		request_move(&shown, effective.status, effective.cause);
	if (effective.outcome != request->outcome)
		request_set_outcome(&shown, effective.outcome);
	if (!with_reply_to)
		request_set_null(&shown, REQ_REPLY_TO);
	for (i = 0; i < REQ_COUNT; i++)
		if (request_columns[i].flags & COLUMN_PUBLIC)
		{
			values[n] = shown.values[i];
			nulls[n++] = shown.nulls[i];
		}
	if (n != desc->natts)
		elog(ERROR, "type approval.request has %d columns instead of %d", desc->natts, n);
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}
