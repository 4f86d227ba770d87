/*-------------------------------------------------------------------------
 *
 * sight.c
 *	  What views filter by: the tenants, rows and roles of who asks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"

#include "caller.h"
#include "param.h"
#include "sight.h"
#include "store.h"

PG_FUNCTION_INFO_V1(approval_caller_tenants);
PG_FUNCTION_INFO_V1(approval_caller_reads);
PG_FUNCTION_INFO_V1(approval_caller_roles);

/*
 * All tenants that there are: those of requests by one index probe each.  That
 * of logins which are not registered is always there.
 */
static Statement select_tenants = {
	.sql = "WITH RECURSIVE t(tenant) AS ("
	" (SELECT r.tenant FROM approval.requests r ORDER BY r.tenant LIMIT 1)"
	" UNION ALL SELECT (SELECT r.tenant FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.>) t.tenant ORDER BY r.tenant LIMIT 1)"
	" FROM t WHERE t.tenant IS NOT NULL)"
	" SELECT t.tenant FROM t WHERE t.tenant IS NOT NULL"
	" UNION SELECT x.tenant FROM approval.tools x UNION SELECT m.tenant FROM approval.members m"
	" UNION SELECT f.tenant FROM approval.freezes f UNION SELECT g.tenant FROM approval.grants g"
	" UNION SELECT e.tenant FROM approval.policy_events e"
	" UNION SELECT l.tenant FROM approval.logins g, LATERAL pg_catalog.unnest(g.tenants) l(tenant)"
	" UNION SELECT ''",
};

/* The tenants that a caller may see, with the store open. */
char	  **
sight_tenants(const Caller *caller, int *count)
{
	char	  **names;
	int			i;

	*count = caller->ntenants;
	if (!caller->all_tenants)
		return caller->tenants;
	*count = (int) store_run(&select_tenants, NULL, NULL, SPI_OK_SELECT, 0);
	names = palloc(sizeof(char *) * (*count + 1));
	for (i = 0; i < *count; i++)
		names[i] = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
	return names;
}

/*
 * The tenants that the caller may see, as an array, so that a view can filter
 * by it in a form that indexes serve.  An unmapped login has tenant ''.
 */
Datum
approval_caller_tenants(PG_FUNCTION_ARGS)
{
	const Caller *caller = caller_get();
	MemoryContext context = CurrentMemoryContext;
	MemoryContext old;
	Store		store;
	char	  **names;
	int			count;
	Datum		result;

	if (!caller->all_tenants)
		return param_texts((const char *const *) caller->tenants, caller->ntenants);
	store_open(&store);
	names = sight_tenants(caller, &count);
	old = MemoryContextSwitchTo(context);
	result = param_texts((const char *const *) names, count);
	MemoryContextSwitchTo(old);
	store_close(&store);
	return result;
}

/* Whether the caller may see rows that this login proposed, within its tenants. */
Datum
approval_caller_reads(PG_FUNCTION_ARGS)
{
	const Caller *caller = caller_get();
	text	   *login;

	switch (caller->sight)
	{
		case SIGHT_TENANT:
			PG_RETURN_BOOL(true);
		case SIGHT_NOTHING:
			PG_RETURN_BOOL(false);
		case SIGHT_OWN:
			break;
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_BOOL(false);
	login = PG_GETARG_TEXT_PP(0);
	PG_RETURN_BOOL(strlen(caller->login) == VARSIZE_ANY_EXHDR(login) &&
				   memcmp(caller->login, VARDATA_ANY(login), VARSIZE_ANY_EXHDR(login)) == 0);
}

/* The roles of the login; NULL for those who see the tools of every role. */
Datum
approval_caller_roles(PG_FUNCTION_ARGS)
{
	const Caller *caller = caller_get();

	if (caller_is(caller, "approval_approver") || caller_is(caller, "approval_auditor") ||
		caller_is(caller, "approval_admin"))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(param_texts((const char *const *) caller->roles, caller->nroles));
}
