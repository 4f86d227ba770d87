/*-------------------------------------------------------------------------
 *
 * run.h
 *	  A row of approval.runs: the one table of its columns, and its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_RUN_H
#define APPROVAL_RUN_H

#include "run_state.h"
#include "table.h"
#include "verb.h"

#define RUN_FIXED 0x01			/* no verb changes it */
#define RUN_PUBLIC 0x02			/* a column of the type approval.run */
#define F_P (RUN_FIXED | RUN_PUBLIC)

/* In the order of the table; the public ones are those of the type, in order. */
#define RUN_COLUMNS(C) \
	C(TENANT, "tenant", TEXT, F_P) \
	C(RUN_ID, "run_id", TEXT, F_P) \
	C(CONVERSATION_ID, "conversation_id", TEXT, F_P) \
	C(PARENT, "parent_run_id", TEXT, F_P) \
	C(ROOT, "root_run_id", TEXT, F_P) \
	C(DEPTH, "depth", INT4, RUN_FIXED) \
	C(LOGIN, "requester_login", TEXT, F_P) \
	C(REQUESTED_BY, "requested_by", TEXT, F_P) \
	C(AGENT, "agent", TEXT, F_P) \
	C(METADATA, "metadata", JSON, F_P) \
	C(TRACE_ID, "trace_id", TEXT, RUN_FIXED) \
	C(SPAN_ID, "span_id", TEXT, RUN_FIXED) \
	C(PARENT_SPAN, "parent_span_id", TEXT, RUN_FIXED) \
	C(TRACE_FLAGS, "trace_flags", TEXT, RUN_FIXED) \
	C(STATUS, "status", TEXT, RUN_PUBLIC) \
	C(REASON, "reason", TEXT, RUN_PUBLIC) \
	C(MAX_ITERATIONS, "max_iterations", INT4, F_P) \
	C(ITERATIONS, "iterations", INT4, RUN_PUBLIC) \
	C(FENCE, "fence", INT4, RUN_PUBLIC) \
	C(CLAIMED_BY, "claimed_by", TEXT, RUN_PUBLIC) \
	C(TOKEN_HASH, "token_hash", DIGEST, 0) \
	C(LEASE, "lease", INT8, 0) \
	C(CLAIMED_AT, "claimed_at", TIME, RUN_PUBLIC) \
	C(LEASE_UNTIL, "lease_until", TIME, RUN_PUBLIC) \
	C(STARTED_AT, "started_at", TIME, F_P) \
	C(ITERATED_AT, "iterated_at", TIME, RUN_PUBLIC) \
	C(ENDED_AT, "ended_at", TIME, RUN_PUBLIC) \
	C(ENDED_BY, "ended_by", TEXT, RUN_PUBLIC) \
	C(ANSWER, "answer", TEXT, RUN_PUBLIC)

#define RUN_SYMBOL(symbol, name, type, flags) RUNC_##symbol,
typedef enum RunColumn
{
	RUN_COLUMNS(RUN_SYMBOL)
	RUN_COUNT
} RunColumn;
#undef RUN_SYMBOL

extern const ColumnInfo run_columns[RUN_COUNT];

/* The row; values point into the memory they were read from. */
typedef struct Run
{
	Datum		values[RUN_COUNT];
	bool		nulls[RUN_COUNT];
	RunStatus	status;			/* as stored */
	ItemPointerData tid;
} Run;

extern Run *run_find(const char *tenant, const char *run_id, TableLock lock);
extern Run *run_find_latest(const char *tenant, const char *run_id);
extern void run_of_slot(Run *run, const TupleTableSlot *slot);
extern void run_load(Run *run, HeapTuple row, TupleDesc desc);
extern bool run_insert(const Run *run);
extern void run_write(const Run *run);

extern void run_empty(Run *run);
extern void run_set(Run *run, RunColumn column, Datum value);
extern void run_set_text(Run *run, RunColumn column, const char *value);
extern void run_set_time(Run *run, RunColumn column, TimestampTz value);
extern void run_move(Run *run, RunStatus status);
extern char *run_text(const Run *run, RunColumn column);
extern bool run_text_is(const Run *run, RunColumn column, const char *value);
extern int	run_int(const Run *run, RunColumn column);
extern TimestampTz run_time(const Run *run, RunColumn column);
extern bool run_sound(const Run *run);
extern char *run_traceparent(const Run *run);

#endif							/* APPROVAL_RUN_H */
