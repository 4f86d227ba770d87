/*-------------------------------------------------------------------------
 *
 * change.h
 *	  A change of policy: who makes it, of what, from what, to what.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_CHANGE_H
#define APPROVAL_CHANGE_H

#include "document.h"
#include "verb.h"

/* The chains of events, and what is locked to add to one. */
#define CHAIN_POLICY "policy"
#define CHAIN_FREEZE "freeze"

typedef struct Change
{
	Call		call;
	const char *chain;
	const char *server;			/* NULL where the change is of no tool */
	const char *tool;
	const char *subject;		/* what else it is of, or NULL */
	int			policy_version; /* 0: none was made */
	const char *before;			/* JSON, or NULL */
	const char *after;
	const char *note;
} Change;

extern void change_open(Change *change, FunctionCallInfo fcinfo, const char *verb,
						const char *chain, int tenant_argument, int actor_argument);
extern void change_lock(const Change *change);
extern void change_begin(Change *change, FunctionCallInfo fcinfo, const char *verb,
						 const char *chain, int tenant_argument, int actor_argument);
extern void change_begin_database(Change *change, FunctionCallInfo fcinfo, const char *verb);
extern void change_tool(Change *change, int tool_argument, int server_argument);
extern void change_new_version(Change *change);
pg_noreturn extern void change_bad_policy(Change *change, const char *place, const char *problem);
pg_noreturn extern void change_refuse(Change *change, Reason reason);
extern int	change_event(Change *change);
extern Datum change_end(Change *change);

#endif							/* APPROVAL_CHANGE_H */
