/*-------------------------------------------------------------------------
 *
 * set_aside.h
 *	  Requests that cannot be put away, and when they are tried again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SET_ASIDE_H
#define APPROVAL_SET_ASIDE_H

#include "utils/timestamp.h"

#include "ulid.h"

extern void set_aside_read(void);
extern bool set_aside_waits(const Ulid *id);
extern TimestampTz set_aside_next(void);
extern void set_aside_row(const char *tenant, const Ulid *id, const char *sqlstate, const char *problem);
extern void set_aside_forget(const char *tenant, const Ulid *id);
extern void set_aside_retry(void);

#endif							/* APPROVAL_SET_ASIDE_H */
