/*-------------------------------------------------------------------------
 *
 * edit.c
 *	  Corrected arguments in the place of the proposed ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "diff.h"
#include "edit.h"
#include "subject.h"

static void
edited_action(const Request *request, const Edited *edited, Action *action)
{
	subject_action(request, action);
	action->arguments = edited->text;
	action->arguments_len = edited->len;
}

/* What the action would hash to with these arguments. */
void
edit_hash(const Request *request, const Edited *edited, Digest *out)
{
	Action		action;

	edited_action(request, edited, &action);
	hash_action(&action, out);
}

/* Whether they are other than those of the row. */
bool
edit_changes(const Request *request, const Edited *edited)
{
	Digest		wanted;

	if (edited->text == NULL)
		return false;
	edit_hash(request, edited, &wanted);
	return memcmp(&wanted, request_digest_at(request, REQ_ACTION_HASH), sizeof(Digest)) != 0;
}

/* Whether a changed path is one that may be changed, or lies within one. */
static bool
within(const char *path, const Names *allowed)
{
	int			i;

	for (i = 0; i < allowed->count; i++)
	{
		size_t		len = strlen(allowed->names[i]);

		if (strncmp(path, allowed->names[i], len) == 0 &&
			(path[len] == '\0' || path[len] == '.' || path[len] == '['))
			return true;
	}
	return false;
}

typedef struct Bounds
{
	const Names *allowed;
	bool		passed;
} Bounds;

static void
look_at_path(Diff *diff, const char *path, JsonbValue *before, JsonbValue *after)
{
	Bounds	   *bounds = diff->state;

	bounds->passed |= !within(path, bounds->allowed);
}

static bool
stays_within(const Request *request, const Edited *edited, const Names *allowed)
{
	Bounds		bounds = {allowed, false};
	Diff		diff = {.tell = look_at_path,.state = &bounds,.most = PG_INT32_MAX - 1};
	text	   *arguments = DatumGetTextPP(request->values[REQ_ARGUMENTS]);
	JsonbValue	before;
	JsonbValue	after;

	diff_documents(&diff, diff_root(diff_parse(VARDATA_ANY(arguments), VARSIZE_ANY_EXHDR(arguments)), &before),
				   diff_root(diff_parse(edited->text, edited->len), &after));
	return !bounds.passed;
}

/* Where two rows of a tool disagree, the stricter counts. */
EditScope
edit_scope(const Call *call, const Registered *registered, const Edited *edited)
{
	EditScope	scope = EDIT_APPROVES;
	int			i;

	for (i = 0; i < registered->ntools; i++)
	{
		const Tool *tool = &registered->tools[i];

		if (strcmp(tool->edits, "none") == 0)
			return EDIT_NOT_ALLOWED;
		if (strcmp(tool->edits, "tighten") == 0 &&
			!stays_within(call->request, edited, &tool->edit_paths))
			scope = EDIT_PROPOSES;
	}
	return scope;
}

/* Whoever had to look at the proposal, and whoever has to look at what it is now. */
static bool
raise_quorum(Request *request, const Policy *policy)
{
	Panel		panel;

	panel_of_request(request, &panel);
	if (!panel_both(&panel, &policy->panel))
		return false;
	panel_to_request(&panel, request);
	request_set(request, REQ_REJECTIONS_NEEDED,
				Int32GetDatum(Min(policy->rejections_needed,
								  DatumGetInt32(request->values[REQ_REJECTIONS_NEEDED]))));
	return true;
}

/*
 * Puts the corrected arguments in the place of the proposed ones, which stay
 * beside them.  The agent's preview was of the proposal, so it goes; approvals
 * were of the proposal too, so they do not count any more.
 */
Step
edit_apply(Call *call, const Registered *registered, const Edited *edited)
{
	Request    *request = call->request;
	Action		action;
	Subject		subject = {.nroles = -1};
	Policy		policy;

	edited_action(request, edited, &action);
	subject.action = &action;
	policy_evaluate(registered, &subject, &policy);
	if (policy.mode == MODE_DENY)
		return call_refuse(call, REASON_TOOL_DENIED);
	if (request->nulls[REQ_PROPOSED_ARGUMENTS])
	{
		request_set(request, REQ_PROPOSED_ARGUMENTS, request->values[REQ_ARGUMENTS]);
		request_set(request, REQ_PROPOSED_HASH, request->values[REQ_ACTION_HASH]);
	}
	if (!raise_quorum(request, &policy))
	{
		errors_member_constant(&call->refusal, "problem", "needs more people or groups than a request can have");
		return call_refuse(call, REASON_BAD_DECISION);
	}
	if (policy.policy_version)
		request_set(request, REQ_POLICY_VERSION, Int32GetDatum(policy.policy_version));
	request_set(request, REQ_APPROVALS, Int32GetDatum(0));
	request_set_null(request, REQ_PREVIEW);
	subject_bind(request, &action, policy.summary_template);
	return STEP_WRITTEN;
}
