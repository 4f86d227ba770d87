/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  The worker of one database: announces, expires, reminds, and sleeps.
 *
 * src/README.worker draws its states and lists what it has to survive.  Between
 * deadlines it executes nothing and holds no snapshot.  An error ends the
 * round, not the process: it is counted, logged once, and tried again after a
 * pause that grows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "announce.h"
#include "compat.h"
#include "set_aside.h"
#include "settings.h"
#include "sweep.h"
#include "worker.h"
#include "worker_shmem.h"

#define WORKER_ACTOR "worker"
#define FIRST_PAUSE_MS 1000
#define LONGEST_PAUSE_MS 60000

/* Due rows that somebody holds are looked at again after so long. */
#define HELD_PAUSE_MS 1000

static DatabaseSlot *slot = NULL;
static Oid	extension = InvalidOid;
static MemoryContext round_context = NULL;
static uint32 wait_main;
static uint32 wait_pause;

/* Everything found after the transaction has ended. */
typedef enum Round
{
	ROUND_DONE,
	ROUND_NO_EXTENSION
} Round;

static void
slot_gone(int code, Datum arg)
{
	worker_gone(slot, MyProcPid);
}

/* The launcher has left the number of the slot. */
static void
attach(int number)
{
	bool		unwanted;

	slot = &worker_shared->slots[number];
	SpinLockAcquire(&slot->mutex);
	slot->state = WORKER_RUNNING;
	slot->pid = MyProcPid;
	slot->latch = MyLatch;
	unwanted = slot->holds > 0 || !OidIsValid(slot->database);
	SpinLockRelease(&slot->mutex);
	before_shmem_exit(slot_gone, (Datum) 0);
	if (unwanted)
		proc_exit(0);
}

/* What a database or its owner may have set must not change what we do. */
static void
pin_settings(void)
{
	static const char *const settings[][2] = {
		{"synchronous_commit", "off"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"session_replication_role", "origin"},
		{"statement_timeout", "0"},
		{"lock_timeout", "3s"}, /* so that it can be told to leave */
		{"deadlock_timeout", "100ms"},	/* if it must be somebody, not the
										 * user */
		{"idle_in_transaction_session_timeout", "0"},
		{"transaction_timeout", "0"},	/* 17 */
		{"search_path", "pg_catalog, pg_temp"},
		{"jit", "off"},
	};
	int			i;

	for (i = 0; i < (int) lengthof(settings); i++)
		if (GetConfigOption(settings[i][0], true, false))
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * The extension, which stays until the end of the transaction.  Whoever drops
 * it locks it before anything that belongs to it, and so do we: otherwise we
 * could wait for each other.
 */
static Oid
hold_extension(void)
{
	Oid			oid = get_extension_oid("approval", true);

	if (!OidIsValid(oid))
		return InvalidOid;
	LockDatabaseObject(ExtensionRelationId, oid, 0, AccessShareLock);
	return get_extension_oid("approval", true);
}

/* Begins a transaction; false where the extension has gone. */
static bool
begin_round(const char *activity)
{
	Oid			now;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	pgstat_report_activity(STATE_RUNNING, activity);
	now = hold_extension();
	if (now != extension)
		announce_forget();
	extension = now;
	if (OidIsValid(now))
		return true;
	CommitTransactionCommand();
	return false;
}

static void
end_round(void)
{
	CommitTransactionCommand();
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* Announces what has become visible. */
static Round
announce(void)
{
	bool		more = true;

	while (more)
	{
		Store		store;
		int64		announced;
		TimestampTz now;

		if (!begin_round("approval: announcing"))
			return ROUND_NO_EXTENSION;
		store_open(&store);
		more = announce_batch(&announced);
		store_close(&store);
		end_round();
		MemoryContextReset(round_context);
		if (announced == 0)
			continue;
		now = GetCurrentTimestamp();
		SpinLockAcquire(&slot->mutex);
		slot->stats.announced += announced;
		slot->stats.announced_at = now;
		SpinLockRelease(&slot->mutex);
	}
	return ROUND_DONE;
}

static void
add_swept(const Swept *swept, TimestampTz began)
{
	WorkerStats *stats = &slot->stats;
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&slot->mutex);
	stats->expired += swept->expired;
	stats->abandoned += swept->abandoned;
	stats->reminded += swept->reminded;
	stats->escalated += swept->escalated;
	stats->set_aside += swept->set_aside;
	stats->swept_at = now;
	stats->sweep_time = now - began;
	SpinLockRelease(&slot->mutex);
}

/* Puts away what is due, each batch in a transaction; announces in between. */
static Round
sweep(void)
{
	TimestampTz until = GetCurrentTimestamp();
	TimestampTz from = DT_NOBEGIN;
	bool		more = true;

	while (more)
	{
		TimestampTz began = GetCurrentTimestamp();
		Call		call;
		Sweep		pass;

		if (!begin_round("approval: putting away what is due"))
			return ROUND_NO_EXTENSION;
		PushActiveSnapshot(GetTransactionSnapshot());
		verb_begin(&call, NULL, "worker");
		call.actor = WORKER_ACTOR;
		sweep_begin(&pass, &call, until);
		pass.all_tenants = true;
		pass.from = from;
		more = sweep_batch(&pass, SWEEP_BATCH);
		from = pass.from;
		verb_end(&call);
		PopActiveSnapshot();
		end_round();
		MemoryContextReset(round_context);
		add_swept(&pass.swept, began);
		if (sweep_written(&pass.swept) > 0 && announce() == ROUND_NO_EXTENSION)
			return ROUND_NO_EXTENSION;
		CHECK_FOR_INTERRUPTS();
		if (slot->holds > 0)
			break;
	}
	return ROUND_DONE;
}

/* The first that is not set aside. */
static bool
visit_due(TupleTableSlot *row, void *arg)
{
	bool		isnull;

	if (set_aside_waits(DatumGetUlidP(slot_getattr(row, REQ_ID + 1, &isnull))))
		return true;
	*(TimestampTz *) arg = DatumGetTimestampTz(slot_getattr(row, REQ_DUE_AT + 1, &isnull));
	return false;
}

/* When something is due next, rows that are set aside included. */
static TimestampTz
read_next_due(void)
{
	Store		store;
	Relation	requests;
	TimestampTz due = DT_NOEND;

	if (!begin_round("approval: looking for the next deadline"))
		return DT_NOEND;
	PushActiveSnapshot(GetTransactionSnapshot());
	store_open(&store);
	set_aside_read();
	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	table_visit_range(requests, OWN_REQUESTS_DUE, NULL, NULL, NULL, NULL, visit_due, &due);
	table_close(requests, NoLock);
	due = Min(due, set_aside_next());
	store_close(&store);
	PopActiveSnapshot();
	end_round();
	MemoryContextReset(round_context);
	return due;
}

/*
 * The next deadline, for as long as nobody commits a nearer one: what backends
 * tell while we look is kept, since the place for it is emptied before.
 */
static void
find_next_due(void)
{
	TimestampTz due;

	SpinLockAcquire(&slot->mutex);
	slot->next_due = DT_NOEND;
	SpinLockRelease(&slot->mutex);
	due = read_next_due();
	if (due <= GetCurrentTimestamp())
		due = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), HELD_PAUSE_MS);
	SpinLockAcquire(&slot->mutex);
	slot->next_due = Min(slot->next_due, due);
	SpinLockRelease(&slot->mutex);
}

static TimestampTz
next_due(void)
{
	TimestampTz due;

	SpinLockAcquire(&slot->mutex);
	due = slot->next_due;
	SpinLockRelease(&slot->mutex);
	return due;
}

/* What there is to do now; false where the extension has gone. */
static bool
work(void)
{
	if (worker_take_dirty(slot) && announce() == ROUND_NO_EXTENSION)
		return false;
	if (next_due() <= GetCurrentTimestamp())
	{
		if (sweep() == ROUND_NO_EXTENSION)
			return false;
		find_next_due();
		if (!OidIsValid(extension))
			return false;
	}
	SpinLockAcquire(&slot->mutex);
	slot->failures = 0;
	slot->not_before = DT_NOBEGIN;
	SpinLockRelease(&slot->mutex);
	return true;
}

/* Counts an error, and logs it unless it was the last one too. */
static void
note_error(void)
{
	MemoryContext old = MemoryContextSwitchTo(round_context);
	ErrorData  *error = CopyErrorData();
	TimestampTz now = GetCurrentTimestamp();
	bool		again;

	SpinLockAcquire(&slot->mutex);
	again = slot->failures > 0 && strncmp(slot->stats.error, error->message, sizeof(slot->stats.error) - 1) == 0;
	slot->stats.errors++;
	slot->stats.error_at = now;
	strlcpy(slot->stats.error, error->message, sizeof(slot->stats.error));
	slot->failures++;
	SpinLockRelease(&slot->mutex);
	if (!again)
		EmitErrorReport();
	FlushErrorState();
	MemoryContextSwitchTo(old);
}

/* A round, whatever comes of it; false where the extension has gone. */
static bool
work_safely(void)
{
	volatile bool goes_on = true;

	PG_TRY();
	{
		goes_on = work();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		note_error();
		AbortCurrentTransaction();
		announce_forget();
		(void) worker_ask(slot, true, DT_NOBEGIN);
		pgstat_report_activity(STATE_IDLE, NULL);
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(round_context);
	MemoryContextReset(round_context);
	return goes_on;
}

/* After how long it is tried again. */
static long
pause_after_errors(int failures)
{
	long		pause = FIRST_PAUSE_MS;

	while (--failures > 0 && pause < LONGEST_PAUSE_MS)
		pause *= 2;
	return Min(pause, LONGEST_PAUSE_MS);
}

static void
stay(long pause, uint32 wait_event, bool until_latch)
{
	int			events = WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | (until_latch ? WL_LATCH_SET : 0);

	if (pause > 0)
		(void) WaitLatch(MyLatch, events, pause, wait_event);
}

static void
obey(void)
{
	CHECK_FOR_INTERRUPTS();
	if (slot->holds > 0)
		proc_exit(0);
	if (!ConfigReloadPending)
		return;
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	pin_settings();
}

static bool
asked_for(void)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		asked;

	SpinLockAcquire(&slot->mutex);
	asked = slot->dirty || slot->next_due <= now;
	SpinLockRelease(&slot->mutex);
	return asked;
}

/*
 * Sleeps until somebody asks for something, something is due, or it has been
 * idle for long enough: false then.
 */
static bool
sleep_well(TimestampTz idle_since)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz end = TimestampTzPlusMilliseconds(idle_since, setting_worker_idle * 1000L);
	TimestampTz due = next_due();

	if (end <= now)
	{
		if (worker_may_end(slot, TimestampTzPlusMilliseconds(now, setting_worker_idle * 1000L)))
			return false;
		end = DT_NOEND;
	}
	stay(TimestampDifferenceMilliseconds(now, Min(due, end)) + 1, wait_main, true);
	return true;
}

static void
connect_database(void)
{
	TimestampTz now;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(slot->database, InvalidOid, 0);
	pgstat_report_appname("approval worker");
	pin_settings();
	wait_main = compat_wait_event("ApprovalWorkerMain");
	wait_pause = compat_wait_event("ApprovalWorkerPause");
	round_context = AllocSetContextCreate(TopMemoryContext, "approval worker", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(round_context);
	now = GetCurrentTimestamp();
	SpinLockAcquire(&slot->mutex);
	slot->stats.started_at = now;
	slot->dirty = true;
	slot->next_due = DT_NOBEGIN;
	SpinLockRelease(&slot->mutex);
}

void
approval_worker_main(Datum arg)
{
	TimestampTz idle_since;

	attach(DatumGetInt32(arg));
	connect_database();
	idle_since = GetCurrentTimestamp();
	for (;;)
	{
		ResetLatch(MyLatch);
		obey();
		if (worker_gives_way(slot))
			proc_exit(0);
		if (!asked_for())
		{
			if (!sleep_well(idle_since))
				break;
			continue;
		}
		if (!work_safely())
			break;
		idle_since = GetCurrentTimestamp();
		if (slot->failures > 0)
			stay(pause_after_errors(slot->failures), wait_pause, true);
		else
			stay(setting_notify_pause, wait_pause, false);
	}
	if (!OidIsValid(extension))
	{
		(void) worker_may_end(slot, DT_NOBEGIN);
		(void) worker_slot_free(slot, false);
	}
	worker_wake_launcher();
	proc_exit(0);
}
