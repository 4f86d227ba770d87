/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  Taking turns at something that is counted, until the transaction ends.
 *
 * An advisory lock of a class that SQL cannot name, so that nobody else can
 * hold it.  It is not waited for in the queue of the lock manager: whoever
 * holds a turn may sit in an open transaction, and a proposal that waited for
 * it could be part of a deadlock.  After a while it goes to a person instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "utils/wait_event.h"

#include "settings.h"
#include "turn.h"

/* SQL's advisory locks have 1 and 2 here. */
#define TURN_CLASS 0x4150

/* Between two attempts, in milliseconds. */
#define TURN_PAUSE 2

static bool
take_at_once(const Digest *what)
{
	LOCKTAG		tag;
	uint32		high;
	uint32		low;

	memcpy(&high, what->bytes, sizeof(high));
	memcpy(&low, what->bytes + sizeof(high), sizeof(low));
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, high, low, TURN_CLASS);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Between two attempts; false if approval.turn_wait is over since the first one.
 * By a clock that nobody sets: the other may go back while somebody waits.
 */
bool
turn_pause(TurnWait *wait)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	if (INSTR_TIME_IS_ZERO(wait->since))
		wait->since = now;
	INSTR_TIME_SUBTRACT(now, wait->since);
	if (INSTR_TIME_GET_MILLISEC(now) >= setting_turn_wait)
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 TURN_PAUSE, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* False if it stayed taken for as long as approval.turn_wait. */
bool
turn_take(const Digest *what)
{
	TurnWait	wait = {0};

	while (!take_at_once(what))
		if (!turn_pause(&wait))
			return false;
	return true;
}
