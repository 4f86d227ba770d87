/*-------------------------------------------------------------------------
 *
 * policy_event.h
 *	  One change of policy in the audit, and the hash that chains it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_POLICY_EVENT_H
#define APPROVAL_POLICY_EVENT_H

#include "utils/timestamp.h"

#include "digest.h"

/* Texts may be NULL, but for those that a row must have. */
typedef struct PolicyEvent
{
	const char *tenant;
	const char *chain;
	int			n;
	TimestampTz at;
	const char *verb;
	const char *actor;
	const char *login;
	const char *role;
	const char *client;
	const char *server;
	const char *tool;
	const char *subject;
	int			policy_version; /* 0: none */
	const char *before;			/* JSON */
	const char *after;
	const char *note;
	const char *previous;		/* hash of the one before, in hex */
} PolicyEvent;

extern void policy_event_hash(const PolicyEvent *event, char hex[DIGEST_TEXT_LEN + 1]);

#endif							/* APPROVAL_POLICY_EVENT_H */
