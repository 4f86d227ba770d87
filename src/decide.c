/*-------------------------------------------------------------------------
 *
 * decide.c
 *	  decide and its short forms: a person's verdict on one request.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "args.h"
#include "edit.h"
#include "event.h"
#include "grant.h"
#include "param.h"
#include "quorum.h"
#include "registry.h"
#include "row.h"
#include "settings.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_decide);
PG_FUNCTION_INFO_V1(approval_try_decide);
PG_FUNCTION_INFO_V1(approval_approve);
PG_FUNCTION_INFO_V1(approval_reject);
PG_FUNCTION_INFO_V1(approval_edit);

#define VERDICT_APPROVE "approve"
#define VERDICT_REJECT "reject"

/* One verdict, whichever function it came through. */
typedef struct Verdict
{
	const Ulid *id;
	bool		approve;
	const Digest *seen;
	const text *arguments;		/* NULL: as they are */
	const char *result;			/* text for the model, with reject */
	const char *note;
	Edited		edited;			/* the same in canonical form */
} Verdict;

static Statement select_decisions = {
	.sql = "SELECT d.verdict, d.seen, d.action_hash, d.review_hash, d.result FROM approval.decisions d"
	" WHERE d.tenant OPERATOR(pg_catalog.=) $1"
	" AND d.request_id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND d.actor OPERATOR(pg_catalog.=) $3 ORDER BY d.n DESC",
	.nparams = 3,
	.types = {TEXTOID, UUIDOID, TEXTOID},
};

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_digest(const Digest *a, const Digest *b)
{
	return memcmp(a, b, sizeof(Digest)) == 0;
}

/* Whether the actor's last decision on this row is this very verdict. */
static bool
own_repeat(const Call *call, const Verdict *verdict)
{
	Datum		values[3];
	char		nulls[3];
	HeapTuple	row;
	TupleDesc	desc;
	bool		isnull;
	const Digest *seen;
	const Digest *action;
	const Digest *review;
	Digest		wanted;

	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, request_id(call->request));
	param_text(values, nulls, 2, call->actor);
	if (store_run(&select_decisions, values, nulls, SPI_OK_SELECT, 1) == 0)
		return false;
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	seen = DatumGetDigestP(SPI_getbinval(row, desc, 2, &isnull));
	action = DatumGetDigestP(SPI_getbinval(row, desc, 3, &isnull));
	review = DatumGetDigestP(SPI_getbinval(row, desc, 4, &isnull));

	if (strcmp(SPI_getvalue(row, desc, 1), verdict->approve ? VERDICT_APPROVE : VERDICT_REJECT) != 0 ||
		!same_text(SPI_getvalue(row, desc, 5), verdict->result))
		return false;
	if (verdict->edited.text == NULL)
		return same_digest(seen, verdict->seen) && same_digest(review, seen);
	edit_hash(call->request, &verdict->edited, &wanted);
	return same_digest(seen, verdict->seen) && same_digest(action, &wanted);
}

/* A request that is no longer pending: a repetition, or too late. */
static Step
decide_too_late(Call *call, const Verdict *verdict)
{
	if (call->effective.status == STATUS_EXPIRED && call->request->nulls[REQ_DECIDED_AT])
		return call_refuse(call, REASON_EXPIRED);
	if (own_repeat(call, verdict))
		return STEP_UNCHANGED;
	return call_refuse(call, REASON_ALREADY_DECIDED);
}

/* Where every row of the tool says so, a person may confirm the own assistant. */
static bool
owner_may_confirm(const Request *request, const Registered *registered)
{
	int			i;

	for (i = 0; i < registered->ntools; i++)
		if (!registered->tools[i].owner_may_confirm)
			return false;
	return registered->ntools > 0 && DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]) == 1;
}

/* The requester in any guise: the login, the actor, the person behind it, or who made it another action. */
static bool
asks_for_itself(const Call *call, const Registered *registered)
{
	const Request *request = call->request;

	return (setting_separate_logins &&
			request_text_is(request, REQ_REQUESTER_LOGIN, call->caller->login)) ||
		request_text_is(request, REQ_REQUESTED_BY, call->actor) ||
		request_text_is(request, REQ_EDITED_BY, call->actor) ||
		(request_text_is(request, REQ_ON_BEHALF_OF, call->actor) &&
		 !owner_may_confirm(request, registered));
}

/* One voice more: enough of them decide. */
static const char *
count_approval(Call *call, const char *kind)
{
	Request    *request = call->request;
	int			needed = DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]);
	int			approvals = quorum_others(call) + 1;

	request_set(request, REQ_APPROVALS, Int32GetDatum(approvals));
	if (approvals < needed)
		return strcmp(kind, EVENT_APPROVED) == 0 ? EVENT_VOTED : kind;
	request_move(request, STATUS_APPROVED, needed > 1 ? CAUSE_QUORUM : CAUSE_PERSON);
	request_set_text(request, REQ_DECIDED_BY, call->actor);
	request_set(request, REQ_DECIDED_AT, TimestampTzGetDatum(call->now));
	request_set(request, REQ_USE_BY,
				TimestampTzGetDatum(call->now + DatumGetInt64(request->values[REQ_USE_WITHIN])));
	return kind;
}

/*
 * Approves other arguments: within what the tool lets reviewers change that is
 * an approval of them; beyond, it is a proposal, and somebody else approves.
 */
static Step
apply_edit(Call *call, const Verdict *verdict, const Registered *registered, const Decision *decision)
{
	switch (edit_scope(call, registered, &verdict->edited))
	{
		case EDIT_NOT_ALLOWED:
			errors_member(&call->refusal, "problem", "edits_not_allowed");
			return call_refuse(call, REASON_BAD_DECISION);
		case EDIT_APPROVES:
			if (edit_apply(call, registered, &verdict->edited) == STEP_REFUSED)
				return STEP_REFUSED;

			/* it may ask for more people, or for another group */
			if (asks_for_itself(call, registered))
				return call_refuse(call, REASON_SELF_APPROVAL);
			if (!quorum_member(call))
				return call_refuse(call, REASON_NOT_ELIGIBLE);
			return call_write(call, count_approval(call, EVENT_EDITED), verdict->note, decision);
		case EDIT_PROPOSES:
			if (edit_apply(call, registered, &verdict->edited) == STEP_REFUSED)
				return STEP_REFUSED;
			request_set_text(call->request, REQ_EDITED_BY, call->actor);
			return call_write(call, EVENT_AMENDED, verdict->note, NULL);
	}
	return STEP_REFUSED;
}

static Step
apply_approve(Call *call, const Verdict *verdict, const Registered *registered, const Decision *decision)
{
	if (edit_changes(call->request, &verdict->edited))
		return apply_edit(call, verdict, registered, decision);
	return call_write(call, count_approval(call, EVENT_APPROVED), verdict->note, decision);
}

/* One rejection is a veto, and ends what was granted in advance. */
static Step
apply_reject(Call *call, const Verdict *verdict, const Registered *registered, const Decision *decision)
{
	Request    *request = call->request;
	bool		many = DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]) > 1;
	Action		action;
	Subject		subject = {0};

	request_move(request, STATUS_REJECTED, many ? CAUSE_VETO : CAUSE_PERSON);
	request_set_text(request, REQ_DECIDED_BY, call->actor);
	request_set(request, REQ_DECIDED_AT, TimestampTzGetDatum(call->now));
	request_set_text(request, REQ_DENIAL, verdict->result);
	if (registered->has_grants)
	{
		subject_action(request, &action);
		subject.action = &action;
		grant_rejected(call, &subject);
	}
	return call_write(call, EVENT_REJECTED, verdict->note, decision);
}

/* An edit that went beyond the tool's paths, by this actor, once more. */
static bool
own_edit_again(const Call *call, const Verdict *verdict)
{
	return verdict->approve && verdict->edited.text != NULL &&
		request_text_is(call->request, REQ_EDITED_BY, call->actor) &&
		!edit_changes(call->request, &verdict->edited);
}

/* Whether a verdict is on what the row shows now. */
static bool
on_current_view(const Request *request, const Verdict *verdict)
{
	if (verdict->edited.text)
		return !edit_changes(request, &verdict->edited);
	return same_digest(verdict->seen, request_digest_at(request, REQ_REVIEW_HASH));
}

/*
 * The same verdict again, while the row waits.  It is given anew where it does
 * not count any more, or where it is the last one now that somebody has come
 * back into the group.
 */
static bool
said_before(const Call *call, const Verdict *verdict)
{
	const Request *request = call->request;

	if (own_edit_again(call, verdict))
		return true;
	return DatumGetInt32(request->values[REQ_APPROVALS]) > 0 &&
		on_current_view(request, verdict) && own_repeat(call, verdict) &&
		quorum_counts(call) &&
		quorum_others(call) + 1 < DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]);
}

/* Whether this actor may give this verdict on the row as it is; else a refusal. */
static bool
may_decide(Call *call, const Verdict *verdict, const Registered *registered)
{
	Reason		reason = REASON_NONE;

	if (asks_for_itself(call, registered))
		reason = REASON_SELF_APPROVAL;
	else if (!quorum_member(call))
		reason = REASON_NOT_ELIGIBLE;
	else if (!same_digest(verdict->seen, request_digest_at(call->request, REQ_REVIEW_HASH)))
		reason = REASON_STALE_VIEW;
	if (reason == REASON_NONE)
		return true;
	call_refuse(call, reason);
	return false;
}

/* Lock, test, write: the whole of a decision. */
static Step
decide_on(Call *call, Verdict *verdict)
{
	const Registered *registered;
	Decision	decision;

	if (!caller_may_judge(call->caller))
		return call_refuse(call, REASON_NOT_ELIGIBLE);
	if (verdict->arguments &&
		(verdict->edited.text = subject_arguments(call, verdict->arguments, &verdict->edited.len)) == NULL)
		return STEP_REFUSED;
	if (!call_lock(call, verdict->id))
		return STEP_REFUSED;
	if (call->tampered)
		return call_refuse(call, REASON_ROW_TAMPERED);
	if (call->effective.status != STATUS_PENDING)
		return decide_too_late(call, verdict);
	if (said_before(call, verdict))
		return STEP_UNCHANGED;
	registered = registry_find(call->tenant, request_text(call->request, REQ_SERVER),
							   request_text(call->request, REQ_TOOL));
	if (!may_decide(call, verdict, registered))
		return STEP_REFUSED;

	decision.verdict = verdict->approve ? VERDICT_APPROVE : VERDICT_REJECT;
	decision.seen = verdict->seen;
	decision.result = verdict->result;
	call_force_sync();
	return verdict->approve ? apply_approve(call, verdict, registered, &decision) :
		apply_reject(call, verdict, registered, &decision);
}

/* False, with a refusal, unless the word is a verdict and the rest goes with it. */
static bool
take_verdict(Call *call, Verdict *verdict, const char *word)
{
	verdict->approve = strcmp(word, VERDICT_APPROVE) == 0;
	if ((verdict->approve || strcmp(word, VERDICT_REJECT) == 0) &&
		!(verdict->approve && verdict->result) &&
		!(!verdict->approve && verdict->arguments))
		return true;
	call->id = *verdict->id;
	call->has_id = true;
	call_refuse(call, REASON_BAD_DECISION);
	return false;
}

/* decide(id, verdict, seen, actor, arguments, result, note, tenant) */
static Step
decide(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {0};
	const char *word;

	verdict.id = args_id(fcinfo, 0, "id");
	word = args_required(fcinfo, 1, "verdict", ARGS_TEXT_LIMIT);
	verdict.seen = args_digest(fcinfo, 2, "seen");
	verdict.arguments = args_json(fcinfo, 4);
	verdict.result = args_text(fcinfo, 5, "result", ARGS_TEXT_LIMIT);
	verdict.note = args_text(fcinfo, 6, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 7);
	if (!call_actor(call, 3, true) || !take_verdict(call, &verdict, word))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

/* approve(id, seen, actor, note, tenant) */
static Step
approve(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {.approve = true};

	verdict.id = args_id(fcinfo, 0, "id");
	verdict.seen = args_digest(fcinfo, 1, "seen");
	verdict.note = args_text(fcinfo, 3, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 4);
	if (!call_actor(call, 2, true))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

/* reject(id, seen, actor, result, note, tenant) */
static Step
reject(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {.approve = false};

	verdict.id = args_id(fcinfo, 0, "id");
	verdict.seen = args_digest(fcinfo, 1, "seen");
	verdict.result = args_text(fcinfo, 3, "result", ARGS_TEXT_LIMIT);
	verdict.note = args_text(fcinfo, 4, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 5);
	if (!call_actor(call, 2, true))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

/* edit(id, seen, arguments, actor, note, tenant) */
static Step
edit(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Verdict		verdict = {.approve = true};

	verdict.id = args_id(fcinfo, 0, "id");
	verdict.seen = args_digest(fcinfo, 1, "seen");
	verdict.arguments = args_required_json(fcinfo, 2, "arguments");
	verdict.note = args_text(fcinfo, 4, "note", ARGS_TEXT_LIMIT);
	call_tenant(call, 5);
	if (!call_actor(call, 3, true))
		return STEP_REFUSED;
	return decide_on(call, &verdict);
}

Datum
approval_decide(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "decide", decide, ANSWER_REQUEST);
}

Datum
approval_try_decide(PG_FUNCTION_ARGS)
{
	return verb_try(fcinfo, "decide", decide, ANSWER_REQUEST);
}

Datum
approval_approve(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "approve", approve, ANSWER_REQUEST);
}

Datum
approval_reject(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "reject", reject, ANSWER_REQUEST);
}

Datum
approval_edit(PG_FUNCTION_ARGS)
{
	return verb_plain(fcinfo, "edit", edit, ANSWER_REQUEST);
}
