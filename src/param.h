/*-------------------------------------------------------------------------
 *
 * param.h
 *	  Values bound to the parameters of our statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_PARAM_H
#define APPROVAL_PARAM_H

#include "lib/stringinfo.h"

#include "digest.h"
#include "ulid.h"

/* Digests travel as bytea, ULIDs as uuid: see store.c for the reason. */
#define PARAM_DIGEST "::approval.digest"
#define PARAM_ULID "::approval.ulid"

extern void param_text(Datum *values, char *nulls, int n, const char *value);
extern void param_ulid(Datum *values, char *nulls, int n, const Ulid *value);
extern void param_digest(Datum *values, char *nulls, int n, const Digest *value);
extern void param_list(StringInfo sql, int first, int count, const char *const *casts);

#endif							/* APPROVAL_PARAM_H */
