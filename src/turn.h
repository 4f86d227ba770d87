/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  Taking turns at something that is counted, until the transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TURN_H
#define APPROVAL_TURN_H

#include "digest.h"

extern void turn_pause(void);
extern bool turn_take(const Digest *what);

#endif							/* APPROVAL_TURN_H */
