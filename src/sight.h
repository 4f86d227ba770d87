/*-------------------------------------------------------------------------
 *
 * sight.h
 *	  What views filter by: the tenants of who asks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SIGHT_H
#define APPROVAL_SIGHT_H

#include "caller.h"

extern char **sight_tenants(const Caller *caller, int *count);

#endif							/* APPROVAL_SIGHT_H */
