/*-------------------------------------------------------------------------
 *
 * param.h
 *	  Values bound to the parameters of our statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_PARAM_H
#define APPROVAL_PARAM_H

#include "ulid.h"

/* ULIDs travel as uuid: see store.c for the reason. */
extern void param_text(Datum *values, char *nulls, int n, const char *value);
extern Datum param_texts(const char *const *texts, int count);
extern void param_ulid(Datum *values, char *nulls, int n, const Ulid *value);

#endif							/* APPROVAL_PARAM_H */
