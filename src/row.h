/*-------------------------------------------------------------------------
 *
 * row.h
 *	  Rows of approval.requests in the database: lock, check, insert, update.
 *
 * For verb.c, which is the only way for a verb to get here, and for readers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ROW_H
#define APPROVAL_ROW_H

#include "utils/snapshot.h"

#include "verb.h"

/* The columns of approval.decisions, in order. */
typedef enum DecisionColumn
{
	DEC_TENANT, DEC_REQUEST, DEC_N, DEC_AT, DEC_VERDICT, DEC_ACTOR, DEC_LOGIN, DEC_SEEN,
	DEC_REVIEW_HASH, DEC_ACTION_HASH, DEC_RESULT, DEC_NOTE, DEC_MAP_HASH,
	DEC_COUNT
} DecisionColumn;

extern const ColumnInfo decision_columns[DEC_COUNT];

extern Request *row_lock(const char *tenant, const Ulid *id, bool wait);
extern Request *row_find(const char *tenant, const Ulid *id, Snapshot snapshot);
extern Request *row_find_call(const char *tenant, const char *conversation_id,
							  const char *tool_call_id);
extern bool row_intact(Request *request);
extern void row_write(Call *call, const char *kind, const char *note, const Decision *decision);
extern bool row_insert(Call *call, const char *kind, const char *note);
extern void row_renew_lease(Call *call);
extern void row_renew_due(Call *call);
extern void row_tell_decision(const Request *request, Refusal *refusal);
extern void row_columns(StringInfo sql, const char *prefix);

#endif							/* APPROVAL_ROW_H */
