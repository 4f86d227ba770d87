/*-------------------------------------------------------------------------
 *
 * follow.c
 *	  Which events have become visible since a position.
 *
 * The events of transactions that are visible now and were not in the snapshot
 * that the position is.  Those that ran then are looked up one by one, so that
 * nothing waits for a transaction that is still running.
 *
 * The events of a request come in the order of its chain.  Where the number of
 * rows is limited, the cut goes through the numbers of transactions, and a
 * transaction with a smaller number may have acted on a request after one with
 * a greater number, beyond the cut, had committed.  It is deferred then: listed
 * in the new position as not seen, like one that still runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

#include "event.h"
#include "follow.h"
#include "param.h"
#include "store.h"

#define COLUMNS \
	" e.xid, e.seq, e.n, e.at, e.request_id::pg_catalog.uuid, e.tenant, e.kind, e.actor, e.status_before," \
	" e.status_after, e.outcome_before, e.outcome_after, e.note, r.conversation_id, r.tool_call_id," \
	" r.run_id, r.server, r.tool"

enum
{
	COL_XID = 1, COL_SEQ, COL_N, COL_AT, COL_ID, COL_TENANT, COL_KIND, COL_ACTOR, COL_STATUS_BEFORE,
	COL_STATUS_AFTER, COL_OUTCOME_BEFORE, COL_OUTCOME_AFTER, COL_NOTE, COL_CONVERSATION, COL_CALL,
	COL_RUN, COL_SERVER, COL_TOOL
};

/* $1 origin, $2 listed, $3 xmax, $4 most, $5 tenants, $6 login, $7 run, $8 end, $9 conversation */
#define OF_REQUEST \
	" JOIN approval.requests r ON r.tenant OPERATOR(pg_catalog.=) e.tenant AND r.id OPERATOR(pg_catalog.=) e.request_id" \
	" AND ($6 IS NULL OR r.requester_login OPERATOR(pg_catalog.=) $6)" \
	" AND ($7 IS NULL OR r.run_id OPERATOR(pg_catalog.=) $7)"
#define LISTED " e.origin OPERATOR(pg_catalog.=) $1 AND e.xid OPERATOR(pg_catalog.=) ANY ($2)"
#define BEYOND " e.origin OPERATOR(pg_catalog.=) $1 AND e.xid OPERATOR(pg_catalog.>=) $3"
#define BEFORE_END " AND ($8 IS NULL OR e.xid OPERATOR(pg_catalog.<) $8)"
#define OF_TENANTS " AND e.tenant OPERATOR(pg_catalog.=) ANY ($5)"

/* Whole transactions, even if that makes it more rows. */
#define UP_TO_MOST " ORDER BY e.xid FETCH FIRST ($4) ROWS WITH TIES"
#define TYPES {INT8OID, XID8ARRAYOID, XID8OID, INT8OID, TEXTARRAYOID, TEXTOID, TEXTOID, XID8OID, TEXTOID}
#define NPARAMS 9

static Statement select_all = {
	.sql = "(SELECT" COLUMNS " FROM approval.events e" OF_REQUEST " WHERE" LISTED BEFORE_END ")"
	" UNION ALL (SELECT" COLUMNS " FROM approval.events e" OF_REQUEST " WHERE" BEYOND BEFORE_END UP_TO_MOST ")",
	.nparams = NPARAMS,
	.types = TYPES,
	.walks = true,
};

static Statement select_tenants = {
	.sql = "(SELECT" COLUMNS " FROM approval.events e" OF_REQUEST " WHERE" LISTED BEFORE_END OF_TENANTS ")"
	" UNION ALL (SELECT" COLUMNS " FROM approval.events e" OF_REQUEST " WHERE" BEYOND BEFORE_END OF_TENANTS UP_TO_MOST ")",
	.nparams = NPARAMS,
	.types = TYPES,
	.walks = true,
};

/* A conversation has few requests, however many events there are. */
#define OF_CONVERSATION \
	" FROM approval.requests r JOIN approval.events e ON e.tenant OPERATOR(pg_catalog.=) r.tenant" \
	" AND e.request_id OPERATOR(pg_catalog.=) r.id" \
	" WHERE r.tenant OPERATOR(pg_catalog.=) ANY ($5) AND r.conversation_id OPERATOR(pg_catalog.=) $9" \
	" AND ($6 IS NULL OR r.requester_login OPERATOR(pg_catalog.=) $6)" \
	" AND ($7 IS NULL OR r.run_id OPERATOR(pg_catalog.=) $7) AND"

static Statement select_conversation = {
	.sql = "(SELECT" COLUMNS OF_CONVERSATION LISTED BEFORE_END ")"
	" UNION ALL (SELECT" COLUMNS OF_CONVERSATION BEYOND BEFORE_END UP_TO_MOST ")",
	.nparams = NPARAMS,
	.types = TYPES,
};

static Statement select_previous = {
	.sql = "SELECT e.xid FROM approval.events e WHERE e.tenant OPERATOR(pg_catalog.=) $1"
	" AND e.request_id OPERATOR(pg_catalog.=) $2::approval.ulid AND e.n OPERATOR(pg_catalog.=) $3"
	" AND e.origin OPERATOR(pg_catalog.=) $4",
	.nparams = 4,
	.types = {TEXTOID, UUIDOID, INT4OID, INT8OID},
};

static Statement select_next_origin = {
	.sql = "SELECT e.origin FROM approval.events e WHERE e.origin OPERATOR(pg_catalog.>) $1"
	" AND e.origin OPERATOR(pg_catalog.<>) $2 ORDER BY e.origin LIMIT 1",
	.nparams = 2,
	.types = {INT8OID, INT8OID},
};

static Statement select_epoch = {
	.sql = "SELECT p.value::pg_catalog.int8 FROM approval.positions p WHERE p.name OPERATOR(pg_catalog.=) 'epoch'",
};

static Datum
column(int row, int n, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, n, isnull);
}

static char *
text_column(int row, int n)
{
	bool		isnull;
	Datum		value = column(row, n, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static void
take_event(int row, Followed *event)
{
	bool		isnull;

	event->xid = U64FromFullTransactionId(DatumGetFullTransactionId(column(row, COL_XID, &isnull)));
	event->seq = DatumGetInt64(column(row, COL_SEQ, &isnull));
	event->n = DatumGetInt32(column(row, COL_N, &isnull));
	event->at = DatumGetTimestampTz(column(row, COL_AT, &isnull));
	event->id = *DatumGetUlidP(column(row, COL_ID, &isnull));
	event->tenant = text_column(row, COL_TENANT);
	event->kind = text_column(row, COL_KIND);
	event->actor = text_column(row, COL_ACTOR);
	event->status_before = text_column(row, COL_STATUS_BEFORE);
	event->status_after = text_column(row, COL_STATUS_AFTER);
	event->outcome_before = text_column(row, COL_OUTCOME_BEFORE);
	event->outcome_after = text_column(row, COL_OUTCOME_AFTER);
	event->note = text_column(row, COL_NOTE);
	event->conversation_id = text_column(row, COL_CONVERSATION);
	event->tool_call_id = text_column(row, COL_CALL);
	event->run_id = text_column(row, COL_RUN);
	event->server = text_column(row, COL_SERVER);
	event->tool = text_column(row, COL_TOOL);
	event->deferred = false;
}

static Datum
listed_datum(const Position *position)
{
	Datum	   *elements = palloc(sizeof(Datum) * (position->count + 1));
	int			i;

	for (i = 0; i < position->count; i++)
		elements[i] = FullTransactionIdGetDatum(FullTransactionIdFromU64(position->xip[i]));
	return PointerGetDatum(construct_array(elements, position->count, XID8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Reads them in the active snapshot; end is 0 for none. */
static void
read_events(Follow *follow, const Wanted *wanted, int most, uint64 end)
{
	Position   *position = &follow->position;
	Datum		values[NPARAMS];
	char		nulls[NPARAMS];
	Statement  *statement = wanted->all_tenants ? &select_all :
	wanted->conversation_id ? &select_conversation : &select_tenants;
	uint64		i;

	memset(nulls, ' ', sizeof(nulls));
	values[0] = Int64GetDatum(position->origin);
	values[1] = listed_datum(position);
	values[2] = FullTransactionIdGetDatum(FullTransactionIdFromU64(position->xmax));
	values[3] = Int64GetDatum(most);
	values[4] = param_texts((const char *const *) wanted->tenants, wanted->ntenants);
	param_text(values, nulls, 5, wanted->login);
	param_text(values, nulls, 6, wanted->run_id);
	values[7] = FullTransactionIdGetDatum(FullTransactionIdFromU64(end));
	nulls[7] = end ? ' ' : 'n';
	param_text(values, nulls, 8, wanted->conversation_id);
	follow->count = (int) store_read(statement, values, nulls);
	follow->events = palloc(sizeof(Followed) * (follow->count + 1));
	for (i = 0; i < (uint64) follow->count; i++)
		take_event((int) i, &follow->events[i]);
	SPI_freetuptable(SPI_tuptable);
}

/* The transaction of the event before; 0 if there is none of this origin. */
static uint64
previous_xid(const Follow *follow, const Followed *event)
{
	Datum		values[4];
	char		nulls[4] = {' ', ' ', ' ', ' '};
	bool		isnull;
	uint64		xid = 0;

	param_text(values, nulls, 0, event->tenant);
	param_ulid(values, nulls, 1, &event->id);
	values[2] = Int32GetDatum(event->n - 1);
	values[3] = Int64GetDatum(follow->position.origin);
	if (store_read(&select_previous, values, nulls) == 1)
		xid = U64FromFullTransactionId(DatumGetFullTransactionId(column(0, 1, &isnull)));
	SPI_freetuptable(SPI_tuptable);
	return xid;
}

static void
defer(Follow *follow, Position *to, uint64 xid)
{
	int			i;

	position_list(to, xid);
	for (i = 0; i < follow->count; i++)
		if (follow->events[i].xid == xid)
			follow->events[i].deferred = true;
}

/* Nothing comes before what it follows upon. */
static void
defer_early(Follow *follow, Position *to)
{
	bool		again = true;
	int			i;

	while (again)
	{
		again = false;
		for (i = 0; i < follow->count; i++)
		{
			Followed   *event = &follow->events[i];
			uint64		previous;

			if (event->deferred || event->n == 1)
				continue;
			previous = previous_xid(follow, event);
			if (previous == event->xid || (previous < to->xmax && !position_lists(to, previous)))
				continue;
			defer(follow, to, event->xid);
			again = true;
		}
	}
}

static int
by_seq(const void *a, const void *b)
{
	int64		one = ((const Followed *) a)->seq;
	int64		two = ((const Followed *) b)->seq;

	return one < two ? -1 : one > two;
}

static void
leave_out_deferred(Follow *follow)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < follow->count; i++)
		if (!follow->events[i].deferred)
			follow->events[kept++] = follow->events[i];
	follow->count = kept;
	qsort(follow->events, follow->count, sizeof(Followed), by_seq);
}

static uint64
greatest_xid(const Follow *follow)
{
	uint64		greatest = 0;
	int			i;

	for (i = 0; i < follow->count; i++)
		greatest = Max(greatest, follow->events[i].xid);
	return greatest;
}

static int
count_beyond(const Follow *follow)
{
	int			count = 0;
	int			i;

	for (i = 0; i < follow->count; i++)
		count += (follow->events[i].xid >= follow->position.xmax);
	return count;
}

/*
 * The new position after a part of what is there: up to the greatest number
 * that was read, but for what is not seen in the snapshot, or was listed
 * before and is still not.
 */
static void
cut(const Follow *follow, const Position *now, Position *to)
{
	int			i;

	to->xmax = greatest_xid(follow) + 1;
	to->count = 0;
	to->xip = palloc(sizeof(uint64) * (now->count + 1));
	for (i = 0; i < now->count && now->xip[i] < to->xmax; i++)
		to->xip[to->count++] = now->xip[i];
}

/* Those listed that a lagging server has not seen yet stay listed. */
static void
keep_unseen(const Position *from, const Position *now, Position *to)
{
	int			i;

	if (from->xmax <= now->xmax)
		return;
	to->xmax = from->xmax;
	for (i = 0; i < from->count; i++)
		if (from->xip[i] >= now->xmax)
			position_list(to, from->xip[i]);
}

int64
follow_epoch(void)
{
	bool		isnull;
	int64		epoch = 0;

	if (store_read(&select_epoch, NULL, NULL) == 1)
		epoch = DatumGetInt64(column(0, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	return epoch;
}

static int64
next_origin(int64 after)
{
	int64		home = event_origin();
	Datum		values[2];
	bool		isnull;

	values[0] = Int64GetDatum(after);
	values[1] = Int64GetDatum(home);
	if (store_read(&select_next_origin, values, NULL) == 1)
		home = DatumGetInt64(column(0, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	return home;
}

/* Where following begins: with what was restored, if something was. */
int64
follow_first_origin(void)
{
	return next_origin(PG_INT64_MIN);
}

/* One step: of a past origin everything is visible. */
static void
step(Follow *follow, const Wanted *wanted, int most)
{
	Position   *from = &follow->position;
	bool		past = from->origin != from->home;
	bool		standby = !past && GetActiveSnapshot()->takenDuringRecovery;
	Position	now;
	Position	to = *from;

	position_of_snapshot(GetActiveSnapshot(), &now);
	read_events(follow, wanted, most, standby ? now.xmax : 0);
	follow->more = count_beyond(follow) >= most;
	if (past)
		now.count = 0;
	if (follow->more)
		cut(follow, &now, &to);
	else if (!past)
	{
		to.xmax = now.xmax;
		to.count = now.count;
		to.xip = now.xip;
		if (standby)
			keep_unseen(from, &now, &to);
	}
	if (follow->more || standby)
		defer_early(follow, &to);
	leave_out_deferred(follow);
	if (past && !follow->more)
	{
		to.origin = next_origin(from->origin);
		to.xmax = 0;
		to.count = 0;
		follow->more = true;
	}
	else if (follow->count == 0 && !follow->more)
		return;					/* nothing: the position stays good */
	follow->position = to;
}

/*
 * The next events of those wanted, whole transactions of at least so many rows
 * if there are so many, in the active snapshot and with the store open.
 */
void
follow_next(Follow *follow, const Wanted *wanted, int most)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		step(follow, wanted, most);
	} while (follow->count == 0 && follow->more);
}
