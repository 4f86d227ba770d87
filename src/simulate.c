/*-------------------------------------------------------------------------
 *
 * simulate.c
 *	  simulate: which past requests a draft of a policy would have sent
 *	  another way.
 *
 * Rules, types, definitions and defaults are evaluated as they would be; what
 * depends on the moment (budgets, grants, cool-downs, roles) is not.
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
#include "change.h"
#include "clock.h"
#include "param.h"
#include "registry.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_simulate);

#define BATCH 200
#define PROGRESS_EVERY 100000
#define MOST_ROWS 10000

static Statement select_requests = {
	.sql = "SELECT r.id, r.mode, r.rule, r.approvals_needed, r.resource,"
	" COALESCE(r.proposed_arguments, r.arguments)::pg_catalog.text, r.definition::pg_catalog.text"
	" FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
	" AND r.server OPERATOR(pg_catalog.=) $2 AND r.tool OPERATOR(pg_catalog.=) $3"
	" AND r.id OPERATOR(pg_catalog.>=) $4::approval.ulid ORDER BY r.id",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, UUIDOID},
};

static Statement merge_draft = {
	.sql = "SELECT COALESCE((SELECT pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(t) OPERATOR(pg_catalog.-)"
	" '{tenant,server,tool,policy_version,definition_digest,shape,reviewed_by,reviewed_at,"
	"retired_at,retired_by,replaced_by,definition,annotations}'::pg_catalog.text[])"
	" OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('rules', COALESCE((SELECT pg_catalog.jsonb_agg("
	"pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.-) '{tenant,server,tool}'::pg_catalog.text[])"
	" ORDER BY r.position) FROM approval.rules r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
	" AND r.server OPERATOR(pg_catalog.=) $2 AND r.tool OPERATOR(pg_catalog.=) $3), '[]'::pg_catalog.jsonb))"
	" FROM approval.tools t WHERE t.tenant OPERATOR(pg_catalog.=) $1"
	" AND t.server OPERATOR(pg_catalog.=) $2 AND t.tool OPERATOR(pg_catalog.=) $3),"
	" '{\"rules\":[]}'::pg_catalog.jsonb)"
	" OPERATOR(pg_catalog.||) ($4 OPERATOR(pg_catalog.-) '{tool,server}'::pg_catalog.text[])",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, JSONBOID},
};

typedef struct Simulation
{
	Call		call;
	const char *tool;
	const char *server;
	Registered	registered;		/* with the draft in its place */
	int64		considered;
	int64		changed;
	int64		stricter;
	int64		looser;
	int64		from_to[4][4];
	int			max_rows;
	StringInfoData changes;
} Simulation;

static void
bad_draft(Simulation *simulation, const char *place, const char *problem)
{
	errors_member(&simulation->call.refusal, "place", place);
	errors_member(&simulation->call.refusal, "problem", problem);
	call_refuse(&simulation->call, REASON_BAD_POLICY);
	errors_raise(&simulation->call.refusal);
}

static void
draft_params(const Simulation *simulation, Datum *values, char *nulls)
{
	param_text(values, nulls, 0, simulation->call.tenant);
	param_text(values, nulls, 1, simulation->server);
	param_text(values, nulls, 2, simulation->tool);
}

/* {"tool", "server", and what would be other than it is} */
static void
take_draft(Simulation *simulation, Jsonb *draft)
{
	Problem		problem = {0};

	simulation->server = "";
	if (!JB_ROOT_IS_OBJECT(draft))
		bad_draft(simulation, "$", "must be an object");
	if (!document_text(&draft->root, "tool", "$", ARGS_KEY_LIMIT, &simulation->tool, &problem) ||
		!document_text(&draft->root, "server", "$", ARGS_KEY_LIMIT, &simulation->server, &problem))
		bad_draft(simulation, problem.place, problem.problem);
	if (simulation->tool == NULL)
		bad_draft(simulation, "$.tool", "is required");
}

/* Puts the draft, over what is stored, into the place of the tenant's own row. */
static void
make_registry(Simulation *simulation, Jsonb *draft)
{
	Registered *registered = &simulation->registered;
	Tool	   *tool = palloc0(sizeof(Tool));
	Problem		problem = {0};
	Datum		values[4];
	char		nulls[4];
	bool		isnull;
	bool		own;

	draft_params(simulation, values, nulls);
	values[3] = JsonbPGetDatum(draft);
	nulls[3] = ' ';
	store_run(&merge_draft, values, nulls, SPI_OK_SELECT, 1);
	if (!tool_parse(DatumGetJsonbPCopy(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)),
					true, tool, &problem))
		bad_draft(simulation, problem.place, problem.problem);
	*registered = *registry_find(simulation->call.tenant, simulation->server, simulation->tool);
	own = registered->ntools > 0 && strcmp(registered->tools[0].tenant, simulation->call.tenant) == 0;
	tool->tenant = simulation->call.tenant;
	if (own)
	{
		tool->pinned = registered->tools[0].pinned;
		tool->definition_digest = registered->tools[0].definition_digest;
	}
	else if (registered->ntools > 0)
		registered->tools[registered->ntools] = registered->tools[0];
	if (!own)
		registered->ntools++;
	registered->tools[0] = *tool;
	registered->unreadable = false;
}

static char *
column_text(HeapTuple row, TupleDesc desc, int n)
{
	return SPI_getvalue(row, desc, n);
}

static int
column_int(HeapTuple row, TupleDesc desc, int n)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, n, &isnull);

	return isnull ? 0 : DatumGetInt32(value);
}

static void
append_change(Simulation *simulation, HeapTuple row, TupleDesc desc, const Policy *now)
{
	if (simulation->changed > simulation->max_rows)
		return;
	appendStringInfo(&simulation->changes,
					 "%s{\"id\":\"%s\",\"mode\":\"%s\",\"rule\":%d,\"approvals_needed\":%d,"
					 "\"draft_mode\":\"%s\",\"draft_rule\":%d,\"draft_approvals_needed\":%d,\"gate_reason\":\"%s\"}",
					 simulation->changes.len > 1 ? "," : "",
					 column_text(row, desc, 1), column_text(row, desc, 2), column_int(row, desc, 3),
					 column_int(row, desc, 4), policy_mode_word(now->mode), now->rule,
					 panel_needed(&now->panel), policy_gate_word(now->gate_reason));
}

static void
count_one(Simulation *simulation, HeapTuple row, TupleDesc desc, const Policy *now)
{
	GateMode	then = MODE_REVIEW;
	int			quorum = column_int(row, desc, 4);
	int			more = 0;

	(void) policy_mode(column_text(row, desc, 2), &then);
	simulation->considered++;
	simulation->from_to[then][now->mode]++;
	if (now->mode != then)
		more = now->mode > then ? 1 : -1;
	else if (then == MODE_REVIEW && panel_needed(&now->panel) != quorum)
		more = panel_needed(&now->panel) > quorum ? 1 : -1;
	if (more == 0)
		return;
	simulation->changed++;
	simulation->stricter += more > 0;
	simulation->looser += more < 0;
	append_change(simulation, row, desc, now);
}

static void
simulate_one(Simulation *simulation, HeapTuple row, TupleDesc desc)
{
	char	   *hex = column_text(row, desc, 7);
	Action		action = {0};
	Subject		subject = {.nroles = -1};
	Digest		definition;
	Policy		policy;

	action.tenant = simulation->call.tenant;
	action.server = simulation->server;
	action.tool = simulation->tool;
	action.resource = column_text(row, desc, 5);
	action.arguments = column_text(row, desc, 6);
	action.arguments_len = strlen(action.arguments);
	if (hex && digest_from_hex(hex, strlen(hex), &definition))
		action.definition = &definition;
	subject.action = &action;
	policy_evaluate(&simulation->registered, &subject, &policy);
	count_one(simulation, row, desc, &policy);
	if (simulation->considered % PROGRESS_EVERY == 0)
		ereport(NOTICE,
				(errmsg(INT64_FORMAT " requests simulated", simulation->considered)));
}

/* Row after row, in memory that is given back after each batch. */
static void
simulate_all(Simulation *simulation, const Ulid *since)
{
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "approval simulate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Datum		values[4];
	char		nulls[4];
	Portal		cursor;
	uint64		i;

	draft_params(simulation, values, nulls);
	param_ulid(values, nulls, 3, since);
	PushActiveSnapshot(GetTransactionSnapshot());
	cursor = store_cursor(&select_requests, values, nulls);
	for (;;)
	{
		SPI_cursor_fetch(cursor, true, BATCH);
		if (SPI_processed == 0)
			break;
		old = MemoryContextSwitchTo(batch);
		for (i = 0; i < SPI_processed; i++)
		{
			CHECK_FOR_INTERRUPTS();
			simulate_one(simulation, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(cursor);
	PopActiveSnapshot();
}

static char *
totals_json(const Simulation *simulation)
{
	StringInfoData out;
	int			from;
	int			to;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	for (from = MODE_INLINE; from <= MODE_DENY; from++)
		for (to = MODE_INLINE; to <= MODE_DENY; to++)
			if (simulation->from_to[from][to])
				appendStringInfo(&out, "%s{\"mode\":\"%s\",\"draft_mode\":\"%s\",\"requests\":\"" INT64_FORMAT "\"}",
								 out.len > 1 ? "," : "", policy_mode_word(from), policy_mode_word(to),
								 simulation->from_to[from][to]);
	appendStringInfoChar(&out, ']');
	return out.data;
}

static Datum
simulation_datum(const Simulation *simulation)
{
	TupleDesc	desc;
	Datum		values[6];
	bool		nulls[6] = {0};

	if (get_call_result_type(simulation->call.fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "simulate must return a row");
	values[0] = Int64GetDatum(simulation->considered);
	values[1] = Int64GetDatum(simulation->changed);
	values[2] = Int64GetDatum(simulation->stricter);
	values[3] = Int64GetDatum(simulation->looser);
	values[4] = CStringGetTextDatum(totals_json(simulation));
	values[5] = CStringGetTextDatum(psprintf("%s]", simulation->changes.data));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* simulate(draft, since, max_rows, tenant) */
Datum
approval_simulate(PG_FUNCTION_ARGS)
{
	Simulation	simulation = {0};
	MemoryContext old;
	Ulid		since = {{0}};
	Datum		result;

	if (PG_ARGISNULL(0))
		errors_raise_null("draft");
	if (PG_ARGISNULL(2))
		errors_raise_null("max_rows");
	verb_begin(&simulation.call, fcinfo, "simulate");
	call_tenant(&simulation.call, 3);
	simulation.max_rows = PG_GETARG_INT32(2);
	if (simulation.max_rows < 0 || simulation.max_rows > MOST_ROWS)
		args_bad_value("max_rows", "From 0 to 10000.");
	if (!PG_ARGISNULL(1))
		ulid_floor(clock_unix_ms(PG_GETARG_TIMESTAMPTZ(1)), &since);
	initStringInfo(&simulation.changes);
	appendStringInfoChar(&simulation.changes, '[');
	take_draft(&simulation, PG_GETARG_JSONB_P(0));
	make_registry(&simulation, PG_GETARG_JSONB_P(0));
	simulate_all(&simulation, &since);

	old = MemoryContextSwitchTo(simulation.call.result_context);
	result = simulation_datum(&simulation);
	MemoryContextSwitchTo(old);
	verb_end(&simulation.call);
	return result;
}
