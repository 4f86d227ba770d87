/*-------------------------------------------------------------------------
 *
 * change.c
 *	  A change of policy: who makes it, of what, from what, to what.
 *
 * Changes are rare, and made one after the other in the whole database, so
 * that their events form a chain for each tenant.  Freezes have chains of their
 * own, and wait for no other change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "args.h"
#include "change.h"
#include "event.h"
#include "param.h"
#include "policy_event.h"

#define CHANGE_COLUMNS 11

static Statement next_version = {
	.sql = "SELECT pg_catalog.nextval('approval.policy_version_seq'::pg_catalog.regclass)::pg_catalog.int4",
	.nparams = 0,
};

static Statement select_head = {
	.sql = "SELECT e.n, e.hash::pg_catalog.text FROM approval.policy_events e"
	" WHERE e.tenant OPERATOR(pg_catalog.=) $1 AND e.chain OPERATOR(pg_catalog.=) $2 ORDER BY e.n DESC",
	.nparams = 2,
	.types = {TEXTOID, TEXTOID},
};

static Statement insert_event = {
	.sql = "INSERT INTO approval.policy_events (tenant, chain, n, at, verb, actor, login, role, client,"
	" server, tool, subject, policy_version, before, after, note, previous, hash)"
	" VALUES ($1, ($5::pg_catalog.text[])[9], $2, $3, $4, ($5::pg_catalog.text[])[1], ($5::pg_catalog.text[])[2], ($5::pg_catalog.text[])[3],"
	" ($5::pg_catalog.text[])[4], ($5::pg_catalog.text[])[5], ($5::pg_catalog.text[])[6],"
	" ($5::pg_catalog.text[])[7], $6, $7, $8, ($5::pg_catalog.text[])[8], $9::approval.digest, $10::approval.digest)",
	.nparams = 10,
	.types = {TEXTOID, INT4OID, TIMESTAMPTZOID, TEXTOID, TEXTARRAYOID, INT4OID, JSONOID, JSONOID, TEXTOID, TEXTOID},
};

/* One change at a time; readers are not kept waiting. */
void
change_lock(const Change *change)
{
	const char *table = strcmp(change->chain, CHAIN_FREEZE) == 0 ? "freezes" : "policy_events";

	LockRelationOid(get_relname_relid(table, get_namespace_oid("approval", false)),
					ShareUpdateExclusiveLock);
}

/* Who acts, for which tenant; actor_argument -1: the login itself. */
void
change_open(Change *change, FunctionCallInfo fcinfo, const char *verb,
			const char *chain, int tenant_argument, int actor_argument)
{
	memset(change, 0, sizeof(*change));
	change->chain = chain;
	PreventCommandIfReadOnly(verb);
	verb_begin(&change->call, fcinfo, verb);
	change->call.tenant = caller_policy_tenant(change->call.caller,
											   args_text(fcinfo, tenant_argument, "tenant", ARGS_KEY_LIMIT));
	if (actor_argument >= 0 && !call_actor(&change->call, actor_argument, true))
		errors_raise(&change->call.refusal);
}

/* The same, in turn with all other changes from here on. */
void
change_begin(Change *change, FunctionCallInfo fcinfo, const char *verb,
			 const char *chain, int tenant_argument, int actor_argument)
{
	change_open(change, fcinfo, verb, chain, tenant_argument, actor_argument);
	change_lock(change);
}

/* For what belongs to no tenant but to the database. */
void
change_begin_database(Change *change, FunctionCallInfo fcinfo, const char *verb)
{
	memset(change, 0, sizeof(*change));
	change->chain = CHAIN_POLICY;
	PreventCommandIfReadOnly(verb);
	verb_begin(&change->call, fcinfo, verb);
	change->call.tenant = CALLER_ALL_TENANTS;
	change_lock(change);
}

void
change_tool(Change *change, int tool_argument, int server_argument)
{
	FunctionCallInfo fcinfo = change->call.fcinfo;
	const char *server = args_text(fcinfo, server_argument, "server", ARGS_KEY_LIMIT);

	change->tool = args_required(fcinfo, tool_argument, "tool", ARGS_KEY_LIMIT);
	args_check_name("tool", change->tool, ARGS_KEY_LIMIT);
	change->server = server ? server : "";
}

void
change_new_version(Change *change)
{
	bool		isnull;

	store_run(&next_version, NULL, NULL, SPI_OK_SELECT, 1);
	change->policy_version = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

void
change_refuse(Change *change, Reason reason)
{
	call_refuse(&change->call, reason);
	errors_raise(&change->call.refusal);
}

void
change_bad_policy(Change *change, const char *place, const char *problem)
{
	errors_member(&change->call.refusal, "place", place);
	errors_member(&change->call.refusal, "problem", problem);
	change_refuse(change, REASON_BAD_POLICY);
}

/* The last event of the chain: its number, 0 for none, and its hash. */
static int
head(const Change *change, char **hash)
{
	Datum		values[2];
	bool		isnull;
	int			n = 0;
	int			latest;

	*hash = NULL;
	values[0] = CStringGetTextDatum(change->call.tenant);
	values[1] = CStringGetTextDatum(change->chain);
	if (store_run(&select_head, values, NULL, SPI_OK_SELECT, 1) > 0)
	{
		n = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		*hash = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
	}
	PushActiveSnapshot(GetLatestSnapshot());
	latest = store_read(&select_head, values, NULL) == 0 ? 0 :
		DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	PopActiveSnapshot();
	if (latest != n)
		errors_raise_serialization();
	return n;
}

/* What becomes the row of this change. */
static void
make_event(const Change *change, int n, const char *previous, PolicyEvent *event)
{
	const Call *call = &change->call;

	event->tenant = call->tenant;
	event->chain = change->chain;
	event->n = n;
	event->at = call->now;
	event->verb = call->verb;
	event->actor = call->actor;
	event->login = call->caller->login;
	event->role = call->caller->role;
	event->client = event_client();
	event->server = change->server;
	event->tool = change->tool;
	event->subject = change->subject;
	event->policy_version = change->policy_version;
	event->before = change->before;
	event->after = change->after;
	event->note = change->note;
	event->previous = previous;
}

static void
store_event(const PolicyEvent *event)
{
	const char *texts[9] = {
		event->actor, event->login, event->role, event->client,
		event->server, event->tool, event->subject, event->note, event->chain
	};
	char		hex[DIGEST_TEXT_LEN + 1];
	Datum		values[10];
	char		nulls[10];

	policy_event_hash(event, hex);
	memset(nulls, ' ', sizeof(nulls));
	param_text(values, nulls, 0, event->tenant);
	values[1] = Int32GetDatum(event->n);
	values[2] = TimestampTzGetDatum(event->at);
	param_text(values, nulls, 3, event->verb);
	values[4] = param_texts(texts, lengthof(texts));
	values[5] = Int32GetDatum(event->policy_version);
	nulls[5] = event->policy_version ? ' ' : 'n';
	param_text(values, nulls, 6, event->before);
	param_text(values, nulls, 7, event->after);
	param_text(values, nulls, 8, event->previous);
	param_text(values, nulls, 9, hex);
	store_run(&insert_event, values, nulls, SPI_OK_INSERT, 0);
}

/* The value of the type approval.policy_change. */
static Datum
change_datum(const Change *change, int n)
{
	const Call *call = &change->call;
	TupleDesc	desc = lookup_rowtype_tupdesc(get_func_rettype(call->fcinfo->flinfo->fn_oid), -1);
	const char *texts[CHANGE_COLUMNS] = {
		call->tenant, change->chain, NULL, NULL, call->verb, change->server, change->tool,
		change->subject, NULL, change->before, change->after
	};
	Datum		values[CHANGE_COLUMNS];
	bool		nulls[CHANGE_COLUMNS];
	HeapTuple	tuple;
	int			i;

	for (i = 0; i < CHANGE_COLUMNS; i++)
	{
		nulls[i] = (texts[i] == NULL);
		values[i] = texts[i] ? CStringGetTextDatum(texts[i]) : (Datum) 0;
	}
	values[2] = Int32GetDatum(n);
	values[3] = TimestampTzGetDatum(call->now);
	values[8] = Int32GetDatum(change->policy_version);
	nulls[2] = nulls[3] = false;
	nulls[8] = change->policy_version == 0;
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return HeapTupleHeaderGetDatum(tuple->t_data);
}

/* Writes the event; its number. */
int
change_event(Change *change)
{
	PolicyEvent event;
	char	   *previous;
	int			n = head(change, &previous) + 1;

	change->call.now = GetCurrentTimestamp();
	make_event(change, n, previous, &event);
	store_event(&event);
	return n;
}

/* Writes the event, and answers with it. */
Datum
change_end(Change *change)
{
	int			n = change_event(change);
	MemoryContext old = MemoryContextSwitchTo(change->call.result_context);
	Datum		result = change_datum(change, n);

	MemoryContextSwitchTo(old);
	verb_end(&change->call);
	return result;
}
