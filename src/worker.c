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
#include "catalog/pg_authid.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "mb/pg_wchar.h"
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

/* How long it waits for a lock on our tables. */
#define LOCK_WAIT "3s"
#define SHORT_LOCK_WAIT "300ms"

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

	/* it starts the next one only when this one has begun */
	worker_wake_launcher();
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
		{"lock_timeout", LOCK_WAIT},	/* so that it can be told to leave */
		{"deadlock_timeout", "100ms"},	/* if it must be somebody, not the
										 * user */
		{"idle_in_transaction_session_timeout", "0"},
		{"transaction_timeout", "0"},	/* 17 */
		{"search_path", "pg_catalog, pg_temp"},
		{"jit", "off"},
		{"exit_on_error", "off"},
		{"role", "none"},
	};
	int			i;

	/* who it is can only be said inside a transaction */
	StartTransactionCommand();
	SetConfigOption("session_authorization", GetUserNameFromId(BOOTSTRAP_SUPERUSERID, false), PGC_SUSET, PGC_S_OVERRIDE);
	for (i = 0; i < (int) lengthof(settings); i++)
		if (GetConfigOption(settings[i][0], true, false))
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	CommitTransactionCommand();
}

static void
limit_lock_waits(const char *limit)
{
	SetConfigOption("lock_timeout", limit, PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * The extension, which stays until the end of the transaction.  Whoever drops
 * it locks it before anything that belongs to it, and so do we: otherwise we
 * could wait for each other.  But anybody may hold that lock for long (ALTER
 * FUNCTION ... DEPENDS ON EXTENSION): then we go on without it, and give up so
 * soon that it is never the other one who finds a deadlock.
 */
static Oid
hold_extension(void)
{
	Oid			oid = get_extension_oid("approval", true);

	if (!OidIsValid(oid))
		return InvalidOid;
	if (compat_try_lock_object(ExtensionRelationId, oid))
	{
		limit_lock_waits(LOCK_WAIT);
		return get_extension_oid("approval", true);
	}
	limit_lock_waits(SHORT_LOCK_WAIT);
	return oid;
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

/*
 * Each of our two duties fails, and is tried again, by itself: what cannot be
 * put away does not keep others from hearing of what was, nor a full queue of
 * notifications deadlines from being written down.
 */
typedef struct Duty
{
	Round		(*work) (void);
	int			failures;		/* in a row */
	TimestampTz not_before;		/* back-off */
} Duty;

static Duty announcing = {.work = announce};

static bool do_safely(Duty *duty);

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

/*
 * Puts away what is due until then, each batch in a transaction; announces in
 * between.
 */
static Round
sweep(TimestampTz until)
{
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
		if (sweep_written(&pass.swept) > 0 && announcing.not_before <= GetCurrentTimestamp() &&
			!do_safely(&announcing))
			return ROUND_NO_EXTENSION;
		CHECK_FOR_INTERRUPTS();
		if (slot->holds > 0)
			break;
	}
	return ROUND_DONE;
}

/* What is due next. */
typedef struct Next
{
	TimestampTz swept_until;
	TimestampTz due;			/* the first after that; DT_NOEND: none */
	bool		left;			/* something before it is still there */
} Next;

/* The first that is not set aside, and that the sweep could not have taken. */
static bool
visit_due(TupleTableSlot *row, void *arg)
{
	Next	   *next = arg;
	bool		isnull;
	TimestampTz due;

	if (set_aside_waits(DatumGetUlidP(slot_getattr(row, REQ_ID + 1, &isnull))))
		return true;
	due = DatumGetTimestampTz(slot_getattr(row, REQ_DUE_AT + 1, &isnull));
	next->left |= (due <= next->swept_until);
	if (due <= next->swept_until)
		return true;
	next->due = due;
	return false;
}

/* When something is due next, rows that are set aside included. */
static TimestampTz
read_next_due(TimestampTz swept_until)
{
	Store		store;
	Relation	requests;
	Next		next = {.swept_until = swept_until,.due = DT_NOEND};

	if (!begin_round("approval: looking for the next deadline"))
		return DT_NOEND;
	PushActiveSnapshot(GetTransactionSnapshot());
	store_open(&store);
	set_aside_read();
	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	table_visit_range(requests, OWN_REQUESTS_DUE, NULL, NULL, NULL, NULL, visit_due, &next);
	table_close(requests, NoLock);
	next.due = Min(next.due, set_aside_next());
	store_close(&store);
	PopActiveSnapshot();
	end_round();
	MemoryContextReset(round_context);

	/* what somebody holds, or what has another thing due already */
	if (next.left)
		next.due = Min(next.due, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), HELD_PAUSE_MS));
	return next.due;
}

/*
 * The next deadline, for as long as nobody commits a nearer one: what backends
 * tell while we look is kept, since the place for it is emptied before.
 */
static void
find_next_due(TimestampTz swept_until)
{
	TimestampTz due;

	SpinLockAcquire(&slot->mutex);
	slot->next_due = DT_NOEND;
	SpinLockRelease(&slot->mutex);
	due = read_next_due(swept_until);
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

static Round
sweep_and_look(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (sweep(now) == ROUND_NO_EXTENSION)
		return ROUND_NO_EXTENSION;
	find_next_due(now);
	return OidIsValid(extension) ? ROUND_DONE : ROUND_NO_EXTENSION;
}

static Duty sweeping = {.work = sweep_and_look};

/* Counts an error, and logs it unless it was the last one too. */
static void
note_error(const Duty *duty)
{
	MemoryContext old = MemoryContextSwitchTo(round_context);
	ErrorData  *error = CopyErrorData();
	TimestampTz now = GetCurrentTimestamp();
	char		message[sizeof(slot->stats.error)];
	int			len = pg_mbcliplen(error->message, strlen(error->message), sizeof(message) - 1);
	bool		again;

	memcpy(message, error->message, len);
	message[len] = '\0';
	SpinLockAcquire(&slot->mutex);
	again = duty->failures > 0 && strcmp(slot->stats.error, message) == 0;
	slot->stats.errors++;
	slot->stats.error_at = now;
	memcpy(slot->stats.error, message, len + 1);
	SpinLockRelease(&slot->mutex);
	if (!again)
		EmitErrorReport();
	FlushErrorState();
	MemoryContextSwitchTo(old);
}

/* After how long it is tried again. */
static TimestampTz
after_errors(int failures)
{
	int64		pause = FIRST_PAUSE_MS;

	while (--failures > 0 && pause < LONGEST_PAUSE_MS)
		pause *= 2;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), Min(pause, LONGEST_PAUSE_MS));
}

/* What it was about is still to be done; nobody has to be woken for that. */
static void
leave_undone(const Duty *duty)
{
	SpinLockAcquire(&slot->mutex);
	if (duty == &announcing)
		slot->dirty = true;
	else
		slot->next_due = DT_NOBEGIN;
	SpinLockRelease(&slot->mutex);
}

/* Does it, whatever comes of it; false where the extension has gone. */
static bool
do_safely(Duty *duty)
{
	volatile Round round = ROUND_DONE;

	PG_TRY();
	{
		round = duty->work();
		duty->failures = 0;
		duty->not_before = DT_NOBEGIN;
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		note_error(duty);
		AbortCurrentTransaction();
		announce_forget();
		duty->not_before = after_errors(++duty->failures);
		leave_undone(duty);
		pgstat_report_activity(STATE_IDLE, NULL);
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(round_context);
	MemoryContextReset(round_context);
	return round == ROUND_DONE;
}

/* What there is to do now; false where the extension has gone. */
static bool
work(void)
{
	int			failures;

	if (announcing.not_before <= GetCurrentTimestamp() && worker_take_dirty(slot) &&
		!do_safely(&announcing))
		return false;
	if (Max(next_due(), sweeping.not_before) <= GetCurrentTimestamp() && !do_safely(&sweeping))
		return false;
	failures = Max(announcing.failures, sweeping.failures);
	SpinLockAcquire(&slot->mutex);
	slot->failures = failures;
	if (failures == 0)
		slot->not_before = DT_NOBEGIN;
	SpinLockRelease(&slot->mutex);
	return true;
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

/* When there will be something to do; DT_NOEND: not by itself. */
static TimestampTz
work_at(void)
{
	TimestampTz at;

	SpinLockAcquire(&slot->mutex);
	at = Max(slot->next_due, sweeping.not_before);
	if (slot->dirty)
		at = Min(at, announcing.not_before);
	SpinLockRelease(&slot->mutex);
	return at;
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
	TimestampTz at = work_at();

	if (end <= now)
	{
		if (worker_may_end(slot, TimestampTzPlusMilliseconds(now, setting_worker_idle * 1000L)))
			return false;
		end = DT_NOEND;
	}
	stay(TimestampDifferenceMilliseconds(now, Min(at, end)) + 1, wait_main, true);
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
		if (work_at() > GetCurrentTimestamp())
		{
			if (!sleep_well(idle_since))
				break;
			continue;
		}
		if (!work())
			break;
		idle_since = GetCurrentTimestamp();
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
