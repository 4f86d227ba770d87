/*-------------------------------------------------------------------------
 *
 * state.c
 *	  The states of a request and the one table of legal moves.
 *
 * Verbs, the guard trigger, approval.transitions(), the diagram in the docs
 * and the tests all read this table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "state.h"

typedef struct Move
{
	Status		from;
	Outcome		from_outcome;
	Status		to;
	Outcome		to_outcome;
	const char *verb;			/* what makes the move */
} Move;

static const Move moves[] = {
	{STATUS_NONE, OUTCOME_NONE, STATUS_PENDING, OUTCOME_NONE, "propose"},
	{STATUS_NONE, OUTCOME_NONE, STATUS_APPROVED, OUTCOME_NONE, "propose"},
	{STATUS_NONE, OUTCOME_NONE, STATUS_REJECTED, OUTCOME_NONE, "propose"},
	{STATUS_NONE, OUTCOME_NONE, STATUS_CONSUMED, OUTCOME_UNTRACKED, "propose"},

	{STATUS_PENDING, OUTCOME_NONE, STATUS_APPROVED, OUTCOME_NONE, "decide"},
	{STATUS_PENDING, OUTCOME_NONE, STATUS_REJECTED, OUTCOME_NONE, "decide"},
	{STATUS_PENDING, OUTCOME_NONE, STATUS_CANCELLED, OUTCOME_NONE, "cancel"},
	{STATUS_PENDING, OUTCOME_NONE, STATUS_EXPIRED, OUTCOME_NONE, "expire"},

	{STATUS_APPROVED, OUTCOME_NONE, STATUS_CONSUMED, OUTCOME_IN_FLIGHT, "consume"},
	{STATUS_APPROVED, OUTCOME_NONE, STATUS_REVOKED, OUTCOME_NONE, "revoke"},
	{STATUS_APPROVED, OUTCOME_NONE, STATUS_CANCELLED, OUTCOME_NONE, "cancel"},
	{STATUS_APPROVED, OUTCOME_NONE, STATUS_EXPIRED, OUTCOME_NONE, "expire"},

	{STATUS_CONSUMED, OUTCOME_IN_FLIGHT, STATUS_CONSUMED, OUTCOME_SUCCEEDED, "complete"},
	{STATUS_CONSUMED, OUTCOME_IN_FLIGHT, STATUS_CONSUMED, OUTCOME_FAILED, "complete"},
	{STATUS_CONSUMED, OUTCOME_IN_FLIGHT, STATUS_CONSUMED, OUTCOME_UNKNOWN, "complete"},
	{STATUS_CONSUMED, OUTCOME_UNKNOWN, STATUS_CONSUMED, OUTCOME_SUCCEEDED, "complete, reconcile"},
	{STATUS_CONSUMED, OUTCOME_UNKNOWN, STATUS_CONSUMED, OUTCOME_FAILED, "complete, reconcile"},
	{STATUS_CONSUMED, OUTCOME_UNKNOWN, STATUS_CONSUMED, OUTCOME_IN_FLIGHT, "resume"},
};

static const char *const status_words[] = {
	NULL, "pending", "approved", "rejected", "consumed", "expired", "cancelled", "revoked"
};

static const char *const outcome_words[] = {
	NULL, "untracked", "in_flight", "succeeded", "failed", "unknown"
};

PG_FUNCTION_INFO_V1(approval_transitions);

const char *
state_status_word(Status status)
{
	return status_words[status];
}

const char *
state_outcome_word(Outcome outcome)
{
	return outcome_words[outcome];
}

static int
find_word(const char *const *words, int count, const char *word, int len)
{
	int			i;

	for (i = 1; i < count; i++)
		if (strlen(words[i]) == (size_t) len && memcmp(words[i], word, len) == 0)
			return i;
	return 0;
}

/* STATUS_NONE for what is not a status. */
Status
state_status(const char *word, int len)
{
	return (Status) find_word(status_words, lengthof(status_words), word, len);
}

Outcome
state_outcome(const char *word, int len)
{
	return (Outcome) find_word(outcome_words, lengthof(outcome_words), word, len);
}

/* Staying where one is is no move, and needs no permission. */
bool
state_legal(Status from, Outcome from_outcome, Status to, Outcome to_outcome)
{
	int			i;

	if (from == to && from_outcome == to_outcome)
		return true;
	for (i = 0; i < (int) lengthof(moves); i++)
		if (moves[i].from == from && moves[i].from_outcome == from_outcome &&
			moves[i].to == to && moves[i].to_outcome == to_outcome)
			return true;
	return false;
}

static Datum
word_datum(const char *word, bool *isnull)
{
	*isnull = (word == NULL);
	return word ? CStringGetTextDatum(word) : (Datum) 0;
}

/* approval.transitions(): the table above */
Datum
approval_transitions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < (int) lengthof(moves); i++)
	{
		const Move *move = &moves[i];
		Datum		values[5];
		bool		nulls[5];

		values[0] = word_datum(status_words[move->from], &nulls[0]);
		values[1] = word_datum(outcome_words[move->from_outcome], &nulls[1]);
		values[2] = word_datum(status_words[move->to], &nulls[2]);
		values[3] = word_datum(outcome_words[move->to_outcome], &nulls[3]);
		values[4] = word_datum(move->verb, &nulls[4]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
