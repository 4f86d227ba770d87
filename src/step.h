/*-------------------------------------------------------------------------
 *
 * step.h
 *	  What happened in a run: rows of approval.steps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_STEP_H
#define APPROVAL_STEP_H

#include "run.h"

/*
 * The closed list of kinds.  K(symbol, word, open): an open kind is recorded by
 * record_step(); the others are written by the verbs of runs themselves.
 */
#define STEP_KINDS(K) \
	K(MODEL_CALL, "model_call", true) \
	K(TOOL_CALL, "tool_call", true) \
	K(RETRIEVAL, "retrieval", true) \
	K(WORKFLOW, "workflow", true) \
	K(NOTE, "note", true) \
	K(RUN_STARTED, "run_started", false) \
	K(RUN_CLAIMED, "run_claimed", false) \
	K(RUN_RELEASED, "run_released", false) \
	K(CHILD_STARTED, "child_started", false) \
	K(ITERATION, "iteration", false) \
	K(HANDLE_ATTACHED, "handle_attached", false) \
	K(CALLBACK, "callback", false) \
	K(RUN_COMPLETED, "run_completed", false) \
	K(RUN_FAILED, "run_failed", false) \
	K(RUN_CANCELLED, "run_cancelled", false) \
	K(RUN_LIMIT, "iteration_limit_reached", false)

#define STEP_KIND_SYMBOL(symbol, word, open) STEP_##symbol,
typedef enum StepKind
{
	STEP_KINDS(STEP_KIND_SYMBOL)
	STEP_KIND_COUNT
} StepKind;
#undef STEP_KIND_SYMBOL

/* The system of the steps that our own verbs write. */
#define STEP_OWN_SYSTEM "approval"

/* The columns of approval.steps, in order. */
typedef enum StepColumn
{
	STEP_TENANT, STEP_RUN_ID, STEP_SEQ, STEP_AT, STEP_SYSTEM, STEP_KIND, STEP_NAME, STEP_LOGIN, STEP_ACTOR,
	STEP_FENCE, STEP_IN_ITERATION, STEP_REQUEST_ID, STEP_PARENT_SEQ, STEP_PARENT_SPAN, STEP_LINK,
	STEP_STARTED_AT, STEP_DURATION, STEP_INPUT_TOKENS, STEP_OUTPUT_TOKENS, STEP_COST, STEP_ERROR, STEP_DETAIL,
	STEP_COUNT
} StepColumn;

extern const ColumnInfo step_columns[STEP_COUNT];

typedef struct StepRow
{
	Datum		values[STEP_COUNT];
	bool		nulls[STEP_COUNT];
} StepRow;

/* What the steps of a run have cost together. */
typedef struct StepSums
{
	int64		input_tokens;
	int64		output_tokens;
	Datum		cost;			/* a numeric */
} StepSums;

extern void step_sums(const Run *run, StepSums *sums);
extern const char *step_kind_word(StepKind kind);
extern bool step_kind_open(const char *word);
extern void step_begin(StepRow *row, const Call *call, const Run *run, StepKind kind, const char *system);
extern void step_set_text(StepRow *row, StepColumn column, const char *value);
extern void step_set(StepRow *row, StepColumn column, Datum value);
extern void step_insert(StepRow *row);
extern void step_journal_of(const Call *call, const Run *run, StepKind kind, const char *system,
							const char *name, const char *error, const char *detail);
extern void step_journal(const Call *call, const Run *run, StepKind kind, const char *name, const char *error);

#endif							/* APPROVAL_STEP_H */
