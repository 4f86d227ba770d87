/*-------------------------------------------------------------------------
 *
 * notify.h
 *	  The doorbell: NOTIFY on a change, with nothing in it worth stealing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_NOTIFY_H
#define APPROVAL_NOTIFY_H

#include "verb.h"

extern void notify_init(void);
extern void notify_ring(const Call *call, const char *kind);
extern void notify_tenant_exists(const char *tenant);

#endif							/* APPROVAL_NOTIFY_H */
