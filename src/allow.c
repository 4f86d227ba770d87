/*-------------------------------------------------------------------------
 *
 * allow.c
 *	  allow and disallow: a person grants a kind of call in advance.
 *
 * Where a rule wants two people, two have to say so: the second endorses the
 * grant of the first, word by word.  What is enough is found out at each use
 * (grant.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "args.h"
#include "change.h"
#include "condition.h"
#include "members.h"
#include "param.h"
#include "registry.h"
#include "settings.h"

PG_FUNCTION_INFO_V1(approval_allow);
PG_FUNCTION_INFO_V1(approval_disallow);

#define MAX_USES 1000

enum
{
	ARG_TOOL, ARG_REQUESTER, ARG_UNTIL, ARG_MAX_USES, ARG_CONDITION, ARG_SERVER, ARG_REQUESTED_BY,
	ARG_ENDORSES, ARG_NOTE, ARG_ACTOR, ARG_TENANT
};

static Statement insert_grant = {
	.sql = "INSERT INTO approval.grants (tenant, id, server, tool, condition, requester_login, requested_by,"
	" until, max_uses, policy_version, grantors, granted_at, note)"
	" SELECT $1, $2::approval.ulid, ($3::pg_catalog.text[])[1], ($3::pg_catalog.text[])[2], $4,"
	" ($3::pg_catalog.text[])[3], $5, $6, $7, $8, ARRAY[$9], pg_catalog.clock_timestamp(), $10",
	.nparams = 10,
	.types = {TEXTOID, UUIDOID, TEXTARRAYOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, INT4OID, INT4OID, TEXTOID, TEXTOID},
};

static Statement endorse_grant = {
	.sql = "UPDATE approval.grants g SET grantors = g.grantors OPERATOR(pg_catalog.||) $9"
	" WHERE g.tenant OPERATOR(pg_catalog.=) $1 AND g.id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND g.server OPERATOR(pg_catalog.=) ($3::pg_catalog.text[])[1]"
	" AND g.tool OPERATOR(pg_catalog.=) ($3::pg_catalog.text[])[2]"
	" AND g.requester_login OPERATOR(pg_catalog.=) ($3::pg_catalog.text[])[3]"
	" AND g.condition IS NOT DISTINCT FROM $4 AND g.requested_by IS NOT DISTINCT FROM $5"
	" AND g.until OPERATOR(pg_catalog.=) $6 AND g.max_uses OPERATOR(pg_catalog.=) $7"
	" AND g.policy_version OPERATOR(pg_catalog.=) $8 AND g.voided_at IS NULL"
	" AND NOT ($9 OPERATOR(pg_catalog.=) ANY (g.grantors)) AND COALESCE($10, '') IS NOT NULL",
	.nparams = 10,
	.types = {TEXTOID, UUIDOID, TEXTARRAYOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, INT4OID, INT4OID, TEXTOID, TEXTOID},
};

static Statement select_grant = {
	.sql = "SELECT pg_catalog.to_json(g) FROM approval.grants g"
	" WHERE g.tenant OPERATOR(pg_catalog.=) $1 AND g.id OPERATOR(pg_catalog.=) $2::approval.ulid",
	.nparams = 2,
	.types = {TEXTOID, UUIDOID},
};

static Statement void_grant = {
	.sql = "UPDATE approval.grants g SET voided_at = pg_catalog.clock_timestamp(), voided_by = $3,"
	" void_reason = 'disallowed' WHERE g.tenant OPERATOR(pg_catalog.=) $1"
	" AND g.id OPERATOR(pg_catalog.=) $2::approval.ulid AND g.voided_at IS NULL",
	.nparams = 3,
	.types = {TEXTOID, UUIDOID, TEXTOID},
};

/* What is to be allowed. */
typedef struct Wish
{
	const char *requester;
	const char *requested_by;
	const char *condition;		/* as jsonpath writes it, or NULL */
	TimestampTz until;
	int			max_uses;
	int			policy_version;
	Ulid		id;
	bool		endorses;
} Wish;

static char *
stored(const Change *change, const Ulid *id)
{
	Datum		values[2];
	char		nulls[2];

	param_text(values, nulls, 0, change->call.tenant);
	param_ulid(values, nulls, 1, id);
	if (store_run(&select_grant, values, nulls, SPI_OK_SELECT, 1) == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

static void
take_bounds(FunctionCallInfo fcinfo, Wish *wish)
{
	TimestampTz now = GetCurrentTimestamp();

	wish->until = PG_GETARG_TIMESTAMPTZ(ARG_UNTIL);
	wish->max_uses = PG_GETARG_INT32(ARG_MAX_USES);
	if (TIMESTAMP_NOT_FINITE(wish->until) || wish->until <= now ||
		wish->until > now + setting_max_grant * USECS_PER_SEC)
		args_bad_value("until", "A moment in the future, not further away than approval.max_grant.");
	if (wish->max_uses < 1 || wish->max_uses > MAX_USES)
		args_bad_value("max_uses", "From 1 to 1000.");
}

/* A grant lets calls through without a person, so its condition is as strict as a rule's. */
static void
take_condition(Change *change, const Tool *tool, Wish *wish)
{
	const char *text = args_text(change->call.fcinfo, ARG_CONDITION, "condition", ARGS_TEXT_LIMIT);
	ConditionLimits limits = {.loosens = true,.bounded = true,.nonnegative = expects_nonnegative,.arg = tool};
	char	   *why = NULL;
	JsonPath   *path;

	if (text == NULL)
		return;
	path = condition_compile(text, &limits, &why);
	if (path == NULL)
		change_bad_policy(change, "$.condition", why);
	wish->condition = DatumGetCString(DirectFunctionCall1(jsonpath_out, PointerGetDatum(path)));
}

/* Whether the actor is in one of the groups of a panel. */
static bool
member_of(const Change *change, const Panel *panel)
{
	int			i;

	for (i = 0; i < panel->count; i++)
		if (panel->seats[i].group && members_has(change->call.tenant, panel->seats[i].group, change->call.actor))
			return true;
	return false;
}

/* Somebody who may review at least some calls of the tool. */
static bool
may_review(const Change *change, const Registered *registered)
{
	bool		grouped = false;
	int			i;
	int			j;

	for (i = 0; i < registered->ntools; i++)
	{
		const Tool *tool = &registered->tools[i];

		grouped |= panel_grouped(&tool->panel);
		if (member_of(change, &tool->panel))
			return true;
		for (j = 0; j < tool->nrules; j++)
		{
			grouped |= panel_grouped(&tool->rules[j].panel);
			if (member_of(change, &tool->rules[j].panel))
				return true;
		}
	}
	return !grouped;
}

/* A person who may review the tool, and who is not the one it is for. */
static void
check_grantor(Change *change, const Registered *registered, const Wish *wish)
{
	const Call *call = &change->call;

	if (!caller_may_judge(call->caller) || !may_review(change, registered))
		change_refuse(change, REASON_NOT_ELIGIBLE);
	if (strcmp(call->caller->login, wish->requester) == 0 ||
		(wish->requested_by && strcmp(call->actor, wish->requested_by) == 0))
		change_refuse(change, REASON_SELF_APPROVAL);
}

static const Registered *
active_tool(Change *change)
{
	const Registered *registered = registry_find(change->call.tenant, change->server, change->tool);

	if (registered->ntools == 0 || registered->unreadable)
		change_refuse(change, REASON_NOT_FOUND);
	if (registered->frozen)
		change_refuse(change, REASON_TOOL_FROZEN);
	if (registered->tools[0].retired || (registered->ntools == 2 && registered->tools[1].retired))
		change_refuse(change, REASON_TOOL_RETIRED);
	return registered;
}

static void
take_wish(Change *change, Wish *wish)
{
	FunctionCallInfo fcinfo = change->call.fcinfo;
	const Registered *registered = active_tool(change);

	wish->requester = args_required(fcinfo, ARG_REQUESTER, "requester", ARGS_KEY_LIMIT);
	wish->requested_by = args_name(fcinfo, ARG_REQUESTED_BY, "requested_by");
	if (!OidIsValid(get_role_oid(wish->requester, true)))
		errors_raise_standard(ERRCODE_UNDEFINED_OBJECT, "there is no such login", "no_such_login", 404, "",
							  "requester is the database login of the agent.");
	take_bounds(fcinfo, wish);
	check_grantor(change, registered, wish);
	wish->policy_version = registered->tools[0].policy_version;
	if (registered->ntools == 2)
		wish->policy_version = Max(wish->policy_version, registered->tools[1].policy_version);
	take_condition(change, &registered->tools[0], wish);
	wish->endorses = !PG_ARGISNULL(ARG_ENDORSES);
	if (wish->endorses)
		wish->id = *args_id(fcinfo, ARG_ENDORSES, "endorses");
	else
		ulid_generate(&wish->id);
}

/* False if the grant to be endorsed is not this very one. */
static bool
store_wish(Change *change, const Wish *wish)
{
	const char *names[3] = {change->server, change->tool, wish->requester};
	Datum		values[10];
	char		nulls[10];

	memset(nulls, ' ', sizeof(nulls));
	param_text(values, nulls, 0, change->call.tenant);
	param_ulid(values, nulls, 1, &wish->id);
	values[2] = param_texts(names, lengthof(names));
	param_text(values, nulls, 3, wish->condition);
	param_text(values, nulls, 4, wish->requested_by);
	values[5] = TimestampTzGetDatum(wish->until);
	values[6] = Int32GetDatum(wish->max_uses);
	values[7] = Int32GetDatum(wish->policy_version);
	param_text(values, nulls, 8, change->call.actor);
	param_text(values, nulls, 9, change->note);
	if (wish->endorses)
		return store_run(&endorse_grant, values, nulls, SPI_OK_UPDATE, 0) > 0;
	return store_run(&insert_grant, values, nulls, SPI_OK_INSERT, 0) > 0;
}

static void
require(FunctionCallInfo fcinfo, int argument, const char *name)
{
	if (PG_ARGISNULL(argument))
		errors_raise_null(name);
}

/*
 * allow(tool, requester, until, max_uses, condition, server, requested_by,
 * endorses, note, actor, tenant)
 */
Datum
approval_allow(PG_FUNCTION_ARGS)
{
	Change		change;
	Wish		wish = {0};

	require(fcinfo, ARG_TOOL, "tool");
	require(fcinfo, ARG_REQUESTER, "requester");
	require(fcinfo, ARG_UNTIL, "until");
	require(fcinfo, ARG_MAX_USES, "max_uses");
	change_begin(&change, fcinfo, "allow", CHAIN_POLICY, ARG_TENANT, ARG_ACTOR);
	if (strcmp(change.call.tenant, CALLER_ALL_TENANTS) == 0)
		args_bad_value("tenant", "A grant is for one tenant.");
	change_tool(&change, ARG_TOOL, ARG_SERVER);
	change.note = args_text(fcinfo, ARG_NOTE, "note", ARGS_TEXT_LIMIT);
	take_wish(&change, &wish);
	if (wish.endorses)
		change.before = stored(&change, &wish.id);
	if (wish.endorses && change.before == NULL)
		change_refuse(&change, REASON_NOT_FOUND);
	if (!store_wish(&change, &wish))
		change_bad_policy(&change, "$.endorses", "void, endorsed by this actor already, or not a grant with these very arguments");
	change.policy_version = wish.policy_version;
	change.after = stored(&change, &wish.id);
	return change_end(&change);
}

/* disallow(id, reason, actor, tenant) */
Datum
approval_disallow(PG_FUNCTION_ARGS)
{
	Change		change;
	const Ulid *id = args_id(fcinfo, 0, "id");
	Datum		values[3];
	char		nulls[3];

	change_begin(&change, fcinfo, "disallow", CHAIN_POLICY, 3, 2);
	change.note = args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT);
	change.before = stored(&change, id);
	if (change.before == NULL)
		change_refuse(&change, REASON_NOT_FOUND);
	call_force_sync();
	param_text(values, nulls, 0, change.call.tenant);
	param_ulid(values, nulls, 1, id);
	param_text(values, nulls, 2, change.call.actor);
	store_run(&void_grant, values, nulls, SPI_OK_UPDATE, 0);
	change.after = stored(&change, id);
	return change_end(&change);
}
