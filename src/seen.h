/*-------------------------------------------------------------------------
 *
 * seen.h
 *	  Tool definitions that gateways brought and nobody has reviewed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SEEN_H
#define APPROVAL_SEEN_H

#include "utils/jsonb.h"

#include "hash.h"
#include "verb.h"

extern void seen_keep(const Call *call, const Action *action, const text *definition);
extern Jsonb *seen_find(const char *tenant, const char *server, const char *tool, const Digest *digest);

#endif							/* APPROVAL_SEEN_H */
