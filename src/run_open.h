/*-------------------------------------------------------------------------
 *
 * run_open.h
 *	  Calls of a run that are open, and what follows from them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RUN_OPEN_H
#define APPROVAL_RUN_OPEN_H

#include "lib/stringinfo.h"

#include "run.h"

/* Calls that wait, or are approved and not used. */
typedef struct OpenCalls
{
	TimestampTz now;
	const char *run_id;			/* of which they are; NULL: of any, or none */
	const char *owner;			/* whose run that is */
	const char *conversation_id;	/* of which it is */
	const char *login;			/* whose may be told; NULL: anybody's */
	bool		only_look;		/* the first that waits is enough */
	int			pending;
	int			executing;		/* used, and not known to have ended */
	StringInfoData told;		/* those that wait, as JSON */
	int			count;			/* pending or approved */
	int			room;
	Ulid	   *ids;
} OpenCalls;

extern RunStatus run_effective(const Run *run, TimestampTz now);
extern void run_begin_open(OpenCalls *open);
extern void run_add_open(const Run *run, OpenCalls *open);
extern void run_waiting(const Run *run, OpenCalls *open);
extern void run_conversation_waits(const char *tenant, const char *conversation_id, OpenCalls *open);

#endif							/* APPROVAL_RUN_OPEN_H */
