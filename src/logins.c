/*-------------------------------------------------------------------------
 *
 * logins.c
 *	  register_login: whom a login may speak for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "args.h"
#include "change.h"
#include "notify.h"
#include "param.h"

PG_FUNCTION_INFO_V1(approval_register_login);

static Statement upsert_login = {
	.sql = "INSERT INTO approval.logins (login, kind, actor, tenants, roles, registered_by, registered_at)"
	" VALUES ($1, $2, $3, $4, $5, $6, pg_catalog.clock_timestamp())"
	" ON CONFLICT (login) DO UPDATE SET kind = EXCLUDED.kind, actor = EXCLUDED.actor,"
	" tenants = EXCLUDED.tenants, roles = EXCLUDED.roles, registered_by = EXCLUDED.registered_by, registered_at = EXCLUDED.registered_at",
	.nparams = 6,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTARRAYOID, TEXTARRAYOID, TEXTOID},
};

static Statement select_login = {
	.sql = "SELECT pg_catalog.to_json(l) FROM approval.logins l WHERE l.login OPERATOR(pg_catalog.=) $1",
	.nparams = 1,
	.types = {TEXTOID},
};

static void
check_login(const char *login)
{
	args_check_name("login", login, NAMEDATALEN - 1);
	if (!OidIsValid(get_role_oid(login, true)))
		errors_raise_standard(ERRCODE_UNDEFINED_OBJECT, "there is no such login", "no_such_login", 404, "",
							  "Create the role before it is registered.");
}

static void
check_kind(const char *kind)
{
	static const char *const kinds[] = {"person", "service", "delegate", "gateway"};
	int			i;

	for (i = 0; i < (int) lengthof(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return;
	args_bad_value("kind", "One of person, service, delegate and gateway.");
}

/* An actor that policy or an unmapped login goes by is nobody else's. */
static void
check_actor(const char *actor, const char *login)
{
	if (actor == NULL)
		return;
	if (strcmp(actor, "policy") == 0 || strcmp(actor, "worker") == 0 ||
		(strncmp(actor, "login:", 6) == 0 && strcmp(actor + 6, login) != 0))
		args_bad_value("actor", "The names policy, worker and login:... are reserved.");
}

static void
check_tenants(ArrayType *tenants)
{
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			i;

	deconstruct_array(tenants, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	if (count == 0)
		args_bad_value("tenants", "A login has at least one tenant; '' is the one of a single-tenant database.");
	for (i = 0; i < count; i++)
	{
		char	   *tenant;

		if (nulls[i])
			errors_raise_null("tenants");
		tenant = TextDatumGetCString(values[i]);
		args_check_length("tenants", tenant, ARGS_KEY_LIMIT);
		if (strcmp(tenant, CALLER_ALL_TENANTS) != 0)
			notify_tenant_exists(tenant);
	}
}

static void
check_roles(ArrayType *roles)
{
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			i;

	deconstruct_array(roles, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	for (i = 0; i < count; i++)
	{
		if (nulls[i])
			errors_raise_null("roles");
		args_check_name("roles", TextDatumGetCString(values[i]), ARGS_KEY_LIMIT);
	}
}

static char *
stored(const char *login)
{
	Datum		values[1];

	values[0] = CStringGetTextDatum(login);
	if (store_run(&select_login, values, NULL, SPI_OK_SELECT, 1) == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/* register_login(login, kind, actor, tenants, roles) */
Datum
approval_register_login(PG_FUNCTION_ARGS)
{
	Change		change;
	char	   *login = args_required(fcinfo, 0, "login", ARGS_KEY_LIMIT);
	char	   *kind = args_required(fcinfo, 1, "kind", ARGS_KEY_LIMIT);
	char	   *actor = args_name(fcinfo, 2, "actor");
	Datum		values[6];
	char		nulls[6];

	if (PG_ARGISNULL(3))
		errors_raise_null("tenants");
	if (PG_ARGISNULL(4))
		errors_raise_null("roles");
	change_begin_database(&change, fcinfo, "register_login");
	check_login(login);
	check_kind(kind);
	check_actor(actor, login);
	check_tenants(PG_GETARG_ARRAYTYPE_P(3));
	check_roles(PG_GETARG_ARRAYTYPE_P(4));

	change.subject = login;
	change.before = stored(login);
	param_text(values, nulls, 0, login);
	param_text(values, nulls, 1, kind);
	param_text(values, nulls, 2, actor);
	values[3] = PG_GETARG_DATUM(3);
	values[4] = PG_GETARG_DATUM(4);
	nulls[3] = nulls[4] = ' ';
	param_text(values, nulls, 5, change.call.caller->login);
	store_run(&upsert_login, values, nulls, SPI_OK_INSERT, 0);
	change.after = stored(login);
	change_event(&change);
	verb_end(&change.call);
	PG_RETURN_TEXT_P(cstring_to_text(login));
}
