/*-------------------------------------------------------------------------
 *
 * worker_shmem.c
 *	  What backends, the launcher and the workers share.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "settings.h"
#include "worker_shmem.h"

/* What a worker may do at least, before it has to give its place away. */
#define TURN_MS 1000

#define TRANCHE "approval"

WorkerShared *worker_shared = NULL;
Oid		   *worker_waits = NULL;

static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

/* Where this backend found its database last. */
static DatabaseSlot *own_slot = NULL;

static Size
shared_size(void)
{
	return add_size(offsetof(WorkerShared, slots), mul_size(setting_max_databases, sizeof(DatabaseSlot)));
}

static Size
waits_size(void)
{
	return mul_size(MaxBackends, sizeof(Oid));
}

static void
request_memory(void)
{
	if (previous_request)
		previous_request();
	RequestAddinShmemSpace(shared_size());
	RequestAddinShmemSpace(waits_size());
	RequestNamedLWLockTranche(TRANCHE, 1);
}

/* Guards which database has which slot. */
static LWLock *
slots_lock(void)
{
	return &GetNamedLWLockTranche(TRANCHE)->lock;
}

static void
make_empty(WorkerShared *shared)
{
	int			i;

	memset(shared, 0, shared_size());
	SpinLockInit(&shared->mutex);
	shared->nslots = setting_max_databases;
	for (i = 0; i < WAIT_BUCKETS; i++)
		ConditionVariableInit(&shared->changed[i]);
	for (i = 0; i < shared->nslots; i++)
		SpinLockInit(&shared->slots[i].mutex);
}

static void
shmem_startup(void)
{
	bool		found;

	if (previous_startup)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	worker_shared = ShmemInitStruct("approval worker", shared_size(), &found);
	if (!found)
		make_empty(worker_shared);
	worker_waits = ShmemInitStruct("approval waits", waits_size(), &found);
	if (!found)
		memset(worker_waits, 0, waits_size());
	LWLockRelease(AddinShmemInitLock);
}

void
worker_shmem_init(void)
{
	previous_request = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
}

static DatabaseSlot *
find_slot(Oid database)
{
	int			i;

	for (i = 0; i < worker_shared->nslots; i++)
		if (worker_shared->slots[i].database == database)
			return &worker_shared->slots[i];
	return NULL;
}

static void
take_slot(DatabaseSlot *slot, Oid database)
{
	SpinLockAcquire(&slot->mutex);
	slot->database = database;
	slot->state = WORKER_NONE;
	slot->pid = 0;
	slot->latch = NULL;
	slot->dirty = false;
	slot->next_due = DT_NOEND;
	slot->holds = 0;
	slot->failures = 0;
	slot->not_before = DT_NOBEGIN;
	memset(&slot->stats, 0, sizeof(slot->stats));
	SpinLockRelease(&slot->mutex);
}

/* The slot of a database, or NULL: there is none, and no room or wish for one. */
DatabaseSlot *
worker_slot_of(Oid database, bool make)
{
	DatabaseSlot *slot;

	if (worker_shared == NULL)
		return NULL;
	if (own_slot && own_slot->database == database)
		return own_slot;
	LWLockAcquire(slots_lock(), make ? LW_EXCLUSIVE : LW_SHARED);
	slot = find_slot(database);
	if (slot == NULL && make)
	{
		slot = find_slot(InvalidOid);
		if (slot)
			take_slot(slot, database);
	}
	LWLockRelease(slots_lock());
	if (database == MyDatabaseId)
		own_slot = slot;
	return slot;
}

/* Whether commits of this database can be left to a worker. */
bool
worker_available(void)
{
	return worker_shared && worker_shared->boot_xid != 0 && worker_slot_of(MyDatabaseId, true) != NULL;
}

void
worker_wake_launcher(void)
{
	Latch	   *latch;

	SpinLockAcquire(&worker_shared->mutex);
	latch = worker_shared->launcher_latch;
	SpinLockRelease(&worker_shared->mutex);
	if (latch)
		SetLatch(latch);
}

/*
 * After a commit: there is something to announce, or to do at a time.  Who has
 * been told already is not told again.  False: the slot has become another database's.
 */
bool
worker_ask(DatabaseSlot *slot, bool dirty, TimestampTz due)
{
	Latch	   *latch = NULL;
	bool		news;

	SpinLockAcquire(&slot->mutex);
	if (slot->database != MyDatabaseId)
	{
		SpinLockRelease(&slot->mutex);
		return false;
	}
	news = (dirty && !slot->dirty) || due < slot->next_due;
	slot->dirty |= dirty;
	slot->next_due = Min(slot->next_due, due);
	if (news)
		latch = slot->latch;
	SpinLockRelease(&slot->mutex);
	if (latch)
		SetLatch(latch);
	else if (news)
		worker_wake_launcher();
	return true;
}

/*
 * Wants no worker in a database until worker_let_go; the one that is there is
 * told to leave.  NULL: the database has no slot, and there is nobody to let
 * go.
 */
DatabaseSlot *
worker_hold(Oid database)
{
	DatabaseSlot *slot = worker_slot_of(database, false);
	Latch	   *latch;

	if (slot == NULL)
		return NULL;
	SpinLockAcquire(&slot->mutex);
	slot->holds++;
	latch = slot->latch;
	SpinLockRelease(&slot->mutex);
	if (latch)
		SetLatch(latch);
	return slot;
}

void
worker_let_go(Oid database)
{
	DatabaseSlot *slot = worker_slot_of(database, false);

	if (slot == NULL)
		return;
	SpinLockAcquire(&slot->mutex);
	if (slot->holds > 0)
		slot->holds--;

	/* so that somebody looks whether the database still exists */
	slot->dirty = true;
	SpinLockRelease(&slot->mutex);
	worker_wake_launcher();
}

/*
 * Of a database that does not have the extension, or (even_if_asked) is no
 * more; false: it is in use.
 */
bool
worker_slot_free(DatabaseSlot *slot, bool even_if_asked)
{
	bool		unused;

	LWLockAcquire(slots_lock(), LW_EXCLUSIVE);
	SpinLockAcquire(&slot->mutex);
	unused = slot->state == WORKER_NONE && slot->holds == 0 && (even_if_asked || !slot->dirty);
	if (unused)
		slot->database = InvalidOid;
	SpinLockRelease(&slot->mutex);
	LWLockRelease(slots_lock());
	return unused;
}

/*
 * How well a worker can be spared: the longer it has nothing to do, and else
 * the longer it has been there.  -1: not at all, it has just begun.
 */
static int64
spare_rank(DatabaseSlot *slot, TimestampTz now)
{
	int64		rank = -1;

	SpinLockAcquire(&slot->mutex);
	if (slot->state == WORKER_RUNNING && slot->latch)
	{
		if (!slot->dirty && slot->next_due > now)
			rank = slot->next_due;
		else if (now - slot->stats.started_at > TURN_MS * 1000)
			rank = now - slot->stats.started_at;
	}
	SpinLockRelease(&slot->mutex);
	return rank;
}

/*
 * There are more databases with something to do than places for workers: one
 * of those that have a place gives it away after its round.
 */
void
worker_make_room(void)
{
	TimestampTz now = GetCurrentTimestamp();
	DatabaseSlot *spared = NULL;
	Latch	   *latch;
	int64		best = -1;
	int			i;

	for (i = 0; i < worker_shared->nslots; i++)
	{
		int64		rank = spare_rank(&worker_shared->slots[i], now);

		if (rank > best)
		{
			best = rank;
			spared = &worker_shared->slots[i];
		}
	}
	if (spared == NULL)
		return;
	SpinLockAcquire(&spared->mutex);
	latch = spared->latch;
	spared->leave = latch != NULL;
	SpinLockRelease(&spared->mutex);
	if (latch)
		SetLatch(latch);
}

/* With the slot's mutex held. */
static void
worker_ended(DatabaseSlot *slot)
{
	slot->state = WORKER_NONE;
	slot->pid = 0;
	slot->latch = NULL;
	slot->leave = false;
}

/* The worker ends, unless it has been asked for something meanwhile. */
bool
worker_may_end(DatabaseSlot *slot, TimestampTz due)
{
	bool		may;

	SpinLockAcquire(&slot->mutex);
	may = !slot->dirty && slot->next_due >= due;
	if (may)
		worker_ended(slot);
	SpinLockRelease(&slot->mutex);
	return may;
}

/* The worker ends if another one needs its place; what it was asked for stays. */
bool
worker_gives_way(DatabaseSlot *slot)
{
	bool		leave;

	SpinLockAcquire(&slot->mutex);
	leave = slot->leave;
	if (leave)
		worker_ended(slot);
	SpinLockRelease(&slot->mutex);
	return leave;
}

/*
 * Otherwise: what it was about is to be done by another one.  pid: 0 for one
 * that never began.  By the time that a process ends the slot may be another's.
 */
void
worker_gone(DatabaseSlot *slot, int pid)
{
	SpinLockAcquire(&slot->mutex);
	if (slot->pid != pid)
	{
		SpinLockRelease(&slot->mutex);
		worker_wake_launcher();
		return;
	}
	if (slot->state != WORKER_NONE)
	{
		slot->dirty = true;
		slot->next_due = DT_NOBEGIN;
	}
	worker_ended(slot);
	SpinLockRelease(&slot->mutex);
	worker_wake_launcher();
}

bool
worker_take_dirty(DatabaseSlot *slot)
{
	bool		dirty;

	SpinLockAcquire(&slot->mutex);
	dirty = slot->dirty;
	slot->dirty = false;
	SpinLockRelease(&slot->mutex);
	return dirty;
}
