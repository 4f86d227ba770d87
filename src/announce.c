/*-------------------------------------------------------------------------
 *
 * announce.c
 *	  The worker rings for what others have committed.
 *
 * It follows the events as a client of the feed does, from the position stored
 * with the last notifications in one transaction: each is announced at least
 * once, those of one request in their order, and a crash loses none.  The
 * transaction is not flushed: if it is lost, so are the listeners.  A position
 * that survives comes after everything it has seen in the log, and the number
 * of its own transaction is greater than all that the position counts as seen.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "announce.h"
#include "event.h"
#include "follow.h"
#include "notify.h"
#include "param.h"
#include "recent.h"
#include "store.h"
#include "worker_shmem.h"

#define BATCH 1000

static Statement select_position = {
	.sql = "SELECT p.value FROM approval.positions p WHERE p.name OPERATOR(pg_catalog.=) 'announced'",
};

static Statement store_position = {
	.sql = "INSERT INTO approval.positions AS p (name, value) VALUES ('announced', $1)"
	" ON CONFLICT (name) DO UPDATE SET value = $1",
	.nparams = 1,
	.types = {TEXTOID},
};

/* Of this worker; kept in a context of its own. */
static Position position;
static bool has_position = false;
static MemoryContext position_context = NULL;

/* What is stored counts: after an error, or another CREATE EXTENSION. */
void
announce_forget(void)
{
	has_position = false;
	recent_forget();
}

static void
keep_position(const Position *other)
{
	uint64	   *xip = MemoryContextAlloc(position_context, sizeof(uint64) * (other->count + 1));

	if (other->count > 0)
		memcpy(xip, other->xip, sizeof(uint64) * other->count);
	if (has_position)
		pfree(position.xip);
	position = *other;
	position.xip = xip;
	has_position = true;
}

/*
 * Where to begin: where the last one stopped, if that was in this database and
 * on this timeline, or else with what has been committed since the server is
 * up.
 */
static void
find_position(void)
{
	Position	stored;
	Position	now;
	char	   *text = NULL;

	if (position_context == NULL)
		position_context = AllocSetContextCreate(TopMemoryContext, "approval position", ALLOCSET_SMALL_SIZES);
	position_of_snapshot(GetActiveSnapshot(), &now);
	now.timeline = GetWALInsertionTimeLine();
	if (store_read(&select_position, NULL, NULL) == 1)
		text = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (text && position_parse(text, &stored) && stored.home == now.home &&
		stored.timeline == now.timeline && stored.xmax <= now.xmax)
	{
		keep_position(&stored);
		return;
	}
	now.xmax = worker_shared->boot_xid;
	now.count = 0;
	keep_position(&now);
}

static void
save_position(const Position *to)
{
	Datum		values[1];

	values[0] = CStringGetTextDatum(position_text(to));
	store_run(&store_position, values, NULL, SPI_OK_INSERT, 0);
}

/*
 * Rings for the next events that nobody has heard of; false when there are no
 * more.  In a transaction of its own that has no number yet, with the store
 * open.  What is to be kept is kept only once that has committed.
 */
bool
announce_batch(int64 *announced)
{
	Wanted		wanted = {.all_tenants = true,.brief = true};
	Follow		follow = {0};
	bool		rings;
	int			i;

	*announced = 0;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (!has_position)
		find_position();
	follow.position = position;
	follow_next(&follow, &wanted, BATCH);
	if (follow.count == 0)
	{
		PopActiveSnapshot();
		return false;
	}
	rings = setting_notify == NOTIFY_AUTO || setting_notify == NOTIFY_WORKER;
	for (i = 0; rings && i < follow.count; i++)
		notify_announce(follow.events[i].tenant, follow.events[i].conversation_id, follow.events[i].run_id,
						&follow.events[i].id, follow.events[i].kind, follow.events[i].status_after);
	save_position(&follow.position);
	PopActiveSnapshot();
	keep_position(&follow.position);
	if (rings)
		*announced = follow.count;
	return follow.more;
}
