/*-------------------------------------------------------------------------
 *
 * sweep.h
 *	  What time does to requests: expiry, lost executions, reminders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SWEEP_H
#define APPROVAL_SWEEP_H

#include "verb.h"

/* Rows of one batch: one (sub)transaction. */
#define SWEEP_BATCH 1000

/* What became of the rows that were due. */
typedef struct Swept
{
	int64		expired;
	int64		abandoned;
	int64		reminded;
	int64		escalated;
	int64		set_aside;
} Swept;

/* One pass over what is due at a moment, a batch at a time. */
typedef struct Sweep
{
	Call	   *call;
	bool		all_tenants;	/* not only those of the caller */
	TimestampTz until;			/* what is due then */
	TimestampTz from;			/* the pass has come so far */
	Swept		swept;
} Sweep;

extern void sweep_begin(Sweep *sweep, Call *call, TimestampTz until);
extern bool sweep_batch(Sweep *sweep, int64 limit);
extern int64 sweep_written(const Swept *swept);

#endif							/* APPROVAL_SWEEP_H */
