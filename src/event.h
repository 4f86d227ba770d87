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
#include "table.h"
#include "ulid.h"

/* The closed list of kinds. */
#define EVENT_PROPOSED "proposed"
#define EVENT_APPROVED "approved"
#define EVENT_EDITED "edited"
#define EVENT_AMENDED "amended"
#define EVENT_REJECTED "rejected"
#define EVENT_VOTED "voted"
#define EVENT_OBJECTED "objected"
#define EVENT_CANCELLED "cancelled"
#define EVENT_REVOKED "revoked"
#define EVENT_CONSUMED "consumed"
#define EVENT_RESUMED "resumed"
#define EVENT_COMPLETED "completed"
#define EVENT_RECONCILED "reconciled"
#define EVENT_EXPIRED "expired"
#define EVENT_ABANDONED "abandoned"

/* Beside the state: a status stays what it was. */
#define EVENT_CLAIMED "claimed"
#define EVENT_RELEASED "released"
#define EVENT_ASSIGNED "assigned"
#define EVENT_COMMENTED "commented"
#define EVENT_EXTENDED "extended"
#define EVENT_REMINDED "reminded"
#define EVENT_ESCALATED "escalated"

/* The same on a row that was not what its digest said. */
#define EVENT_COMPLETED_TAMPERED "completed_tampered"
#define EVENT_RECONCILED_TAMPERED "reconciled_tampered"

typedef struct Event
{
	const char *tenant;
	const Ulid *request;
	int			n;
	TimestampTz at;
	const char *kind;
	const char *actor;
	const char *login;
	const char *role;
	const char *client;			/* an address, or [local]; NULL in a
								 * background process */
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

/* The columns of approval.events, in order. */
typedef enum EventColumn
{
	EV_TENANT, EV_REQUEST, EV_N, EV_SEQ, EV_XID, EV_ORIGIN, EV_AT, EV_KIND, EV_ACTOR, EV_LOGIN,
	EV_ROLE, EV_CLIENT, EV_STATUS_BEFORE, EV_STATUS_AFTER, EV_OUTCOME_BEFORE, EV_OUTCOME_AFTER,
	EV_ACTION_HASH, EV_REVIEW_HASH, EV_NOTE, EV_ROW_DIGEST, EV_PREVIOUS, EV_HASH,
	EV_COUNT
} EventColumn;

extern const ColumnInfo event_columns[EV_COUNT];

extern void event_hash(const Event *event, Digest *out);
extern void event_values(const Event *event, const Digest *hash, Datum *values, bool *nulls);
extern const char *event_client(void);
extern int64 event_origin(void);

#endif							/* APPROVAL_EVENT_H */
