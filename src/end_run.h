/*-------------------------------------------------------------------------
 *
 * end_run.h
 *	  How runs end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_END_RUN_H
#define APPROVAL_END_RUN_H

#include "run_call.h"

extern void end_run(RunCall *run_call, RunStatus status, const char *reason);

#endif							/* APPROVAL_END_RUN_H */
