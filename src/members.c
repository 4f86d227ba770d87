/*-------------------------------------------------------------------------
 *
 * members.c
 *	  Who belongs to a group of reviewers: add_member and remove_member.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "change.h"
#include "members.h"
#include "param.h"

PG_FUNCTION_INFO_V1(approval_add_member);
PG_FUNCTION_INFO_V1(approval_remove_member);

static Statement select_member = {
	.sql = "SELECT FROM approval.members m WHERE m.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])"
	" AND m.reviewer_group OPERATOR(pg_catalog.=) $2 AND m.actor OPERATOR(pg_catalog.=) $3",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

static Statement select_seats = {
	.sql = "SELECT pg_catalog.bit_or(1 OPERATOR(pg_catalog.<<) (g.o::pg_catalog.int4 OPERATOR(pg_catalog.-) 1))"
	" FROM pg_catalog.unnest($3) WITH ORDINALITY g(name, o)"
	" WHERE g.name IS NULL OR EXISTS (SELECT FROM approval.members m"
	" WHERE m.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])"
	" AND m.reviewer_group OPERATOR(pg_catalog.=) ANY (ARRAY[g.name, $4])"
	" AND m.actor OPERATOR(pg_catalog.=) $2)",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTARRAYOID, TEXTOID},
};

static Statement insert_member = {
	.sql = "INSERT INTO approval.members (tenant, reviewer_group, actor, added_by, added_at)"
	" VALUES ($1, $2, $3, $4, pg_catalog.clock_timestamp()) ON CONFLICT DO NOTHING",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID},
};

static Statement delete_member = {
	.sql = "DELETE FROM approval.members m WHERE m.tenant OPERATOR(pg_catalog.=) $1"
	" AND m.reviewer_group OPERATOR(pg_catalog.=) $2 AND m.actor OPERATOR(pg_catalog.=) $3",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

bool
members_has(const char *tenant, const char *reviewer_group, const char *actor)
{
	Datum		values[3];
	char		nulls[3];
	bool		there;

	param_text(values, nulls, 0, tenant);
	param_text(values, nulls, 1, reviewer_group);
	param_text(values, nulls, 2, actor);
	PushActiveSnapshot(GetLatestSnapshot());
	there = store_read(&select_member, values, nulls) > 0;
	PopActiveSnapshot();
	return there;
}

/* The groups of a panel by the number of their seats, for a statement. */
Datum
members_groups(const Panel *panel)
{
	const char *groups[PANEL_SEATS];
	int			i;

	for (i = 0; i < panel->count; i++)
		groups[i] = panel->seats[i].group;
	return param_texts(groups, panel->count);
}

/* The seats of a panel that an actor may take now. */
SeatMask
members_seats(const char *tenant, const Panel *panel, const char *actor)
{
	Datum		values[4];
	char		nulls[4] = {' ', ' ', ' ', ' '};
	SeatMask	mask;
	bool		isnull;

	if (panel->count == 1 && panel->stand_in == NULL)
		return panel->seats[0].group == NULL || members_has(tenant, panel->seats[0].group, actor) ? 1 : 0;
	values[0] = CStringGetTextDatum(tenant);
	values[1] = CStringGetTextDatum(actor);
	values[2] = members_groups(panel);
	param_text(values, nulls, 3, panel->stand_in);
	PushActiveSnapshot(GetLatestSnapshot());
	store_read(&select_seats, values, nulls);
	PopActiveSnapshot();
	mask = (SeatMask) DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	return isnull ? 0 : mask;
}

static char *
member_json(const char *reviewer_group, const char *actor)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"reviewer_group\":");
	canonical_append_string(&out, reviewer_group, strlen(reviewer_group));
	appendStringInfoString(&out, ",\"actor\":");
	canonical_append_string(&out, actor, strlen(actor));
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* (reviewer_group, actor, tenant) */
static Datum
change_member(FunctionCallInfo fcinfo, const char *verb, bool add)
{
	Change		change;
	char	   *reviewer_group = args_required(fcinfo, 0, "reviewer_group", ARGS_KEY_LIMIT);
	char	   *actor = args_required(fcinfo, 1, "actor", ARGS_KEY_LIMIT);
	Datum		values[4];
	char		nulls[4];

	args_check_name("reviewer_group", reviewer_group, ARGS_KEY_LIMIT);
	args_check_actor("actor", actor);
	change_begin(&change, fcinfo, verb, CHAIN_POLICY, 2, -1);
	if (strcmp(reviewer_group, "*") == 0)
		args_bad_value("reviewer_group", "* stands for every approver, and is no group.");
	change.subject = reviewer_group;
	if (members_has(change.call.tenant, reviewer_group, actor))
		change.before = member_json(reviewer_group, actor);
	param_text(values, nulls, 0, change.call.tenant);
	param_text(values, nulls, 1, reviewer_group);
	param_text(values, nulls, 2, actor);
	param_text(values, nulls, 3, change.call.actor);
	if (add)
	{
		store_run(&insert_member, values, nulls, SPI_OK_INSERT, 0);
		change.after = member_json(reviewer_group, actor);
	}
	else if (store_run(&delete_member, values, nulls, SPI_OK_DELETE, 0) == 0)
		change_refuse(&change, REASON_NOT_FOUND);
	return change_end(&change);
}

Datum
approval_add_member(PG_FUNCTION_ARGS)
{
	return change_member(fcinfo, "add_member", true);
}

Datum
approval_remove_member(PG_FUNCTION_ARGS)
{
	return change_member(fcinfo, "remove_member", false);
}
