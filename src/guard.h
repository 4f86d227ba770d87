/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  The guard triggers, and the only way past them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_GUARD_H
#define APPROVAL_GUARD_H

#include "digest.h"
#include "ulid.h"

extern void guard_open(const Ulid *id, const Digest *row_digest);
extern void guard_close(void);
extern void guard_entries(bool open);

#endif							/* APPROVAL_GUARD_H */
