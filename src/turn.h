/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  Taking turns at something that is counted, until the transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TURN_H
#define APPROVAL_TURN_H

#include "portability/instr_time.h"

#include "digest.h"

/* For how long a verb has waited; zero: not yet. */
typedef struct TurnWait
{
	instr_time	since;
} TurnWait;

extern bool turn_pause(TurnWait *wait);
extern bool turn_take(const Digest *what);

#endif							/* APPROVAL_TURN_H */
