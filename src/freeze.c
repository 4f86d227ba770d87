/*-------------------------------------------------------------------------
 *
 * freeze.c
 *	  freeze_tool, unfreeze_tool, freeze_tenant and unfreeze_tenant: the gate
 *	  is shut at once, for proposals and for what has been approved.
 *
 * A permit that is out already is not called back.  Whatever was granted in
 * advance in the frozen scope is void, also after it is thawed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "args.h"
#include "change.h"
#include "param.h"

PG_FUNCTION_INFO_V1(approval_freeze_tool);
PG_FUNCTION_INFO_V1(approval_unfreeze_tool);
PG_FUNCTION_INFO_V1(approval_freeze_tenant);
PG_FUNCTION_INFO_V1(approval_unfreeze_tenant);

#define THIS_FREEZE " WHERE f.tenant OPERATOR(pg_catalog.=) $1 AND f.server OPERATOR(pg_catalog.=) $2" \
	" AND f.tool OPERATOR(pg_catalog.=) $3"

static Statement select_freeze = {
	.sql = "SELECT pg_catalog.to_json(f) FROM approval.freezes f" THIS_FREEZE,
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

static Statement insert_freeze = {
	.sql = "INSERT INTO approval.freezes (tenant, server, tool, frozen_at, frozen_by, reason)"
	" VALUES ($1, $2, $3, pg_catalog.clock_timestamp(), $4, $5) ON CONFLICT DO NOTHING",
	.nparams = 5,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID},
};

static Statement delete_freeze = {
	.sql = "DELETE FROM approval.freezes f" THIS_FREEZE,
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

/*
 * Nobody who holds a grant can keep the gate open: what is locked is passed
 * over here, and found void at its next use, by the event of the freeze.
 */
static Statement void_grants = {
	.sql = "UPDATE approval.grants g SET voided_at = pg_catalog.clock_timestamp(), voided_by = $4, void_reason = 'freeze'"
	" WHERE (g.tenant, g.id) OPERATOR(pg_catalog.=) ANY (SELECT f.tenant, f.id FROM approval.grants f"
	" WHERE (f.tenant OPERATOR(pg_catalog.=) $1 OR $1 OPERATOR(pg_catalog.=) '*')"
	" AND ($3 OPERATOR(pg_catalog.=) '' OR (f.server OPERATOR(pg_catalog.=) $2 AND f.tool OPERATOR(pg_catalog.=) $3))"
	" AND f.voided_at IS NULL FOR NO KEY UPDATE SKIP LOCKED)",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID},
};

static void
freeze_params(const Change *change, Datum *values, char *nulls)
{
	param_text(values, nulls, 0, change->call.tenant);
	param_text(values, nulls, 1, change->server ? change->server : "");
	param_text(values, nulls, 2, change->tool ? change->tool : "");
}

static char *
stored(const Change *change)
{
	Datum		values[3];
	char		nulls[3];

	freeze_params(change, values, nulls);
	if (store_run(&select_freeze, values, nulls, SPI_OK_SELECT, 1) == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/* Freezing what is frozen already is an event too, and changes nothing else. */
static Datum
freeze(Change *change, const char *reason)
{
	Datum		values[5];
	char		nulls[5];

	change->note = reason;
	change->before = stored(change);
	call_force_sync();
	freeze_params(change, values, nulls);
	param_text(values, nulls, 3, change->call.actor);
	param_text(values, nulls, 4, reason);
	store_run(&insert_freeze, values, nulls, SPI_OK_INSERT, 0);
	store_run(&void_grants, values, nulls, SPI_OK_UPDATE, 0);
	change->after = stored(change);
	return change_end(change);
}

static Datum
unfreeze(Change *change, const char *reason)
{
	Datum		values[3];
	char		nulls[3];

	change->note = reason;
	change->before = stored(change);
	freeze_params(change, values, nulls);
	if (store_run(&delete_freeze, values, nulls, SPI_OK_DELETE, 0) == 0)
		change_refuse(change, REASON_NOT_FOUND);
	return change_end(change);
}

/* freeze_tool(tool, reason, server, actor, tenant); it need not be registered */
Datum
approval_freeze_tool(PG_FUNCTION_ARGS)
{
	Change		change;

	change_begin(&change, fcinfo, "freeze_tool", CHAIN_FREEZE, 4, 3);
	change_tool(&change, 0, 2);
	return freeze(&change, args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT));
}

/* unfreeze_tool(tool, reason, server, actor, tenant) */
Datum
approval_unfreeze_tool(PG_FUNCTION_ARGS)
{
	Change		change;

	change_begin(&change, fcinfo, "unfreeze_tool", CHAIN_FREEZE, 4, 3);
	change_tool(&change, 0, 2);
	return unfreeze(&change, args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT));
}

/* freeze_tenant(reason, actor, tenant) */
Datum
approval_freeze_tenant(PG_FUNCTION_ARGS)
{
	Change		change;

	change_begin(&change, fcinfo, "freeze_tenant", CHAIN_FREEZE, 2, 1);
	return freeze(&change, args_text(fcinfo, 0, "reason", ARGS_TEXT_LIMIT));
}

/* unfreeze_tenant(reason, actor, tenant) */
Datum
approval_unfreeze_tenant(PG_FUNCTION_ARGS)
{
	Change		change;

	change_begin(&change, fcinfo, "unfreeze_tenant", CHAIN_FREEZE, 2, 1);
	return unfreeze(&change, args_text(fcinfo, 0, "reason", ARGS_TEXT_LIMIT));
}
