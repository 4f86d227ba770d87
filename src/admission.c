/*-------------------------------------------------------------------------
 *
 * admission.c
 *	  Under which mode a proposal is born: policy, and what has been counted.
 *
 * Policy alone is a function of the action.  Here comes in what depends on
 * others: an earlier rejection makes it stricter, a standing grant takes the
 * place of a review, and a budget that is used up takes an automatic approval
 * away.  In that order; a denial stays one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "admission.h"
#include "budget.h"
#include "grant.h"
#include "registry.h"
#include "repeat.h"

static void
cool_down(const Call *call, const Registered *registered, Subject *subject, Admission *admission)
{
	Policy	   *policy = &admission->policy;
	Rejection	rejection;
	char		id[ULID_TEXT_LEN + 1];

	admission->has_repeat_key = repeat_key(call, registered, subject, &admission->repeat_key);
	if (!admission->has_repeat_key || policy->mode == MODE_DENY ||
		!repeat_rejected(call, registered, &admission->repeat_key, &rejection))
		return;
	ulid_to_text(&rejection.id, id);
	policy->mode = MODE_DENY;
	policy->gate_reason = GATE_COOL_DOWN;
	policy->rule = 0;
	policy->rule_reason = NULL;
	admission->denial = rejection.denial;
	admission->note = psprintf("cool-down after %s", id);
}

/* Only a review that the rules themselves ask for can be granted in advance. */
static void
standing_grant(const Call *call, const Registered *registered, Subject *subject,
			   const Proposer *proposer, bool only_look, Admission *admission)
{
	Policy	   *policy = &admission->policy;

	if (policy->mode != MODE_REVIEW || !registered->has_grants || subject->at_least > MODE_AUTO ||
		(policy->gate_reason != GATE_RULE && policy->gate_reason != GATE_DEFAULT &&
		 policy->gate_reason != GATE_NO_RULE) ||
		!grant_covers(call, subject, policy, proposer->requested_by, proposer->on_behalf_of,
					  only_look, &admission->grant_id))
		return;
	policy->mode = MODE_AUTO;
	policy->gate_reason = GATE_GRANT;
	admission->granted = true;
}

/* Where a budget has no room a person is asked, under the quorum of the tool. */
static void
budgets(const Call *call, const Registered *registered, Subject *subject,
		bool only_look, Admission *admission)
{
	GateReason	why;

	if (admission->policy.mode > MODE_AUTO || admission->granted ||
		budget_reserve(call, registered, subject, only_look, &admission->reservations, &why))
		return;
	admission->reservations = NIL;
	policy_review(registered, why, &admission->policy);
}

static void
deny_text(Admission *admission)
{
	if (admission->policy.mode == MODE_DENY && admission->denial == NULL)
		admission->denial = admission->policy.rule_reason;
}

/* Whether a definition was given that nobody has reviewed. */
static bool
unreviewed(const Registered *registered, const Subject *subject, const Policy *policy)
{
	const Digest *given = subject->action->definition;
	int			i;

	if (given == NULL)
		return false;
	for (i = 0; i < registered->ntools; i++)
		if (registered->tools[i].pinned &&
			memcmp(&registered->tools[i].definition_digest, given, sizeof(Digest)) == 0)
			return false;
	return registered->ntools > 0 || policy->gate_reason == GATE_TOOL_RENAMED;
}

/*
 * With only_look nothing is locked or counted: for explain.  The registry is
 * read once, and what it points to stays until it is read again.
 */
void
admission_weigh(const Call *call, Subject *subject, const Proposer *proposer,
				bool only_look, Admission *admission)
{
	const Action *action = subject->action;
	const Registered *kept;
	Registered	registered;

	memset(admission, 0, sizeof(*admission));
	kept = registry_find(action->tenant, action->server, action->tool);
	registered = *kept;
	policy_evaluate(&registered, subject, &admission->policy);
	if (admission->policy.frozen || admission->policy.retired)
		return;
	admission->unreviewed = unreviewed(&registered, subject, &admission->policy);
	cool_down(call, &registered, subject, admission);
	standing_grant(call, &registered, subject, proposer, only_look, admission);
	budgets(call, &registered, subject, only_look, admission);
	deny_text(admission);
}
