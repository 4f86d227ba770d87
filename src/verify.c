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

/* Whether every event is there, unchanged, and follows the one before it. */
static Finding
check_chain(const Call *call, uint64 count)
{
	const Digest *previous = NULL;
	Finding		finding = {NULL, 0};
	uint64		i;

	for (i = 0; i < count; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
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
check_row(Request *request, uint64 count)
{
	Finding		finding = {NULL, 0};
	HeapTuple	last = count > 0 ? SPI_tuptable->vals[count - 1] : NULL;
	TupleDesc	desc = SPI_tuptable->tupdesc;
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

/* verify_request(id, tenant): one row (ok, events, problem, at_event) */
Datum
approval_verify_request(PG_FUNCTION_ARGS)
{
	Call		call;
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};
	Datum		params[2];
	char		param_nulls[2];
	Request    *request;
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
	request = row_find(call.tenant, &call.id);
	if (request == NULL || call.caller->sight != SIGHT_TENANT)
	{
		call_refuse(&call, REASON_NOT_FOUND);
		errors_raise(&call.refusal);
	}
	param_text(params, param_nulls, 0, call.tenant);
	param_ulid(params, param_nulls, 1, &call.id);
	count = store_run(&select_events, params, param_nulls, SPI_OK_SELECT, 0);
	finding = check_chain(&call, count);
	if (finding.problem == NULL)
		finding = check_row(request, count);

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
