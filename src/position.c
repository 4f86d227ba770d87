/*-------------------------------------------------------------------------
 *
 * position.c
 *	  How far somebody has followed the events, as text and in memory.
 *
 * Transactions become visible in another order than that of their numbers, so
 * a position is a snapshot: everything below xmax has been seen, but for those
 * that ran when it was taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <inttypes.h>

#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "event.h"
#include "position.h"

/* Of the text; a later form will have another. */
#define FORM '1'

#define HEX64 "%" PRIx64

/* So many transactions run at once in no server. */
#define MOST_XIP (1 << 18)

/*
 * 1.home.timeline.epoch.origin.xmax then .distance for each that is listed, its
 * distance from the one before, beginning at xmax; all in hexadecimal.
 */
char *
position_text(const Position *position)
{
	StringInfoData out;
	uint64		last = position->xmax;
	int			i;

	initStringInfo(&out);
	appendStringInfo(&out, "%c." HEX64 ".%x." HEX64 "." HEX64 "." HEX64,
					 FORM, (uint64) position->home, position->timeline, (uint64) position->epoch,
					 (uint64) position->origin, position->xmax);
	for (i = position->count - 1; i >= 0; i--)
	{
		appendStringInfo(&out, "." HEX64, last - position->xip[i]);
		last = position->xip[i];
	}
	return out.data;
}

/* The number after a point; false if there is none. */
static bool
take_number(const char **text, uint64 *number)
{
	char	   *end;

	if (**text != '.' || !isxdigit((unsigned char) (*text)[1]))
		return false;
	errno = 0;
	*number = strtou64(*text + 1, &end, 16);
	if (errno != 0)
		return false;
	*text = end;
	return true;
}

bool
position_parse(const char *text, Position *position)
{
	uint64		numbers[5];
	uint64		last;
	uint64		distance;
	const char *p;
	int			room = 0;
	int			i;

	memset(position, 0, sizeof(*position));
	if (*text++ != FORM)
		return false;
	for (i = 0; i < (int) lengthof(numbers); i++)
		if (!take_number(&text, &numbers[i]))
			return false;
	position->home = (int64) numbers[0];
	position->timeline = (uint32) numbers[1];
	position->epoch = (int64) numbers[2];
	position->origin = (int64) numbers[3];
	last = position->xmax = numbers[4];
	for (p = text; *p; p++)
		room += (*p == '.');
	if (room > MOST_XIP)
		return false;
	position->xip = palloc(sizeof(uint64) * (room + 1));
	position->count = room;
	while (*text)
	{
		if (!take_number(&text, &distance) || distance == 0 || distance > last)
			return false;
		last -= distance;
		position->xip[--room] = last;
	}
	return room == 0;
}

/* With the epoch that a snapshot leaves out. */
static uint64
widen(TransactionId xid, FullTransactionId next)
{
	uint32		epoch = EpochFromFullTransactionId(next);

	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return U64FromFullTransactionId(FullTransactionIdFromEpochAndXid(epoch, xid));
}

static int
by_number(const void *a, const void *b)
{
	uint64		one = *(const uint64 *) a;
	uint64		two = *(const uint64 *) b;

	return one < two ? -1 : one > two;
}

/*
 * What can be seen in a snapshot.  One that was taken during recovery does not
 * tell transactions from subtransactions, and may not list all of them: there
 * everything from the oldest on counts as not seen.
 */
void
position_of_snapshot(Snapshot snapshot, Position *position)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		i;

	memset(position, 0, sizeof(*position));
	position->home = position->origin = event_origin();
	position->xmax = widen(snapshot->takenDuringRecovery ? snapshot->xmin : snapshot->xmax, next);
	if (snapshot->takenDuringRecovery)
		return;
	position->xip = palloc(sizeof(uint64) * (snapshot->xcnt + 1));
	for (i = 0; i < snapshot->xcnt; i++)
		position->xip[position->count++] = widen(snapshot->xip[i], next);
	qsort(position->xip, position->count, sizeof(uint64), by_number);
}

bool
position_lists(const Position *position, uint64 xid)
{
	return position->count > 0 &&
		bsearch(&xid, position->xip, position->count, sizeof(uint64), by_number) != NULL;
}

/* Adds one that has not been seen. */
void
position_list(Position *position, uint64 xid)
{
	if (position_lists(position, xid))
		return;
	if (position->xip == NULL)
		position->xip = palloc(sizeof(uint64));
	position->xip = repalloc(position->xip, sizeof(uint64) * (position->count + 1));
	position->xip[position->count++] = xid;
	qsort(position->xip, position->count, sizeof(uint64), by_number);
}

static bool
unseen(const Position *position, uint64 xid)
{
	return xid >= position->xmax || position_lists(position, xid);
}

/*
 * What has been seen at either of two positions: a transaction stays unseen
 * only if it is in both.  Either may be ahead: a snapshot may be an old one,
 * or that of a standby.
 */
void
position_join(const Position *from, const Position *now, Position *to)
{
	uint64	   *xip = palloc(sizeof(uint64) * (from->count + now->count + 1));
	int			count = 0;
	int			i;

	for (i = 0; i < now->count; i++)
		if (unseen(from, now->xip[i]))
			xip[count++] = now->xip[i];
	for (i = 0; i < from->count; i++)
		if (from->xip[i] >= now->xmax)
			xip[count++] = from->xip[i];
	qsort(xip, count, sizeof(uint64), by_number);
	*to = *from;
	to->xmax = Max(from->xmax, now->xmax);
	to->xip = xip;
	to->count = count;
}
