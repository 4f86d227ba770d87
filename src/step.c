/*-------------------------------------------------------------------------
 *
 * step.c
 *	  What happened in a run: rows of approval.steps.
 *
 * Steps are only ever added.  Their numbers come from the sequence of the
 * events, so that steps and events of a run have one order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/sequence.h"
#include "common/int.h"
#include "utils/builtins.h"

#include "step.h"

const ColumnInfo step_columns[STEP_COUNT] = {
	[STEP_TENANT] = {"tenant", COLUMN_TEXT, 0},
	[STEP_RUN_ID] = {"run_id", COLUMN_TEXT, 0},
	[STEP_SEQ] = {"seq", COLUMN_INT8, 0},
	[STEP_AT] = {"at", COLUMN_TIME, 0},
	[STEP_SYSTEM] = {"system", COLUMN_TEXT, 0},
	[STEP_KIND] = {"kind", COLUMN_TEXT, 0},
	[STEP_NAME] = {"name", COLUMN_TEXT, 0},
	[STEP_LOGIN] = {"login", COLUMN_TEXT, 0},
	[STEP_ACTOR] = {"actor", COLUMN_TEXT, 0},
	[STEP_FENCE] = {"fence", COLUMN_INT4, 0},
	[STEP_IN_ITERATION] = {"iteration", COLUMN_INT4, 0},
	[STEP_REQUEST_ID] = {"request_id", COLUMN_ULID, 0},
	[STEP_PARENT_SEQ] = {"parent_seq", COLUMN_INT8, 0},
	[STEP_PARENT_SPAN] = {"parent_span_id", COLUMN_TEXT, 0},
	[STEP_LINK] = {"link", COLUMN_TEXT, 0},
	[STEP_STARTED_AT] = {"started_at", COLUMN_TIME, 0},
	[STEP_DURATION] = {"duration", COLUMN_INT8, 0},
	[STEP_INPUT_TOKENS] = {"input_tokens", COLUMN_INT8, 0},
	[STEP_OUTPUT_TOKENS] = {"output_tokens", COLUMN_INT8, 0},
	[STEP_COST] = {"cost", COLUMN_NUMERIC, 0},
	[STEP_ERROR] = {"error", COLUMN_TEXT, 0},
	[STEP_DETAIL] = {"detail", COLUMN_JSON, 0},
};

#define STEP_KIND_WORD(symbol, word, open) word,
static const char *const kind_words[STEP_KIND_COUNT] = {
	STEP_KINDS(STEP_KIND_WORD)
};
#undef STEP_KIND_WORD

const char *
step_kind_word(StepKind kind)
{
	return kind_words[kind];
}

/* Whether it is a kind that record_step() takes. */
bool
step_kind_open(const char *word)
{
#define STEP_KIND_OPEN(symbol, word, open) open,
	static const bool open[STEP_KIND_COUNT] = {STEP_KINDS(STEP_KIND_OPEN)};
#undef STEP_KIND_OPEN
	int			i;

	for (i = 0; i < STEP_KIND_COUNT; i++)
		if (strcmp(kind_words[i], word) == 0)
			return open[i];
	return false;
}

void
step_set(StepRow *row, StepColumn column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

void
step_set_text(StepRow *row, StepColumn column, const char *value)
{
	row->nulls[column] = (value == NULL);
	row->values[column] = value ? CStringGetTextDatum(value) : (Datum) 0;
}

/* A step of the run that is written now. */
void
step_begin(StepRow *row, const Call *call, const Run *run, StepKind kind, const char *system)
{
	memset(row->nulls, true, sizeof(row->nulls));
	step_set(row, STEP_TENANT, run->values[RUNC_TENANT]);
	step_set(row, STEP_RUN_ID, run->values[RUNC_RUN_ID]);
	step_set(row, STEP_AT, TimestampTzGetDatum(call->now));
	step_set_text(row, STEP_SYSTEM, system);
	step_set_text(row, STEP_KIND, kind_words[kind]);
	step_set_text(row, STEP_LOGIN, call->caller->login);
	step_set_text(row, STEP_ACTOR, call->actor);
	step_set(row, STEP_FENCE, run->values[RUNC_FENCE]);
	step_set(row, STEP_IN_ITERATION, run->values[RUNC_ITERATIONS]);
}

/* Numbers it, and stores it. */
void
step_insert(StepRow *row)
{
	Relation	steps = table_of_ours(OWN_STEPS, RowExclusiveLock);
	Writer		writer;

	step_set(row, STEP_SEQ, Int64GetDatum(nextval_internal(table_oid(OWN_EVENTS_SEQUENCE), false)));
	table_write_begin(&writer);
	table_insert(&writer, steps, row->values, row->nulls);
	table_write_end(&writer);
	table_close(steps, NoLock);
}

/* Stops at the greatest number that there is. */
static void
add_count(int64 *sum, const TupleTableSlot *slot, StepColumn column)
{
	if (!slot->tts_isnull[column] &&
		pg_add_s64_overflow(*sum, DatumGetInt64(slot->tts_values[column]), sum))
		*sum = PG_INT64_MAX;
}

static bool
add_step(TupleTableSlot *slot, void *arg)
{
	StepSums   *sums = arg;

	slot_getsomeattrs(slot, STEP_COST + 1);
	add_count(&sums->input_tokens, slot, STEP_INPUT_TOKENS);
	add_count(&sums->output_tokens, slot, STEP_OUTPUT_TOKENS);
	if (!slot->tts_isnull[STEP_COST])
		sums->cost = DirectFunctionCall2(numeric_add, sums->cost, slot->tts_values[STEP_COST]);
	return true;
}

/*
 * Added up when they are asked for: a sum that is kept on the run would make its
 * steps wait for each other.
 */
void
step_sums(const Run *run, StepSums *sums)
{
	Relation	steps = table_of_ours(OWN_STEPS, AccessShareLock);
	Datum		keys[2];

	sums->input_tokens = sums->output_tokens = 0;
	sums->cost = DirectFunctionCall1(int4_numeric, Int32GetDatum(0));
	keys[0] = run->values[RUNC_TENANT];
	keys[1] = run->values[RUNC_RUN_ID];
	table_visit(steps, OWN_STEPS_BY_ID, keys, 2, NULL, add_step, sums);
	table_close(steps, NoLock);
}

/*
 * What a verb of ours did to the run, or for another system; error: why it ended
 * badly, detail: JSON, or NULL.
 */
void
step_journal_of(const Call *call, const Run *run, StepKind kind, const char *system, const char *name,
				const char *error, const char *detail)
{
	StepRow		row;

	step_begin(&row, call, run, kind, system);
	step_set_text(&row, STEP_NAME, name);
	step_set_text(&row, STEP_ERROR, error);
	step_set_text(&row, STEP_DETAIL, detail);
	step_insert(&row);
}

void
step_journal(const Call *call, const Run *run, StepKind kind, const char *name, const char *error)
{
	step_journal_of(call, run, kind, STEP_OWN_SYSTEM, name, error, NULL);
}
