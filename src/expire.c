/*-------------------------------------------------------------------------
 *
 * expire.c
 *	  expire_due: writes down what has lapsed.
 *
 * A deadline holds without it; this puts requests away, gives them their event
 * and rings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "args.h"
#include "event.h"
#include "param.h"
#include "verb.h"

PG_FUNCTION_INFO_V1(approval_expire_due);

#define MOST_ROWS 1000000

/* One statement for each kind, so that the index of what is open serves. */
static Statement select_due = {
	.sql = "SELECT r.tenant, r.id FROM approval.requests r"
	" WHERE (r.tenant OPERATOR(pg_catalog.=) ANY ($1) OR $2)"
	" AND (r.status OPERATOR(pg_catalog.=) ANY ('{pending,approved}'::pg_catalog.text[])"
	" OR r.outcome OPERATOR(pg_catalog.=) ANY ('{in_flight,unknown}'::pg_catalog.text[]))"
	" AND ((r.status OPERATOR(pg_catalog.=) 'pending' AND r.expires_at OPERATOR(pg_catalog.<=) $3)"
	" OR (r.status OPERATOR(pg_catalog.=) 'approved' AND r.use_by OPERATOR(pg_catalog.<=) $3)"
	" OR (r.outcome OPERATOR(pg_catalog.=) 'in_flight' AND r.lease_until OPERATOR(pg_catalog.<=) $3))"
	" LIMIT $4",
	.nparams = 4,
	.types = {TEXTARRAYOID, BOOLOID, TIMESTAMPTZOID, INT8OID},
};

typedef struct Due
{
	char	   *tenant;
	Ulid		id;
} Due;

static Due *
find_due(const Call *call, int64 max_rows, uint64 *count)
{
	Datum		values[4];
	Due		   *due;
	uint64		i;

	values[0] = param_texts((const char *const *) call->caller->tenants, call->caller->ntenants);
	values[1] = BoolGetDatum(call->caller->all_tenants);
	values[2] = TimestampTzGetDatum(GetCurrentTimestamp());
	values[3] = Int64GetDatum(max_rows);
	*count = store_run(&select_due, values, NULL, SPI_OK_SELECT, 0);
	due = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Due) * (*count + 1));
	for (i = 0; i < *count; i++)
	{
		bool		isnull;

		due[i].tenant = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		due[i].id = *DatumGetUlidP(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull));
	}
	SPI_freetuptable(SPI_tuptable);
	return due;
}

/* The event tells what the row said; verbs tell what holds. */
static bool
put_away(Call *call)
{
	Request    *request = call->request;

	if (call->tampered)
		return false;
	call->status_before = request->status;
	call->outcome_before = request->outcome;
	if (call->effective.status != request->status)
	{
		request_move(request, call->effective.status, call->effective.cause);
		call_write(call, EVENT_EXPIRED, NULL, NULL);
		return true;
	}
	if (call->effective.outcome != request->outcome)
	{
		request_set_outcome(request, call->effective.outcome);
		call_write(call, EVENT_ABANDONED, NULL, NULL);
		return true;
	}
	return false;
}

/* expire_due(max_rows): what somebody holds is left for the next time. */
Datum
approval_expire_due(PG_FUNCTION_ARGS)
{
	Call		call;
	MemoryContext row_context;
	MemoryContext old;
	Due		   *due;
	uint64		count;
	uint64		i;
	int64		done = 0;

	if (PG_ARGISNULL(0))
		errors_raise_null("max_rows");
	if (PG_GETARG_INT32(0) < 1 || PG_GETARG_INT32(0) > MOST_ROWS)
		args_bad_value("max_rows", "From 1 to 1000000.");
	verb_begin(&call, fcinfo, "expire_due");
	due = find_due(&call, PG_GETARG_INT32(0), &count);
	row_context = AllocSetContextCreate(CurrentMemoryContext, "approval expire_due", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(row_context);
	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);
		memset(&call.refusal, 0, sizeof(call.refusal));
		call.request = NULL;
		call.tenant = due[i].tenant;
		if (call_lock_free(&call, &due[i].id) && put_away(&call))
			done++;
	}
	MemoryContextSwitchTo(old);
	verb_end(&call);
	PG_RETURN_INT64(done);
}
