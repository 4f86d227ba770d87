/*-------------------------------------------------------------------------
 *
 * recheck.c
 *	  Whether policy still allows what it, or a person, once approved.
 *
 * Between approval and use policy may only have stayed as it was, or become
 * more lenient.  A request of the current version needs no second look: policy
 * is a function of the action.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recheck.h"
#include "subject.h"

/* Where a tool lists executors, only they run it. */
bool
recheck_executor(Call *call, const Registered *registered)
{
	int			i;

	for (i = 0; i < registered->ntools; i++)
	{
		const Names *executors = &registered->tools[i].executors;

		if (executors->count == 0 || document_names_has(executors, call->caller->login))
			continue;
		call_refuse(call, REASON_NOT_EXECUTOR);
		return false;
	}
	return true;
}

static bool
same_digest(const Digest *a, const Digest *b)
{
	return a && b ? memcmp(a, b, sizeof(Digest)) == 0 : a == b;
}

static bool
gate_reason_is(const Request *request, GateReason reason)
{
	return request_text_is(request, REQ_GATE_REASON, policy_gate_word(reason));
}

/* A definition that a person approved although it was not the pinned one. */
static bool
knowingly(const Request *request)
{
	return gate_reason_is(request, GATE_DEFINITION_CHANGED) ||
		gate_reason_is(request, GATE_DEFINITION_MISSING) ||
		gate_reason_is(request, GATE_TOOL_RENAMED);
}

/* The definition fetched at this moment, and the pin, against the one approved. */
static bool
definition_holds(const Request *request, const Registered *registered, const Digest *given, bool current)
{
	const Digest *approved = request_digest_at(request, REQ_DEFINITION);
	int			i;

	if (given && !same_digest(given, approved))
		return false;
	if (current || knowingly(request))
		return true;
	for (i = 0; i < registered->ntools; i++)
		if (registered->tools[i].pinned &&
			!same_digest(&registered->tools[i].definition_digest, approved))
			return false;
	return true;
}

static int
current_version(const Registered *registered)
{
	int			version = 0;
	int			i;

	for (i = 0; i < registered->ntools; i++)
		version = Max(version, registered->tools[i].policy_version);
	return version;
}

static int
version_of(const Request *request)
{
	return request->nulls[REQ_POLICY_VERSION] ? 0 : DatumGetInt32(request->values[REQ_POLICY_VERSION]);
}

/* Whom an escalation let in, policy still has to want. */
static bool
escalation_stands(const Request *request, const Policy *policy)
{
	return request->nulls[REQ_ESCALATED_AT] || request_text_is(request, REQ_ESCALATE_TO, policy->escalate_to);
}

/* An approval by grant was for one version, so it does not outlive it. */
static bool
still_allowed(const Request *request, const Registered *registered)
{
	Panel		panel;
	Action		action;
	Subject		subject = {0};
	Policy		policy;
	GateMode	mode = MODE_DENY;

	panel_of_request(request, &panel);
	subject_action(request, &action);
	subject.action = &action;
	subject.roles = caller_roles_of(request_text(request, REQ_REQUESTER_LOGIN), &subject.nroles);
	policy_evaluate(registered, &subject, &policy);
	(void) policy_mode(request_text(request, REQ_MODE), &mode);
	if (!escalation_stands(request, &policy))
		return false;
	return !policy_stricter(&policy, mode, DatumGetInt32(request->values[REQ_APPROVALS]), &panel);
}

static bool
any_retired(const Registered *registered)
{
	int			i;

	for (i = 0; i < registered->ntools; i++)
		if (registered->tools[i].retired)
			return true;
	return false;
}

/* Frozen, retired, re-described or stricter: false with a refusal. */
bool
recheck_policy(Call *call, const Registered *registered, const Digest *given)
{
	bool		current = version_of(call->request) == current_version(registered);
	Reason		reason = REASON_NONE;

	if (registered->frozen)
		reason = REASON_TOOL_FROZEN;
	else if (any_retired(registered))
		reason = REASON_TOOL_RETIRED;
	else if (!definition_holds(call->request, registered, given, current))
		reason = REASON_TOOL_CHANGED;
	else if (!current && !still_allowed(call->request, registered))
		reason = REASON_POLICY_CHANGED;
	if (reason == REASON_NONE)
		return true;
	call_refuse(call, reason);
	return false;
}
