/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  How much may wait for people.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_QUOTA_H
#define APPROVAL_QUOTA_H

#include "hash.h"
#include "verb.h"

extern bool quota_allows(Call *call, const Request *request, const Action *action);

#endif							/* APPROVAL_QUOTA_H */
