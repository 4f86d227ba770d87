/*-------------------------------------------------------------------------
 *
 * run_call.h
 *	  What every verb of a run goes through: who calls, which run, may it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RUN_CALL_H
#define APPROVAL_RUN_CALL_H

#include "run_open.h"
#include "turn.h"
#include "verb.h"

/* Runs nest: an agent, its helpers, theirs. */
#define RUN_MOST_DEPTH 8

typedef struct RunCall
{
	Call		call;
	const char *run_id;
	Run		   *run;			/* once it was found */
	const char *token;			/* to be handed out, or NULL */
	bool		soon;			/* waits for others for approval.turn_wait at
								 * most */
	TurnWait	wait;
} RunCall;

extern void run_begin(RunCall *run_call, FunctionCallInfo fcinfo, const char *verb, int tenant_argument);
extern Datum run_answer(RunCall *run_call);
extern Datum run_datum(const Run *run, const char *token, TimestampTz now, Oid type);
pg_noreturn extern void run_refuse(RunCall *run_call, Reason reason);
extern void run_tell(const Run *run, TimestampTz now, Refusal *refusal);
extern Reason run_held(const Run *run, const char *token, TimestampTz now);
extern void run_see_own(RunCall *run_call);
extern void run_lock_own(RunCall *run_call);
extern void run_lock_own_soon(RunCall *run_call);
extern Run *run_lock_soon(RunCall *run_call);
extern void run_wait(RunCall *run_call, const char *problem);
extern void run_lock_held(RunCall *run_call, int token_argument);
extern void run_new_token(RunCall *run_call);

pg_noreturn extern void run_refuse_paused(RunCall *run_call, const OpenCalls *open);

/* For propose: whether the caller may propose in this run; else a refusal. */
extern bool run_admits(Call *call, const char *run_id, const char *conversation_id, const char *token);

#endif							/* APPROVAL_RUN_CALL_H */
