/*-------------------------------------------------------------------------
 *
 * recent.h
 *	  Of which conversation and run recently announced requests are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RECENT_H
#define APPROVAL_RECENT_H

#include "ulid.h"

extern bool recent_find(const char *tenant, const Ulid *id, const char **conversation, const char **run);
extern void recent_remember(const char *tenant, const Ulid *id, const char *conversation, const char *run);
extern void recent_forget(void);

#endif							/* APPROVAL_RECENT_H */
