/*-------------------------------------------------------------------------
 *
 * store.c
 *	  SQL as the owner of the tables: kept plans, bound parameters.
 *
 * Parameters are of built-in types only.  A kept plan is parsed again after
 * its objects changed, but its parameter types are not: one of our own types
 * would be stale after DROP and CREATE EXTENSION in the same session.
 *
 * Every name in our SQL is qualified, operators too, so that no search_path
 * matters.  It is not pinned as well: a kept plan is parsed again whenever the
 * path differs from the one it was made under, so that pinning it would have
 * to be paid in every call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/syscache.h"

#include "store.h"

#define OWNER_ROLE "approval_owner"

/* Its OID, until some role changes. */
static Oid	owner = InvalidOid;

static void
roles_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	owner = InvalidOid;
}

void
store_init(void)
{
	CacheRegisterSyscacheCallback(AUTHNAME, roles_changed, (Datum) 0);
}

static Oid
store_owner(void)
{
	if (!OidIsValid(owner))
		owner = get_role_oid(OWNER_ROLE, false);
	return owner;
}

/*
 * Become the owner of the tables.  An error ends in the abort of the
 * (sub)transaction, which restores the user and closes SPI.
 */
void
store_open(Store *store)
{
	GetUserIdAndSecContext(&store->user, &store->security);
	SetUserIdAndSecContext(store_owner(),
						   store->security | SECURITY_LOCAL_USERID_CHANGE);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

void
store_close(const Store *store)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	SetUserIdAndSecContext(store->user, store->security);
}

static void
store_prepare(Statement *statement)
{
	SPIPlanPtr	plan;

	if (statement->sql == NULL)
	{
		/* kept for as long as the backend lives, like the plan */
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		statement->build(statement);
		MemoryContextSwitchTo(old);
	}
	Assert(statement->nparams <= STORE_MAX_PARAMS);

	plan = SPI_prepare_cursor(statement->sql, statement->nparams,
							  statement->types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare \"%s\": %s", statement->sql,
			 SPI_result_code_string(SPI_result));
	statement->plan = plan;
}

/*
 * Plans are kept, and the first one may be made while a table is empty and a
 * sequential scan looks cheapest; every statement of ours has an index to go
 * by.  So the plan is made beforehand, where it is missing or no longer valid,
 * as if there were no sequential scans; whatever runs inside the statement is
 * planned as ever.
 */
static void
store_plan(Statement *statement)
{
	bool		seqscan = enable_seqscan;
	CachedPlan *plan;

	if (statement->plan == NULL)
		store_prepare(statement);
	enable_seqscan = false;
	PG_TRY();
	{
		plan = SPI_plan_get_cached_plan(statement->plan);
	}
	PG_FINALLY();
	{
		enable_seqscan = seqscan;
	}
	PG_END_TRY();
	if (plan)
		ReleaseCachedPlan(plan, CurrentResourceOwner);
}

static uint64
store_execute(Statement *statement, Datum *values, const char *nulls,
			  bool read_only, int expected, long limit)
{
	int			code;

	store_plan(statement);
	code = SPI_execute_plan(statement->plan, values, nulls, read_only, limit);
	if (code != expected)
		elog(ERROR, "unexpected result of \"%s\": %s", statement->sql,
			 SPI_result_code_string(code));
	return SPI_processed;
}

/*
 * Run a statement and return the number of rows.  Not read-only, so that each
 * statement sees what was committed before it started, under READ COMMITTED.
 */
uint64
store_run(Statement *statement, Datum *values, const char *nulls,
		  int expected, long limit)
{
	return store_execute(statement, values, nulls, false, expected, limit);
}

/* Run a query in the active snapshot, which the caller has pushed. */
uint64
store_read(Statement *statement, Datum *values, const char *nulls)
{
	return store_execute(statement, values, nulls, true, SPI_OK_SELECT, 0);
}

/* The same, row after row: for what may be too many to hold. */
Portal
store_cursor(Statement *statement, Datum *values, const char *nulls)
{
	store_plan(statement);
	return SPI_cursor_open(NULL, statement->plan, values, nulls, true);
}
