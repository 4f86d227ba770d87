/*-------------------------------------------------------------------------
 *
 * policy.h
 *	  What policy says about an action.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_POLICY_H
#define APPROVAL_POLICY_H

#include "hash.h"

/* From loose to strict: a greater mode never lets through what a smaller stops. */
typedef enum Mode
{
	MODE_INLINE,
	MODE_AUTO,
	MODE_REVIEW,
	MODE_DENY
} Mode;

typedef struct Policy
{
	Mode		mode;
	const char *gate_reason;	/* why it is gated: a word */
	const char *class;			/* NULL: not registered */
	const char *risk;
	const char *effect;			/* external or database */
	const char *reviewer_group; /* NULL: any approver */
	int			approvals_needed;
	int64		decide_within;	/* microseconds */
	int64		use_within;
} Policy;

extern const char *policy_mode_word(Mode mode);
extern bool policy_mode(const char *word, Mode *mode);
extern void policy_evaluate(const Action *action, Mode at_least, Policy *policy);

#endif							/* APPROVAL_POLICY_H */
