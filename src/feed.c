/*-------------------------------------------------------------------------
 *
 * feed.c
 *	  feed: what has become visible since a cursor, each event once.
 *
 * A cursor is a position as text.  It stays good for as long as this database
 * goes on in one line: a restore, a copy, a promotion or a recovery to a point
 * in time makes another one of it, and then the answer is "resync".
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "commands/trigger.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "canonical.h"
#include "clock.h"
#include "event.h"
#include "follow.h"
#include "param.h"
#include "sight.h"
#include "verb.h"
#include "read.h"
#include "worker_hooks.h"

PG_FUNCTION_INFO_V1(approval_feed);
PG_FUNCTION_INFO_V1(approval_loaded);

#define FEED_COLUMNS 4
#define FEED_ROWS 100
#define FEED_MOST 10000
#define CURSOR_NOW "now"
#define CURSOR_LIMIT (4 * 1024 * 1024)

static Statement store_epoch = {
	.sql = "INSERT INTO approval.positions AS p (name, value) VALUES ('epoch', $1::pg_catalog.text)"
	" ON CONFLICT (name) DO UPDATE SET value = $1::pg_catalog.text",
	.nparams = 1,
	.types = {INT8OID},
};

/* Which line of history this server is on. */
static uint32
timeline_now(void)
{
	TimeLineID	timeline;

	if (!RecoveryInProgress())
		return GetWALInsertionTimeLine();
	(void) GetXLogReplayRecPtr(&timeline);
	return timeline;
}

/*
 * After a crash the numbers of transactions that left nothing on disk are used
 * again, and a cursor must not have counted them as seen.  Every transaction
 * that has ended has a record; so what has been inserted is flushed.
 */
static void
flush_numbers(void)
{
	XLogRecPtr	end;

	if (RecoveryInProgress())
		return;
	end = GetXLogInsertRecPtr();
	/* right after the header of a page no record has been inserted yet */
	if (end % XLOG_BLCKSZ == (XLogSegmentOffset(end, wal_segment_size) < XLOG_BLCKSZ ? SizeOfXLogLongPHD : SizeOfXLogShortPHD))
		end -= end % XLOG_BLCKSZ;
	XLogFlush(end);
}

/* Whether the cursor was made in this database, on this line, and not later. */
static bool
still_good(const Position *position, int64 epoch)
{
	return position->home == event_origin() && position->timeline == timeline_now() &&
		position->epoch == epoch &&
		(RecoveryInProgress() ||
		 position->xmax <= U64FromFullTransactionId(ReadNextFullTransactionId()));
}

/* What a client needs to know where to look; never arguments. */
static void
append_event(StringInfo out, const Followed *event, bool with_note)
{
	char		id[ULID_TEXT_LEN + 1];
	char		at[CLOCK_TEXT_LEN];

	ulid_to_text(&event->id, id);
	clock_text(event->at, at);
	appendStringInfoChar(out, '{');
	canonical_append_member(out, "id", id);
	appendStringInfo(out, ",\"n\":%d,\"seq\":\"" INT64_FORMAT "\"", event->n, event->seq);
	canonical_append_member(out, "event", event->kind);
	canonical_append_member(out, "at", at);
	canonical_append_member(out, "actor", event->actor);
	canonical_append_member(out, "status_before", event->status_before);
	canonical_append_member(out, "status", event->status_after);
	canonical_append_member(out, "outcome_before", event->outcome_before);
	canonical_append_member(out, "outcome", event->outcome_after);
	canonical_append_member(out, "tenant", event->tenant);
	canonical_append_member(out, "conversation_id", event->conversation_id);
	canonical_append_member(out, "tool_call_id", event->tool_call_id);
	canonical_append_member(out, "run_id", event->run_id);
	canonical_append_member(out, "server", event->server);
	canonical_append_member(out, "tool", event->tool);
	canonical_append_member(out, "note", with_note ? event->note : NULL);
	if (with_note && event->note_omitted)
		appendStringInfoString(out, ",\"note_omitted\":true");
	appendStringInfoChar(out, '}');
}

static char *
events_json(const Follow *follow, bool with_note)
{
	StringInfoData out;
	int			i;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	for (i = 0; i < follow->count; i++)
	{
		if (i > 0)
			appendStringInfoChar(&out, ',');
		append_event(&out, &follow->events[i], with_note);
	}
	appendStringInfoChar(&out, ']');
	return out.data;
}

/* A requester follows what its login proposed. */
static void
set_wanted(const Call *call, FunctionCallInfo fcinfo, Wanted *wanted)
{
	const char *tenant = args_text(fcinfo, 4, "tenant", ARGS_KEY_LIMIT);

	memset(wanted, 0, sizeof(*wanted));
	wanted->conversation_id = args_text(fcinfo, 1, "conversation_id", ARGS_KEY_LIMIT);
	wanted->run_id = args_name(fcinfo, 2, "run_id");
	if (wanted->conversation_id && wanted->conversation_id[0] == '\0')
		wanted->conversation_id = NULL;
	if (call->caller->sight != SIGHT_TENANT)
		wanted->login = call->caller->login;
	if (tenant == NULL)
	{
		wanted->tenants = sight_tenants(call->caller, &wanted->ntenants);
		return;
	}
	wanted->ntenants = 1;
	wanted->tenants = palloc(sizeof(char *));
	wanted->tenants[0] = pstrdup(caller_tenant(call->caller, tenant));
}

/* Where the caller wants to go on; false where that cannot be told any more. */
static bool
begin_at(const char *cursor, Position *position)
{
	int64		epoch = follow_epoch();
	Position	now;

	position_of_snapshot(GetActiveSnapshot(), &now);
	now.timeline = timeline_now();
	now.epoch = epoch;
	if (cursor && strcmp(cursor, CURSOR_NOW) == 0)
	{
		*position = now;
		return true;
	}
	if (cursor == NULL || cursor[0] == '\0')
	{
		*position = now;
		position->origin = follow_first_origin();
		position->xmax = 0;
		position->count = 0;
		return true;
	}
	if (!position_parse(cursor, position))
		args_bad_value("cursor_text", "The cursor_text of an earlier call, as it was; NULL to begin with the oldest event, now to begin with the next one.");
	if (still_good(position, epoch))
		return true;
	*position = now;
	return false;
}

static Datum
feed_datum(FunctionCallInfo fcinfo, const Follow *follow, bool resync, bool with_note)
{
	TupleDesc	desc;
	Datum		values[FEED_COLUMNS];
	bool		nulls[FEED_COLUMNS] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != FEED_COLUMNS)
		elog(ERROR, "feed must return a row of %d columns", FEED_COLUMNS);
	values[0] = CStringGetTextDatum(position_text(&follow->position));
	values[1] = CStringGetTextDatum(events_json(follow, with_note));
	values[2] = BoolGetDatum(follow->more);
	values[3] = BoolGetDatum(resync);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static void
refuse_own_writes(void)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	errors_raise_standard(ERRCODE_ACTIVE_SQL_TRANSACTION, "feed cannot follow a transaction that writes",
						  "writing_transaction", 409, "",
						  "Call feed by itself: what this transaction has written may still be rolled back.");
}

/* feed(cursor_text, conversation_id, run_id, max_rows, tenant) */
Datum
approval_feed(PG_FUNCTION_ARGS)
{
	Call		call;
	Wanted		wanted;
	Follow		follow = {0};
	char	   *cursor = args_text(fcinfo, 0, "cursor_text", CURSOR_LIMIT);
	int			most = PG_ARGISNULL(3) ? FEED_ROWS : PG_GETARG_INT32(3);
	bool		resync;
	bool		reads_trail;
	MemoryContext old;
	Datum		result;

	if (most < 1 || most > FEED_MOST)
		args_bad_value("max_rows", "From 1 to 10000.");
	refuse_own_writes();
	verb_begin(&call, fcinfo, "feed");
	set_wanted(&call, fcinfo, &wanted);
	reads_trail = read_notes(&call);
	PushActiveSnapshot(GetTransactionSnapshot());
	resync = !begin_at(cursor, &follow.position);
	if (!resync && call.caller->sight != SIGHT_NOTHING)
		follow_next(&follow, &wanted, most);
	PopActiveSnapshot();
	flush_numbers();
	old = MemoryContextSwitchTo(call.result_context);
	result = feed_datum(fcinfo, &follow, resync, reads_trail);
	MemoryContextSwitchTo(old);
	verb_end(&call);
	return result;
}

/* Another number than ever before, also by DROP and CREATE EXTENSION. */
static void
begin_epoch(void)
{
	Datum		values[1];
	int64		epoch;
	Store		store;

	if (!pg_strong_random(&epoch, sizeof(epoch)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	values[0] = Int64GetDatum(epoch & PG_INT64_MAX);
	store_open(&store);
	store_run(&store_epoch, values, NULL, SPI_OK_INSERT, 0);
	store_close(&store);
}

/*
 * Trigger: events or requests that no verb wrote have arrived, by COPY or
 * INSERT, with numbers of transactions that say nothing here.  Whoever follows
 * begins anew, and the worker looks whether something is due.
 */
Datum
approval_loaded(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by the trigger manager")));
	begin_epoch();
	worker_look();
	return PointerGetDatum(NULL);
}
