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
extern void guard_open_run(const char *tenant, const char *run_id);
extern void guard_close_run(void);
extern void guard_entries(bool open);

#endif							/* APPROVAL_GUARD_H */
