/*-------------------------------------------------------------------------
 *
 * verdict.c
 *	  A person's verdict on one request: who may give it, what it changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "event.h"
#include "grant.h"
#include "param.h"
#include "quorum.h"
#include "registry.h"
#include "settings.h"
#include "subject.h"
#include "verdict.h"

static Statement select_decisions = {
	.sql = "SELECT d.verdict, d.seen, d.action_hash, d.review_hash, d.result FROM approval.decisions d"
	" WHERE d.tenant OPERATOR(pg_catalog.=) $1"
	" AND d.request_id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND d.actor OPERATOR(pg_catalog.=) $3 ORDER BY d.n DESC",
	.nparams = 3,
	.types = {TEXTOID, UUIDOID, TEXTOID},
};

static Statement select_amended = {
	.sql = "SELECT FROM approval.events e WHERE e.tenant OPERATOR(pg_catalog.=) $1"
	" AND e.request_id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND e.kind OPERATOR(pg_catalog.=) 'amended' AND e.actor OPERATOR(pg_catalog.=) $3 LIMIT 1",
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

static bool
is_edited(const Request *request)
{
	return !request->nulls[REQ_PROPOSED_HASH];
}

/* The action as it was proposed. */
static const Digest *
proposed_hash(const Request *request)
{
	return request_digest_at(request, is_edited(request) ? REQ_PROPOSED_HASH : REQ_ACTION_HASH);
}

/* Whether a decision was on what this verdict is on; nothing was edited by it. */
static bool
on_same_view(const Call *call, const Verdict *verdict, const Digest *seen, const Digest *review,
			 const Digest *action)
{
	if (!same_digest(seen, review))
		return false;
	if (verdict->seen)
		return same_digest(seen, verdict->seen);
	return !verdict->approve || same_digest(action, proposed_hash(call->request));
}

/* Whether the actor's last decision on this row is this very verdict. */
bool
verdict_own_repeat(const Call *call, const Verdict *verdict)
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
		return on_same_view(call, verdict, seen, review, action);
	edit_hash(call->request, &verdict->edited, &wanted);
	return (verdict->seen == NULL || same_digest(seen, verdict->seen)) && same_digest(action, &wanted);
}

/* A request that is no longer pending: a repetition, or too late. */
static Step
rule_too_late(Call *call, const Verdict *verdict)
{
	if (call->effective.status == STATUS_EXPIRED && call->request->nulls[REQ_DECIDED_AT])
		return call_refuse(call, REASON_EXPIRED);
	if (verdict_own_repeat(call, verdict))
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

/* Whether the actor has made another action of it, perhaps before others did. */
static bool
has_amended(const Call *call)
{
	Datum		values[3];
	char		nulls[3];
	bool		there;

	if (request_text_is(call->request, REQ_EDITED_BY, call->actor))
		return true;
	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, request_id(call->request));
	param_text(values, nulls, 2, call->actor);
	PushActiveSnapshot(GetLatestSnapshot());
	there = store_read(&select_amended, values, nulls) > 0;
	PopActiveSnapshot();
	return there;
}

/* The requester in any guise: the login, the actor, the person behind it, or who made it another action. */
static bool
asks_for_itself(const Call *call, const Registered *registered)
{
	const Request *request = call->request;

	return (setting_separate_logins &&
			request_text_is(request, REQ_REQUESTER_LOGIN, call->caller->login)) ||
		request_text_is(request, REQ_REQUESTED_BY, call->actor) ||
		(!request->nulls[REQ_EDITED_BY] && has_amended(call)) ||
		(request_text_is(request, REQ_ON_BEHALF_OF, call->actor) &&
		 !owner_may_confirm(request, registered));
}

static const Registered *
find_tool(const Call *call)
{
	return registry_find(call->tenant, request_text(call->request, REQ_SERVER),
						 request_text(call->request, REQ_TOOL));
}

/* Whether the actor is one of those who may decide on the row at all; else a refusal. */
bool
verdict_within_reach(Call *call)
{
	Votes		votes;

	if (asks_for_itself(call, find_tool(call)))
	{
		call_refuse(call, REASON_SELF_APPROVAL);
		return false;
	}
	quorum_look(call, &votes);
	if (votes.own_seats != 0)
		return true;
	call_refuse(call, REASON_NOT_ELIGIBLE);
	return false;
}

/* The last word on a request, by this actor. */
static void
settle(Call *call, Status status, const char *cause)
{
	Request    *request = call->request;

	request_move(request, status, cause);
	request_set_text(request, REQ_DECIDED_BY, call->actor);
	request_set(request, REQ_DECIDED_AT, TimestampTzGetDatum(call->now));
}

/* It is over because of those who rejected it before: theirs is the decision. */
static void
settle_rejected(Call *call, const Votes *votes, const char *cause)
{
	settle(call, STATUS_REJECTED, cause);
	if (votes->rejecter)
		request_set_text(call->request, REQ_DECIDED_BY, votes->rejecter);
	request_set_text(call->request, REQ_DENIAL, votes->result);
}

/* One voice more: enough of them decide, and so does it that there cannot be enough. */
static const char *
count_approval(Call *call, const Votes *votes, const Registered *registered, const char *kind)
{
	Request    *request = call->request;
	int			needed = DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]);
	int			approvals = quorum_filled(votes, true);

	request_set(request, REQ_APPROVALS, Int32GetDatum(approvals));
	if (approvals >= needed)
	{
		settle(call, STATUS_APPROVED, needed > 1 ? CAUSE_QUORUM : CAUSE_PERSON);
		request_set(request, REQ_USE_BY,
					TimestampTzGetDatum(call->now + DatumGetInt64(request->values[REQ_USE_WITHIN])));
		return kind;
	}
	if (!quorum_reachable(call, votes, false, owner_may_confirm(request, registered)))
		settle_rejected(call, votes, CAUSE_QUORUM_UNREACHABLE);
	return strcmp(kind, EVENT_APPROVED) == 0 ? EVENT_VOTED : kind;
}

/* Rejections stay when somebody edits, and the edit may take fewer of them. */
static bool
stays_rejected(Call *call, const Votes *votes)
{
	int			rejections = votes->rejections + (votes->own_rejection ? 1 : 0);

	if (rejections < DatumGetInt32(call->request->values[REQ_REJECTIONS_NEEDED]))
		return false;
	settle_rejected(call, votes, CAUSE_VETO);
	return true;
}

/* Where two people have to look, each of them looks at one request at a time. */
static bool
may_go_with_others(Call *call, const Verdict *verdict)
{
	if (!verdict->in_bulk || !verdict->approve ||
		DatumGetInt32(call->request->values[REQ_APPROVALS_NEEDED]) == 1)
		return true;
	errors_member_constant(&call->refusal, "problem", "approves in bulk what needs several people");
	call_refuse(call, REASON_BAD_DECISION);
	return false;
}

/*
 * Approves other arguments: within what the tool lets reviewers change that is
 * an approval of them; beyond, it is a proposal, and somebody else approves.
 */
static Step
rule_edit(Call *call, Verdict *verdict, const Registered *registered)
{
	Votes		votes;

	switch (edit_scope(call, registered, &verdict->edited))
	{
		case EDIT_NOT_ALLOWED:
			errors_member(&call->refusal, "problem", "edits_not_allowed");
			return call_refuse(call, REASON_BAD_DECISION);
		case EDIT_APPROVES:
			if (edit_apply(call, registered, &verdict->edited) == STEP_REFUSED)
				return STEP_REFUSED;

			/* it may ask for more people, or for other groups */
			quorum_look(call, &votes);
			if (asks_for_itself(call, registered))
				return call_refuse(call, REASON_SELF_APPROVAL);
			if (votes.own_seats == 0)
				return call_refuse(call, REASON_NOT_ELIGIBLE);
			if (!may_go_with_others(call, verdict))
				return STEP_REFUSED;
			verdict->kind = EVENT_EDITED;
			if (!stays_rejected(call, &votes))
				verdict->kind = count_approval(call, &votes, registered, EVENT_EDITED);
			return STEP_WRITTEN;
		case EDIT_PROPOSES:
			if (edit_apply(call, registered, &verdict->edited) == STEP_REFUSED)
				return STEP_REFUSED;
			request_set_text(call->request, REQ_EDITED_BY, call->actor);
			verdict->kind = EVENT_AMENDED;
			verdict->counts = false;
			quorum_look(call, &votes);
			if (!stays_rejected(call, &votes) &&
				!quorum_reachable(call, &votes, true, owner_may_confirm(call->request, registered)))
				settle_rejected(call, &votes, CAUSE_QUORUM_UNREACHABLE);
			return STEP_WRITTEN;
	}
	return STEP_REFUSED;
}

/* Enough rejections are a veto; fewer may still leave too few who could approve. */
static Step
rule_rejection(Call *call, Verdict *verdict, const Votes *votes, const Registered *registered)
{
	Request    *request = call->request;
	int			rejections = votes->rejections + 1;
	int			enough = DatumGetInt32(request->values[REQ_REJECTIONS_NEEDED]);
	bool		many = enough > 1 || DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]) > 1;

	request_set(request, REQ_REJECTIONS, Int32GetDatum(rejections));
	if (votes->own_approval)
		request_set(request, REQ_APPROVALS, Int32GetDatum(quorum_filled(votes, false)));
	verdict->kind = EVENT_OBJECTED;
	if (rejections >= enough)
		settle(call, STATUS_REJECTED, many ? CAUSE_VETO : CAUSE_PERSON);
	else if (!quorum_reachable(call, votes, true, owner_may_confirm(request, registered)))
		settle(call, STATUS_REJECTED, CAUSE_QUORUM_UNREACHABLE);
	else
		return STEP_WRITTEN;
	request_set_text(request, REQ_DENIAL, verdict->result ? verdict->result : votes->result);
	verdict->kind = EVENT_REJECTED;
	return STEP_WRITTEN;
}

/* An edit that went beyond the tool's paths, by this actor, once more. */
bool
verdict_own_edit_again(const Call *call, const Verdict *verdict)
{
	return verdict->approve && verdict->edited.text != NULL &&
		request_text_is(call->request, REQ_EDITED_BY, call->actor) &&
		!edit_changes(call->request, &verdict->edited);
}

/* Whether a verdict is on what the row shows now. */
static bool
on_current_view(const Request *request, const Verdict *verdict)
{
	if (verdict->edited.text && verdict->seen == NULL)
		return !is_edited(request) || !edit_changes(request, &verdict->edited);
	if (verdict->edited.text)
		return !edit_changes(request, &verdict->edited);
	if (verdict->seen == NULL)
		return !verdict->approve || !is_edited(request);
	return same_digest(verdict->seen, request_digest_at(request, REQ_REVIEW_HASH));
}

/*
 * The same verdict again, while the row waits.  An approval is given anew where
 * it does not count any more, where it is the last one now that somebody has
 * come back into the group, or where so many have left that it ends the request.
 */
static bool
said_before(const Call *call, const Verdict *verdict, const Votes *votes)
{
	const Request *request = call->request;

	if (verdict_own_edit_again(call, verdict))
		return true;
	if (!votes->own_approval && !votes->own_rejection)
		return false;
	if (!on_current_view(request, verdict) || !verdict_own_repeat(call, verdict))
		return false;
	if (!verdict->approve)
		return votes->own_rejection &&
			votes->rejections + 1 < DatumGetInt32(request->values[REQ_REJECTIONS_NEEDED]);
	return votes->own_approval &&
		quorum_filled(votes, true) < DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]) &&
		quorum_reachable(call, votes, false, owner_may_confirm(request, find_tool(call)));
}

/* Whether the verdict is on what the row is now. */
static bool
is_stale(const Request *request, const Verdict *verdict)
{
	if (verdict->seen == NULL)
		return verdict->approve && is_edited(request);
	return !same_digest(verdict->seen, request_digest_at(request, REQ_REVIEW_HASH));
}

/* Whether this actor may give this verdict on the row as it is; else a refusal. */
static bool
may_decide(Call *call, const Verdict *verdict, const Registered *registered, const Votes *votes)
{
	Reason		reason = REASON_NONE;

	if (asks_for_itself(call, registered))
		reason = REASON_SELF_APPROVAL;
	else if (votes->own_seats == 0)
		reason = REASON_NOT_ELIGIBLE;
	else if (verdict->approve && votes->own_rejection)
		reason = REASON_VOTE_LOCKED;
	else if (is_stale(call->request, verdict))
		reason = REASON_STALE_VIEW;
	if (reason == REASON_NONE)
		return true;
	call_refuse(call, reason);
	return false;
}

static Step
rule(Call *call, Verdict *verdict)
{
	const Registered *registered;
	Votes		votes;

	if (call->tampered)
		return call_refuse(call, REASON_ROW_TAMPERED);
	if (call->effective.status != STATUS_PENDING)
		return rule_too_late(call, verdict);
	quorum_look(call, &votes);
	if (said_before(call, verdict, &votes))
		return STEP_UNCHANGED;
	registered = find_tool(call);
	if (!may_decide(call, verdict, registered, &votes) || !may_go_with_others(call, verdict))
		return STEP_REFUSED;
	if (verdict->seen == NULL)
		verdict->seen = request_digest_at(call->request, REQ_REVIEW_HASH);
	verdict->counts = true;
	if (!verdict->approve)
		return rule_rejection(call, verdict, &votes, registered);
	if (edit_changes(call->request, &verdict->edited))
		return rule_edit(call, verdict, registered);
	verdict->kind = count_approval(call, &votes, registered, EVENT_APPROVED);
	return STEP_WRITTEN;
}

/*
 * What a verdict makes of the locked row: STEP_WRITTEN means that it is to be
 * written, STEP_UNCHANGED that it was said before.  Unless it is to be written,
 * the row in memory stays as it was found.
 */
Step
verdict_rule(Call *call, Verdict *verdict)
{
	Request    *found = call->request;
	Step		step;

	call->request = palloc(sizeof(Request));
	*call->request = *found;
	step = rule(call, verdict);
	if (step != STEP_WRITTEN)
		call->request = found;
	return step;
}

void
verdict_begin(Writing *writing)
{
	writing->grants = NIL;
	table_write_begin(&writing->writer);
	call_force_sync();
}

/* Writes what a verdict was ruled to make of its row. */
void
verdict_write(Writing *writing, Call *call, const Verdict *verdict)
{
	Decision	decision;

	decision.verdict = verdict->approve ? VERDICT_APPROVE : VERDICT_REJECT;
	decision.seen = verdict->seen;
	decision.map_hash = verdict->map_hash;
	decision.result = verdict->result;
	call->writer = &writing->writer;
	call_write(call, verdict->kind, verdict->note, verdict->counts ? &decision : NULL);
	call->writer = NULL;
	if (call->request->status == STATUS_REJECTED && !verdict->approve && find_tool(call)->has_grants)
		writing->grants = grant_rejected(call, writing->grants);
}

/* Grants come last, so that all who decide take them after requests. */
void
verdict_end(Writing *writing, Call *call)
{
	table_write_end(&writing->writer);
	call->now = GetCurrentTimestamp();
	grant_void(call, writing->grants);
}

/* Brings the arguments into canonical form; false with a refusal. */
bool
verdict_prepare(Call *call, Verdict *verdict)
{
	if (!caller_may_judge(call->caller))
	{
		call_refuse(call, REASON_NOT_ELIGIBLE);
		return false;
	}
	if (verdict->arguments == NULL)
		return true;
	verdict->edited.text = subject_arguments(call, verdict->arguments, &verdict->edited.len);
	return verdict->edited.text != NULL;
}

/* False, with a refusal, unless the word is a verdict and the rest goes with it. */
bool
verdict_take(Call *call, Verdict *verdict, const char *word)
{
	verdict->approve = strcmp(word, VERDICT_APPROVE) == 0;
	if ((verdict->approve || strcmp(word, VERDICT_REJECT) == 0) &&
		!(verdict->approve && verdict->result) &&
		!(!verdict->approve && verdict->arguments))
		return true;
	if (verdict->id)
	{
		call->id = *verdict->id;
		call->has_id = true;
	}
	call_refuse(call, REASON_BAD_DECISION);
	return false;
}
