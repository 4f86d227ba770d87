/*-------------------------------------------------------------------------
 *
 * registry.c
 *	  The tools as this backend keeps them, until policy changes.
 *
 * Tools that do not exist are kept too: they are asked for as often.  Rows are
 * read in the latest snapshot, whatever the transaction's: a frozen tool is
 * frozen for a transaction that began before.  Any change of the tables of
 * policy makes every backend forget all of it, at the next call at the latest.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "param.h"
#include "registry.h"
#include "store.h"

/* An agent can ask for any number of names; all are forgotten at so many bytes. */
#define MAX_SIZE (32 * 1024 * 1024)

typedef struct Entry
{
	Digest		key;
	Registered	registered;
} Entry;

/* The columns of the query below. */
enum
{
	COL_FROZEN, COL_GRANTS, COL_TENANT, COL_VERSION, COL_RETIRED, COL_DIGEST, COL_DOCUMENT
};

static Statement select_tool = {
	.sql = "SELECT f.frozen, f.grants, t.tenant, t.policy_version, t.retired_at IS NOT NULL,"
	" t.definition_digest::pg_catalog.text,"
	" pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(t) OPERATOR(pg_catalog.-)"
	" '{definition,annotations}'::pg_catalog.text[])"
	" OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('rules', COALESCE((SELECT pg_catalog.jsonb_agg("
	"pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.-) '{tenant,server,tool}'::pg_catalog.text[])"
	" ORDER BY r.position) FROM approval.rules r WHERE r.tenant OPERATOR(pg_catalog.=) t.tenant"
	" AND r.server OPERATOR(pg_catalog.=) t.server AND r.tool OPERATOR(pg_catalog.=) t.tool), '[]'::pg_catalog.jsonb))"
	" FROM (SELECT EXISTS (SELECT FROM approval.freezes z WHERE z.tenant"
	" OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*']) AND (z.tool OPERATOR(pg_catalog.=) ''"
	" OR (z.server OPERATOR(pg_catalog.=) $2 AND z.tool OPERATOR(pg_catalog.=) $3))) AS frozen,"
	" EXISTS (SELECT FROM approval.grants g WHERE g.tenant OPERATOR(pg_catalog.=) $1"
	" AND g.server OPERATOR(pg_catalog.=) $2 AND g.tool OPERATOR(pg_catalog.=) $3"
	" AND g.voided_at IS NULL) AS grants) f"
	" LEFT JOIN approval.tools t ON t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])"
	" AND t.server OPERATOR(pg_catalog.=) $2 AND t.tool OPERATOR(pg_catalog.=) $3"
	" ORDER BY t.tenant OPERATOR(pg_catalog.=) '*'",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

static Statement select_renamed = {
	.sql = "SELECT FROM approval.tools t WHERE t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])"
	" AND t.server OPERATOR(pg_catalog.=) $2 AND t.shape OPERATOR(pg_catalog.=) $3::approval.digest",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

/* The tables whose rows are kept here. */
static const char *const policy_tables[] = {"tools", "rules", "freezes", "grants"};
static Oid	policy_oids[lengthof(policy_tables)];

static HTAB *entries = NULL;

/* Holds all of it; lives as long as the backend, and is reset as a whole. */
static MemoryContext registry_context = NULL;

static bool stale = true;

/* Only marks: what is in use must not go away under the user's feet. */
static void
relation_changed(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < (int) lengthof(policy_oids); i++)
		if (relid == InvalidOid || relid == policy_oids[i])
			stale = true;
}

static void
names_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	stale = true;
}

void
registry_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACENAME, names_changed, (Datum) 0);
}

static void
start_again(void)
{
	HASHCTL		control = {0};
	Oid			space = get_namespace_oid("approval", false);
	int			i;

	if (registry_context == NULL)
		registry_context = AllocSetContextCreate(CacheMemoryContext, "approval registry", ALLOCSET_DEFAULT_SIZES);
	entries = NULL;
	MemoryContextReset(registry_context);
	control.keysize = sizeof(Digest);
	control.entrysize = sizeof(Entry);
	control.hcxt = registry_context;
	entries = hash_create("approval registry", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (i = 0; i < (int) lengthof(policy_tables); i++)
		policy_oids[i] = get_relname_relid(policy_tables[i], space);
	stale = false;
}

static void
make_key(const char *tenant, const char *server, const char *tool, Digest *key)
{
	digest_start();
	digest_add(tenant, strlen(tenant) + 1);
	digest_add(server, strlen(server) + 1);
	digest_add(tool, strlen(tool) + 1);
	digest_finish(key);
}

static Datum
column(int row, int n, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, n + 1, isnull);
}

static void
take_row(int row, Registered *registered)
{
	Tool	   *tool = &registered->tools[registered->ntools];
	Problem		problem = {0};
	Jsonb	   *document;
	bool		isnull;
	char	   *hex;

	(void) column(row, COL_TENANT, &isnull);
	if (isnull)
		return;
	document = DatumGetJsonbPCopy(column(row, COL_DOCUMENT, &isnull));
	registered->ntools++;
	if (!tool_parse(document, false, tool, &problem))
		registered->unreadable = true;
	tool->tenant = TextDatumGetCString(column(row, COL_TENANT, &isnull));
	tool->policy_version = DatumGetInt32(column(row, COL_VERSION, &isnull));
	tool->retired = DatumGetBool(column(row, COL_RETIRED, &isnull));
	hex = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, COL_DIGEST + 1);
	tool->pinned = hex != NULL && digest_from_hex(hex, strlen(hex), &tool->definition_digest);
}

/* The tenant's own row comes first; there is always one, with or without a tool. */
static void
load(const char *tenant, const char *server, const char *tool, Registered *registered)
{
	Datum		values[3];
	char		nulls[3];
	MemoryContext old;
	uint64		count;
	uint64		i;
	bool		isnull;

	memset(registered, 0, sizeof(*registered));
	param_text(values, nulls, 0, tenant);
	param_text(values, nulls, 1, server);
	param_text(values, nulls, 2, tool);
	PushActiveSnapshot(GetLatestSnapshot());
	count = store_read(&select_tool, values, nulls);
	PopActiveSnapshot();
	registered->frozen = DatumGetBool(column(0, COL_FROZEN, &isnull));
	registered->has_grants = DatumGetBool(column(0, COL_GRANTS, &isnull));
	old = MemoryContextSwitchTo(registry_context);
	for (i = 0; i < count && registered->ntools < 2; i++)
		take_row(i, registered);
	MemoryContextSwitchTo(old);
	SPI_freetuptable(SPI_tuptable);
}

/* Valid until the next call of it. */
const Registered *
registry_find(const char *tenant, const char *server, const char *tool)
{
	Registered	loaded;
	Digest		key;
	Entry	   *entry;

	/* the verb may have waited for a row since it began */
	AcceptInvalidationMessages();
	if (stale || entries == NULL)
		start_again();
	make_key(tenant, server, tool, &key);
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry == NULL)
	{
		if (MemoryContextMemAllocated(registry_context, true) > MAX_SIZE)
			start_again();
		load(tenant, server, tool, &loaded);
		entry = hash_search(entries, &key, HASH_ENTER, NULL);
		entry->registered = loaded;
	}
	return &entry->registered;
}

/* Whether a tool of another name on this server has this very definition. */
bool
registry_renamed(const char *tenant, const char *server, const Digest *shape)
{
	Datum		values[3];
	char		nulls[3];
	char		hex[DIGEST_TEXT_LEN + 1];

	digest_to_hex(shape, hex);
	param_text(values, nulls, 0, tenant);
	param_text(values, nulls, 1, server);
	param_text(values, nulls, 2, hex);
	return store_run(&select_renamed, values, nulls, SPI_OK_SELECT, 1) > 0;
}
