/*-------------------------------------------------------------------------
 *
 * set_aside.c
 *	  Requests that cannot be put away, and when they are tried again.
 *
 * A row that fails must not keep the others waiting, nor fill the log: it is
 * logged once, and tried again after a minute, two, four ... up to a day.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "param.h"
#include "set_aside.h"
#include "store.h"

#define FIRST_RETRY_MINUTES 1
#define MOST_DOUBLINGS 11		/* a bit more than a day */

static Statement select_all = {
	.sql = "SELECT s.request_id::pg_catalog.uuid, s.retry_at FROM approval.set_aside s",
};

static Statement insert_row = {
	.sql = "INSERT INTO approval.set_aside AS s (tenant, request_id, since, tries, retry_at, sqlstate, problem)"
	" VALUES ($1, $2::approval.ulid, pg_catalog.clock_timestamp(), 1,"
	" pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) pg_catalog.make_interval(mins => $5), $3, $4)"
	" ON CONFLICT (tenant, request_id) DO UPDATE SET tries = s.tries OPERATOR(pg_catalog.+) 1,"
	" sqlstate = EXCLUDED.sqlstate, problem = EXCLUDED.problem,"
	" retry_at = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) pg_catalog.make_interval("
	"mins => $5 OPERATOR(pg_catalog.*) (1 OPERATOR(pg_catalog.<<) LEAST(s.tries, $6)))"
	" RETURNING tries OPERATOR(pg_catalog.=) 1",
	.nparams = 6,
	.types = {TEXTOID, UUIDOID, TEXTOID, TEXTOID, INT4OID, INT4OID},
};

/* What was settled otherwise, or set back. */
static Statement delete_settled = {
	.sql = "DELETE FROM approval.set_aside s WHERE NOT EXISTS (SELECT FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.=) s.tenant AND r.id OPERATOR(pg_catalog.=) s.request_id"
	" AND r.due_at OPERATOR(pg_catalog.<=) s.retry_at)",
};

static Statement retry_all = {
	.sql = "UPDATE approval.set_aside SET retry_at = pg_catalog.clock_timestamp()",
};

static Statement delete_row = {
	.sql = "DELETE FROM approval.set_aside s WHERE s.tenant OPERATOR(pg_catalog.=) $1"
	" AND s.request_id OPERATOR(pg_catalog.=) $2::approval.ulid",
	.nparams = 2,
	.types = {TEXTOID, UUIDOID},
};

typedef struct Waiting
{
	Ulid		id;
	TimestampTz retry_at;
} Waiting;

/* By id: the worker's, or those of a call, read before each batch. */
static HTAB *waiting = NULL;
static TimestampTz next_retry;

void
set_aside_read(void)
{
	HASHCTL		control = {.keysize = sizeof(Ulid),.entrysize = sizeof(Waiting),.hcxt = TopMemoryContext};
	TimestampTz now = GetCurrentTimestamp();
	uint64		count;
	uint64		i;

	if (waiting)
		hash_destroy(waiting);
	waiting = NULL;
	next_retry = DT_NOEND;
	count = store_run(&select_all, NULL, NULL, SPI_OK_SELECT, 0);
	if (count == 0)
		return;
	if (store_run(&delete_settled, NULL, NULL, SPI_OK_DELETE, 0) > 0)
		count = store_run(&select_all, NULL, NULL, SPI_OK_SELECT, 0);
	else
		(void) store_run(&select_all, NULL, NULL, SPI_OK_SELECT, 0);

	/* destroyed by the next one that reads */
	waiting = hash_create("approval set aside", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (i = 0; i < count; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		bool		isnull;
		Datum		id = SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull);
		TimestampTz retry_at = DatumGetTimestampTz(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &isnull));
		Waiting    *entry = hash_search(waiting, DatumGetPointer(id), HASH_ENTER, NULL);

		entry->retry_at = retry_at;
		if (retry_at > now)
			next_retry = Min(next_retry, retry_at);
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Ids are unique over tenants, but for forged ones, which may wait too. */
bool
set_aside_waits(const Ulid *id)
{
	const Waiting *entry = waiting ? hash_search(waiting, id, HASH_FIND, NULL) : NULL;

	return entry && entry->retry_at > GetCurrentTimestamp();
}

/* When the next of them is tried again. */
TimestampTz
set_aside_next(void)
{
	return next_retry;
}

void
set_aside_row(const char *tenant, const Ulid *id, const char *sqlstate, const char *problem)
{
	Datum		values[6];
	char		nulls[6];
	bool		isnull;
	char		text[ULID_TEXT_LEN + 1];

	param_text(values, nulls, 0, tenant);
	param_ulid(values, nulls, 1, id);
	param_text(values, nulls, 2, sqlstate);
	param_text(values, nulls, 3, problem);
	values[4] = Int32GetDatum(FIRST_RETRY_MINUTES);
	values[5] = Int32GetDatum(MOST_DOUBLINGS);
	nulls[4] = nulls[5] = ' ';
	store_run(&insert_row, values, nulls, SPI_OK_INSERT_RETURNING, 0);
	if (!DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)))
		return;
	ulid_to_text(id, text);
	ereport(LOG_SERVER_ONLY,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("approval: request %s could not be put away and was set aside", text),
			 errdetail_log("%s", problem),
			 errhint("See the view approval.stuck.")));
}

/* After it went well at last. */
void
set_aside_forget(const char *tenant, const Ulid *id)
{
	Datum		values[2];
	char		nulls[2];

	if (waiting == NULL || hash_search(waiting, id, HASH_FIND, NULL) == NULL)
		return;
	param_text(values, nulls, 0, tenant);
	param_ulid(values, nulls, 1, id);
	store_run(&delete_row, values, nulls, SPI_OK_DELETE, 0);
}

/* The cause is mended, somebody says. */
void
set_aside_retry(void)
{
	store_run(&retry_all, NULL, NULL, SPI_OK_UPDATE, 0);
}
