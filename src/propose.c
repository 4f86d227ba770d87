/*-------------------------------------------------------------------------
 *
 * propose.c
 *	  propose: an agent asks for one action.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "event.h"
#include "policy.h"
#include "row.h"
#include "settings.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_propose);

enum
{
	ARG_TOOL_CALL_ID, ARG_TOOL, ARG_ARGUMENTS, ARG_CONVERSATION_ID, ARG_SERVER, ARG_RESOURCE,
	ARG_DEFINITION, ARG_RUN_ID, ARG_AGENT_REASON, ARG_PREVIEW, ARG_REQUESTED_BY, ARG_ON_BEHALF_OF,
	ARG_ASSIGNEE, ARG_EXPIRES_IN, ARG_AT_LEAST, ARG_RETRY_OF, ARG_REPLY_TO, ARG_METADATA, ARG_TENANT
};

/* NULL counts as the empty name. */
static const char *
text_or_empty(FunctionCallInfo fcinfo, int n, const char *name)
{
	const char *value = args_text(fcinfo, n, name, ARGS_KEY_LIMIT);

	return value ? value : "";
}

static Mode
take_at_least(FunctionCallInfo fcinfo)
{
	char	   *word = args_text(fcinfo, ARG_AT_LEAST, "at_least", ARGS_KEY_LIMIT);
	Mode		mode = MODE_INLINE;

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
	request_set_text(request, REQ_ON_BEHALF_OF, args_name(fcinfo, ARG_ON_BEHALF_OF, "on_behalf_of"));
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

/* What policy makes of it, and the deadlines that follow. */
static void
apply_policy(Call *call, Request *request, const Policy *policy)
{
	int64		decide_within = args_span(call->fcinfo, ARG_EXPIRES_IN, "expires_in",
										  policy->decide_within,
										  Min(setting_min_decide_within * USECS_PER_SEC, policy->decide_within),
										  policy->decide_within);

	request_set_text(request, REQ_MODE, policy_mode_word(policy->mode));
	request_set_text(request, REQ_CLASS, policy->class);
	request_set_text(request, REQ_RISK, policy->risk);
	request_set_text(request, REQ_EFFECT, policy->effect);
	request_set_text(request, REQ_GATE_REASON, policy->gate_reason);
	request_set_text(request, REQ_REVIEWER_GROUP, policy->reviewer_group);
	request_set(request, REQ_APPROVALS, Int32GetDatum(0));
	request_set(request, REQ_APPROVALS_NEEDED, Int32GetDatum(policy->approvals_needed));
	request_set(request, REQ_USE_WITHIN, Int64GetDatum(policy->use_within));
	request_set(request, REQ_ATTEMPT, Int32GetDatum(0));
	request_set(request, REQ_EVENTS, Int32GetDatum(0));

	call->now = GetCurrentTimestamp();
	request_set(request, REQ_PROPOSED_AT, TimestampTzGetDatum(call->now));
	request_set(request, REQ_EXPIRES_AT, TimestampTzGetDatum(call->now + decide_within));
	if (policy->mode == MODE_DENY)
	{
		request_move(request, STATUS_REJECTED, CAUSE_POLICY);
		request_set_text(request, REQ_DECIDED_BY, "policy");
		request_set(request, REQ_DECIDED_AT, TimestampTzGetDatum(call->now));
	}
	else
		request_move(request, STATUS_PENDING, NULL);
}

/*
 * The tool call id is taken: the same proposal again gets its row, whatever
 * became of it; anything else is told nothing.
 */
static Step
answer_existing(Call *call, const char *tool_call_id)
{
	char	   *conversation_id = request_text(call->request, REQ_CONVERSATION_ID);
	Digest		hash = *request_digest_at(call->request, REQ_ACTION_HASH);
	Request    *existing = row_find_call(call->tenant, conversation_id, tool_call_id);
	const Digest *proposed;

	call->request = NULL;
	if (existing == NULL)
		errors_raise_serialization();
	proposed = request_digest_at(existing, REQ_PROPOSED_HASH);
	if (!request_text_is(existing, REQ_REQUESTER_LOGIN, call->caller->login) ||
		(memcmp(&hash, request_digest_at(existing, REQ_ACTION_HASH), sizeof(Digest)) != 0 &&
		 (proposed == NULL || memcmp(&hash, proposed, sizeof(Digest)) != 0)))
		return call_refuse(call, REASON_TOOL_CALL_CONFLICT);
	call->request = existing;
	call->effective = request_effective(existing, GetCurrentTimestamp());
	return STEP_UNCHANGED;
}

static Step
propose(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	char	   *tool_call_id = args_required(fcinfo, ARG_TOOL_CALL_ID, "tool_call_id", ARGS_KEY_LIMIT);
	Request    *request = palloc(sizeof(Request));
	Digest	   *definition = palloc(sizeof(Digest));
	Ulid	   *id = palloc(sizeof(Ulid));
	Mode		at_least = take_at_least(fcinfo);
	Action		action;
	Policy		policy;

	args_check_name("tool_call_id", tool_call_id, ARGS_KEY_LIMIT);
	call_tenant(call, ARG_TENANT);
	if (!call_actor(call, ARG_REQUESTED_BY, false))
		return STEP_REFUSED;
	request_empty(request);
	if (!take_action(call, request, &action, definition) || !take_arguments(call, request))
		return STEP_REFUSED;

	ulid_generate(id);
	request_set(request, REQ_ID, PointerGetDatum(id));
	request_set_text(request, REQ_TOOL_CALL_ID, tool_call_id);
	policy_evaluate(&action, at_least, &policy);
	apply_policy(call, request, &policy);
	subject_bind(request, &action);

	call->request = request;
	if (call_born(call, EVENT_PROPOSED) == STEP_UNCHANGED)
		return answer_existing(call, tool_call_id);
	return STEP_WRITTEN;
}

Datum
approval_propose(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "propose", propose, ANSWER_REQUEST);
}
