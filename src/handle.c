/*-------------------------------------------------------------------------
 *
 * handle.c
 *	  attach_handle and callback: what other systems do for a run.
 *
 * A handle is the name that another system has for its part: the execution id
 * of a workflow engine, say.  Whoever holds the secret reports what became of
 * it, once.  A report changes nothing but the handle: neither the run nor any
 * request of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "args.h"
#include "guard.h"
#include "notify.h"
#include "param.h"
#include "run_call.h"
#include "secret.h"
#include "step.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_attach_handle);
PG_FUNCTION_INFO_V1(approval_callback);

#define HANDLE_COLUMNS 11

/* The columns that statements below return, in order. */
enum
{
	COL_RUN_ID = 1, COL_SECRET, COL_ATTACHED_AT, COL_OUTCOME, COL_RESULT, COL_KEY, COL_ANSWERED_AT, COL_ANSWERED_BY
};

#define THIS_HANDLE " WHERE h.tenant OPERATOR(pg_catalog.=) $1 AND h.system OPERATOR(pg_catalog.=) $2" \
	" AND h.handle OPERATOR(pg_catalog.=) $3"
#define ITS_COLUMNS "h.run_id, h.secret_hash::pg_catalog.text, h.attached_at, h.outcome, h.result::pg_catalog.text," \
	" h.idempotency_key, h.answered_at, h.answered_by"

static Statement insert_handle = {
	.sql = "INSERT INTO approval.handles AS h (tenant, system, handle, run_id, secret_hash, attached_at, attached_by)"
	" VALUES ($1, $2, $3, $4, $5::approval.digest, $6, $7) ON CONFLICT (tenant, system, handle) DO NOTHING",
	.nparams = 7,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID},
};

static Statement lock_handle = {
	.sql = "SELECT " ITS_COLUMNS " FROM approval.handles h" THIS_HANDLE " FOR NO KEY UPDATE",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

static Statement renew_secret = {
	.sql = "UPDATE approval.handles h SET secret_hash = $4::approval.digest, attached_at = $5" THIS_HANDLE,
	.nparams = 5,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID},
};

static Statement store_answer = {
	.sql = "UPDATE approval.handles h SET outcome = $4, result = $5, idempotency_key = $6, answered_at = $7,"
	" answered_by = $8" THIS_HANDLE,
	.nparams = 8,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONOID, TEXTOID, TIMESTAMPTZOID, TEXTOID},
};

/* A handle as it is stored. */
typedef struct Handle
{
	const char *system;
	const char *handle;
	const char *run_id;
	char	   *secret_hash;
	char	   *outcome;
	char	   *result;
	char	   *idempotency_key;
	char	   *answered_by;
	bool		answered;
	TimestampTz attached_at;
	TimestampTz answered_at;
	const char *secret;			/* to be handed out, or NULL */
} Handle;

static void
take_names(FunctionCallInfo fcinfo, int system_argument, Handle *handle)
{
	memset(handle, 0, sizeof(*handle));
	handle->system = args_required(fcinfo, system_argument, "system", ARGS_KEY_LIMIT);
	args_check_name("system", handle->system, ARGS_KEY_LIMIT);
	handle->handle = args_required(fcinfo, system_argument + 1, "handle", ARGS_KEY_LIMIT);
	args_check_name("handle", handle->handle, ARGS_KEY_LIMIT);
}

static void
its_params(const Call *call, const Handle *handle, Datum *values, char *nulls, int count)
{
	memset(nulls, ' ', count);
	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, handle->system);
	param_text(values, nulls, 2, handle->handle);
}

static char *
column_text(int column)
{
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column);
}

static TimestampTz
column_time(int column, bool *isnull)
{
	return DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, isnull));
}

/* False if there is none. */
static bool
lock_stored(const Call *call, Handle *handle)
{
	Datum		values[3];
	char		nulls[3];
	bool		isnull;

	its_params(call, handle, values, nulls, lengthof(nulls));
	if (store_run(&lock_handle, values, nulls, SPI_OK_SELECT, 1) == 0)
		return false;
	handle->run_id = column_text(COL_RUN_ID);
	handle->secret_hash = column_text(COL_SECRET);
	handle->outcome = column_text(COL_OUTCOME);
	handle->result = column_text(COL_RESULT);
	handle->idempotency_key = column_text(COL_KEY);
	handle->answered_by = column_text(COL_ANSWERED_BY);
	handle->attached_at = column_time(COL_ATTACHED_AT, &isnull);
	handle->answered_at = column_time(COL_ANSWERED_AT, &isnull);
	handle->answered = !isnull;
	return true;
}

static void
update_stored(Statement *statement, Datum *values, const char *nulls)
{
	guard_entries(true);
	PG_TRY();
	{
		store_run(statement, values, nulls, SPI_OK_UPDATE, 0);
	}
	PG_FINALLY();
	{
		guard_entries(false);
	}
	PG_END_TRY();
}

/* A random secret, and the hash that is kept of it. */
static char *
new_secret(Handle *handle)
{
	Digest		kept;
	char	   *text = palloc(DIGEST_TEXT_LEN + 1);
	char	   *hex = palloc(DIGEST_TEXT_LEN + 1);

	secret_new(text, &kept);
	digest_to_hex(&kept, hex);
	handle->secret = text;
	return hex;
}

/* The value of the type approval.handle. */
static Datum
answer(RunCall *run_call, const Handle *handle)
{
	Call	   *call = &run_call->call;
	MemoryContext old = MemoryContextSwitchTo(call->result_context);
	TupleDesc	desc = lookup_rowtype_tupdesc(get_func_rettype(call->fcinfo->flinfo->fn_oid), -1);
	const char *texts[HANDLE_COLUMNS] = {
		call->tenant, handle->system, handle->handle, handle->run_id, handle->outcome, handle->result,
		NULL, NULL, handle->answered_by, handle->secret, run_traceparent(run_call->run)
	};
	Datum		values[HANDLE_COLUMNS];
	bool		nulls[HANDLE_COLUMNS];
	HeapTuple	tuple;
	int			i;

	for (i = 0; i < HANDLE_COLUMNS; i++)
	{
		nulls[i] = (texts[i] == NULL);
		values[i] = texts[i] ? CStringGetTextDatum(texts[i]) : (Datum) 0;
	}
	values[6] = TimestampTzGetDatum(handle->attached_at);
	nulls[6] = false;
	values[7] = TimestampTzGetDatum(handle->answered_at);
	nulls[7] = !handle->answered;
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	MemoryContextSwitchTo(old);
	verb_end(call);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}

/*
 * attach_handle(run_id, token, system, handle, tenant).  Attached again by the
 * holder of the run it gets another secret, as long as nobody has used the first.
 */
Datum
approval_attach_handle(PG_FUNCTION_ARGS)
{
	RunCall		run_call;
	Call	   *call = &run_call.call;
	Handle		handle;
	Datum		values[7];
	char		nulls[7];
	char	   *hash;

	run_begin(&run_call, fcinfo, "attach_handle", 4);
	take_names(fcinfo, 2, &handle);
	run_lock_held(&run_call, 1);
	hash = new_secret(&handle);
	handle.run_id = run_call.run_id;
	handle.attached_at = call->now;
	its_params(call, &handle, values, nulls, lengthof(nulls));
	param_text(values, nulls, 3, run_call.run_id);
	param_text(values, nulls, 4, hash);
	values[5] = TimestampTzGetDatum(call->now);
	param_text(values, nulls, 6, call->caller->login);
	if (store_run(&insert_handle, values, nulls, SPI_OK_INSERT, 0) == 0)
	{
		if (!lock_stored(call, &handle))
		{
			if (!IsolationUsesXactSnapshot())
				table_row_suppressed();
			errors_raise_serialization();
		}
		if (handle.answered || strcmp(handle.run_id, run_call.run_id) != 0)
			run_refuse(&run_call, REASON_HANDLE_CONFLICT);
		handle.attached_at = call->now;
		its_params(call, &handle, values, nulls, lengthof(nulls));
		param_text(values, nulls, 3, hash);
		values[4] = TimestampTzGetDatum(call->now);
		update_stored(&renew_secret, values, nulls);
	}
	step_journal_of(call, run_call.run, STEP_HANDLE_ATTACHED, handle.system, handle.handle, NULL, NULL);
	return answer(&run_call, &handle);
}

/* A wrong secret is as good as a wrong handle. */
static void
check_secret(RunCall *run_call, const Handle *handle, const char *secret)
{
	Digest		kept;

	if (!digest_from_hex(handle->secret_hash, strlen(handle->secret_hash), &kept) || !secret_is(secret, &kept))
		run_refuse(run_call, REASON_NOT_FOUND);
}

/* Whether this is what was reported before. */
static bool
same_report(const Handle *handle, const char *outcome, const char *result, const char *key)
{
	if (strcmp(handle->outcome, outcome) != 0)
		return false;
	if (key && handle->idempotency_key && strcmp(key, handle->idempotency_key) == 0)
		return true;
	return strcmp(handle->result ? handle->result : "", result ? result : "") == 0;
}

static void
apply(RunCall *run_call, Handle *handle, char *outcome, char *result, char *key)
{
	Call	   *call = &run_call->call;
	Datum		values[8];
	char		nulls[8];

	its_params(call, handle, values, nulls, lengthof(nulls));
	param_text(values, nulls, 3, outcome);
	param_text(values, nulls, 4, result);
	param_text(values, nulls, 5, key);
	values[6] = TimestampTzGetDatum(call->now);
	param_text(values, nulls, 7, call->caller->login);
	update_stored(&store_answer, values, nulls);
	handle->outcome = outcome;
	handle->result = result;
	handle->answered_by = pstrdup(call->caller->login);
	handle->answered_at = call->now;
	handle->answered = true;
	step_journal_of(call, run_call->run, STEP_CALLBACK, handle->system, handle->handle,
					strcmp(outcome, "failed") == 0 ? "failed" : NULL,
					psprintf("{\"outcome\":\"%s\",\"result\":%s}", outcome, result ? result : "null"));
	notify_run(call->tenant, handle->run_id, "callback", run_status_word(run_effective(run_call->run, call->now)));
}

/* callback(system, handle, secret, outcome, result, idempotency_key, tenant) */
Datum
approval_callback(PG_FUNCTION_ARGS)
{
	RunCall		run_call = {0};
	Call	   *call = &run_call.call;
	Handle		handle;
	char	   *secret;
	char	   *outcome;
	char	   *key;
	text	   *json;
	char	   *result;

	verb_begin(call, fcinfo, "callback");
	PreventCommandIfReadOnly(call->verb);
	take_names(fcinfo, 0, &handle);
	secret = args_required(fcinfo, 2, "secret", ARGS_KEY_LIMIT);
	outcome = args_required(fcinfo, 3, "outcome", ARGS_KEY_LIMIT);
	if (strcmp(outcome, "succeeded") != 0 && strcmp(outcome, "failed") != 0)
		args_bad_value("outcome", "One of succeeded and failed.");
	json = args_json(fcinfo, 4);
	key = args_name(fcinfo, 5, "idempotency_key");
	call_tenant(call, 6);
	if (!subject_check_size(call, "result", json))
		errors_raise(&call->refusal);
	result = json ? text_to_cstring(json) : NULL;
	if (!lock_stored(call, &handle))
		run_refuse(&run_call, REASON_NOT_FOUND);
	check_secret(&run_call, &handle, secret);
	call->now = GetCurrentTimestamp();
	run_call.run = run_find(call->tenant, handle.run_id, TABLE_NO_LOCK);
	if (run_call.run == NULL)
		run_refuse(&run_call, REASON_NOT_FOUND);
	if (!handle.answered)
		apply(&run_call, &handle, outcome, result, key);
	else if (!same_report(&handle, outcome, result, key))
		run_refuse(&run_call, REASON_OUTCOME_CONFLICT);
	return answer(&run_call, &handle);
}
