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

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

#include "event.h"
#include "follow.h"
#include "recent.h"
#include "row.h"
#include "store.h"

#define NOTES_LIMIT (16 * 1024 * 1024)

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

/* Where the events of a step are gathered. */
typedef struct Gathering
{
	Follow	   *follow;
	const Wanted *wanted;
	Relation	requests;
	Relation	events;
	uint64		end;			/* none from here on; 0: no end */
	int			most;
	int			room;
	int			beyond;			/* of those found, at or beyond xmax */
	bool		full;			/* there are more than were asked for */
	Size		note_bytes;
	uint64		last;			/* the transaction of the last that was found */
	MemoryContext context;		/* of what is kept */
	MemoryContext row;			/* of one row */
} Gathering;

static char *
text_of(Datum value, bool isnull)
{
	return isnull ? NULL : TextDatumGetCString(value);
}

static char *
event_text(TupleTableSlot *slot, EventColumn column)
{
	return text_of(slot->tts_values[column], slot->tts_isnull[column]);
}

static bool
of_tenants(const Wanted *wanted, TupleTableSlot *slot)
{
	text	   *tenant = DatumGetTextPP(slot->tts_values[EV_TENANT]);
	int			i;

	for (i = 0; i < wanted->ntenants; i++)
		if (strlen(wanted->tenants[i]) == VARSIZE_ANY_EXHDR(tenant) &&
			memcmp(wanted->tenants[i], VARDATA_ANY(tenant), VARSIZE_ANY_EXHDR(tenant)) == 0)
			return true;
	return wanted->all_tenants;
}

static bool
slot_is(TupleTableSlot *slot, RequestColumn column, const char *wanted)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, column + 1, &isnull);

	return !isnull && strcmp(TextDatumGetCString(value), wanted) == 0;
}

static char *
slot_text(TupleTableSlot *slot, RequestColumn column)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, column + 1, &isnull);

	return text_of(value, isnull);
}

/* An event whose request is looked up. */
typedef struct Asking
{
	const Gathering *gather;
	Followed   *event;
	bool		wanted;
} Asking;

static bool
visit_its_request(TupleTableSlot *slot, void *arg)
{
	Asking	   *asking = arg;
	const Wanted *wanted = asking->gather->wanted;
	Followed   *event = asking->event;

	if ((wanted->login && !slot_is(slot, REQ_REQUESTER_LOGIN, wanted->login)) ||
		(wanted->run_id && !slot_is(slot, REQ_RUN_ID, wanted->run_id)))
		return false;
	asking->wanted = true;
	MemoryContextSwitchTo(asking->gather->context);
	event->conversation_id = slot_text(slot, REQ_CONVERSATION_ID);
	event->run_id = slot_text(slot, REQ_RUN_ID);
	if (wanted->brief)
		return false;
	event->tool_call_id = slot_text(slot, REQ_TOOL_CALL_ID);
	event->server = slot_text(slot, REQ_SERVER);
	event->tool = slot_text(slot, REQ_TOOL);
	return false;
}

/* What is known of an event's request, if it is one of those wanted. */
static bool
take_request(const Gathering *gather, Datum tenant, Followed *event)
{
	Asking		asking = {gather, event, false};
	Datum		keys[2];

	keys[0] = tenant;
	keys[1] = UlidPGetDatum(&event->id);
	table_visit(gather->requests, OWN_REQUESTS_BY_ID, keys, 2, GetActiveSnapshot(), visit_its_request, &asking);
	return asking.wanted;
}

/* The same where nothing else of it is of interest, nor who asks. */
static bool
take_conversation(const Gathering *gather, Datum tenant, Followed *event)
{
	const char *its_tenant = TextDatumGetCString(tenant);
	const char *conversation;
	const char *run;

	if (recent_find(its_tenant, &event->id, &conversation, &run))
	{
		MemoryContextSwitchTo(gather->context);
		event->conversation_id = pstrdup(conversation);
		event->run_id = run ? pstrdup(run) : NULL;
		return true;
	}
	if (!take_request(gather, tenant, event))
		return false;
	recent_remember(its_tenant, &event->id, event->conversation_id, event->run_id);
	return true;
}

/*
 * A transaction comes whole, and may have more notes than fit into an answer,
 * or a client.
 */
static void
take_note(Gathering *gather, TupleTableSlot *slot, Followed *event)
{
	event->note_omitted = gather->note_bytes > NOTES_LIMIT && !slot->tts_isnull[EV_NOTE];
	if (event->note_omitted)
		return;
	event->note = event_text(slot, EV_NOTE);
	gather->note_bytes += event->note ? strlen(event->note) : 0;
}

static void
take_event(Gathering *gather, TupleTableSlot *slot)
{
	Followed	event = {0};
	Follow	   *follow = gather->follow;

	event.xid = U64FromFullTransactionId(DatumGetFullTransactionId(slot->tts_values[EV_XID]));
	event.seq = DatumGetInt64(slot->tts_values[EV_SEQ]);
	event.n = DatumGetInt32(slot->tts_values[EV_N]);
	event.at = DatumGetTimestampTz(slot->tts_values[EV_AT]);
	event.id = *DatumGetUlidP(slot->tts_values[EV_REQUEST]);
	if (!(gather->wanted->brief ? take_conversation(gather, slot->tts_values[EV_TENANT], &event) :
		  take_request(gather, slot->tts_values[EV_TENANT], &event)))
		return;
	event.tenant = event_text(slot, EV_TENANT);
	event.kind = event_text(slot, EV_KIND);
	event.status_after = event_text(slot, EV_STATUS_AFTER);
	if (!gather->wanted->brief)
	{
		event.actor = event_text(slot, EV_ACTOR);
		event.status_before = event_text(slot, EV_STATUS_BEFORE);
		event.outcome_before = event_text(slot, EV_OUTCOME_BEFORE);
		event.outcome_after = event_text(slot, EV_OUTCOME_AFTER);
		take_note(gather, slot, &event);
	}
	if (follow->count == gather->room)
	{
		gather->room *= 2;
		follow->events = repalloc(follow->events, sizeof(Followed) * gather->room);
	}
	follow->events[follow->count++] = event;
	gather->last = event.xid;
	gather->beyond += (event.xid >= follow->position.xmax);
}

/* In the order of transactions; whole ones, even if that makes it more rows. */
static bool
visit_event(TupleTableSlot *slot, void *arg)
{
	Gathering  *gather = arg;
	uint64		xid;

	slot_getallattrs(slot);
	xid = U64FromFullTransactionId(DatumGetFullTransactionId(slot->tts_values[EV_XID]));
	if (gather->end && xid >= gather->end)
		return false;
	if (gather->beyond >= gather->most && xid != gather->last)
	{
		gather->full = true;
		return false;
	}
	MemoryContextReset(gather->row);
	MemoryContextSwitchTo(gather->row);
	if (of_tenants(gather->wanted, slot))
		take_event(gather, slot);
	MemoryContextSwitchTo(gather->context);
	return true;
}

/* Those listed one by one, then those beyond. */
static void
gather_all(Gathering *gather)
{
	const Position *position = &gather->follow->position;
	Datum		origin = Int64GetDatum(position->origin);
	Datum		xid;
	Datum		tenant = (Datum) 0;
	bool		one_tenant = !gather->wanted->all_tenants && gather->wanted->ntenants == 1;
	int			i;

	if (one_tenant)
		tenant = CStringGetTextDatum(gather->wanted->tenants[0]);
	for (i = 0; i < position->count; i++)
	{
		xid = FullTransactionIdGetDatum(FullTransactionIdFromU64(position->xip[i]));
		table_visit_range(gather->events, OWN_EVENTS_FEED, &origin, &xid, &xid,
						  one_tenant ? &tenant : NULL, visit_event, gather);
	}
	xid = FullTransactionIdGetDatum(FullTransactionIdFromU64(position->xmax));
	table_visit_range(gather->events, OWN_EVENTS_FEED, &origin, &xid, NULL,
					  one_tenant ? &tenant : NULL, visit_event, gather);
}

static bool
visit_event_of_request(TupleTableSlot *slot, void *arg)
{
	Gathering  *gather = arg;
	const Position *position = &gather->follow->position;
	uint64		xid;

	slot_getallattrs(slot);
	xid = U64FromFullTransactionId(DatumGetFullTransactionId(slot->tts_values[EV_XID]));
	if (DatumGetInt64(slot->tts_values[EV_ORIGIN]) != position->origin ||
		(xid < position->xmax && !position_lists(position, xid)) ||
		(gather->end && xid >= gather->end))
		return true;
	MemoryContextSwitchTo(gather->row);
	take_event(gather, slot);
	MemoryContextSwitchTo(gather->context);
	return true;
}

static bool
visit_request(TupleTableSlot *slot, void *arg)
{
	Gathering  *gather = arg;
	Datum		keys[2];

	slot_getallattrs(slot);
	keys[0] = slot->tts_values[REQ_TENANT];
	keys[1] = slot->tts_values[REQ_ID];
	MemoryContextReset(gather->row);
	table_visit(gather->events, OWN_EVENTS_BY_ID, keys, 2, GetActiveSnapshot(), visit_event_of_request, gather);
	return true;
}

static int
by_xid(const void *a, const void *b)
{
	uint64		one = ((const Followed *) a)->xid;
	uint64		two = ((const Followed *) b)->xid;

	return one < two ? -1 : one > two;
}

/* A conversation has few requests, however many events there are. */
static void
gather_conversation(Gathering *gather)
{
	Follow	   *follow = gather->follow;
	Datum		keys[2];
	int			beyond = 0;
	int			i;

	keys[1] = CStringGetTextDatum(gather->wanted->conversation_id);
	for (i = 0; i < gather->wanted->ntenants; i++)
	{
		keys[0] = CStringGetTextDatum(gather->wanted->tenants[i]);
		table_visit(gather->requests, OWN_REQUESTS_BY_CALL, keys, 2, GetActiveSnapshot(), visit_request, gather);
	}
	qsort(follow->events, follow->count, sizeof(Followed), by_xid);
	for (i = 0; i < follow->count; i++)
	{
		if (beyond >= gather->most && follow->events[i].xid != follow->events[i - 1].xid)
		{
			follow->count = i;
			gather->full = true;
			return;
		}
		beyond += (follow->events[i].xid >= follow->position.xmax);
	}
}

/* Reads them in the active snapshot; end is 0 for none. */
static void
read_events(Follow *follow, const Wanted *wanted, int most, uint64 end)
{
	Gathering	gather = {.follow = follow,.wanted = wanted,.end = end,.most = most,.room = 64};

	gather.context = CurrentMemoryContext;
	gather.row = AllocSetContextCreate(CurrentMemoryContext, "approval event", ALLOCSET_DEFAULT_SIZES);
	gather.requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	gather.events = table_of_ours(OWN_EVENTS, AccessShareLock);
	follow->count = 0;
	follow->events = palloc(sizeof(Followed) * gather.room);
	if (wanted->conversation_id)
		gather_conversation(&gather);
	else
		gather_all(&gather);
	follow->more = gather.full;
	table_close(gather.events, NoLock);
	table_close(gather.requests, NoLock);
	MemoryContextDelete(gather.row);
}

/* The transaction of the event before; 0 if there is none of this origin. */
static uint64
previous_xid(const Follow *follow, const Followed *event)
{
	Relation	events = table_of_ours(OWN_EVENTS, AccessShareLock);
	Datum		keys[3];
	Found		found;
	uint64		xid = 0;
	bool		isnull;

	keys[0] = CStringGetTextDatum(event->tenant);
	keys[1] = UlidPGetDatum(&event->id);
	keys[2] = Int32GetDatum(event->n - 1);
	if (table_find(events, OWN_EVENTS_BY_ID, keys, 3, GetActiveSnapshot(), TABLE_NO_LOCK, &found) &&
		DatumGetInt64(heap_getattr(found.tuple, EV_ORIGIN + 1, RelationGetDescr(events), &isnull)) == follow->position.origin)
		xid = U64FromFullTransactionId(DatumGetFullTransactionId(heap_getattr(found.tuple, EV_XID + 1, RelationGetDescr(events), &isnull)));
	table_close(events, NoLock);
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

/* After a part of what is there: as if nothing beyond it could be seen. */
static void
cut(const Follow *follow, Position *now)
{
	now->xmax = greatest_xid(follow) + 1;
	while (now->count > 0 && now->xip[now->count - 1] >= now->xmax)
		now->count--;
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

/* A past origin has been gone through: on to the next one. */
static void
leave_past(Position *position)
{
	position->origin = next_origin(position->origin);
	position->xmax = 0;
	position->count = 0;
}

/* One step: of a past origin everything is visible. */
static void
step(Follow *follow, const Wanted *wanted, int most)
{
	bool		past = follow->position.origin != follow->position.home;
	bool		standby = !past && GetActiveSnapshot()->takenDuringRecovery;
	Position	now;
	Position	to;

	position_of_snapshot(GetActiveSnapshot(), &now);
	if (past)
		now.count = 0;
	read_events(follow, wanted, most, standby ? now.xmax : 0);
	if (follow->more)
		cut(follow, &now);
	position_join(&follow->position, &now, &to);
	if (follow->more || standby)
		defer_early(follow, &to);
	leave_out_deferred(follow);
	if (past && !follow->more)
	{
		leave_past(&to);
		follow->more = true;
	}
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
