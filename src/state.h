/*-------------------------------------------------------------------------
 *
 * state.h
 *	  The states of a request and the one table of legal moves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_STATE_H
#define APPROVAL_STATE_H

typedef enum Status
{
	STATUS_NONE,				/* before it is born */
	STATUS_PENDING,
	STATUS_APPROVED,
	STATUS_REJECTED,
	STATUS_CONSUMED,
	STATUS_EXPIRED,
	STATUS_CANCELLED,
	STATUS_REVOKED
} Status;

typedef enum Outcome
{
	OUTCOME_NONE,				/* not consumed */
	OUTCOME_UNTRACKED,			/* inline: nobody reports */
	OUTCOME_IN_FLIGHT,
	OUTCOME_SUCCEEDED,
	OUTCOME_FAILED,
	OUTCOME_UNKNOWN
} Outcome;

/* The words of approval.requests.cause. */
#define CAUSE_POLICY "policy"
#define CAUSE_PERSON "person"
#define CAUSE_QUORUM "quorum"
#define CAUSE_VETO "veto"
#define CAUSE_QUORUM_UNREACHABLE "quorum_unreachable"
#define CAUSE_DECIDE_DEADLINE "decide_deadline"
#define CAUSE_USE_DEADLINE "use_deadline"
#define CAUSE_WITHDRAWN "withdrawn"
#define CAUSE_REVOKED "revoked"
#define CAUSE_BAD_RESULT "bad_result"

extern const char *state_status_word(Status status);
extern const char *state_outcome_word(Outcome outcome);
extern Status state_status(const char *word, int len);
extern Outcome state_outcome(const char *word, int len);
extern bool state_legal(Status from, Outcome from_outcome, Status to, Outcome to_outcome);

#endif							/* APPROVAL_STATE_H */
