/*-------------------------------------------------------------------------
 *
 * recheck.h
 *	  Whether policy still allows what it, or a person, once approved.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RECHECK_H
#define APPROVAL_RECHECK_H

#include "registry.h"
#include "verb.h"

extern bool recheck_executor(Call *call, const Registered *registered);
extern bool recheck_policy(Call *call, const Registered *registered, const Digest *given);

#endif							/* APPROVAL_RECHECK_H */
