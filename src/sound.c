/*-------------------------------------------------------------------------
 *
 * sound.c
 *	  What the CHECK constraints of our tables demand.
 *
 * The executor parses the text of a CHECK expression anew for every statement.
 * Lists of words would cost more there than the statement itself, and would
 * repeat what state.c and policy.c know; so each table has one small check, and
 * verbs call the function itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "policy.h"
#include "sound.h"
#include "state.h"

PG_FUNCTION_INFO_V1(approval_sound_request);
PG_FUNCTION_INFO_V1(approval_sound_verdict);

static bool
is_one_of(const text *value, const char *const *words, int count)
{
	int			i;

	for (i = 0; i < count; i++)
		if (strlen(words[i]) == VARSIZE_ANY_EXHDR(value) &&
			memcmp(words[i], VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)) == 0)
			return true;
	return false;
}

static bool
sound_cause(const text *cause)
{
	static const char *const causes[] = {
		"policy", "person", "quorum", "veto", "quorum_unreachable", "decide_deadline",
		"use_deadline", "withdrawn", "revoked", "bad_result"
	};

	return is_one_of(cause, causes, lengthof(causes));
}

static bool
sound_effect(const text *effect)
{
	static const char *const effects[] = {"external", "database"};

	return is_one_of(effect, effects, lengthof(effects));
}

static bool
sound_mode(const text *mode)
{
	char	   *word = text_to_cstring(mode);
	GateMode	ignored;
	bool		sound = policy_mode(word, &ignored);

	pfree(word);
	return sound;
}

/* A deadline is a moment: neither missing nor infinite. */
static bool
sound_deadline(FunctionCallInfo fcinfo, int n)
{
	return !PG_ARGISNULL(n) && !TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(n));
}

/* What the constraint demands, of a row that a verb is about to write. */
void
sound_check(const Request *request)
{
	static const RequestColumn columns[] = {
		REQ_STATUS, REQ_OUTCOME, REQ_CAUSE, REQ_MODE, REQ_EFFECT, REQ_APPROVALS_NEEDED,
		REQ_EXPIRES_AT, REQ_USE_BY
	};

	LOCAL_FCINFO(fcinfo, lengthof(columns));
	int			i;

	InitFunctionCallInfoData(*fcinfo, NULL, lengthof(columns), InvalidOid, NULL, NULL);
	for (i = 0; i < (int) lengthof(columns); i++)
	{
		fcinfo->args[i].value = request->values[columns[i]];
		fcinfo->args[i].isnull = request->nulls[columns[i]];
	}
	if (!DatumGetBool(approval_sound_request(fcinfo)))
		elog(ERROR, "a verb made a request that is not sound");
}

/*
 * sound_request(status, outcome, cause, mode, effect, approvals_needed,
 * expires_at, use_by): not STRICT, since a CHECK lets NULL pass.
 */
Datum
approval_sound_request(PG_FUNCTION_ARGS)
{
	text	   *word;
	Status		status;
	Outcome		outcome = OUTCOME_NONE;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(3) || PG_ARGISNULL(4) || PG_ARGISNULL(5))
		PG_RETURN_BOOL(false);
	word = PG_GETARG_TEXT_PP(0);
	status = state_status(VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word));
	if (!PG_ARGISNULL(1))
	{
		word = PG_GETARG_TEXT_PP(1);
		outcome = state_outcome(VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word));
		if (outcome == OUTCOME_NONE)
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(status != STATUS_NONE &&
				   (status == STATUS_CONSUMED) == (outcome != OUTCOME_NONE) &&
				   (PG_ARGISNULL(2) || sound_cause(PG_GETARG_TEXT_PP(2))) &&
				   sound_mode(PG_GETARG_TEXT_PP(3)) &&
				   sound_effect(PG_GETARG_TEXT_PP(4)) &&
				   PG_GETARG_INT32(5) >= 1 &&
				   sound_deadline(fcinfo, 6) &&
				   (status != STATUS_APPROVED || sound_deadline(fcinfo, 7)));
}

Datum
approval_sound_verdict(PG_FUNCTION_ARGS)
{
	static const char *const verdicts[] = {"approve", "reject"};

	PG_RETURN_BOOL(!PG_ARGISNULL(0) &&
				   is_one_of(PG_GETARG_TEXT_PP(0), verdicts, lengthof(verdicts)));
}
