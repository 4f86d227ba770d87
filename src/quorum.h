/*-------------------------------------------------------------------------
 *
 * quorum.h
 *	  How many have approved, and who may.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_QUORUM_H
#define APPROVAL_QUORUM_H

#include "verb.h"

extern bool quorum_member(const Call *call);
extern int	quorum_others(const Call *call);
extern bool quorum_counts(const Call *call);

#endif							/* APPROVAL_QUORUM_H */
