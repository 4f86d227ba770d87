/*-------------------------------------------------------------------------
 *
 * wait.h
 *	  Waiting for a decision without polling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_WAIT_H
#define APPROVAL_WAIT_H

#include "ulid.h"

/* For when this transaction commits. */
extern void wait_touch(const char *tenant, const Ulid *id, const char *conversation_id);
extern void wait_touch_all(void);

/* When it does, and when it ends otherwise. */
extern void wait_tell(void);
extern void wait_forget(void);

#endif							/* APPROVAL_WAIT_H */
