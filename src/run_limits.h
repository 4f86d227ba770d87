/*-------------------------------------------------------------------------
 *
 * run_limits.h
 *	  How many iterations policy gives a run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RUN_LIMITS_H
#define APPROVAL_RUN_LIMITS_H

#include "verb.h"

/* Where nothing is limited. */
#define RUN_NO_LIMIT PG_INT32_MAX

typedef struct RunLimits
{
	int			max_iterations; /* of a run */
	int			per_day;		/* of all runs of a conversation */
} RunLimits;

extern void run_limits_get(const char *tenant, RunLimits *limits);
extern int64 run_limits_spent(const char *tenant, const char *conversation_id, TimestampTz now);

#endif							/* APPROVAL_RUN_LIMITS_H */
