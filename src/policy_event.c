/*-------------------------------------------------------------------------
 *
 * policy_event.c
 *	  One change of policy in the audit, and the hash that chains it;
 *	  verify_policy, which works the chain of a tenant out again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "canonical.h"
#include "change.h"
#include "clock.h"
#include "param.h"
#include "policy_event.h"
#include "verb.h"

PG_FUNCTION_INFO_V1(approval_verify_policy);

static Statement select_events = {
	.sql = "SELECT e.n, e.at, e.verb, e.actor, e.login, e.role, e.client, e.server, e.tool, e.subject,"
	" e.policy_version, e.before::pg_catalog.text, e.after::pg_catalog.text, e.note,"
	" e.previous::pg_catalog.text, e.hash::pg_catalog.text"
	" FROM approval.policy_events e WHERE e.tenant OPERATOR(pg_catalog.=) $1"
	" AND e.chain OPERATOR(pg_catalog.=) $2 ORDER BY e.n",
	.nparams = 2,
	.types = {TEXTOID, TEXTOID},
};

static void
append_member(StringInfo out, const char *name, const char *value)
{
	appendStringInfo(out, "%s\"%s\":", out->len > 1 ? "," : "", name);
	if (value)
		canonical_append_string(out, value, strlen(value));
	else
		appendStringInfoString(out, "null");
}

/* JSON is bound by the hash of its text. */
static void
append_json(StringInfo out, const char *name, const char *json)
{
	Digest		digest;
	char		hex[DIGEST_TEXT_LEN + 1];

	if (json)
	{
		digest_of(json, strlen(json), &digest);
		digest_to_hex(&digest, hex);
	}
	append_member(out, name, json ? hex : NULL);
}

/* SHA-256 of the event as canonical JSON; the keys are written in their order. */
void
policy_event_hash(const PolicyEvent *event, char hex[DIGEST_TEXT_LEN + 1])
{
	char		at[CLOCK_TEXT_LEN];
	StringInfoData doc;
	Digest		digest;

	clock_text(event->at, at);
	initStringInfo(&doc);
	appendStringInfoChar(&doc, '{');
	append_member(&doc, "actor", event->actor);
	append_json(&doc, "after", event->after);
	append_member(&doc, "at", at);
	append_json(&doc, "before", event->before);
	append_member(&doc, "chain", event->chain);
	append_member(&doc, "client", event->client);
	append_member(&doc, "login", event->login);
	appendStringInfo(&doc, ",\"n\":%d", event->n);
	append_member(&doc, "note", event->note);
	appendStringInfo(&doc, ",\"policy_version\":%d", event->policy_version);
	append_member(&doc, "previous", event->previous);
	append_member(&doc, "role", event->role);
	append_member(&doc, "server", event->server);
	append_member(&doc, "subject", event->subject);
	append_member(&doc, "tenant", event->tenant);
	append_member(&doc, "tool", event->tool);
	appendStringInfoString(&doc, ",\"v\":1");
	append_member(&doc, "verb", event->verb);
	appendStringInfoChar(&doc, '}');
	digest_of(doc.data, doc.len, &digest);
	digest_to_hex(&digest, hex);
	pfree(doc.data);
}

static void
take_event(HeapTuple row, TupleDesc desc, PolicyEvent *event)
{
	bool		isnull;
	Datum		version;

	event->n = DatumGetInt32(SPI_getbinval(row, desc, 1, &isnull));
	event->at = DatumGetTimestampTz(SPI_getbinval(row, desc, 2, &isnull));
	event->verb = SPI_getvalue(row, desc, 3);
	event->actor = SPI_getvalue(row, desc, 4);
	event->login = SPI_getvalue(row, desc, 5);
	event->role = SPI_getvalue(row, desc, 6);
	event->client = SPI_getvalue(row, desc, 7);
	event->server = SPI_getvalue(row, desc, 8);
	event->tool = SPI_getvalue(row, desc, 9);
	event->subject = SPI_getvalue(row, desc, 10);
	version = SPI_getbinval(row, desc, 11, &isnull);
	event->policy_version = isnull ? 0 : DatumGetInt32(version);
	event->before = SPI_getvalue(row, desc, 12);
	event->after = SPI_getvalue(row, desc, 13);
	event->note = SPI_getvalue(row, desc, 14);
	event->previous = SPI_getvalue(row, desc, 15);
}

/* What is known while the chain is followed. */
typedef struct Chain
{
	const char *tenant;
	const char *name;
	int			n;				/* events so far */
	char		head[DIGEST_TEXT_LEN + 1];
	const char *problem;
} Chain;

static void
follow(Chain *chain, HeapTuple row, TupleDesc desc)
{
	PolicyEvent event = {.tenant = chain->tenant,.chain = chain->name};
	char		hex[DIGEST_TEXT_LEN + 1];
	char	   *stored = SPI_getvalue(row, desc, 16);

	take_event(row, desc, &event);
	policy_event_hash(&event, hex);
	if (event.n != chain->n + 1)
		chain->problem = "event_missing";
	else if (strcmp(hex, stored) != 0)
		chain->problem = "event_changed";
	else if (chain->n == 0 ? event.previous != NULL :
			 event.previous == NULL || strcmp(event.previous, chain->head) != 0)
		chain->problem = "chain_broken";
	if (chain->problem)
		return;
	chain->n = event.n;
	strlcpy(chain->head, hex, sizeof(chain->head));
}

static void
follow_all(Chain *chain)
{
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "approval verify_policy", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Datum		values[2];
	Portal		cursor;
	uint64		i;

	values[0] = CStringGetTextDatum(chain->tenant);
	values[1] = CStringGetTextDatum(chain->name);
	PushActiveSnapshot(GetTransactionSnapshot());
	cursor = store_cursor(&select_events, values, NULL);
	for (;;)
	{
		SPI_cursor_fetch(cursor, true, 100);
		if (SPI_processed == 0 || chain->problem)
			break;
		old = MemoryContextSwitchTo(batch);
		for (i = 0; i < SPI_processed && !chain->problem; i++)
			follow(chain, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
		SPI_freetuptable(SPI_tuptable);
		CHECK_FOR_INTERRUPTS();
	}
	SPI_cursor_close(cursor);
	PopActiveSnapshot();
}

/* verify_policy(chain, tenant) */
Datum
approval_verify_policy(PG_FUNCTION_ARGS)
{
	Call		call;
	Chain		chain = {0};
	MemoryContext old;
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};
	Datum		result;

	chain.name = args_required(fcinfo, 0, "chain", ARGS_KEY_LIMIT);
	if (strcmp(chain.name, CHAIN_POLICY) != 0 && strcmp(chain.name, CHAIN_FREEZE) != 0)
		args_bad_value("chain", "One of policy and freeze.");
	verb_begin(&call, fcinfo, "verify_policy");
	chain.tenant = caller_policy_tenant(call.caller, args_text(fcinfo, 1, "tenant", ARGS_KEY_LIMIT));
	follow_all(&chain);
	old = MemoryContextSwitchTo(call.result_context);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "verify_policy must return a row");
	values[0] = BoolGetDatum(chain.problem == NULL);
	values[1] = Int32GetDatum(chain.n);
	nulls[2] = nulls[3] = (chain.problem == NULL);
	values[2] = chain.problem ? CStringGetTextDatum(chain.problem) : (Datum) 0;
	values[3] = Int32GetDatum(chain.n + 1);
	result = HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
	MemoryContextSwitchTo(old);
	verb_end(&call);
	return result;
}
