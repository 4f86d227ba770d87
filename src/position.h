/*-------------------------------------------------------------------------
 *
 * position.h
 *	  How far somebody has followed the events, as text and in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_POSITION_H
#define APPROVAL_POSITION_H

#include "access/transam.h"
#include "utils/snapshot.h"

/*
 * Of one origin, the events of transactions below xmax have been seen, but for
 * those listed.
 */
typedef struct Position
{
	int64		home;			/* the database that it was made in */
	uint32		timeline;
	int64		epoch;			/* how often events were loaded */
	int64		origin;			/* whose events come next: home's, or those of
								 * a past before a restore */
	uint64		xmax;
	int			count;
	uint64	   *xip;			/* ascending */
} Position;

extern char *position_text(const Position *position);
extern bool position_parse(const char *text, Position *position);
extern void position_of_snapshot(Snapshot snapshot, Position *position);
extern bool position_lists(const Position *position, uint64 xid);
extern void position_list(Position *position, uint64 xid);
extern void position_join(const Position *from, const Position *now, Position *to);

#endif							/* APPROVAL_POSITION_H */
