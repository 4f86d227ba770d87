/*-------------------------------------------------------------------------
 *
 * permit.h
 *	  What an executor is handed, once per attempt.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_PERMIT_H
#define APPROVAL_PERMIT_H

#include "verb.h"

extern Datum permit_datum(const Call *call, Oid type);
extern void permit_grant(Call *call, const char *execution_id, int64 lease);
extern bool permit_matches(const Call *call, const char *execution_id, const char *token);

#endif							/* APPROVAL_PERMIT_H */
