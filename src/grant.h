/*-------------------------------------------------------------------------
 *
 * grant.h
 *	  Standing grants: what a person has allowed in advance.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_GRANT_H
#define APPROVAL_GRANT_H

#include "registry.h"
#include "verb.h"

extern bool grant_covers(const Call *call, Subject *subject, const Policy *policy,
						 const char *requested_by, const char *on_behalf_of,
						 bool only_look, Ulid *id);
extern List *grant_rejected(const Call *call, List *ids);
extern void grant_void(const Call *call, List *ids);

#endif							/* APPROVAL_GRANT_H */
