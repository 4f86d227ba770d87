/*-------------------------------------------------------------------------
 *
 * indexes.h
 *	  Which indexes of a table of ours a row goes into.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_INDEXES_H
#define APPROVAL_INDEXES_H

#include "nodes/execnodes.h"

/* A result relation; its indexes are opened as rows need them. */
typedef struct Target
{
	ResultRelInfo *info;
	bool		speculative;
	struct KnownTable *known;	/* NULL: all of its indexes are open */
	uint64		generation;		/* of what is known */
	Relation   *opened;
} Target;

extern void indexes_init(void);
extern void indexes_open(Target *target, int which);
extern void indexes_choose(Target *target, TupleTableSlot *slot);
extern void indexes_close(Target *target);

#endif							/* APPROVAL_INDEXES_H */
