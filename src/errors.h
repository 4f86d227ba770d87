/*-------------------------------------------------------------------------
 *
 * errors.h
 *	  Why the gate says no: the one table of reasons, and how they are told.
 *
 * SQLSTATE is PT plus an HTTP status.  MESSAGE and HINT are constants of this
 * table; text that came from anybody stands in DETAIL only, escaped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ERRORS_H
#define APPROVAL_ERRORS_H

#include "lib/stringinfo.h"
#include "utils/timestamp.h"

#include "canonical.h"
#include "compat.h"
#include "digest.h"
#include "ulid.h"

/* R(symbol, reason, http, message, hint) */
#define APPROVAL_REASONS(R) \
	R(NOT_ELIGIBLE, "not_eligible", 403, "this login may not do that", \
	  "Another kind of login, or a member of the group that reviews this, has to do it: see approval.logins and approval.group_members.") \
	R(SELF_APPROVAL, "self_approval", 403, "whoever asks for an action cannot decide on it", \
	  "Let another person decide, over another login.") \
	R(ACTOR_NOT_ALLOWED, "actor_not_allowed", 403, "this login may not speak for that actor", \
	  "Leave the actor out, or have an administrator register the login as a delegate.") \
	R(NOT_EXECUTOR, "not_executor", 403, "this login is not an executor of the tool", \
	  "Only executors listed for the tool may run it.") \
	R(TOOL_DENIED, "tool_denied", 403, "policy denies this action", \
	  "Do not retry: the rule has to be changed by an administrator.") \
	R(TOOL_FROZEN, "tool_frozen", 403, "the tool is frozen", \
	  "Wait until an administrator lifts the freeze.") \
	R(TOOL_RETIRED, "tool_retired", 403, "the tool is retired", \
	  "Use the tool that replaces it.") \
	R(NOT_FOUND, "not_found", 404, "no such request, run or handle", \
	  "Check the id and the tenant.") \
	R(ALREADY_DECIDED, "already_decided", 409, "the request is already decided", \
	  "Read the request again: DETAIL says who decided and when.") \
	R(ALREADY_CONSUMED, "already_consumed", 409, "the approval has already been used", \
	  "Do not run the action again: read the recorded outcome.") \
	R(NOT_APPROVED, "not_approved", 409, "the request is not approved", \
	  "Wait for a decision, or stop: DETAIL says what the status is.") \
	R(TOOL_CALL_CONFLICT, "tool_call_conflict", 409, "this tool call id already stands for another proposal", \
	  "Use a new tool_call_id for a new call.") \
	R(DECISIONS_MISMATCH, "decisions_mismatch", 409, "the decisions do not match the pending calls", \
	  "Decide on exactly the calls listed in DETAIL.") \
	R(VOTE_LOCKED, "vote_locked", 409, "this vote can no longer be changed", \
	  "An approval may become a rejection, not the reverse.") \
	R(OUTCOME_CONFLICT, "outcome_conflict", 409, "another outcome is already recorded", \
	  "Read the request, or the handle in handle_list, again: the first report stands.") \
	R(EXECUTION_MISMATCH, "execution_mismatch", 409, "the token does not belong to the current execution", \
	  "Only the current attempt may report.") \
	R(NOT_IDEMPOTENT, "not_idempotent", 409, "the tool may not be run a second time", \
	  "Have a person settle the outcome with reconcile().") \
	R(EXPIRED, "expired", 410, "the deadline has passed", \
	  "Propose the action again.") \
	R(LEASE_EXPIRED, "lease_expired", 410, "the lease of this execution is over", \
	  "Report what happened with complete(), or have a person reconcile() it.") \
	R(HASH_MISMATCH, "hash_mismatch", 412, "the action presented is not the action approved", \
	  "Present exactly what was approved, or propose the other action.") \
	R(STALE_VIEW, "stale_view", 412, "the request is no longer what was shown", \
	  "Show the request again and decide on its current review_hash.") \
	R(TOOL_CHANGED, "tool_changed", 412, "the definition of the tool is not the one approved", \
	  "Propose the action again, so that the new definition is reviewed.") \
	R(POLICY_CHANGED, "policy_changed", 412, "policy has become stricter since the approval", \
	  "Propose the action again.") \
	R(STALE_STATE, "stale_state", 412, "the request is not in a state for that", \
	  "Read the request again: DETAIL says what its state is.") \
	R(ROW_TAMPERED, "row_tampered", 412, "the stored request does not match its digest", \
	  "Do not run the action: have an administrator look at verify_request().") \
	R(NOT_CANONICAL, "not_canonical", 422, "the JSON has no canonical form", \
	  "Send numbers that do not survive a double as strings; remove duplicate keys, lone surrogates and U+0000.") \
	R(BAD_ARGUMENTS, "bad_arguments", 422, "the arguments are not acceptable", \
	  "Arguments are one JSON object; DETAIL says what is wrong.") \
	R(TOO_LARGE, "too_large", 422, "the action is too large", \
	  "Send a reference instead of the content, or have approval.max_action_size raised.") \
	R(BAD_DECISION, "bad_decision", 422, "this is not a decision", \
	  "DETAIL names the problem. A verdict is approve or reject; arguments go with approve, a result with reject.") \
	R(BAD_POLICY, "bad_policy", 422, "this is not an acceptable policy", \
	  "DETAIL names the place.") \
	R(COMMIT_FIRST, "commit_first", 422, "this call must commit before its answer is used", \
	  "Call it as one SELECT of plain columns, outside any transaction block, function or cursor.") \
	R(EMPTY_RESULT, "empty_result", 422, "the result is empty", \
	  "An empty result is a failure of the tool: report it as one.") \
	R(DEGRADED_RESULT, "degraded_result", 422, "the result is degraded", \
	  "A partial result is a failure of the tool: report it as one.") \
	R(ITERATION_LIMIT, "iteration_limit", 422, "there are no iterations left", \
	  "Budgets come from set_run_limits() and the settings approval.run_iterations and approval.run_iterations_per_day.") \
	R(CLAIMED, "claimed", 423, "somebody else has claimed the request", \
	  "Wait until the claim runs out, or ask its holder.") \
	R(QUOTA, "quota", 429, "too many requests, or sessions, are waiting", \
	  "DETAIL says of what; wait until pending requests are decided, or until other calls of wait() have returned.") \
	R(RUN_CLAIMED, "run_claimed", 409, "the run is not held by this caller", \
	  "Claim the run with claim_run() and show its token (to propose as run_token); one that somebody else holds can be claimed once the lease in DETAIL is over.") \
	R(RUN_PAUSED, "run_paused", 409, "calls are waiting for decisions", \
	  "Have the pending calls decided or cancelled first: DETAIL lists those of this login.") \
	R(RUN_CONFLICT, "run_conflict", 409, "another run stands in the way", \
	  "DETAIL says which: a live run of the conversation can be claimed, a call or a child is of the conversation of its run, a start that is under way can be tried again.") \
	R(RUN_ENDED, "run_ended", 409, "the run has ended", \
	  "Start another run.") \
	R(RUN_LEASE_EXPIRED, "run_lease_expired", 410, "the lease of the run is over", \
	  "Renew it with claim_run() and the same token, if nobody else has claimed the run meanwhile.") \
	R(HANDLE_CONFLICT, "handle_conflict", 409, "the handle is already attached", \
	  "A handle belongs to one run of one system; one that has been answered is not attached again.")

#define REASON_SYMBOL(symbol, word, http, message, hint) REASON_##symbol,
typedef enum Reason
{
	REASON_NONE,
	APPROVAL_REASONS(REASON_SYMBOL)
	REASON_COUNT
} Reason;
#undef REASON_SYMBOL

/* A refusal that has not been told yet. */
typedef struct Refusal
{
	Reason		reason;
	bool		has_id;
	Ulid		id;
	const char *status;			/* effective status, or NULL */
	StringInfo	extra;			/* further members of DETAIL, each ",\"k\":v" */
} Refusal;

extern void errors_member(Refusal *refusal, const char *key, const char *value);
extern void errors_member_time(Refusal *refusal, const char *key, TimestampTz value);
extern void errors_member_constant(Refusal *refusal, const char *key, const char *value);
extern void errors_member_raw(Refusal *refusal, const char *key, const char *json);
extern void errors_escape(StringInfo out, const char *text);
extern char *errors_detail(const Refusal *refusal);
extern const char *errors_reason(Reason reason);
extern int	errors_http(Reason reason);
pg_noreturn extern void errors_raise(const Refusal *refusal);
extern void errors_not_canonical(Refusal *refusal, const CanonicalError *error);
pg_noreturn extern void errors_raise_not_canonical(const CanonicalError *error);
pg_noreturn extern void errors_raise_bad_arguments(const char *why);
pg_noreturn extern void errors_raise_standard(int sqlstate, const char *message, const char *reason,
											  int http, const char *extra, const char *hint);
pg_noreturn extern void errors_raise_serialization(void);
pg_noreturn extern void errors_raise_null(const char *argument);

#endif							/* APPROVAL_ERRORS_H */
