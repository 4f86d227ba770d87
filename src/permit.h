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

/* The execution that a caller says it is. */
typedef struct Attempt
{
	const Ulid *id;
	const char *execution_id;
	const char *token;
} Attempt;

extern Datum permit_datum(const Call *call, Oid type);
extern void permit_grant(Call *call, const char *execution_id, int64 lease);
extern void permit_attempt(const Call *call, Attempt *attempt);
extern const struct Registered *permit_tool(const Call *call);
extern int64 permit_asked_lease(const Call *call, int argument);
extern int64 permit_lease(int64 asked, const struct Registered *registered);
extern bool permit_lock(Call *call, const Attempt *attempt, int tenant_argument);

#endif							/* APPROVAL_PERMIT_H */
