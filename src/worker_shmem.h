/*-------------------------------------------------------------------------
 *
 * worker_shmem.h
 *	  What backends, the launcher and the workers share.
 *
 * Functions are grouped by the process that calls them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_WORKER_SHMEM_H
#define APPROVAL_WORKER_SHMEM_H

#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

/* The states of a database's worker; README.worker draws them. */
typedef enum WorkerState
{
	WORKER_NONE,
	WORKER_STARTING,			/* the launcher has asked for it */
	WORKER_RUNNING
} WorkerState;

/* What a worker tells about itself; lives on when it ends. */
typedef struct WorkerStats
{
	TimestampTz started_at;
	TimestampTz swept_at;
	int64		sweep_time;		/* microseconds */
	int64		expired;
	int64		abandoned;
	int64		reminded;
	int64		escalated;
	int64		set_aside;
	int64		announced;
	TimestampTz announced_at;
	int64		errors;
	TimestampTz error_at;
	char		error[256];
} WorkerStats;

/* One database. */
typedef struct DatabaseSlot
{
	slock_t		mutex;			/* of all that follows */
	Oid			database;		/* invalid: the slot is free */
	WorkerState state;
	int			pid;			/* 0: none */
	Latch	   *latch;
	bool		dirty;			/* something was committed that it has not
								 * looked for */
	TimestampTz next_due;		/* DT_NOEND: nothing */
	int			holds;			/* somebody wants the database for himself */
	bool		leave;			/* another database needs the worker's place */
	int			failures;		/* starts since one went well */
	TimestampTz not_before;		/* back-off */
	WorkerStats stats;
} DatabaseSlot;

/* Sessions wait for changes by a hash of what they wait for. */
#define WAIT_BUCKETS 1024

typedef struct WorkerShared
{
	slock_t		mutex;
	int			launcher_pid;
	Latch	   *launcher_latch;
	uint64		boot_xid;		/* commits below it were not left to a worker;
								 * 0: no launcher has started yet */
	int			nslots;
	ConditionVariable changed[WAIT_BUCKETS];
	DatabaseSlot slots[FLEXIBLE_ARRAY_MEMBER];
} WorkerShared;

/* NULL: the library was not preloaded. */
extern WorkerShared *worker_shared;

/* The login of each backend that waits, by its number. */
extern Oid *worker_waits;

/* postmaster */
extern void worker_shmem_init(void);

/* backends */
extern DatabaseSlot *worker_slot_of(Oid database, bool make);
extern bool worker_available(void);
extern bool worker_ask(DatabaseSlot *slot, bool dirty, TimestampTz due);
extern void worker_wake_launcher(void);
extern DatabaseSlot *worker_hold(Oid database);
extern void worker_let_go(Oid database);

/* launcher */
extern bool worker_slot_free(DatabaseSlot *slot, bool even_if_asked);
extern void worker_make_room(void);

/* worker */
extern bool worker_may_end(DatabaseSlot *slot, TimestampTz due);
extern bool worker_gives_way(DatabaseSlot *slot);
extern void worker_gone(DatabaseSlot *slot, int pid);
extern bool worker_take_dirty(DatabaseSlot *slot);

#endif							/* APPROVAL_WORKER_SHMEM_H */
