/*-------------------------------------------------------------------------
 *
 * recent.h
 *	  Of which conversation recently announced requests are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RECENT_H
#define APPROVAL_RECENT_H

#include "ulid.h"

extern const char *recent_conversation(const char *tenant, const Ulid *id);
extern void recent_remember(const char *tenant, const Ulid *id, const char *conversation);
extern void recent_forget(void);

#endif							/* APPROVAL_RECENT_H */
