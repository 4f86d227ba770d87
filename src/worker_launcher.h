/*-------------------------------------------------------------------------
 *
 * worker_launcher.h
 *	  Starts the workers of databases, one at a time and only where needed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_WORKER_LAUNCHER_H
#define APPROVAL_WORKER_LAUNCHER_H

#include "fmgr.h"

extern void worker_launcher_init(void);
extern PGDLLEXPORT void approval_launcher_main(Datum arg);

#endif							/* APPROVAL_WORKER_LAUNCHER_H */
