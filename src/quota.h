/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  How much may wait for people.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_QUOTA_H
#define APPROVAL_QUOTA_H

#include "verb.h"

extern bool quota_allows(Call *call, const Request *request);

#endif							/* APPROVAL_QUOTA_H */
