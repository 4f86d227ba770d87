/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  verify_request: recompute the whole chain of a request.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "event.h"
#include "param.h"
#include "row.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_verify_request);

/* Columns of select_events, from 1. */
enum
{
	EVENT_N = 1, EVENT_AT, EVENT_KIND, EVENT_ACTOR, EVENT_LOGIN, EVENT_ROLE, EVENT_CLIENT,
	EVENT_STATUS_BEFORE, EVENT_STATUS_AFTER, EVENT_OUTCOME_BEFORE, EVENT_OUTCOME_AFTER, EVENT_NOTE,
	EVENT_ACTION, EVENT_REVIEW, EVENT_ROW, EVENT_PREVIOUS, EVENT_HASH
};

static Statement select_events = {
	.sql = "SELECT e.n, e.at, e.kind, e.actor, e.login, e.role, e.client,"
	" e.status_before, e.status_after, e.outcome_before, e.outcome_after, e.note,"
	" e.action_hash, e.review_hash, e.row_digest, e.previous, e.hash"
	" FROM approval.events e WHERE e.tenant OPERATOR(pg_catalog.=) $1"
	" AND e.request_id OPERATOR(pg_catalog.=) $2::approval.ulid ORDER BY e.n",
	.nparams = 2,
	.types = {TEXTOID, UUIDOID},
};

/* Columns of select_decisions, from 1. */
enum
{
	DECISION_N = 1, DECISION_AT, DECISION_VERDICT, DECISION_ACTOR, DECISION_LOGIN, DECISION_SEEN,
	DECISION_REVIEW, DECISION_ACTION, DECISION_RESULT, DECISION_NOTE
};

static Statement select_decisions = {
	.sql = "SELECT d.n, d.at, d.verdict, d.actor, d.login, d.seen, d.review_hash, d.action_hash, d.result, d.note"
	" FROM approval.decisions d WHERE d.tenant OPERATOR(pg_catalog.=) $1"
	" AND d.request_id OPERATOR(pg_catalog.=) $2::approval.ulid ORDER BY d.n",
	.nparams = 2,
	.types = {TEXTOID, UUIDOID},
};

/* What was found, and at which event. */
typedef struct Finding
{
	const char *problem;		/* NULL: none */
	int			n;				/* 0: the row itself */
} Finding;

static const Digest *
digest_column(HeapTuple row, TupleDesc desc, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, column, &isnull);

	return isnull ? NULL : DatumGetDigestP(value);
}

static bool
same(const Digest *a, const Digest *b)
{
	return a == NULL || b == NULL ? a == b : memcmp(a, b, sizeof(Digest)) == 0;
}

/* Fills the event from its row; its strings live in SPI's memory. */
static void
take_event(const Call *call, HeapTuple row, TupleDesc desc, Event *event)
{
	bool		isnull;

	memset(event, 0, sizeof(*event));
	event->tenant = call->tenant;
	event->request = &call->id;
	event->n = DatumGetInt32(SPI_getbinval(row, desc, EVENT_N, &isnull));
	event->at = DatumGetTimestampTz(SPI_getbinval(row, desc, EVENT_AT, &isnull));
	event->kind = SPI_getvalue(row, desc, EVENT_KIND);
	event->actor = SPI_getvalue(row, desc, EVENT_ACTOR);
	event->login = SPI_getvalue(row, desc, EVENT_LOGIN);
	event->role = SPI_getvalue(row, desc, EVENT_ROLE);
	event->client = SPI_getvalue(row, desc, EVENT_CLIENT);
	event->status_before = SPI_getvalue(row, desc, EVENT_STATUS_BEFORE);
	event->status_after = SPI_getvalue(row, desc, EVENT_STATUS_AFTER);
	event->outcome_before = SPI_getvalue(row, desc, EVENT_OUTCOME_BEFORE);
	event->outcome_after = SPI_getvalue(row, desc, EVENT_OUTCOME_AFTER);
	event->note = SPI_getvalue(row, desc, EVENT_NOTE);
	event->action_hash = *digest_column(row, desc, EVENT_ACTION);
	event->review_hash = *digest_column(row, desc, EVENT_REVIEW);
	event->row = *digest_column(row, desc, EVENT_ROW);
	event->previous = digest_column(row, desc, EVENT_PREVIOUS);
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether every event is there, unchanged, and follows the one before it. */
static Finding
check_chain(const Call *call, SPITupleTable *events, uint64 count)
{
	const Digest *previous = NULL;
	Finding		finding = {NULL, 0};
	uint64		i;

	for (i = 0; i < count; i++)
	{
		HeapTuple	row = events->vals[i];
		TupleDesc	desc = events->tupdesc;
		Event		event;
		Digest		hash;

		CHECK_FOR_INTERRUPTS();
		take_event(call, row, desc, &event);
		finding.n = event.n;
		event_hash(&event, &hash);
		if (event.n != (int) i + 1)
			finding.problem = "event_missing";
		else if (!same(&hash, digest_column(row, desc, EVENT_HASH)))
			finding.problem = "event_changed";
		else if (!same(event.previous, previous))
			finding.problem = "chain_broken";
		else if (strcmp(event.kind, EVENT_COMPLETED_TAMPERED) == 0 ||
				 strcmp(event.kind, EVENT_RECONCILED_TAMPERED) == 0)
			finding.problem = "row_tampered";
		if (finding.problem)
			return finding;
		previous = digest_column(row, desc, EVENT_HASH);
	}
	return finding;
}

/* Whether the row is the one that its last event describes. */
static Finding
check_row(Request *request, SPITupleTable *events, uint64 count)
{
	Finding		finding = {NULL, 0};
	HeapTuple	last = count > 0 ? events->vals[count - 1] : NULL;
	TupleDesc	desc = events->tupdesc;
	Action		action;
	Digest		hash;

	subject_action(request, &action);
	hash_action(&action, &hash);
	if (DatumGetInt32(request->values[REQ_EVENTS]) != (int32) count || last == NULL)
		finding.problem = "event_missing";
	else if (!same(request_digest_at(request, REQ_HEAD), digest_column(last, desc, EVENT_HASH)))
		finding.problem = "chain_broken";
	else if (!row_intact(request) ||
			 !same(request_digest_at(request, REQ_ROW_DIGEST), digest_column(last, desc, EVENT_ROW)))
		finding.problem = "row_tampered";
	else if (!same(&hash, request_digest_at(request, REQ_ACTION_HASH)))
		finding.problem = "action_hash_wrong";
	return finding;
}

/* The verdict that an event of this kind records, or NULL. */
static const char *
verdict_of(const char *kind)
{
	if (strcmp(kind, EVENT_APPROVED) == 0 || strcmp(kind, EVENT_VOTED) == 0 || strcmp(kind, EVENT_EDITED) == 0)
		return "approve";
	if (strcmp(kind, EVENT_REJECTED) == 0 || strcmp(kind, EVENT_OBJECTED) == 0)
		return "reject";
	return NULL;
}

/*
 * Whether a decision says what its event says.  What was seen is what the event
 * before it left; the text of the rejection that decided, or of one before it,
 * stands in the row, which the digest covers.
 */
static bool
decision_sound(HeapTuple row, TupleDesc desc, const Event *event, const Event *before,
			   const Request *request)
{
	bool		isnull;
	char	   *result = SPI_getvalue(row, desc, DECISION_RESULT);

	return DatumGetInt32(SPI_getbinval(row, desc, DECISION_N, &isnull)) == event->n &&
		DatumGetTimestampTz(SPI_getbinval(row, desc, DECISION_AT, &isnull)) == event->at &&
		same_text(SPI_getvalue(row, desc, DECISION_VERDICT), verdict_of(event->kind)) &&
		same_text(SPI_getvalue(row, desc, DECISION_ACTOR), event->actor) &&
		same_text(SPI_getvalue(row, desc, DECISION_LOGIN), event->login) &&
		same_text(SPI_getvalue(row, desc, DECISION_NOTE), event->note) &&
		same(digest_column(row, desc, DECISION_SEEN), &before->review_hash) &&
		same(digest_column(row, desc, DECISION_REVIEW), &event->review_hash) &&
		same(digest_column(row, desc, DECISION_ACTION), &event->action_hash) &&
		(strcmp(event->kind, EVENT_OBJECTED) == 0 ||
		 (result == NULL && DatumGetInt32(request->values[REQ_REJECTIONS]) > 1) ||
		 same_text(result, strcmp(event->kind, EVENT_REJECTED) == 0 ? request_text(request, REQ_DENIAL) : NULL));
}

/* Whether there is exactly one decision for each event that is one. */
static Finding
check_decisions(const Call *call, const Request *request, SPITupleTable *events, uint64 count,
				SPITupleTable *decisions, uint64 decision_count)
{
	Finding		finding = {NULL, 0};
	Event		before;
	uint64		taken = 0;
	uint64		i;

	for (i = 0; i < count; i++)
	{
		Event		event;

		take_event(call, events->vals[i], events->tupdesc, &event);
		if (i > 0 && verdict_of(event.kind))
		{
			finding.n = event.n;
			if (taken == decision_count)
				finding.problem = "decision_missing";
			else if (!decision_sound(decisions->vals[taken], decisions->tupdesc, &event, &before, request))
				finding.problem = "decision_changed";
			if (finding.problem)
				return finding;
			taken++;
		}
		before = event;
	}
	finding.n = 0;
	if (taken != decision_count)
		finding.problem = "decision_added";
	return finding;
}

static SPITupleTable *
select_all(Statement *statement, const Call *call, uint64 *count)
{
	Datum		params[2];
	char		nulls[2];

	param_text(params, nulls, 0, call->tenant);
	param_ulid(params, nulls, 1, &call->id);
	*count = store_read(statement, params, nulls);
	return SPI_tuptable;
}

/*
 * Everything that is stored about the request, against everything else, in one
 * snapshot: a verb that commits meanwhile must not look like a forgery.
 */
static Finding
check_all(Call *call, uint64 *count)
{
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	Request    *request = row_find(call->tenant, &call->id, snapshot);
	SPITupleTable *events;
	SPITupleTable *decisions;
	uint64		decision_count;
	Finding		finding;

	if (request == NULL || call->caller->sight != SIGHT_TENANT)
	{
		call_refuse(call, REASON_NOT_FOUND);
		errors_raise(&call->refusal);
	}
	PushActiveSnapshot(snapshot);
	events = select_all(&select_events, call, count);
	decisions = select_all(&select_decisions, call, &decision_count);
	PopActiveSnapshot();
	UnregisterSnapshot(snapshot);

	finding = check_chain(call, events, *count);
	if (finding.problem == NULL)
		finding = check_row(request, events, *count);
	if (finding.problem == NULL)
		finding = check_decisions(call, request, events, *count, decisions, decision_count);
	return finding;
}

/* verify_request(id, tenant): one row (ok, events, problem, at_event) */
Datum
approval_verify_request(PG_FUNCTION_ARGS)
{
	Call		call;
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};
	Finding		finding;
	uint64		count;
	MemoryContext old;
	Datum		result;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	BlessTupleDesc(desc);
	verb_begin(&call, fcinfo, "verify_request");
	call.id = *args_id(fcinfo, 0, "id");
	call.has_id = true;
	call_tenant(&call, 1);
	finding = check_all(&call, &count);

	old = MemoryContextSwitchTo(call.result_context);
	values[0] = BoolGetDatum(finding.problem == NULL);
	values[1] = Int32GetDatum((int32) count);
	nulls[2] = (finding.problem == NULL);
	values[2] = finding.problem ? CStringGetTextDatum(finding.problem) : (Datum) 0;
	nulls[3] = (finding.problem == NULL || finding.n == 0);
	values[3] = Int32GetDatum(finding.n);
	result = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	MemoryContextSwitchTo(old);
	verb_end(&call);
	PG_RETURN_DATUM(result);
}
