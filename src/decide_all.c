/*-------------------------------------------------------------------------
 *
 * decide_all.c
 *	  decide_all: the decision map of the agent SDKs, for one conversation.
 *
 * All calls of the conversation that wait, and all that the map names, are
 * locked in the order of their ids; then each gets its part:
 *
 *	named, waiting		ruled on
 *	named, decided		nothing, if the map said the same before; else the map
 *						is for another state of the conversation
 *	not named, waiting	what the map says of the rest; without that it is
 *						missing, unless this actor has voted on it already
 *
 * What the actor may not decide is left for others.  Only when nothing is
 * refused or missing is anything written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "args.h"
#include "quorum.h"
#include "settings.h"
#include "sitting.h"

PG_FUNCTION_INFO_V1(approval_decide_all);
PG_FUNCTION_INFO_V1(approval_try_decide_all);

/* The refusal of one call is that of the map, and names it. */
static Step
refuse_part(Sitting *sitting, Part *part)
{
	Call	   *call = &part->answered.call;

	errors_member(&call->refusal, "tool_call_id", request_text(call->request, REQ_TOOL_CALL_ID));
	sitting->call->refusal = call->refusal;
	return STEP_REFUSED;
}

/* The actor's own last word on a call, or an edit that is left to others. */
static bool
was_said(const Call *call, const Verdict *verdict)
{
	return verdict_own_repeat(call, verdict) || verdict_own_edit_again(call, verdict);
}

static Step
leave(Part *part)
{
	part->answered.kind = ANSWERED_REMAINING;
	return STEP_UNCHANGED;
}

static Step
rule_part(Sitting *sitting, Part *part, const Verdict *verdict)
{
	part->verdict = *verdict;
	part->verdict.map_hash = &sitting->map_hash;
	switch (verdict_rule(&part->answered.call, &part->verdict))
	{
		case STEP_REFUSED:
			return STEP_REFUSED;
		case STEP_UNCHANGED:
			part->answered.kind = ANSWERED_UNCHANGED;
			sitting->unchanged++;
			break;
		case STEP_WRITTEN:
			part->answered.kind = ANSWERED_APPLIED;
			sitting->applied++;
			break;
	}
	return STEP_WRITTEN;
}

/* Whether the actor has said already what there is to say for him. */
static bool
has_voted(const Call *call)
{
	Votes		votes;

	quorum_look(call, &votes);
	return votes.own_approval || votes.own_rejection;
}

/* The rest is never approved where several people have to look: each of them names it. */
static bool
may_be_rest(Call *call, const Verdict *rest)
{
	if (!rest->approve || DatumGetInt32(call->request->values[REQ_APPROVALS_NEEDED]) == 1)
		return true;
	errors_member_constant(&call->refusal, "problem", "what needs several people is approved by name only");
	call_refuse(call, REASON_BAD_DECISION);
	return false;
}

/* A call that waits, and that this actor may decide. */
static Step
sit_on_waiting(Sitting *sitting, Part *part)
{
	Call	   *call = &part->answered.call;
	const Verdict *rest = sitting->rest_done ? NULL : sitting->decisions.rest;

	if (call->tampered)
	{
		return call_refuse(call, REASON_ROW_TAMPERED);
	}
	if (part->entry && verdict_own_edit_again(call, &part->entry->verdict))
		return rule_part(sitting, part, &part->entry->verdict);
	if (!verdict_within_reach(call) || (part->entry == NULL && rest && !may_be_rest(call, rest)))
		return leave(part);
	if (part->entry)
		return rule_part(sitting, part, &part->entry->verdict);
	if (rest)
		return rule_part(sitting, part, rest);
	if (!sitting->rest_done && !has_voted(call))
		sitting_add_name(&sitting->missing, request_text(call->request, REQ_TOOL_CALL_ID));
	return leave(part);
}

/*
 * A call that does not wait any more, perhaps since a moment ago: part of this
 * only if it was said before.
 */
static Step
sit_on_decided(Sitting *sitting, Part *part)
{
	Call	   *call = &part->answered.call;

	if (part->entry ? !was_said(call, &part->entry->verdict) : !part->mapped)
	{
		/* one's own map again: this call was left to somebody else */
		if (part->entry && !sitting->again)
		{
			sitting_add_name(&sitting->unknown, part->entry->tool_call_id);
			sitting_add_ended(sitting, part);
		}
		call_refuse(call, call->effective.status == STATUS_EXPIRED ? REASON_EXPIRED : REASON_ALREADY_DECIDED);
		return leave(part);
	}
	sitting->unchanged++;
	part->answered.kind = ANSWERED_UNCHANGED;
	return STEP_UNCHANGED;
}

/* Named, but nothing of that name was ever proposed. */
static void
look_for_unknown(Sitting *sitting)
{
	int			i;
	int			j;

	for (i = 0; i < sitting->decisions.count; i++)
	{
		const Entry *entry = &sitting->decisions.entries[i];

		for (j = 0; j < sitting->count; j++)
			if (sitting->parts[j].entry == entry)
				break;
		if (j == sitting->count)
			sitting_add_name(&sitting->unknown, entry->tool_call_id);
	}
}

/*
 * Whether this actor has sent this very map before.  An edit that was left to
 * others has no decision of the map, but is known again itself.
 */
static bool
sent_before(const Sitting *sitting)
{
	int			i;

	for (i = 0; i < sitting->count; i++)
	{
		const Part *part = &sitting->parts[i];

		if (part->mapped ||
			(part->entry && verdict_own_edit_again(&part->answered.call, &part->entry->verdict)))
			return true;
	}
	return false;
}

/*
 * The list that was shown is the list that waits, or the map was sent before,
 * and then the rest has been decided.  A map that only rejects the rest has
 * nothing else to be known by, so it holds for whatever waits by now.
 */
static bool
check_rest(Sitting *sitting)
{
	const Verdict *rest = sitting->decisions.rest;

	sitting->again = sent_before(sitting);
	if (rest == NULL)
		return true;			/* each call is looked at by itself */
	if (sitting->seen_set == NULL && rest->approve)
	{
		decisions_bad(sitting->call, "$.*", "approving the rest takes seen_set, the digest of the list that was shown");
		return false;
	}
	if (sitting->seen_set && memcmp(sitting->seen_set, &sitting->current_set, sizeof(Digest)) == 0)
		return true;
	sitting->rest_done = sitting->again && (sitting->seen_set || sitting->decisions.count > 0);
	if (sitting->seen_set == NULL || sitting->rest_done)
		return true;
	sitting_mismatch(sitting, REASON_STALE_VIEW);
	return false;
}

/* The first call that somebody else has to decide says why. */
static Step
nothing_for_this_actor(Sitting *sitting)
{
	int			i;

	for (i = 0; i < sitting->count; i++)
	{
		Part	   *part = &sitting->parts[i];

		if (sitting_waits(part) && part->answered.call.refusal.reason != REASON_NONE)
			return refuse_part(sitting, part);
	}
	for (i = 0; i < sitting->count; i++)
		if (sitting_waits(&sitting->parts[i]))
			return STEP_UNCHANGED;
	return sitting_mismatch(sitting, REASON_DECISIONS_MISMATCH);
}

static bool
too_many_approvals(Sitting *sitting)
{
	const Verdict *rest = sitting->decisions.rest;
	int			approvals = 0;
	int			i;

	if (rest == NULL || !rest->approve || sitting->rest_done)
		return false;
	for (i = 0; i < sitting->count; i++)
		if (sitting->parts[i].entry == NULL && sitting->parts[i].answered.kind == ANSWERED_APPLIED)
			approvals++;
	if (approvals <= setting_bulk_approvals)
		return false;
	errors_member_raw(&sitting->call->refusal, "limit", psprintf("%d", setting_bulk_approvals));
	decisions_bad(sitting->call, "$.*", "approves too many at a time");
	return true;
}

/* All of them are ruled on, and nothing is written yet. */
static Step
rule_parts(Sitting *sitting)
{
	Part	   *refused = NULL;
	int			i;

	for (i = 0; i < sitting->count; i++)
	{
		Part	   *part = &sitting->parts[i];
		Step		step = sitting_waits(part) ? sit_on_waiting(sitting, part) : sit_on_decided(sitting, part);

		CHECK_FOR_INTERRUPTS();
		if (step == STEP_REFUSED && refused == NULL)
			refused = part;
	}
	look_for_unknown(sitting);

	/* one's own map again, after the conversation has gone on */
	if (sitting->unknown.len == 0 && refused == NULL && sitting->applied == 0 && sitting->unchanged > 0)
		return STEP_UNCHANGED;
	if (sitting->unknown.len > 0 || sitting->missing.len > 0)
		return sitting_mismatch(sitting, REASON_DECISIONS_MISMATCH);
	if (refused)
		return refuse_part(sitting, refused);
	if (sitting->applied == 0 && sitting->unchanged == 0)
		return nothing_for_this_actor(sitting);
	return too_many_approvals(sitting) ? STEP_REFUSED : STEP_WRITTEN;
}

static void
write_parts(Sitting *sitting)
{
	Writing		writing;
	int			i;

	verdict_begin(&writing);
	for (i = 0; i < sitting->count; i++)
	{
		Part	   *part = &sitting->parts[i];

		if (part->answered.kind == ANSWERED_APPLIED)
			verdict_write(&writing, &part->answered.call, &part->verdict);
	}
	verdict_end(&writing, sitting->call);
}

/* decide_all(conversation_id, decisions, seen_set, actor, tenant) */
static Step
sit(Call *call, Sitting *sitting)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *json;
	Step		step;

	memset(sitting, 0, sizeof(*sitting));
	sitting->call = call;
	sitting->conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	json = args_required_json(fcinfo, 1, "decisions");
	if (!PG_ARGISNULL(2))
		sitting->seen_set = (const Digest *) PG_GETARG_POINTER(2);
	call_tenant(call, 4);
	if (!call_actor(call, 3, true) || !decisions_map(call, json, &sitting->decisions))
		return STEP_REFUSED;
	if (!caller_may_judge(call->caller))
		return call_refuse(call, REASON_NOT_ELIGIBLE);
	if (!sitting_open(sitting) || !check_rest(sitting))
		return STEP_REFUSED;
	step = rule_parts(sitting);
	if (step == STEP_WRITTEN)
		write_parts(sitting);
	return step;
}

/* Not of what was over before, and is not in the map. */
static Answered *
answers_of(const Sitting *sitting, int *count)
{
	Answered   *answers = palloc(sizeof(Answered) * (sitting->count + 1));
	int			i;

	*count = 0;
	for (i = 0; i < sitting->count; i++)
	{
		const Part *part = &sitting->parts[i];

		if (sitting_waits(part) || part->entry || part->mapped || part->answered.kind == ANSWERED_APPLIED)
			answers[(*count)++] = part->answered;
	}
	return answers;
}

Datum
approval_decide_all(PG_FUNCTION_ARGS)
{
	Call		call;
	Sitting		sitting;
	Answered   *answers;
	int			count;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	verb_begin(&call, fcinfo, "decide_all");
	if (sit(&call, &sitting) == STEP_REFUSED)
		errors_raise(&call.refusal);
	answers = answers_of(&sitting, &count);
	answer_put((ReturnSetInfo *) fcinfo->resultinfo, answers, count);
	verb_end(&call);
	return (Datum) 0;
}

static Step
try_sit(Call *call)
{
	Sitting		sitting;
	Step		step = sit(call, &sitting);
	Answered   *answers;
	int			count;

	if (step == STEP_REFUSED)
		return step;
	answers = answers_of(&sitting, &count);
	call->answers = answer_json(answers, count);
	call->has_answers = true;
	return step;
}

Datum
approval_try_decide_all(PG_FUNCTION_ARGS)
{
	return verb_try(fcinfo, "decide_all", try_sit, ANSWER_SEVERAL);
}
