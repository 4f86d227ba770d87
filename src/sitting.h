/*-------------------------------------------------------------------------
 *
 * sitting.h
 *	  The calls of a conversation that a map decides together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SITTING_H
#define APPROVAL_SITTING_H

#include "answer.h"
#include "decisions.h"

/* One call of the conversation. */
typedef struct Part
{
	Answered	answered;
	const Entry *entry;			/* NULL: the map does not name it */
	bool		mapped;			/* decided by the same map before */
	Verdict		verdict;
	Digest		shown;			/* review hash before anything was ruled */
} Part;

typedef struct Sitting
{
	Call	   *call;
	const char *conversation_id;
	Decisions	decisions;
	const Digest *seen_set;
	Digest		map_hash;
	Digest		current_set;
	bool		again;			/* the same map was sent before */
	bool		rest_done;		/* so the rest is decided */
	int			count;
	Part	   *parts;
	int			applied;
	int			unchanged;
	StringInfoData unknown;		/* named, but there is no such call waiting */
	StringInfoData missing;		/* waiting, but not named */
	StringInfoData ended;		/* what became of those that are there, but do
								 * not wait */
} Sitting;

extern bool sitting_open(Sitting *sitting);
extern bool sitting_waits(const Part *part);
extern void sitting_add_name(StringInfo list, const char *name);
extern void sitting_add_ended(Sitting *sitting, const Part *part);
extern Step sitting_mismatch(Sitting *sitting, Reason reason);

#endif							/* APPROVAL_SITTING_H */
