/*
 * condition_private.h
 *	  Shared by the files that read and judge conditions.
 *
 * A chain is an item and what follows it: the path $.a[0] is a chain of three.
 */
#ifndef APPROVAL_CONDITION_PRIVATE_H
#define APPROVAL_CONDITION_PRIVATE_H

#include "lib/stringinfo.h"

#include "condition.h"

/* condition_check.c */
extern bool condition_check(JsonPath *path, const ConditionLimits *limits, char **problem);
extern bool condition_check_path(JsonPath *path, char **problem);
extern bool condition_subscript(JsonPathItem *item, int *index);

/* condition_bounds.c */
extern bool condition_has_path(JsonPathItem *chain);
extern bool condition_check_bounds(JsonPathItem *predicate, const ConditionLimits *limits,
								   char **problem);

/* condition_text.c */
extern char *condition_text(JsonPathItem *chain);
extern bool condition_refuse(char **problem, const char *place, const char *why);

#endif							/* APPROVAL_CONDITION_PRIVATE_H */
