/*-------------------------------------------------------------------------
 *
 * event.h
 *	  One line of the audit trail, and the hash that chains it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_EVENT_H
#define APPROVAL_EVENT_H

#include "utils/timestamp.h"

#include "digest.h"
#include "ulid.h"

/* The closed list of kinds. */
#define EVENT_PROPOSED "proposed"
#define EVENT_APPROVED "approved"
#define EVENT_EDITED "edited"
#define EVENT_REJECTED "rejected"
#define EVENT_CANCELLED "cancelled"
#define EVENT_REVOKED "revoked"
#define EVENT_CONSUMED "consumed"
#define EVENT_COMPLETED "completed"
#define EVENT_RECONCILED "reconciled"

/* The same on a row that was not what its digest said. */
#define EVENT_COMPLETED_TAMPERED "completed_tampered"
#define EVENT_RECONCILED_TAMPERED "reconciled_tampered"

typedef struct Event
{
	const char *tenant;
	const Ulid *request;		/* bound as it is: must outlive the statement */
	int			n;
	TimestampTz at;
	const char *kind;
	const char *actor;
	const char *login;
	const char *role;
	const char *client;			/* an address, or [local]; NULL in a background process */
	const char *status_before;	/* NULL at birth */
	const char *status_after;
	const char *outcome_before;
	const char *outcome_after;
	const char *note;
	Digest		action_hash;
	Digest		review_hash;
	Digest		row;
	const Digest *previous;		/* NULL for the first */
} Event;

/* The columns that an INSERT of an event binds, in this order. */
#define EVENT_INSERT_COLUMNS \
	"tenant, request_id, n, origin, at, kind, actor, login, role, client," \
	" status_before, status_after, outcome_before, outcome_after, note," \
	" action_hash, review_hash, row_digest, previous, hash"
#define EVENT_PARAMS 20

/* Those of them that the rest of a statement uses again. */
#define EVENT_PARAM_TENANT "$1"
#define EVENT_PARAM_REQUEST "$2::approval.ulid"
#define EVENT_PARAM_N "$3"
#define EVENT_PARAM_AT "$5"
#define EVENT_PARAM_ACTOR "$7"
#define EVENT_PARAM_LOGIN "$8"
#define EVENT_PARAM_NOTE "$15"
#define EVENT_PARAM_ACTION "$16::approval.digest"
#define EVENT_PARAM_REVIEW "$17::approval.digest"

extern const Oid event_param_types[EVENT_PARAMS];
extern const char *const event_param_casts[EVENT_PARAMS];

extern void event_hash(const Event *event, Digest *out);
extern void event_params(const Event *event, const Digest *hash, Datum *values, char *nulls);
extern const char *event_client(void);

#endif							/* APPROVAL_EVENT_H */
