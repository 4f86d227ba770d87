/*-------------------------------------------------------------------------
 *
 * announce.h
 *	  The worker rings for what others have committed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ANNOUNCE_H
#define APPROVAL_ANNOUNCE_H

#include "c.h"

extern void announce_forget(void);
extern bool announce_batch(int64 *announced);

#endif							/* APPROVAL_ANNOUNCE_H */
