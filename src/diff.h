/*-------------------------------------------------------------------------
 *
 * diff.h
 *	  Where two JSON values differ; of two actions, paths and no values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_DIFF_H
#define APPROVAL_DIFF_H

#include "utils/jsonb.h"

#include "hash.h"

/* A path and what stands there on either side, NULL for nothing; false ends it. */
typedef bool (*DiffSink) (void *arg, const char *path, JsonbValue *a, JsonbValue *b);

extern char *diff_actions(const Action *a, const Action *b);
extern void diff_parse(const char *text, int len, JsonbValue *value);
extern void diff_walk(JsonbValue *a, JsonbValue *b, DiffSink sink, void *arg);

#endif							/* APPROVAL_DIFF_H */
