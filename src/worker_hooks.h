/*-------------------------------------------------------------------------
 *
 * worker_hooks.h
 *	  What backends tell the worker when they commit, and when it must leave.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_WORKER_HOOKS_H
#define APPROVAL_WORKER_HOOKS_H

#include "utils/timestamp.h"

extern void worker_hooks_init(void);

/* For when this transaction commits. */
extern void worker_event(void);
extern void worker_due(TimestampTz due);
extern void worker_look(void);

#endif							/* APPROVAL_WORKER_HOOKS_H */
