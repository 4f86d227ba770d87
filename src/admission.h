/*-------------------------------------------------------------------------
 *
 * admission.h
 *	  Under which mode a proposal is born: policy, and what has been counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ADMISSION_H
#define APPROVAL_ADMISSION_H

#include "policy.h"
#include "verb.h"

/* What it comes to, and what has to be stored with the request. */
typedef struct Admission
{
	Policy		policy;
	bool		granted;
	Ulid		grant_id;
	List	   *reservations;
	bool		has_repeat_key;
	Digest		repeat_key;
	const char *denial;			/* the text for the model, if denied */
	const char *note;			/* for the event */
	bool		unreviewed;		/* the definition is not the pinned one */
} Admission;

/* Who proposes, as grants see it. */
typedef struct Proposer
{
	const char *requested_by;
	const char *on_behalf_of;
} Proposer;

extern void admission_weigh(const Call *call, Subject *subject, const Proposer *proposer,
							bool only_look, Admission *admission);

#endif							/* APPROVAL_ADMISSION_H */
