/*-------------------------------------------------------------------------
 *
 * worker_launcher.c
 *	  Starts the workers of databases, one at a time and only where needed.
 *
 * It is connected to no database and reads shared catalogs only, so that it is
 * never in the way of DROP or RENAME.  src/README.worker draws the states and
 * lists what has to be survived.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "position.h"
#include "worker_launcher.h"
#include "worker_shmem.h"

#define RESTART_SECONDS 5
#define LONGEST_SLEEP_MS 3600000L
#define STARTING_SLEEP_MS 1000L /* it tells when it has begun, or ended */
#define FIRST_BACK_OFF_MS 1000
#define LONGEST_BACK_OFF_MS 300000
#define NO_SLOT_PAUSE_MS 100
#define NO_SLOT_LOG_MS 300000
#define CLOSED_PAUSE_MS 10000	/* somebody may open it any time */

/* A database that a worker may connect to, as the catalogue has it. */
typedef struct Known
{
	Oid			oid;
	bool		connectable;
	bool		is_template;
} Known;

/* The worker that is starting. */
static BackgroundWorkerHandle *starting = NULL;
static DatabaseSlot *starting_slot = NULL;

/* Databases to be looked into once, since the server has started. */
static List *unknown = NIL;
static MemoryContext list_context = NULL;

static TimestampTz no_slot_logged = 0;

void
worker_launcher_init(void)
{
	BackgroundWorker worker;

	if (IsBinaryUpgrade)
		return;
	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = RESTART_SECONDS;
	strlcpy(worker.bgw_library_name, "approval", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "approval_launcher_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "approval launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "approval launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

static void
launcher_gone(int code, Datum arg)
{
	SpinLockAcquire(&worker_shared->mutex);
	worker_shared->launcher_pid = 0;
	worker_shared->launcher_latch = NULL;
	SpinLockRelease(&worker_shared->mutex);
}

/*
 * From now on commits may be left to workers.  Whatever was visible before was
 * announced otherwise, or nobody was there to hear it.
 */
static void
open_for_business(void)
{
	Position	now;

	StartTransactionCommand();
	position_of_snapshot(GetTransactionSnapshot(), &now);
	SpinLockAcquire(&worker_shared->mutex);
	worker_shared->launcher_pid = MyProcPid;
	worker_shared->launcher_latch = MyLatch;
	if (worker_shared->boot_xid == 0)
		worker_shared->boot_xid = now.count > 0 ? now.xip[0] : now.xmax;
	SpinLockRelease(&worker_shared->mutex);
	CommitTransactionCommand();
}

/* The databases that there are. */
static List *
read_databases(MemoryContext context)
{
	List	   *databases = NIL;
	Relation	relation;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database row = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old = MemoryContextSwitchTo(context);
		Known	   *known = palloc(sizeof(Known));

		known->oid = row->oid;
		known->connectable = row->datallowconn && row->datconnlimit >= -1;
		known->is_template = row->datistemplate;
		databases = lappend(databases, known);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	return databases;
}

/* Nobody knows yet which of them have the extension, and anything due. */
static void
list_unknown(void)
{
	List	   *databases = read_databases(list_context);
	ListCell   *cell;
	MemoryContext old = MemoryContextSwitchTo(list_context);

	foreach(cell, databases)
	{
		Known	   *known = lfirst(cell);

		if (known->connectable && !known->is_template)
			unknown = lappend_oid(unknown, known->oid);
	}
	MemoryContextSwitchTo(old);
	list_free_deep(databases);
}

static const Known *
find_known(List *databases, Oid oid)
{
	ListCell   *cell;

	foreach(cell, databases)
		if (((Known *) lfirst(cell))->oid == oid)
		return lfirst(cell);
	return NULL;
}

/* A second, two, four ... five minutes, and a bit of chance. */
static TimestampTz
back_off(int failures)
{
	int64		pause = FIRST_BACK_OFF_MS;

	while (--failures > 0 && pause < LONGEST_BACK_OFF_MS)
		pause *= 2;
	pause = Min(pause, LONGEST_BACK_OFF_MS);
	pause += pg_prng_uint64_range(&pg_global_prng_state, 0, pause / 4);
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), pause);
}

/*
 * Asks the postmaster for a worker.  The failure is written down before the
 * work begins; the worker takes it back once it has worked.
 */
static bool
start_worker(DatabaseSlot *slot)
{
	BackgroundWorker worker;
	MemoryContext old;
	bool		registered;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	worker.bgw_main_arg = Int32GetDatum((int32) (slot - worker_shared->slots));
	strlcpy(worker.bgw_library_name, "approval", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "approval_worker_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "approval worker for database %u", slot->database);
	strlcpy(worker.bgw_type, "approval worker", BGW_MAXLEN);

	SpinLockAcquire(&slot->mutex);
	slot->state = WORKER_STARTING;
	slot->failures++;
	slot->not_before = 0;
	SpinLockRelease(&slot->mutex);
	old = MemoryContextSwitchTo(list_context);
	registered = RegisterDynamicBackgroundWorker(&worker, &starting);
	MemoryContextSwitchTo(old);
	if (registered)
	{
		starting_slot = slot;
		return true;
	}
	SpinLockAcquire(&slot->mutex);
	slot->state = WORKER_NONE;
	slot->failures--;
	slot->not_before = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), NO_SLOT_PAUSE_MS);
	SpinLockRelease(&slot->mutex);
	worker_make_room();
	if (!TimestampDifferenceExceeds(no_slot_logged, GetCurrentTimestamp(), NO_SLOT_LOG_MS))
		return false;
	no_slot_logged = GetCurrentTimestamp();
	ereport(LOG,
			(errmsg("approval: no background worker slot is free"),
			 errhint("Deadlines hold all the same. Raise max_worker_processes so that they are also written down and announced in time.")));
	return false;
}

/* Has it begun, or ended before it could? */
static void
look_after_starting(void)
{
	pid_t		pid;
	BgwHandleStatus status;

	if (starting == NULL)
		return;
	status = GetBackgroundWorkerPid(starting, &pid);
	if (status == BGWH_NOT_YET_STARTED || (status == BGWH_STARTED && starting_slot->state == WORKER_STARTING))
		return;
	if (status == BGWH_STOPPED && starting_slot->state == WORKER_STARTING)
		worker_gone(starting_slot, 0);
	pfree(starting);
	starting = NULL;
	starting_slot = NULL;
}

/*
 * When this database wants a worker; DT_NOEND: not by itself.  *had_one is
 * when the last one began.
 */
static TimestampTz
wanted_at(DatabaseSlot *slot, TimestampTz *had_one)
{
	TimestampTz at = DT_NOEND;
	TimestampTz after_failure = back_off(slot->failures);

	SpinLockAcquire(&slot->mutex);
	*had_one = slot->stats.started_at;
	if (OidIsValid(slot->database) && slot->state == WORKER_NONE && slot->holds == 0)
	{
		at = slot->dirty ? DT_NOBEGIN : slot->next_due;
		if (slot->failures > 0 && slot->not_before == 0)
			slot->not_before = after_failure;
		at = at == DT_NOEND ? at : Max(at, slot->not_before);
	}
	SpinLockRelease(&slot->mutex);
	return at;
}

/* One of those that were there when the server started. */
static bool
start_unknown(List *databases)
{
	while (unknown != NIL)
	{
		Oid			oid = linitial_oid(unknown);
		const Known *known = find_known(databases, oid);
		DatabaseSlot *slot;

		unknown = list_delete_first(unknown);
		slot = known && known->connectable ? worker_slot_of(oid, true) : NULL;
		if (slot && slot->state == WORKER_NONE && slot->holds == 0)
		{
			if (!start_worker(slot))
			{
				MemoryContext old = MemoryContextSwitchTo(list_context);

				unknown = lappend_oid(unknown, oid);
				MemoryContextSwitchTo(old);
				return false;
			}
			return true;
		}
	}
	return false;
}

/* Starts what is due, and says how long nothing else will be; one at a time. */
static long
start_due(MemoryContext context)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = DT_NOEND;
	TimestampTz longest = DT_NOEND;
	DatabaseSlot *first = NULL;
	List	   *databases;
	int			i;

	if (starting)
		return STARTING_SLEEP_MS;
	for (i = 0; i < worker_shared->nslots; i++)
	{
		TimestampTz had_one;
		TimestampTz at = wanted_at(&worker_shared->slots[i], &had_one);

		/* Of those that are due, the one that has waited longest for a turn. */
		if (at <= now ? next > now || had_one < longest : at < next)
		{
			next = at;
			longest = had_one;
			first = &worker_shared->slots[i];
		}
	}
	if (next > now && unknown == NIL)
		return next == DT_NOEND ? LONGEST_SLEEP_MS :
			Min(TimestampDifferenceMilliseconds(now, next) + 1, LONGEST_SLEEP_MS);
	databases = read_databases(context);
	if (next > now)
		return start_unknown(databases) ? STARTING_SLEEP_MS : unknown == NIL ? 0 : NO_SLOT_PAUSE_MS;
	if (find_known(databases, first->database) == NULL)
		(void) worker_slot_free(first, true);
	else if (!find_known(databases, first->database)->connectable)
	{
		SpinLockAcquire(&first->mutex);
		first->not_before = TimestampTzPlusMilliseconds(now, CLOSED_PAUSE_MS);
		SpinLockRelease(&first->mutex);
	}
	else if (start_worker(first))
		return STARTING_SLEEP_MS;
	return 0;
}

void
approval_launcher_main(Datum arg)
{
	MemoryContext context;
	uint32		wait_event;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pgstat_report_appname("approval launcher");
	wait_event = compat_wait_event("ApprovalLauncherMain");
	context = AllocSetContextCreate(TopMemoryContext, "approval launcher", ALLOCSET_DEFAULT_SIZES);

	/* freed with the process */
	list_context = AllocSetContextCreate(TopMemoryContext, "approval launcher list", ALLOCSET_SMALL_SIZES);

	before_shmem_exit(launcher_gone, (Datum) 0);
	open_for_business();
	list_unknown();
	for (;;)
	{
		long		pause;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		MemoryContextReset(context);
		MemoryContextSwitchTo(context);
		look_after_starting();
		pause = start_due(context);
		if (pause > 0)
		{
			pgstat_report_activity(STATE_IDLE, NULL);
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, pause, wait_event);
		}
	}
}
