/*-------------------------------------------------------------------------
 *
 * decisions.h
 *	  Many verdicts in one JSON document: a map by tool call, or a list.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_DECISIONS_H
#define APPROVAL_DECISIONS_H

#include "verdict.h"

/* Stands for the calls that a map does not name. */
#define DECISIONS_REST "*"

/* No document has more verdicts, and no conversation that is decided as one. */
#define DECISIONS_MOST 1000

/* One verdict of a document. */
typedef struct Entry
{
	const char *tool_call_id;	/* in a map */
	Ulid		id;				/* in a list */
	Verdict		verdict;
} Entry;

typedef struct Decisions
{
	int			count;
	Entry	   *entries;		/* a list in the order of ids */
	const Verdict *rest;		/* what a map says of the others, or NULL */
	const char *canonical;		/* the document */
} Decisions;

extern bool decisions_map(Call *call, const text *json, Decisions *decisions);
extern bool decisions_list(Call *call, const text *json, Decisions *decisions);
extern Step decisions_bad(Call *call, const char *place, const char *problem);

#endif							/* APPROVAL_DECISIONS_H */
