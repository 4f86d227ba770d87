/*-------------------------------------------------------------------------
 *
 * grant.c
 *	  Standing grants: what a person has allowed in advance.
 *
 * Whether a grant still holds is worked out at each use: it belongs to one
 * version of the policy, to a time, to a number of uses, and to grantors who
 * are enough for the rule that it replaces and still belong to its group.
 * Uses are the requests that name it, so none is ever given back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "condition.h"
#include "grant.h"
#include "members.h"
#include "param.h"
#include "subject.h"
#include "turn.h"

static Statement select_grants = {
	.sql = "SELECT g.id, g.condition, g.requested_by, g.max_uses, g.grantors"
	" FROM approval.grants g WHERE g.tenant OPERATOR(pg_catalog.=) $1"
	" AND g.server OPERATOR(pg_catalog.=) $2 AND g.tool OPERATOR(pg_catalog.=) $3"
	" AND g.requester_login OPERATOR(pg_catalog.=) $4 AND g.voided_at IS NULL"
	" AND g.until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()"
	" AND g.policy_version OPERATOR(pg_catalog.=) COALESCE($5, g.policy_version)"
	" AND NOT EXISTS (SELECT FROM approval.policy_events e WHERE e.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])"
	" AND e.chain OPERATOR(pg_catalog.=) 'freeze'"
	" AND e.verb OPERATOR(pg_catalog.=) ANY ('{freeze_tool,freeze_tenant,unfreeze_tool,unfreeze_tenant}'::pg_catalog.text[]) AND e.at OPERATOR(pg_catalog.>=) g.granted_at"
	" AND (e.tool IS NULL OR (e.server OPERATOR(pg_catalog.=) $2 AND e.tool OPERATOR(pg_catalog.=) $3)))"
	" ORDER BY g.until, g.id",
	.nparams = 5,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT4OID},
};

static Statement select_holds = {
	.sql = "SELECT FROM approval.grants g WHERE g.tenant OPERATOR(pg_catalog.=) $1"
	" AND g.id OPERATOR(pg_catalog.=) $2::approval.ulid AND g.voided_at IS NULL",
	.nparams = 2,
	.types = {TEXTOID, UUIDOID},
};

static Statement void_grant = {
	.sql = "UPDATE approval.grants g SET voided_at = $3, voided_by = $4, void_reason = 'rejection'"
	" WHERE g.tenant OPERATOR(pg_catalog.=) $1 AND g.id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND g.voided_at IS NULL",
	.nparams = 4,
	.types = {TEXTOID, UUIDOID, TIMESTAMPTZOID, TEXTOID},
};

typedef struct Grant
{
	Ulid		id;
	char	   *condition;
	char	   *requested_by;
	int			max_uses;
	int			ngrantors;
	char	  **grantors;
} Grant;

static char *
text_column(int row, int column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

static Datum
datum_column(int row, int column)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &isnull);
}

static void
take_grantors(Grant *grant, ArrayType *array)
{
	Datum	   *elements;
	int			i;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &grant->ngrantors);
	grant->grantors = palloc(sizeof(char *) * (grant->ngrantors + 1));
	for (i = 0; i < grant->ngrantors; i++)
		grant->grantors[i] = TextDatumGetCString(elements[i]);
}

/* The grants of this login for this tool; of one policy version, or of any (0). */
static List *
grants_for(const Call *call, const Action *action, const char *login, int policy_version)
{
	List	   *grants = NIL;
	Datum		values[5];
	char		nulls[5];
	uint64		count;
	uint64		i;

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, action->server);
	param_text(values, nulls, 2, action->tool);
	param_text(values, nulls, 3, login);
	values[4] = Int32GetDatum(policy_version);
	nulls[4] = policy_version ? ' ' : 'n';
	PushActiveSnapshot(GetLatestSnapshot());
	count = store_read(&select_grants, values, nulls);
	PopActiveSnapshot();
	for (i = 0; i < count; i++)
	{
		Grant	   *grant = palloc(sizeof(Grant));

		grant->id = *DatumGetUlidP(datum_column(i, 1));
		grant->condition = text_column(i, 2);
		grant->requested_by = text_column(i, 3);
		grant->max_uses = DatumGetInt32(datum_column(i, 4));
		take_grantors(grant, DatumGetArrayTypePCopy(datum_column(i, 5)));
		grants = lappend(grants, grant);
	}
	return grants;
}

/* A condition that cannot be evaluated covers nothing. */
static bool
condition_holds(const Grant *grant, Subject *subject)
{
	JsonPath   *path;

	if (grant->condition == NULL)
		return true;
	path = DatumGetJsonPathP(DirectFunctionCall1(jsonpath_in, CStringGetDatum(grant->condition)));
	return condition_test(path, policy_arguments(subject)) == TRUTH_TRUE;
}

static bool
is_one_of(const char *name, const char *const *names, int count)
{
	int			i;

	for (i = 0; i < count; i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Grantors who could approve this very request now, if it waited. */
static bool
enough_grantors(const Call *call, const Grant *grant, const Policy *policy,
				const char *requested_by, const char *on_behalf_of)
{
	const char *requesters[2] = {requested_by, on_behalf_of};
	SeatMask   *good = palloc0(sizeof(SeatMask) * (grant->ngrantors + 1));
	int			i;

	for (i = 0; i < grant->ngrantors; i++)
		if (!is_one_of(grant->grantors[i], requesters, 2))
			good[i] = members_seats(call->tenant, &policy->panel, grant->grantors[i]);
	return panel_filled(&policy->panel, good, grant->ngrantors) >= panel_needed(&policy->panel);
}

static bool
count_use(TupleTableSlot *slot, void *arg)
{
	(*(int *) arg)++;
	return true;
}

/* How often it has been used, and whether nobody has taken it back. */
static bool
holds(const Call *call, const Grant *grant, int *uses)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	Datum		keys[2];
	Datum		values[2];
	char		nulls[2];
	bool		there;

	*uses = 0;
	keys[0] = CStringGetTextDatum(call->tenant);
	keys[1] = UlidPGetDatum(&grant->id);
	table_visit(requests, OWN_REQUESTS_GRANT, keys, 2, GetLatestSnapshot(), count_use, uses);
	table_close(requests, NoLock);

	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, &grant->id);
	PushActiveSnapshot(GetLatestSnapshot());
	there = store_read(&select_holds, values, nulls) > 0;
	PopActiveSnapshot();
	return there;
}

/* Whether a use is left: for certain only when it is our turn. */
static bool
use_left(const Call *call, const Grant *grant, bool only_look)
{
	Digest		what;
	int			uses;

	digest_start();
	digest_add("grant", sizeof("grant"));
	digest_add(&grant->id, sizeof(grant->id));
	digest_finish(&what);
	if (!only_look && !turn_take(&what))
		return false;
	return holds(call, grant, &uses) && uses < grant->max_uses;
}

/* Whether a standing grant takes the place of the review that policy demands. */
bool
grant_covers(const Call *call, Subject *subject, const Policy *policy,
			 const char *requested_by, const char *on_behalf_of, bool only_look, Ulid *id)
{
	ListCell   *cell;

	foreach(cell, grants_for(call, subject->action, call->caller->login, policy->policy_version))
	{
		const Grant *grant = lfirst(cell);

		if ((grant->requested_by == NULL || strcmp(grant->requested_by, requested_by) == 0) &&
			condition_holds(grant, subject) &&
			enough_grantors(call, grant, policy, requested_by, on_behalf_of) &&
			use_left(call, grant, only_look))
		{
			*id = grant->id;
			return true;
		}
	}
	return false;
}

/* The grants that a rejection of the request makes void, added to a list of ids. */
List *
grant_rejected(const Call *call, List *ids)
{
	const char *login = request_text(call->request, REQ_REQUESTER_LOGIN);
	Action		action;
	Subject		subject = {.action = &action};
	ListCell   *cell;

	subject_action(call->request, &action);
	foreach(cell, grants_for(call, &action, login, 0))
	{
		Grant	   *grant = lfirst(cell);

		if ((grant->requested_by == NULL || request_text_is(call->request, REQ_REQUESTED_BY, grant->requested_by)) &&
			condition_holds(grant, &subject))
			ids = lappend(ids, &grant->id);
	}
	return ids;
}

static int
by_id(const ListCell *a, const ListCell *b)
{
	return memcmp(lfirst(a), lfirst(b), sizeof(Ulid));
}

/*
 * One rejection in its scope, and a grant is void.  In the order of their ids,
 * after all requests: so two who reject do not wait for each other.
 */
void
grant_void(const Call *call, List *ids)
{
	const Ulid *last = NULL;
	ListCell   *cell;

	list_sort(ids, by_id);
	foreach(cell, ids)
	{
		const Ulid *id = lfirst(cell);
		Datum		values[4];
		char		nulls[4];

		if (last && memcmp(id, last, sizeof(Ulid)) == 0)
			continue;
		last = id;
		param_text(values, nulls, 0, call->tenant);
		param_ulid(values, nulls, 1, id);
		values[2] = TimestampTzGetDatum(call->now);
		nulls[2] = ' ';
		param_text(values, nulls, 3, call->actor);
		if (store_run(&void_grant, values, nulls, SPI_OK_UPDATE, 0) == 0 && IsolationUsesXactSnapshot())
			errors_raise_serialization();
	}
}
