/*-------------------------------------------------------------------------
 *
 * propose.c
 *	  propose: an agent asks for one action.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "admission.h"
#include "args.h"
#include "budget.h"
#include "decisions.h"
#include "event.h"
#include "quota.h"
#include "registry.h"
#include "row.h"
#include "run_call.h"
#include "seen.h"
#include "settings.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_propose);

enum
{
	ARG_TOOL_CALL_ID, ARG_TOOL, ARG_ARGUMENTS, ARG_CONVERSATION_ID, ARG_SERVER, ARG_RESOURCE,
	ARG_DEFINITION, ARG_RUN_ID, ARG_AGENT_REASON, ARG_PREVIEW, ARG_REQUESTED_BY, ARG_ON_BEHALF_OF,
	ARG_ASSIGNEE, ARG_EXPIRES_IN, ARG_AT_LEAST, ARG_RETRY_OF, ARG_REPLY_TO, ARG_METADATA, ARG_RUN_TOKEN, ARG_TENANT
};

/* NULL counts as the empty name. */
static const char *
text_or_empty(FunctionCallInfo fcinfo, int n, const char *name)
{
	const char *value = args_text(fcinfo, n, name, ARGS_KEY_LIMIT);

	return value ? value : "";
}

static GateMode
take_at_least(FunctionCallInfo fcinfo)
{
	char	   *word = args_text(fcinfo, ARG_AT_LEAST, "at_least", ARGS_KEY_LIMIT);
	GateMode	mode = MODE_INLINE;

	if (word && !policy_mode(word, &mode))
		args_bad_value("at_least", "One of inline, auto, review and deny.");
	return mode;
}

/* Only a gateway fetches definitions itself; from anyone else they prove nothing. */
static bool
take_definition(Call *call, Digest *digest, bool *given)
{
	text	   *json = args_json(call->fcinfo, ARG_DEFINITION);

	*given = (json != NULL);
	if (json == NULL)
		return true;
	if (call->caller->kind != LOGIN_GATEWAY)
	{
		call_refuse(call, REASON_NOT_ELIGIBLE);
		return false;
	}
	return subject_definition(call, json, digest);
}

/* A retry links to a call of one's own that has come to an end. */
static bool
check_retry_of(Call *call, const Ulid *retry_of)
{
	Request    *earlier = row_find(call->tenant, retry_of, NULL);
	Effective	effective;

	call->id = *retry_of;
	call->has_id = true;
	if (earlier == NULL || !request_text_is(earlier, REQ_REQUESTER_LOGIN, call->caller->login))
	{
		call_refuse(call, REASON_NOT_FOUND);
		return false;
	}
	effective = request_effective(earlier, GetCurrentTimestamp());
	if (effective.status == STATUS_PENDING || effective.status == STATUS_APPROVED ||
		effective.outcome == OUTCOME_IN_FLIGHT || effective.outcome == OUTCOME_UNKNOWN)
	{
		call->request = earlier;
		call->effective = effective;
		call_refuse(call, REASON_STALE_STATE);
		return false;
	}
	call->has_id = false;
	return true;
}

static void
set_json(Request *request, RequestColumn column, const text *json)
{
	if (json)
		request_set(request, column, PointerGetDatum(json));
}

/* The columns that come straight from arguments. */
static bool
take_arguments(Call *call, Request *request)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *preview = args_json(fcinfo, ARG_PREVIEW);
	text	   *metadata = args_json(fcinfo, ARG_METADATA);

	if (!subject_check_size(call, "preview", preview) ||
		!subject_check_size(call, "metadata", metadata))
		return false;
	set_json(request, REQ_PREVIEW, preview);
	set_json(request, REQ_METADATA, metadata);
	request_set_text(request, REQ_TENANT, call->tenant);
	request_set_text(request, REQ_CONVERSATION_ID, text_or_empty(fcinfo, ARG_CONVERSATION_ID, "conversation_id"));
	request_set_text(request, REQ_RUN_ID, args_name(fcinfo, ARG_RUN_ID, "run_id"));
	request_set_text(request, REQ_AGENT_REASON, args_text(fcinfo, ARG_AGENT_REASON, "agent_reason", ARGS_TEXT_LIMIT));
	request_set_text(request, REQ_ON_BEHALF_OF, args_actor(fcinfo, ARG_ON_BEHALF_OF, "on_behalf_of"));
	request_set_text(request, REQ_ASSIGNEE, args_name(fcinfo, ARG_ASSIGNEE, "assignee"));
	request_set_text(request, REQ_REPLY_TO, args_text(fcinfo, ARG_REPLY_TO, "reply_to", ARGS_ADDRESS_LIMIT));
	request_set_text(request, REQ_REQUESTER_LOGIN, call->caller->login);
	request_set_text(request, REQ_REQUESTED_BY, call->actor);
	if (!PG_ARGISNULL(ARG_RETRY_OF))
	{
		const Ulid *retry_of = args_id(fcinfo, ARG_RETRY_OF, "retry_of");

		if (!check_retry_of(call, retry_of))
			return false;
		request_set(request, REQ_RETRY_OF, PointerGetDatum(retry_of));
	}
	return true;
}

/* The action as proposed; its strings live as long as the call. */
static bool
take_action(Call *call, Request *request, Action *action, Digest *definition)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *arguments = args_required_json(fcinfo, ARG_ARGUMENTS, "arguments");
	char	   *tool = args_required(fcinfo, ARG_TOOL, "tool", ARGS_KEY_LIMIT);
	bool		has_definition;
	int			len = 0;

	args_check_name("tool", tool, ARGS_KEY_LIMIT);
	action->tenant = call->tenant;
	action->tool = tool;
	action->server = text_or_empty(fcinfo, ARG_SERVER, "server");
	action->resource = args_text(fcinfo, ARG_RESOURCE, "resource", ARGS_ADDRESS_LIMIT);
	if (!take_definition(call, definition, &has_definition))
		return false;
	action->definition = has_definition ? definition : NULL;
	action->arguments = subject_arguments(call, arguments, &len);
	action->arguments_len = len;
	if (action->arguments == NULL)
		return false;

	request_set_text(request, REQ_TOOL, action->tool);
	request_set_text(request, REQ_SERVER, action->server);
	request_set_text(request, REQ_RESOURCE, action->resource);
	if (has_definition)
		request_set(request, REQ_DEFINITION, PointerGetDatum(definition));
	return true;
}

/* A request that nobody is asked about is decided by policy, at its birth. */
static void
decided_by_policy(Call *call, Request *request, const Policy *policy)
{
	request_set_text(request, REQ_DECIDED_BY, "policy");
	request_set(request, REQ_DECIDED_AT, TimestampTzGetDatum(call->now));
	switch (policy->mode)
	{
		case MODE_INLINE:
			request_move(request, STATUS_CONSUMED, CAUSE_POLICY);
			request_set_outcome(request, OUTCOME_UNTRACKED);
			request_set(request, REQ_CONSUMED_AT, TimestampTzGetDatum(call->now));
			break;
		case MODE_AUTO:
			request_move(request, STATUS_APPROVED, CAUSE_POLICY);
			request_set(request, REQ_USE_BY, TimestampTzGetDatum(call->now + policy->use_within));
			break;
		default:
			request_move(request, STATUS_REJECTED, CAUSE_POLICY);
			break;
	}
}

static void
set_policy(Request *request, const Policy *policy)
{
	request_set_text(request, REQ_MODE, policy_mode_word(policy->mode));
	request_set_text(request, REQ_CLASS, policy->class);
	request_set_text(request, REQ_RISK, policy->risk);
	request_set_text(request, REQ_EFFECT, policy->effect);
	request_set_text(request, REQ_GATE_REASON, policy_gate_word(policy->gate_reason));
	request_set_text(request, REQ_RULE_REASON, policy->rule_reason);
	if (policy->rule)
		request_set(request, REQ_RULE, Int32GetDatum(policy->rule));
	if (policy->policy_version)
		request_set(request, REQ_POLICY_VERSION, Int32GetDatum(policy->policy_version));
	request_set(request, REQ_APPROVALS, Int32GetDatum(0));
	panel_to_request(&policy->panel, request);
	request_set(request, REQ_REJECTIONS, Int32GetDatum(0));
	request_set(request, REQ_REJECTIONS_NEEDED, Int32GetDatum(policy->rejections_needed));
	request_set(request, REQ_USE_WITHIN, Int64GetDatum(policy->use_within));
}

/* What is to happen while it waits; not what would come after the deadline. */
static void
set_timers(Call *call, Request *request, const Policy *policy, int64 decide_within)
{
	if (policy->remind_before > 0)
		request_set(request, REQ_REMIND_AT,
					TimestampTzGetDatum(call->now + Max(decide_within - policy->remind_before, 0)));
	if (policy->escalate_after == 0)
		return;
	request_set_text(request, REQ_ESCALATE_TO, policy->escalate_to);
	request_set(request, REQ_ESCALATE_AT, TimestampTzGetDatum(call->now + policy->escalate_after));
}

/* What policy makes of it, and the deadlines that follow. */
static void
apply_admission(Call *call, Request *request, Admission *admission)
{
	const Policy *policy = &admission->policy;
	int64		decide_within = args_span(call->fcinfo, ARG_EXPIRES_IN, "expires_in",
										  policy->decide_within,
										  Min(setting_min_decide_within * USECS_PER_SEC, policy->decide_within),
										  policy->decide_within);

	set_policy(request, policy);
	request_set_text(request, REQ_DENIAL, admission->denial);
	if (admission->granted)
		request_set(request, REQ_GRANT_ID, PointerGetDatum(&admission->grant_id));
	if (admission->has_repeat_key)
		request_set(request, REQ_REPEAT_KEY, PointerGetDatum(&admission->repeat_key));
	if (admission->reservations)
		request_set(request, REQ_RESERVED, Int32GetDatum(list_length(admission->reservations)));
	request_set(request, REQ_ATTEMPT, Int32GetDatum(0));
	request_set(request, REQ_EVENTS, Int32GetDatum(0));

	call->now = GetCurrentTimestamp();
	request_set(request, REQ_PROPOSED_AT, TimestampTzGetDatum(call->now));
	request_set(request, REQ_EXPIRES_AT, TimestampTzGetDatum(call->now + decide_within));
	if (policy->mode == MODE_REVIEW)
	{
		request_move(request, STATUS_PENDING, NULL);
		set_timers(call, request, policy, decide_within);
	}
	else
		decided_by_policy(call, request, policy);
}

/* What policy looks at, beside the action. */
static void
make_subject(Call *call, const Action *action, GateMode at_least, Subject *subject)
{
	text	   *definition = args_json(call->fcinfo, ARG_DEFINITION);
	Digest	   *shape;

	memset(subject, 0, sizeof(*subject));
	subject->action = action;
	subject->at_least = at_least;
	subject->roles = call->caller->roles;
	subject->nroles = call->caller->nroles;
	if (definition == NULL)
		return;
	shape = palloc(sizeof(Digest));
	subject->defined_name = subject_defined_name(definition);
	if (hash_definition_shape(VARDATA_ANY(definition), VARSIZE_ANY_EXHDR(definition), shape))
		subject->shape = shape;
}

/* False, with a refusal, where nothing may be proposed at all. */
static bool
admit(Call *call, Request *request, const Action *action, GateMode at_least, Admission *admission)
{
	Proposer	proposer = {call->actor, request_text(request, REQ_ON_BEHALF_OF)};
	Subject		subject;

	make_subject(call, action, at_least, &subject);
	admission_weigh(call, &subject, &proposer, false, admission);
	if (admission->policy.frozen || admission->policy.retired)
	{
		call_refuse(call, admission->policy.frozen ? REASON_TOOL_FROZEN : REASON_TOOL_RETIRED);
		return false;
	}
	return admission->policy.mode != MODE_REVIEW || quota_allows(call, request, action);
}

/*
 * The tool call id is taken: the same proposal again gets its row, whatever
 * became of it; anything else is told nothing.
 */
static Step
answer_existing(Call *call, Request *existing, const Action *action)
{
	Digest		hash;
	const Digest *proposed = request_digest_at(existing, REQ_PROPOSED_HASH);

	hash_action(action, &hash);
	call->request = NULL;
	if (!request_text_is(existing, REQ_REQUESTER_LOGIN, call->caller->login) ||
		(memcmp(&hash, request_digest_at(existing, REQ_ACTION_HASH), sizeof(Digest)) != 0 &&
		 (proposed == NULL || memcmp(&hash, proposed, sizeof(Digest)) != 0)))
		return call_refuse(call, REASON_TOOL_CALL_CONFLICT);
	call->request = existing;
	call->effective = request_effective(existing, GetCurrentTimestamp());
	return STEP_UNCHANGED;
}

static Request *
find_existing(const Call *call, const Request *request, const char *tool_call_id)
{
	return row_find_call(call->tenant, request_text(request, REQ_CONVERSATION_ID), tool_call_id);
}

/* What is refused is a new call: one that is there already gets its row. */
static Step
refuse_new(Call *call, const Request *request, const Action *action, const char *tool_call_id)
{
	Request    *existing = find_existing(call, request, tool_call_id);

	if (existing == NULL)
		return STEP_REFUSED;
	memset(&call->refusal, 0, sizeof(call->refusal));
	return answer_existing(call, existing, action);
}

/* Stores the request and what belongs to it. */
static Step
store_request(Call *call, Request *request, const Action *action, const Admission *admission,
			  const char *tool_call_id)
{
	Request    *existing;
	const Registered *shut;

	call->request = request;
	if (call_born(call, EVENT_PROPOSED, admission->note) == STEP_UNCHANGED)
	{
		existing = find_existing(call, request, tool_call_id);
		if (existing == NULL)
			errors_raise_serialization();
		return answer_existing(call, existing, action);
	}
	shut = registry_find(action->tenant, action->server, action->tool);
	if (shut->frozen || (shut->ntools > 0 && shut->tools[0].retired) ||
		(shut->ntools > 1 && shut->tools[1].retired))
	{
		/* while it waited for its turn, or for the same call */
		call->request = NULL;
		call_refuse(call, shut->frozen ? REASON_TOOL_FROZEN : REASON_TOOL_RETIRED);
		errors_raise(&call->refusal);
	}
	budget_keep(call, admission->reservations);
	if (admission->unreviewed)
		seen_keep(call, action, args_json(call->fcinfo, ARG_DEFINITION));
	return STEP_WRITTEN;
}

/* The run that the call is for has to be held by the caller. */
static bool
may_join(Call *call)
{
	const char *run_id = args_name(call->fcinfo, ARG_RUN_ID, "run_id");
	const char *token = args_text(call->fcinfo, ARG_RUN_TOKEN, "run_token", ARGS_KEY_LIMIT);

	if (run_id == NULL && token)
		errors_raise_null("run_id");
	return run_id == NULL ||
		run_admits(call, run_id, text_or_empty(call->fcinfo, ARG_CONVERSATION_ID, "conversation_id"), token);
}

static Step
propose(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	char	   *tool_call_id = args_required(fcinfo, ARG_TOOL_CALL_ID, "tool_call_id", ARGS_KEY_LIMIT);
	Request    *request = palloc(sizeof(Request));
	Digest	   *definition = palloc(sizeof(Digest));
	Ulid	   *id = palloc(sizeof(Ulid));
	GateMode	at_least = take_at_least(fcinfo);
	Action		action;
	Admission  *admission = palloc(sizeof(Admission));

	args_check_name("tool_call_id", tool_call_id, ARGS_KEY_LIMIT);
	if (strcmp(tool_call_id, DECISIONS_REST) == 0)
		args_bad_value("tool_call_id", "* stands for the rest in a map of decisions.");
	call_tenant(call, ARG_TENANT);
	if (!call_actor(call, ARG_REQUESTED_BY, false))
		return STEP_REFUSED;
	request_empty(request);
	if (!take_action(call, request, &action, definition) || !take_arguments(call, request))
		return STEP_REFUSED;
	if (!may_join(call))
		return call->refusal.reason == REASON_RUN_CLAIMED || call->refusal.reason == REASON_NOT_FOUND ? STEP_REFUSED :
			refuse_new(call, request, &action, tool_call_id);
	if (!admit(call, request, &action, at_least, admission))
		return refuse_new(call, request, &action, tool_call_id);
	ulid_generate(id);
	request_set(request, REQ_ID, PointerGetDatum(id));
	request_set_text(request, REQ_TOOL_CALL_ID, tool_call_id);
	apply_admission(call, request, admission);
	subject_bind(request, &action, admission->policy.summary_template);
	return store_request(call, request, &action, admission, tool_call_id);
}

Datum
approval_propose(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "propose", propose, ANSWER_REQUEST);
}
