/*-------------------------------------------------------------------------
 *
 * seen.c
 *	  Tool definitions that gateways brought and nobody has reviewed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "param.h"
#include "seen.h"

/* An upstream that changes with every call must not fill the table. */
#define MAX_SEEN 100

/*
 * There is no unique key: an insertion would wait for somebody else's.  Two
 * rows for one definition do no harm.
 */
static Statement insert_seen = {
	.sql = "INSERT INTO approval.seen_definitions (tenant, server, tool, digest, definition, seen_by, seen_at)"
	" SELECT $1, $2, $3, $4::approval.digest, $5, $6, $7"
	" WHERE NOT EXISTS (SELECT FROM approval.seen_definitions s WHERE s.tenant OPERATOR(pg_catalog.=) $1"
	" AND s.server OPERATOR(pg_catalog.=) $2 AND s.tool OPERATOR(pg_catalog.=) $3"
	" AND s.digest OPERATOR(pg_catalog.=) $4::approval.digest)",
	.nparams = 7,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONOID, TEXTOID, TIMESTAMPTZOID},
};

/* All but the latest $4; what somebody else is putting away is left to him. */
static Statement delete_oldest = {
	.sql = "DELETE FROM approval.seen_definitions d WHERE d.ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
	"SELECT s.ctid FROM approval.seen_definitions s WHERE s.tenant OPERATOR(pg_catalog.=) $1"
	" AND s.server OPERATOR(pg_catalog.=) $2 AND s.tool OPERATOR(pg_catalog.=) $3"
	" ORDER BY s.seen_at DESC OFFSET $4 FOR UPDATE SKIP LOCKED))",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, INT8OID},
};

static Statement select_seen = {
	.sql = "SELECT s.definition::pg_catalog.jsonb FROM approval.seen_definitions s"
	" WHERE (s.tenant OPERATOR(pg_catalog.=) $1 OR $1 OPERATOR(pg_catalog.=) '*')"
	" AND s.server OPERATOR(pg_catalog.=) $2 AND s.tool OPERATOR(pg_catalog.=) $3"
	" AND s.digest OPERATOR(pg_catalog.=) $4::approval.digest",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID},
};

static void
put_away_oldest(const Call *call, const Action *action)
{
	Datum		values[4];
	char		nulls[4];

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, action->server);
	param_text(values, nulls, 2, action->tool);
	values[3] = Int64GetDatum(MAX_SEEN);
	nulls[3] = ' ';
	store_run(&delete_oldest, values, nulls, SPI_OK_DELETE, 0);
}

/* Without the members that the digest leaves out: they may have no canonical form. */
void
seen_keep(const Call *call, const Action *action, const text *definition)
{
	Datum		values[7];
	char		nulls[7];
	char		hex[DIGEST_TEXT_LEN + 1];
	int			len = 0;
	char	   *canonical = hash_definition_text(definition, &len);

	if (canonical == NULL)
		return;
	digest_to_hex(action->definition, hex);
	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, action->server);
	param_text(values, nulls, 2, action->tool);
	param_text(values, nulls, 3, hex);
	values[4] = PointerGetDatum(cstring_to_text_with_len(canonical, len));
	param_text(values, nulls, 5, call->caller->login);
	values[6] = TimestampTzGetDatum(call->now);
	nulls[4] = nulls[6] = ' ';
	if (store_run(&insert_seen, values, nulls, SPI_OK_INSERT, 0) > 0)
		put_away_oldest(call, action);
}

/* The definition with this digest as it was brought, or NULL. */
Jsonb *
seen_find(const char *tenant, const char *server, const char *tool, const Digest *digest)
{
	Datum		values[4];
	char		nulls[4];
	char		hex[DIGEST_TEXT_LEN + 1];
	bool		isnull;

	digest_to_hex(digest, hex);
	param_text(values, nulls, 0, tenant);
	param_text(values, nulls, 1, server);
	param_text(values, nulls, 2, tool);
	param_text(values, nulls, 3, hex);
	if (store_run(&select_seen, values, nulls, SPI_OK_SELECT, 1) == 0)
		return NULL;
	return DatumGetJsonbPCopy(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}
