/*-------------------------------------------------------------------------
 *
 * run_state.h
 *	  The states of a run and the one table of legal moves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RUN_STATE_H
#define APPROVAL_RUN_STATE_H

typedef enum RunStatus
{
	RUN_NONE,					/* before it is born */
	RUN_PENDING,				/* nobody has claimed it yet */
	RUN_RUNNING,
	RUN_AWAITING,				/* running, and a call of it waits for a
								 * person; never stored */
	RUN_COMPLETED,
	RUN_FAILED,
	RUN_LIMIT,					/* its iterations are used up */
	RUN_CANCELLED
} RunStatus;

extern const char *run_status_word(RunStatus status);
extern RunStatus run_status(const char *word, int len);
extern bool run_status_live(RunStatus status);
extern bool run_status_legal(RunStatus from, RunStatus to);

#endif							/* APPROVAL_RUN_STATE_H */
