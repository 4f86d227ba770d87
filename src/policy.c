/*-------------------------------------------------------------------------
 *
 * policy.c
 *	  What policy says about an action.
 *
 * There is no registry of tools yet, so every tool is unknown, and an unknown
 * tool always goes to a person.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "policy.h"
#include "settings.h"

static const char *const mode_words[] = {"inline", "auto", "review", "deny"};

const char *
policy_mode_word(Mode mode)
{
	return mode_words[mode];
}

/* False for what is not a mode. */
bool
policy_mode(const char *word, Mode *mode)
{
	int			i;

	for (i = 0; i < (int) lengthof(mode_words); i++)
		if (strcmp(word, mode_words[i]) == 0)
		{
			*mode = (Mode) i;
			return true;
		}
	return false;
}

/* at_least makes this one call stricter, never looser. */
void
policy_evaluate(const Action *action, Mode at_least, Policy *policy)
{
	memset(policy, 0, sizeof(*policy));
	policy->mode = MODE_REVIEW;
	policy->gate_reason = "unknown_tool";
	policy->effect = "external";
	policy->approvals_needed = 1;
	policy->decide_within = setting_decide_within * USECS_PER_SEC;
	policy->use_within = setting_use_within * USECS_PER_SEC;
	if (at_least > policy->mode)
	{
		policy->mode = at_least;
		policy->gate_reason = "at_least";
	}
}
