/*-------------------------------------------------------------------------
 *
 * caller.c
 *	  Who is calling: the login, whom it may speak for, and for which tenants.
 *
 * The login is session_user: it survives SET ROLE and SECURITY DEFINER, and no
 * setting can change it.  Its row in approval.logins is cached until that
 * table or a role changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "args.h"
#include "caller.h"
#include "compat.h"
#include "settings.h"
#include "store.h"

static Statement select_login = {
	.sql = "SELECT l.kind, l.actor, l.tenants, l.roles FROM approval.logins l"
	" WHERE l.login OPERATOR(pg_catalog.=) $1",
	.nparams = 1,
	.types = {TEXTOID},
};

static Caller cache;
static bool cache_valid = false;

/* The only transaction in which it is valid, if not in every one. */
static LocalTransactionId cache_until = InvalidLocalTransactionId;

/* Counts what could have made the cache wrong. */
static uint64 invalidations = 0;
static Oid	logins_oid = InvalidOid;

/* Holds what the cache points to; lives as long as the backend. */
static MemoryContext cache_context = NULL;


static void
relation_changed(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == logins_oid)
	{
		cache_valid = false;
		invalidations++;
	}
}

static void
role_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	cache_valid = false;
	invalidations++;
}

void
caller_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, role_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, role_changed, (Datum) 0);
}

static LoginKind
login_kind(const char *word)
{
	if (strcmp(word, "person") == 0)
		return LOGIN_PERSON;
	if (strcmp(word, "service") == 0)
		return LOGIN_SERVICE;
	if (strcmp(word, "delegate") == 0)
		return LOGIN_DELEGATE;
	if (strcmp(word, "gateway") == 0)
		return LOGIN_GATEWAY;
	elog(ERROR, "unknown kind of login");
}

static char **
take_names(Datum value, int *count)
{
	Datum	   *elements;
	char	  **names;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, NULL, count);
	names = palloc(sizeof(char *) * (*count + 1));
	for (i = 0; i < *count; i++)
		names[i] = TextDatumGetCString(elements[i]);
	return names;
}

static void
take_tenants(Datum value)
{
	int			i;

	cache.tenants = take_names(value, &cache.ntenants);
	for (i = 0; i < cache.ntenants; i++)
		if (strcmp(cache.tenants[i], CALLER_ALL_TENANTS) == 0)
			cache.all_tenants = true;
}

static void
take_login_row(void)
{
	HeapTuple	row = SPI_tuptable->vals[0];
	TupleDesc	desc = SPI_tuptable->tupdesc;
	char	   *actor = SPI_getvalue(row, desc, 2);
	bool		isnull;
	Datum		tenants = SPI_getbinval(row, desc, 3, &isnull);
	Datum		roles = SPI_getbinval(row, desc, 4, &isnull);
	MemoryContext old;

	cache.kind = login_kind(SPI_getvalue(row, desc, 1));
	old = MemoryContextSwitchTo(cache_context);
	if (actor)
	{
		cache.actor = pstrdup(actor);
		cache.mapped = true;
	}
	take_tenants(tenants);
	cache.roles = take_names(roles, &cache.nroles);
	MemoryContextSwitchTo(old);
}

static void
load_login(void)
{
	Store		store;
	Datum		values[1];

	values[0] = CStringGetTextDatum(cache.login);
	store_open(&store);
	logins_oid = get_relname_relid("logins", get_namespace_oid("approval", false));
	if (store_run(&select_login, values, NULL, SPI_OK_SELECT, 1) == 1)
		take_login_row();
	store_close(&store);
}

static void
load_caller(void)
{
	MemoryContext old;
	uint64		before;

	if (cache_context == NULL)
		cache_context = AllocSetContextCreate(CacheMemoryContext,
											  "approval caller",
											  ALLOCSET_SMALL_SIZES);
	cache_valid = false;
	MemoryContextReset(cache_context);
	memset(&cache, 0, sizeof(cache));

	old = MemoryContextSwitchTo(cache_context);
	cache.login_oid = GetSessionUserId();
	cache.login = GetUserNameFromId(cache.login_oid, false);
	cache.actor = psprintf("login:%s", cache.login);
	cache.tenants = palloc(sizeof(char *));
	cache.tenants[0] = pstrdup("");
	cache.ntenants = 1;
	MemoryContextSwitchTo(old);

	/*
	 * Not valid if reading fails or if something changed meanwhile, and not
	 * beyond this transaction if an old snapshot may have shown an old row.
	 */
	before = invalidations;
	load_login();
	cache_valid = before == invalidations;
	cache_until = IsolationUsesXactSnapshot() ? MY_LXID : InvalidLocalTransactionId;
}

static bool
allowed_tenant(const Caller *caller, const char *tenant)
{
	int			i;

	if (caller->all_tenants)
		return true;
	for (i = 0; i < caller->ntenants; i++)
		if (strcmp(caller->tenants[i], tenant) == 0)
			return true;
	return false;
}

static void
tenant_refused(void)
{
	errors_raise_standard(ERRCODE_INSUFFICIENT_PRIVILEGE, "this login may not use that tenant",
						  "tenant_not_allowed", 403, "",
						  "The tenants of a login stand in approval.logins; the argument tenant and the setting approval.tenant only choose among them.");
}

/*
 * The tenant of this call: the one named, the one set, or the only one that
 * the login has.
 */
const char *
caller_tenant(const Caller *caller, const char *wanted)
{
	if (wanted == NULL && setting_tenant && setting_tenant[0] != '\0')
		wanted = setting_tenant;
	if (wanted)
	{
		args_check_length("tenant", wanted, ARGS_KEY_LIMIT);
		if (strcmp(wanted, CALLER_ALL_TENANTS) == 0 || !allowed_tenant(caller, wanted))
			tenant_refused();
		return wanted;
	}
	if (!caller->all_tenants && caller->ntenants == 1)
		return caller->tenants[0];
	if (allowed_tenant(caller, ""))
		return "";
	errors_raise_standard(ERRCODE_NULL_VALUE_NOT_ALLOWED, "a tenant must be named",
						  "null_argument", 400, ",\"argument\":\"tenant\"",
						  "This login has several tenants: pass the argument tenant, or set approval.tenant.");
}

/* The same for a change of policy, which may also be for every tenant. */
const char *
caller_policy_tenant(const Caller *caller, const char *wanted)
{
	if (wanted && strcmp(wanted, CALLER_ALL_TENANTS) == 0 && caller->all_tenants)
		return CALLER_ALL_TENANTS;
	return caller_tenant(caller, wanted);
}

/* Names that stand for something else than a person or service. */
static bool
actor_reserved(const char *actor)
{
	return strcmp(actor, "policy") == 0 || strcmp(actor, "worker") == 0 || strncmp(actor, "login:", 6) == 0;
}

/*
 * The actor of this call: the login's own, or whom a delegate names.  NULL and
 * a refusal where the login may not speak for that actor.  With must_name a
 * delegate without an actor of its own has to name somebody: nobody decides in
 * the name of an application.
 */
const char *
caller_actor(const Caller *caller, const char *wanted, bool must_name, Refusal *refusal)
{
	if (wanted == NULL)
	{
		if (must_name && caller->kind == LOGIN_DELEGATE && !caller->mapped)
			errors_raise_null("actor");
		return caller->actor;
	}
	args_check_actor("actor", wanted);
	if (strcmp(wanted, caller->actor) == 0)
		return caller->actor;
	if (caller->kind == LOGIN_DELEGATE && !actor_reserved(wanted))
		return wanted;
	refusal->reason = REASON_ACTOR_NOT_ALLOWED;
	return NULL;
}

/* The roles of another login, as they are registered now. */
char	  **
caller_roles_of(const char *login, int *count)
{
	Datum		values[1];
	bool		isnull;

	*count = 0;
	values[0] = CStringGetTextDatum(login);
	if (store_run(&select_login, values, NULL, SPI_OK_SELECT, 1) == 0)
		return NULL;
	return take_names(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 4, &isnull), count);
}

/* A verdict is a person's word: never that of a service or a gateway. */
bool
caller_may_judge(const Caller *caller)
{
	return caller->kind != LOGIN_SERVICE && caller->kind != LOGIN_GATEWAY;
}

/* Whether the role in force has the privileges of one of our groups. */
bool
caller_is(const Caller *caller, const char *group)
{
	return has_privs_of_role(caller->role_oid, get_role_oid(group, false));
}

static Sight
role_sight(const Caller *caller)
{
	if (caller_is(caller, "approval_approver") ||
		caller_is(caller, "approval_executor") ||
		caller_is(caller, "approval_auditor") ||
		caller_is(caller, "approval_admin"))
		return SIGHT_TENANT;
	if (caller_is(caller, "approval_requester"))
		return SIGHT_OWN;
	return SIGHT_NOTHING;
}

/*
 * The caller of the verb that is starting.  Must be called before the role is
 * switched to the owner.
 */
const Caller *
caller_get(void)
{
	Oid			role = GetUserId();

	/* a transaction that takes no new lock would not hear of changes */
	AcceptInvalidationMessages();
	if (!cache_valid || cache.login_oid != GetSessionUserId() ||
		(cache_until != InvalidLocalTransactionId && cache_until != MY_LXID))
		load_caller();
	if (cache.role_oid != role)
	{
		strlcpy(cache.role, GetUserNameFromId(role, false), NAMEDATALEN);
		cache.role_oid = role;
		cache.sight = role_sight(&cache);
	}
	return &cache;
}

static char **
copy_names(char **names, int count)
{
	char	  **copy = palloc(sizeof(char *) * (count + 1));
	int			i;

	for (i = 0; i < count; i++)
		copy[i] = pstrdup(names[i]);
	return copy;
}

/* A copy that lives as long as the current context. */
const Caller *
caller_copy(const Caller *caller)
{
	Caller	   *copy = palloc(sizeof(Caller));

	*copy = *caller;
	copy->login = pstrdup(caller->login);
	copy->actor = pstrdup(caller->actor);
	copy->tenants = copy_names(caller->tenants, caller->ntenants);
	copy->roles = copy_names(caller->roles, caller->nroles);
	return copy;
}
