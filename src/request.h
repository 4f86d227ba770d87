/*-------------------------------------------------------------------------
 *
 * request.h
 *	  A row of approval.requests in memory: the one table of its columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_REQUEST_H
#define APPROVAL_REQUEST_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "storage/itemptr.h"
#include "utils/timestamp.h"

#include "digest.h"
#include "state.h"
#include "table.h"
#include "ulid.h"

#define COLUMN_FIXED	0x01	/* no verb changes it */
#define COLUMN_BOUND	0x02	/* covered by the row digest */
#define COLUMN_PUBLIC	0x04	/* a column of the type approval.request */

/* short for the table below */
#define F_B_P (COLUMN_FIXED | COLUMN_BOUND | COLUMN_PUBLIC)
#define F_B (COLUMN_FIXED | COLUMN_BOUND)
#define B_P (COLUMN_BOUND | COLUMN_PUBLIC)

/*
 * In the order of the table.  The columns marked PUBLIC are those of the type
 * approval.request, in the same order.
 */
#define REQUEST_COLUMNS(C) \
	C(TENANT, "tenant", TEXT, F_B_P) \
	C(ID, "id", ULID, F_B_P) \
	C(CONVERSATION_ID, "conversation_id", TEXT, F_B_P) \
	C(TOOL_CALL_ID, "tool_call_id", TEXT, F_B_P) \
	C(RUN_ID, "run_id", TEXT, F_B_P) \
	C(SERVER, "server", TEXT, F_B_P) \
	C(TOOL, "tool", TEXT, F_B_P) \
	C(DEFINITION, "definition", DIGEST, F_B_P) \
	C(RESOURCE, "resource", TEXT, F_B_P) \
	C(ARGUMENTS, "arguments", JSON, B_P) \
	C(PROPOSED_ARGUMENTS, "proposed_arguments", JSON, B_P) \
	C(ACTION_HASH, "action_hash", DIGEST, B_P) \
	C(PROPOSED_HASH, "proposed_hash", DIGEST, B_P) \
	C(REVIEW_HASH, "review_hash", DIGEST, B_P) \
	C(SUMMARY, "summary", TEXT, B_P) \
	C(AGENT_REASON, "agent_reason", TEXT, F_B_P) \
	C(PREVIEW, "preview", JSON, B_P) \
	C(METADATA, "metadata", JSON, F_B_P) \
	C(REPLY_TO, "reply_to", TEXT, F_B_P) \
	C(REQUESTER_LOGIN, "requester_login", TEXT, F_B_P) \
	C(REQUESTED_BY, "requested_by", TEXT, F_B_P) \
	C(ON_BEHALF_OF, "on_behalf_of", TEXT, F_B_P) \
	C(ASSIGNEE, "assignee", TEXT, B_P) \
	C(RETRY_OF, "retry_of", ULID, F_B_P) \
	C(MODE, "mode", TEXT, B_P) \
	C(CLASS, "class", TEXT, B_P) \
	C(RISK, "risk", TEXT, B_P) \
	C(EFFECT, "effect", TEXT, B_P) \
	C(GATE_REASON, "gate_reason", TEXT, B_P) \
	C(RULE, "rule", INT4, B_P) \
	C(RULE_REASON, "rule_reason", TEXT, B_P) \
	C(POLICY_VERSION, "policy_version", INT4, B_P) \
	C(GRANT_ID, "grant_id", ULID, B_P) \
	C(EDITED_BY, "edited_by", TEXT, B_P) \
	C(REVIEWER_GROUP, "reviewer_group", TEXT, B_P) \
	C(REVIEWERS, "reviewers", JSON, B_P) \
	C(APPROVALS, "approvals", INT4, B_P) \
	C(APPROVALS_NEEDED, "approvals_needed", INT4, B_P) \
	C(REJECTIONS, "rejections", INT4, B_P) \
	C(REJECTIONS_NEEDED, "rejections_needed", INT4, B_P) \
	C(STATUS, "status", TEXT, B_P) \
	C(CAUSE, "cause", TEXT, B_P) \
	C(PROPOSED_AT, "proposed_at", TIME, F_B_P) \
	C(EXPIRES_AT, "expires_at", TIME, B_P) \
	C(REMIND_AT, "remind_at", TIME, B_P) \
	C(REMINDED_AT, "reminded_at", TIME, B_P) \
	C(ESCALATE_AT, "escalate_at", TIME, B_P) \
	C(ESCALATE_TO, "escalate_to", TEXT, B_P) \
	C(ESCALATED_AT, "escalated_at", TIME, B_P) \
	C(CLAIMED_BY, "claimed_by", TEXT, COLUMN_PUBLIC) \
	C(CLAIMED_UNTIL, "claimed_until", TIME, COLUMN_PUBLIC) \
	C(USE_WITHIN, "use_within", INT8, COLUMN_BOUND) \
	C(DECIDED_BY, "decided_by", TEXT, B_P) \
	C(DECIDED_AT, "decided_at", TIME, B_P) \
	C(DENIAL, "denial", TEXT, B_P) \
	C(USE_BY, "use_by", TIME, B_P) \
	C(CONSUMED_AT, "consumed_at", TIME, B_P) \
	C(EXECUTOR_LOGIN, "executor_login", TEXT, B_P) \
	C(EXECUTION_ID, "execution_id", TEXT, B_P) \
	C(ATTEMPT, "attempt", INT4, B_P) \
	C(TOKEN_HASH, "token_hash", DIGEST, COLUMN_BOUND) \
	C(LEASE_UNTIL, "lease_until", TIME, COLUMN_PUBLIC) \
	C(OUTCOME, "outcome", TEXT, B_P) \
	C(RESULT, "result", JSON, B_P) \
	C(COMPLETED_AT, "completed_at", TIME, B_P) \
	C(RECONCILED_BY, "reconciled_by", TEXT, B_P) \
	C(DUE_AT, "due_at", TIME, 0) \
	C(REPEAT_KEY, "repeat_key", DIGEST, F_B) \
	C(RESERVED, "reserved", INT4, F_B) \
	C(EVENTS, "events", INT4, 0) \
	C(ROW_DIGEST, "row_digest", DIGEST, 0) \
	C(HEAD, "head", DIGEST, 0)

#define COLUMN_SYMBOL(symbol, name, type, flags) REQ_##symbol,
typedef enum RequestColumn
{
	REQUEST_COLUMNS(COLUMN_SYMBOL)
	REQ_COUNT
} RequestColumn;
#undef COLUMN_SYMBOL

extern const ColumnInfo request_columns[REQ_COUNT];

/* The row; values point into the memory they were read from. */
typedef struct Request
{
	Datum		values[REQ_COUNT];
	bool		nulls[REQ_COUNT];
	Status		status;			/* as stored */
	Outcome		outcome;
	ItemPointerData tid;		/* where it was found */
	bool		hashed[REQ_COUNT];	/* json_hash is known */
	Digest		json_hash[REQ_COUNT];
} Request;

/* What the state is at a moment, whatever the worker has got round to. */
typedef struct Effective
{
	Status		status;
	Outcome		outcome;
	const char *cause;			/* NULL: as stored */
} Effective;

extern void request_init(void);
extern void request_empty(Request *request);
extern void request_of_slot(Request *request, const TupleTableSlot *slot);
extern void request_load(Request *request, HeapTuple row, TupleDesc desc);
extern void request_set(Request *request, RequestColumn column, Datum value);
extern void request_set_text(Request *request, RequestColumn column, const char *value);
extern void request_set_null(Request *request, RequestColumn column);
extern void request_move(Request *request, Status status, const char *cause);
extern void request_set_outcome(Request *request, Outcome outcome);
extern char *request_text(const Request *request, RequestColumn column);
extern bool request_text_is(const Request *request, RequestColumn column, const char *value);
extern const Digest *request_digest_at(const Request *request, RequestColumn column);
extern const Ulid *request_id(const Request *request);
extern TimestampTz request_time(const Request *request, RequestColumn column);
extern Effective request_effective(const Request *request, TimestampTz now);
extern bool request_next_due(const Request *request, TimestampTz *due);
extern void request_row_digest(Request *request, Digest *out);
extern Datum request_datum(const Request *request, Oid type, Effective effective,
						   bool with_reply_to);

#endif							/* APPROVAL_REQUEST_H */
