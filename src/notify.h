/*-------------------------------------------------------------------------
 *
 * notify.h
 *	  The doorbell: NOTIFY on a change, with nothing in it worth stealing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_NOTIFY_H
#define APPROVAL_NOTIFY_H

#include "settings.h"
#include "verb.h"

extern void notify_init(void);
extern NotifyMode notify_mode(void);
extern void notify_announce(const char *tenant, const char *conversation, const char *run_id, const Ulid *id,
							const char *kind, const char *status);
extern void notify_run(const char *tenant, const char *run_id, const char *kind, const char *status);
extern void notify_ring(const Call *call, const char *kind);
extern void notify_tenant_exists(const char *tenant);

#endif							/* APPROVAL_NOTIFY_H */
