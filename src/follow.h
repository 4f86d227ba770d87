/*-------------------------------------------------------------------------
 *
 * follow.h
 *	  Which events have become visible since a position.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_FOLLOW_H
#define APPROVAL_FOLLOW_H

#include "utils/timestamp.h"

#include "position.h"
#include "ulid.h"

/* Whose events are wanted. */
typedef struct Wanted
{
	bool		all_tenants;	/* whatever tenant: for the worker only */
	bool		brief;			/* only what a notification needs */
	int			ntenants;
	char	  **tenants;
	const char *login;			/* proposed by it; NULL: by anybody */
	const char *conversation_id;	/* NULL: of any */
	const char *run_id;			/* NULL: of any */
} Wanted;

/* An event, and what of its request tells whom it is for. */
typedef struct Followed
{
	uint64		xid;
	int64		seq;
	int			n;
	TimestampTz at;
	Ulid		id;
	const char *tenant;
	const char *kind;
	const char *actor;
	const char *status_before;
	const char *status_after;
	const char *outcome_before;
	const char *outcome_after;
	const char *note;
	bool		note_omitted;
	const char *conversation_id;
	const char *tool_call_id;
	const char *run_id;
	const char *server;
	const char *tool;
	bool		deferred;
} Followed;

typedef struct Follow
{
	Position	position;		/* from where; then, to where */
	bool		more;
	int			count;
	Followed   *events;
} Follow;

extern void follow_next(Follow *follow, const Wanted *wanted, int most);
extern int64 follow_first_origin(void);
extern int64 follow_epoch(void);

#endif							/* APPROVAL_FOLLOW_H */
