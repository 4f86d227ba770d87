/*-------------------------------------------------------------------------
 *
 * results.h
 *	  Whether a result is one: the conditions that the registry has for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RESULTS_H
#define APPROVAL_RESULTS_H

#include "errors.h"
#include "registry.h"

/* What is wrong with a result. */
typedef struct BadResult
{
	Reason		reason;			/* REASON_NONE: nothing */
	const char *problem;		/* in words of ours */
	int			condition;		/* its place in the list, from 1; 0: none */
	const char *why;			/* the administrator's words, or NULL */
} BadResult;

extern void results_check(const Registered *registered, const text *result, bool always, BadResult *bad);

#endif							/* APPROVAL_RESULTS_H */
