/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  The worker of one database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_WORKER_H
#define APPROVAL_WORKER_H

#include "fmgr.h"

extern PGDLLEXPORT void approval_worker_main(Datum arg);

#endif							/* APPROVAL_WORKER_H */
