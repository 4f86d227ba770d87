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

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "answer.h"
#include "args.h"
#include "clock.h"
#include "decisions.h"
#include "param.h"
#include "quorum.h"
#include "row.h"
#include "settings.h"
#include "subject.h"

PG_FUNCTION_INFO_V1(approval_decide_all);
PG_FUNCTION_INFO_V1(approval_try_decide_all);

/* No list in DETAIL is longer than this. */
#define TOLD_MOST 200

static Statement select_waiting = {
	.sql = "SELECT u.id, pg_catalog.bool_or(u.mapped) FROM ("
	"SELECT r.id, false AS mapped FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
	" AND r.conversation_id OPERATOR(pg_catalog.=) $2 AND r.status OPERATOR(pg_catalog.=) 'pending'"
	" UNION ALL SELECT r.id, false FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1"
	" AND r.conversation_id OPERATOR(pg_catalog.=) $2 AND r.tool_call_id OPERATOR(pg_catalog.=) ANY ($3)"
	" UNION ALL SELECT r.id, true FROM approval.requests r JOIN approval.decisions d"
	" ON d.tenant OPERATOR(pg_catalog.=) r.tenant AND d.request_id OPERATOR(pg_catalog.=) r.id"
	" WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND r.conversation_id OPERATOR(pg_catalog.=) $2"
	" AND d.map_hash OPERATOR(pg_catalog.=) $5::approval.digest AND d.actor OPERATOR(pg_catalog.=) $6"
	") u GROUP BY u.id ORDER BY u.id LIMIT $4",
	.nparams = 6,
	.types = {TEXTOID, TEXTOID, TEXTARRAYOID, INT8OID, TEXTOID, TEXTOID},
};

/* What was last decided by people in this conversation, for DETAIL. */
static Statement select_decided = {
	.sql = "SELECT r.tool_call_id, r.status, r.decided_by, r.decided_at FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND r.conversation_id OPERATOR(pg_catalog.=) $2"
	" AND r.decided_at IS NOT NULL AND r.cause OPERATOR(pg_catalog.<>) 'policy'"
	" ORDER BY r.decided_at DESC, r.id DESC LIMIT $3",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, INT8OID},
};

/* One call of the conversation. */
typedef struct Part
{
	Answered	answered;
	const Entry *entry;			/* NULL: the map does not name it */
	bool		mapped;			/* decided by the same map before */
	Verdict		verdict;
} Part;

typedef struct Sitting
{
	Call	   *call;
	const char *conversation_id;
	Decisions	decisions;
	const Digest *seen_set;
	Digest		map_hash;
	Digest		current_set;
	bool		rest_done;		/* the rest was decided by the same map before */
	int			count;
	Part	   *parts;
	int			applied;
	int			unchanged;
	StringInfoData unknown;		/* named, but there is no such call waiting */
	StringInfoData missing;		/* waiting, but not named */
} Sitting;

static const Entry *
entry_for(const Decisions *decisions, const Request *request)
{
	int			i;

	for (i = 0; i < decisions->count; i++)
		if (request_text_is(request, REQ_TOOL_CALL_ID, decisions->entries[i].tool_call_id))
			return &decisions->entries[i];
	return NULL;
}

/*
 * By what one's own map is known again: SHA-256 of the canonical JSON array
 * [conversation_id, seen_set or null, decisions].
 */
static void
hash_map(Sitting *sitting)
{
	StringInfoData doc;
	char		hex[DIGEST_TEXT_LEN + 1];

	initStringInfo(&doc);
	appendStringInfoChar(&doc, '[');
	canonical_append_string(&doc, sitting->conversation_id, strlen(sitting->conversation_id));
	if (sitting->seen_set)
		digest_to_hex(sitting->seen_set, hex);
	appendStringInfoString(&doc, sitting->seen_set ? psprintf(",\"%s\",", hex) : ",null,");
	appendStringInfoString(&doc, sitting->decisions.canonical);
	appendStringInfoChar(&doc, ']');
	digest_of(doc.data, doc.len, &sitting->map_hash);
}

/* What waits, what is named, and what was decided by the same map before. */
static void
part_params(const Sitting *sitting, const char *const *names, Datum *values, char *nulls)
{
	char		hex[DIGEST_TEXT_LEN + 1];

	memset(nulls, ' ', 6);
	digest_to_hex(&sitting->map_hash, hex);
	param_text(values, nulls, 0, sitting->call->tenant);
	param_text(values, nulls, 1, sitting->conversation_id);
	values[2] = param_texts(names, sitting->decisions.count);
	values[3] = Int64GetDatum(DECISIONS_MOST + 1);
	param_text(values, nulls, 4, hex);
	param_text(values, nulls, 5, sitting->call->actor);
}

/* The calls to be locked, in the order of their ids; false with a refusal. */
static bool
find_parts(Sitting *sitting)
{
	Call	   *call = sitting->call;
	const Decisions *decisions = &sitting->decisions;
	const char **names = palloc(sizeof(char *) * (decisions->count + 1));
	Datum		values[6];
	char		nulls[6];
	uint64		i;

	for (i = 0; i < (uint64) decisions->count; i++)
		names[i] = decisions->entries[i].tool_call_id;
	part_params(sitting, names, values, nulls);
	sitting->count = store_run(&select_waiting, values, nulls, SPI_OK_SELECT, 0);
	if (sitting->count > DECISIONS_MOST)
	{
		errors_member_raw(&call->refusal, "limit", psprintf("%d", DECISIONS_MOST));
		call_refuse(call, REASON_TOO_LARGE);
		return false;
	}
	sitting->parts = palloc0(sizeof(Part) * (sitting->count + 1));
	for (i = 0; i < (uint64) sitting->count; i++)
	{
		bool		isnull;

		sitting->parts[i].answered.call = *call;
		sitting->parts[i].answered.call.id =
			*DatumGetUlidP(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
		sitting->parts[i].mapped = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull));
	}
	return true;
}

static bool
is_waiting(const Part *part)
{
	return part->answered.call.effective.status == STATUS_PENDING;
}

/* Locks them all, and works out the digest of those that wait, as pending() does. */
static bool
lock_parts(Sitting *sitting)
{
	StringInfoData set;
	int			i;

	initStringInfo(&set);
	appendStringInfoChar(&set, '[');
	for (i = 0; i < sitting->count; i++)
	{
		Part	   *part = &sitting->parts[i];
		Ulid		id = part->answered.call.id;

		CHECK_FOR_INTERRUPTS();
		if (!call_lock(&part->answered.call, &id))
		{
			sitting->call->refusal = part->answered.call.refusal;
			return false;
		}
		part->entry = entry_for(&sitting->decisions, part->answered.call.request);
		if (is_waiting(part))
			subject_add_to_set(&set, part->answered.call.request);
	}
	appendStringInfoChar(&set, ']');
	digest_of(set.data, set.len, &sitting->current_set);
	return true;
}

/* An element of a list in DETAIL. */
static void
add_name(StringInfo list, const char *name)
{
	if (list->len > 0)
		appendStringInfoChar(list, ',');
	errors_escape(list, name);
}

static void
tell_waiting(const Sitting *sitting, Refusal *refusal)
{
	StringInfoData out;
	int			told = 0;
	int			i;
	char		hex[DIGEST_TEXT_LEN + 1];

	initStringInfo(&out);
	for (i = 0; i < sitting->count && told < TOLD_MOST; i++)
	{
		const Request *request = sitting->parts[i].answered.call.request;
		char		id[ULID_TEXT_LEN + 1];

		if (!is_waiting(&sitting->parts[i]))
			continue;
		told++;
		ulid_to_text(request_id(request), id);
		digest_to_hex(request_digest_at(request, REQ_REVIEW_HASH), hex);
		appendStringInfo(&out, "%s{\"id\":\"%s\",\"tool_call_id\":", out.len > 0 ? "," : "[", id);
		errors_escape(&out, request_text(request, REQ_TOOL_CALL_ID));
		appendStringInfoString(&out, ",\"tool\":");
		errors_escape(&out, request_text(request, REQ_TOOL));
		appendStringInfo(&out, ",\"review_hash\":\"%s\"}", hex);
	}
	errors_member_raw(refusal, "pending", out.len > 0 ? psprintf("%s]", out.data) : "[]");
	digest_to_hex(&sitting->current_set, hex);
	errors_member(refusal, "seen_set", hex);
}

static const char *
decided_column(uint64 row, int n)
{
	char	   *value = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, n);

	return value ? value : "";
}

static uint64
find_decided(const Sitting *sitting)
{
	Datum		values[3];

	values[0] = CStringGetTextDatum(sitting->call->tenant);
	values[1] = CStringGetTextDatum(sitting->conversation_id);
	values[2] = Int64GetDatum(TOLD_MOST);
	return store_run(&select_decided, values, NULL, SPI_OK_SELECT, 0);
}

/* Who won: the latest decisions of people in this conversation. */
static void
tell_decided(const Sitting *sitting, Refusal *refusal)
{
	StringInfoData out;
	uint64		count = find_decided(sitting);
	uint64		i;

	initStringInfo(&out);
	for (i = 0; i < count; i++)
	{
		bool		isnull;
		char		at[CLOCK_TEXT_LEN];

		clock_text(DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 4, &isnull)), at);
		appendStringInfo(&out, "%s{\"tool_call_id\":", out.len > 0 ? "," : "");
		errors_escape(&out, decided_column(i, 1));
		appendStringInfo(&out, ",\"status\":\"%s\",\"decided_by\":", decided_column(i, 2));
		errors_escape(&out, decided_column(i, 3));
		appendStringInfo(&out, ",\"decided_at\":\"%s\"}", at);
	}
	errors_member_raw(refusal, "decided", psprintf("[%s]", out.data));
}

/* The whole map is for another state of the conversation: this is what waits now. */
static Step
mismatch(Sitting *sitting, Reason reason)
{
	Refusal    *refusal = &sitting->call->refusal;

	memset(refusal, 0, sizeof(*refusal));
	errors_member(refusal, "conversation_id", sitting->conversation_id);
	errors_member_raw(refusal, "unknown", psprintf("[%s]", sitting->unknown.data));
	errors_member_raw(refusal, "missing", psprintf("[%s]", sitting->missing.data));
	tell_waiting(sitting, refusal);
	tell_decided(sitting, refusal);
	return call_refuse(sitting->call, reason);
}

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
			return refuse_part(sitting, part);
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
	errors_member(&call->refusal, "problem", "what needs several people is approved by name only");
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
		call_refuse(call, REASON_ROW_TAMPERED);
		return refuse_part(sitting, part);
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
		add_name(&sitting->missing, request_text(call->request, REQ_TOOL_CALL_ID));
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
		if (part->entry)
			add_name(&sitting->unknown, part->entry->tool_call_id);
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
			add_name(&sitting->unknown, entry->tool_call_id);
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
	bool		again = sent_before(sitting);

	if (rest == NULL)
		return true;			/* each call is looked at by itself */
	if (sitting->seen_set == NULL && rest->approve)
	{
		decisions_bad(sitting->call, "$.*", "approving the rest takes seen_set, the digest of the list that was shown");
		return false;
	}
	if (sitting->seen_set && memcmp(sitting->seen_set, &sitting->current_set, sizeof(Digest)) == 0)
		return true;
	sitting->rest_done = again && (sitting->seen_set || sitting->decisions.count > 0);
	if (sitting->seen_set == NULL || sitting->rest_done)
		return true;
	mismatch(sitting, REASON_STALE_VIEW);
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

		if (is_waiting(part) && part->answered.call.refusal.reason != REASON_NONE)
			return refuse_part(sitting, part);
	}
	for (i = 0; i < sitting->count; i++)
		if (is_waiting(&sitting->parts[i]))
			return STEP_UNCHANGED;
	return mismatch(sitting, REASON_DECISIONS_MISMATCH);
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
	int			i;

	for (i = 0; i < sitting->count; i++)
	{
		Part	   *part = &sitting->parts[i];
		Step		step = is_waiting(part) ? sit_on_waiting(sitting, part) : sit_on_decided(sitting, part);

		CHECK_FOR_INTERRUPTS();
		if (step == STEP_REFUSED)
			return STEP_REFUSED;
	}
	look_for_unknown(sitting);

	/* one's own map again, after the conversation has gone on */
	if (sitting->unknown.len == 0 && sitting->applied == 0 && sitting->unchanged > 0)
		return STEP_UNCHANGED;
	if (sitting->unknown.len > 0 || sitting->missing.len > 0)
		return mismatch(sitting, REASON_DECISIONS_MISMATCH);
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
	initStringInfo(&sitting->unknown);
	initStringInfo(&sitting->missing);
	sitting->conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	json = args_required_json(fcinfo, 1, "decisions");
	if (!PG_ARGISNULL(2))
		sitting->seen_set = (const Digest *) PG_GETARG_POINTER(2);
	call_tenant(call, 4);
	if (!call_actor(call, 3, true) || !decisions_map(call, json, &sitting->decisions))
		return STEP_REFUSED;
	if (!caller_may_judge(call->caller))
		return call_refuse(call, REASON_NOT_ELIGIBLE);
	hash_map(sitting);
	if (!find_parts(sitting) || !lock_parts(sitting) || !check_rest(sitting))
		return STEP_REFUSED;
	step = rule_parts(sitting);
	if (step == STEP_WRITTEN)
		write_parts(sitting);
	return step;
}

static Answered *
answers_of(const Sitting *sitting)
{
	Answered   *answers = palloc(sizeof(Answered) * (sitting->count + 1));
	int			i;

	for (i = 0; i < sitting->count; i++)
		answers[i] = sitting->parts[i].answered;
	return answers;
}

Datum
approval_decide_all(PG_FUNCTION_ARGS)
{
	Call		call;
	Sitting		sitting;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	verb_begin(&call, fcinfo, "decide_all");
	if (sit(&call, &sitting) == STEP_REFUSED)
		errors_raise(&call.refusal);
	answer_put((ReturnSetInfo *) fcinfo->resultinfo, answers_of(&sitting), sitting.count);
	verb_end(&call);
	return (Datum) 0;
}

static Step
try_sit(Call *call)
{
	Sitting		sitting;
	Step		step = sit(call, &sitting);

	if (step == STEP_REFUSED)
		return step;
	call->answers = answer_json(answers_of(&sitting), sitting.count);
	call->has_answers = true;
	return step;
}

Datum
approval_try_decide_all(PG_FUNCTION_ARGS)
{
	return verb_try(fcinfo, "decide_all", try_sit, ANSWER_SEVERAL);
}
