/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  The guard triggers, and the only way past them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_GUARD_H
#define APPROVAL_GUARD_H

#include "store.h"

extern uint64 guard_run(Statement *statement, Datum *values, const char *nulls, int expected);

#endif							/* APPROVAL_GUARD_H */
