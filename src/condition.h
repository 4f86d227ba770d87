/*
 * condition.h
 *	  What a policy says about a call's arguments: jsonpath, in strict mode.
 */
#ifndef APPROVAL_CONDITION_H
#define APPROVAL_CONDITION_H

#include "utils/jsonb.h"
#include "utils/jsonpath.h"

typedef enum Truth
{
	TRUTH_FALSE,
	TRUTH_TRUE,
	TRUTH_UNKNOWN				/* a member is missing, or of another type */
} Truth;

/* What a rule's mode demands of its condition. */
typedef struct ConditionLimits
{
	bool		costly;			/* the administrator allows .** and like_regex */
	bool		loosens;		/* the call would run without a person */
	bool		bounded;		/* upper bounds need lower ones */
	/* Whether the member at a path, written $.a."b c"[0], is never negative. */
	bool		(*nonnegative) (const char *path, const void *arg); /* or NULL */
	const void *arg;
} ConditionLimits;

extern JsonPath *condition_compile(const char *text, const ConditionLimits *limits,
								   char **problem);
extern JsonPath *condition_compile_path(const char *text, char **problem);
extern Truth condition_test(const JsonPath *path, Jsonb *arguments);
extern JsonbValue *condition_select(const JsonPath *path, Jsonb *arguments);
extern char *condition_key(const JsonPath *path, Jsonb *arguments);

#endif							/* APPROVAL_CONDITION_H */
