/*-------------------------------------------------------------------------
 *
 * permit.c
 *	  What an executor is handed, once per attempt.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "args.h"
#include "permit.h"
#include "registry.h"
#include "secret.h"
#include "settings.h"

#define PERMIT_COLUMNS 16
#define PERMIT_TOKEN 11
#define PERMIT_KEY 12

/* The columns of approval.permit that come from the row. */
static const int permit_source[PERMIT_COLUMNS] = {
	REQ_ID, REQ_TOOL_CALL_ID, REQ_CONVERSATION_ID, REQ_RUN_ID, REQ_SERVER, REQ_TOOL,
	REQ_RESOURCE, REQ_ARGUMENTS, REQ_ACTION_HASH, REQ_EXECUTION_ID, REQ_ATTEMPT,
	-1, -1, REQ_LEASE_UNTIL, REQ_DECIDED_BY, REQ_DECIDED_AT
};

/*
 * The idempotency key is the request's id: the same for every attempt, and
 * never used for another action.
 */
Datum
permit_datum(const Call *call, Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Datum		values[PERMIT_COLUMNS];
	bool		nulls[PERMIT_COLUMNS];
	char		id[ULID_TEXT_LEN + 1];
	HeapTuple	tuple;
	int			i;

	if (desc->natts != PERMIT_COLUMNS)
		elog(ERROR, "type approval.permit has %d columns instead of %d", desc->natts, PERMIT_COLUMNS);
	for (i = 0; i < PERMIT_COLUMNS; i++)
	{
		if (permit_source[i] < 0)
			continue;
		values[i] = call->request->values[permit_source[i]];
		nulls[i] = call->request->nulls[permit_source[i]];
	}
	ulid_to_text(request_id(call->request), id);
	values[PERMIT_TOKEN] = CStringGetTextDatum(call->permit.token);
	values[PERMIT_KEY] = CStringGetTextDatum(id);
	nulls[PERMIT_TOKEN] = nulls[PERMIT_KEY] = false;
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}

/* A new attempt with a new random token, of which only the hash is kept. */
void
permit_grant(Call *call, const char *execution_id, int64 lease)
{
	Request    *request = call->request;
	Digest	   *kept = palloc(sizeof(Digest));

	secret_new(call->permit.token, kept);
	call->permit.granted = true;

	request_set(request, REQ_ATTEMPT,
				Int32GetDatum(DatumGetInt32(request->values[REQ_ATTEMPT]) + 1));
	request_set(request, REQ_TOKEN_HASH, PointerGetDatum(kept));
	request_set_text(request, REQ_EXECUTION_ID, execution_id);
	request_set_text(request, REQ_EXECUTOR_LOGIN, call->caller->login);
	request_set(request, REQ_LEASE_UNTIL, TimestampTzGetDatum(call->now + lease));
}

/* Whether this is the current attempt. */
static bool
permit_matches(const Call *call, const char *execution_id, const char *token)
{
	const Digest *kept = request_digest_at(call->request, REQ_TOKEN_HASH);

	return kept != NULL && secret_is(token, kept) &&
		request_text_is(call->request, REQ_EXECUTION_ID, execution_id);
}

/* The first three arguments: id, execution_id, token. */
void
permit_attempt(const Call *call, Attempt *attempt)
{
	attempt->id = args_id(call->fcinfo, 0, "id");
	attempt->execution_id = args_required(call->fcinfo, 1, "execution_id", ARGS_KEY_LIMIT);
	attempt->token = args_required(call->fcinfo, 2, "token", ARGS_KEY_LIMIT);
}

/* The tool that the row is for, as policy knows it now. */
const Registered *
permit_tool(const Call *call)
{
	return registry_find(call->tenant, request_text(call->request, REQ_SERVER),
						 request_text(call->request, REQ_TOOL));
}

/* The lease in an argument; 0 for none. */
int64
permit_asked_lease(const Call *call, int argument)
{
	return args_span(call->fcinfo, argument, "lease", 0, 1, setting_max_lease * USECS_PER_SEC);
}

/* The lease asked for, or the tool's, or the setting's. */
int64
permit_lease(int64 asked, const Registered *registered)
{
	int64		shortest = 0;
	int			i;

	if (asked > 0)
		return asked;
	for (i = 0; i < registered->ntools; i++)
		if (registered->tools[i].lease > 0 && (shortest == 0 || registered->tools[i].lease < shortest))
			shortest = registered->tools[i].lease;
	return shortest > 0 ? shortest : setting_lease * USECS_PER_SEC;
}

/* Locks the request; false, with a refusal, for any but its current attempt. */
bool
permit_lock(Call *call, const Attempt *attempt, int tenant_argument)
{
	call_tenant(call, tenant_argument);
	if (!call_lock(call, attempt->id))
		return false;
	if (call->request->status != STATUS_CONSUMED)
	{
		call_refuse(call, REASON_STALE_STATE);
		return false;
	}
	if (!permit_matches(call, attempt->execution_id, attempt->token))
	{
		call_refuse(call, REASON_EXECUTION_MISMATCH);
		return false;
	}
	return true;
}
