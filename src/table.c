/*-------------------------------------------------------------------------
 *
 * table.c
 *	  Rows of our own tables by key, without a statement.
 *
 * Verbs touch one row by its key.  A statement for that spends most of its time
 * in setting up the executor, so the hot path goes through the layer below: an
 * index scan and a tuple lock to find a row; table_write.c writes it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "errors.h"
#include "event.h"
#include "indexes.h"
#include "row.h"
#include "run.h"
#include "step.h"
#include "table.h"

#define MAX_KEYS 3

static const char *const own_names[OWN_COUNT] = {
	[OWN_REQUESTS] = "requests",
	[OWN_REQUESTS_BY_ID] = "requests_pkey",
	[OWN_REQUESTS_BY_CALL] = "requests_call_key",
	[OWN_REQUESTS_OPEN] = "requests_open",
	[OWN_REQUESTS_WAITING] = "requests_waiting",
	[OWN_REQUESTS_RUNNING] = "requests_running",
	[OWN_REQUESTS_ASSIGNED] = "requests_assigned",
	[OWN_REQUESTS_GROUP] = "requests_group",
	[OWN_REQUESTS_PANEL] = "requests_panel",
	[OWN_REQUESTS_TOOL] = "requests_tool",
	[OWN_REQUESTS_DUE] = "requests_due",
	[OWN_REQUESTS_GRANT] = "requests_grant",
	[OWN_REQUESTS_REPEAT] = "requests_repeat",
	[OWN_REQUESTS_RUN] = "requests_run",
	[OWN_DECISIONS] = "decisions",
	[OWN_EVENTS] = "events",
	[OWN_EVENTS_BY_ID] = "events_pkey",
	[OWN_EVENTS_FEED] = "events_feed",
	[OWN_EVENTS_SEQUENCE] = "events_seq",
	[OWN_RUNS] = "runs",
	[OWN_RUNS_BY_ID] = "runs_pkey",
	[OWN_RUNS_CHILDREN] = "runs_children",
	[OWN_RUNS_LIVE] = "runs_live",
	[OWN_RUNS_CONVERSATION] = "runs_conversation",
	[OWN_STEPS] = "steps",
	[OWN_STEPS_BY_ID] = "steps_pkey",
};

/* Their OIDs, until some relation or schema gets, or loses, its name. */
static Oid	own_oids[OWN_COUNT];

/* Tables whose columns have been compared with ours since they last changed. */
static bool own_checked[OWN_TABLES];

static void
names_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	memset(own_oids, 0, sizeof(own_oids));
	memset(own_checked, 0, sizeof(own_checked));
}

static void
relation_changed(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < OWN_TABLES; i++)
		if (relid == InvalidOid || relid == own_oids[i])
			own_checked[i] = false;
}

void
table_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(RELNAMENSP, names_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACENAME, names_changed, (Datum) 0);
}

Oid
table_oid(OwnRelation which)
{
	if (!OidIsValid(own_oids[which]))
		own_oids[which] = get_relname_relid(own_names[which], get_namespace_oid("approval", false));
	if (!OidIsValid(own_oids[which]))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"approval.%s\" does not exist", own_names[which])));
	return own_oids[which];
}

static const struct
{
	const ColumnInfo *columns;
	int			count;
}			own_columns[OWN_TABLES] = {
	[OWN_REQUESTS] = {request_columns, REQ_COUNT},
	[OWN_DECISIONS] = {decision_columns, DEC_COUNT},
	[OWN_EVENTS] = {event_columns, EV_COUNT},
	[OWN_RUNS] = {run_columns, RUN_COUNT},
	[OWN_STEPS] = {step_columns, STEP_COUNT},
};

static bool
type_is(Oid type, ColumnType expected)
{
	static const Oid builtin[] = {
		[COLUMN_TEXT] = TEXTOID,[COLUMN_JSON] = JSONOID,[COLUMN_TIME] = TIMESTAMPTZOID,
		[COLUMN_INT4] = INT4OID,[COLUMN_INT8] = INT8OID,[COLUMN_XID8] = XID8OID,
		[COLUMN_NUMERIC] = NUMERICOID
	};

	if (expected == COLUMN_ULID || expected == COLUMN_DIGEST)
		return type == GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
									   CStringGetDatum(expected == COLUMN_ULID ? "ulid" : "digest"),
									   ObjectIdGetDatum(get_namespace_oid("approval", false)));
	return type == builtin[expected];
}

/*
 * Values go into rows without a cast, so the columns have to be exactly those
 * that we know; only dropped ones may follow.
 */
static bool
columns_match(TupleDesc desc, const ColumnInfo *columns, int count)
{
	int			i;

	if (desc->natts < count || desc->natts > count + TABLE_SPARE_COLUMNS)
		return false;
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (i >= count)
		{
			if (!att->attisdropped)
				return false;
		}
		else if (att->attisdropped || strcmp(NameStr(att->attname), columns[i].name) != 0 ||
				 !type_is(att->atttypid, columns[i].type))
			return false;
	}
	return true;
}

/* Close it without unlocking: locks are kept until the transaction ends. */
Relation
table_of_ours(OwnRelation which, LOCKMODE lockmode)
{
	Relation	relation = table_open(table_oid(which), lockmode);

	if (!own_checked[which])
	{
		if (!columns_match(RelationGetDescr(relation), own_columns[which].columns, own_columns[which].count))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"approval.%s\" does not have the columns that the library knows", own_names[which]),
					 errhint("Columns of these tables are changed by ALTER EXTENSION approval UPDATE only; undo what was altered.")));
		own_checked[which] = true;
	}
	return relation;
}

/* OWN_TABLES - 1 at most: only for relations of ours. */
OwnRelation
table_which(Relation relation)
{
	int			i;

	/* not by OID: what we keep of those may be forgotten at any lock */
	for (i = 0; i < OWN_TABLES - 1; i++)
		if (strcmp(own_names[i], RelationGetRelationName(relation)) == 0)
			break;
	return (OwnRelation) i;
}

static void
set_key(Relation index, int column, StrategyNumber strategy, Datum value, ScanKey scan)
{
	RegProcedure compare = F_TEXTEQ;

	if (index->rd_opcintype[column] != TEXTOID || strategy != BTEqualStrategyNumber)
		compare = get_opcode(get_opfamily_member(index->rd_opfamily[column],
												 index->rd_opcintype[column],
												 index->rd_opcintype[column], strategy));
	ScanKeyEntryInitialize(scan, 0, column + 1, strategy, InvalidOid,
						   index->rd_indcollation[column], compare, value);
}

static void
equality_keys(Relation index, const Datum *keys, int nkeys, ScanKey scan)
{
	int			i;

	for (i = 0; i < nkeys; i++)
		set_key(index, i, BTEqualStrategyNumber, keys[i], &scan[i]);
}

/*
 * Lock the row that a scan found, as SELECT FOR NO KEY UPDATE or FOR SHARE does:
 * wait for whoever holds it, then take its last version under READ COMMITTED, or fail
 * under a stricter level.  False if the row has gone, or is not waited for.
 */
static bool
lock_found(Relation relation, TupleTableSlot *slot, TableLock lock)
{
	TM_FailureData failure;
	ItemPointerData tid = slot->tts_tid;
	int			flags = IsolationUsesXactSnapshot() ? 0 : TUPLE_LOCK_FLAG_FIND_LAST_VERSION;

	switch (table_tuple_lock(relation, &tid, GetActiveSnapshot(), slot,
							 GetCurrentCommandId(false),
							 lock == TABLE_LOCK_SHARE ? LockTupleShare : LockTupleNoKeyExclusive,
							 lock == TABLE_LOCK_SKIP ? LockWaitSkip : LockWaitBlock, flags, &failure))
	{
		case TM_Ok:
			return true;
		case TM_WouldBlock:
			return false;
		case TM_Deleted:
			if (!IsolationUsesXactSnapshot())
				return false;
			/* FALLTHROUGH */
		case TM_Updated:
			errors_raise_serialization();
		default:
			elog(ERROR, "a row was changed by the command that locks it");
	}
	return false;
}

/*
 * The row with these keys in a unique index, as this transaction sees it, and
 * with "lock" as nobody can change it any more.  Without a snapshot of the
 * caller's a fresh one is taken under READ COMMITTED: the statement that calls
 * may have begun long ago.
 */
bool
table_find(Relation relation, OwnRelation by, const Datum *keys, int nkeys,
		   Snapshot snapshot, TableLock lock, Found *found)
{
	Relation	index = index_open(table_oid(by), AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	ScanKeyData scan_keys[MAX_KEYS];
	IndexScanDesc scan;
	bool		there;

	Assert(nkeys <= MAX_KEYS);
	equality_keys(index, keys, nkeys, scan_keys);
	PushActiveSnapshot(snapshot ? snapshot : GetTransactionSnapshot());
	scan = compat_index_beginscan(relation, index, GetActiveSnapshot(), nkeys);
	index_rescan(scan, scan_keys, nkeys, NULL, 0);
	there = index_getnext_slot(scan, ForwardScanDirection, slot);
	index_endscan(scan);
	if (there && lock != TABLE_NO_LOCK)
		there = lock_found(relation, slot, lock);
	PopActiveSnapshot();
	if (there)
	{
		found->tuple = ExecCopySlotHeapTuple(slot);
		found->tid = slot->tts_tid;
	}
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	return there;
}

/* Shows each row to the visitor, and closes the index. */
static void
walk(Relation relation, Relation index, ScanKey keys, int nkeys, TableVisitor visitor, void *arg)
{
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	IndexScanDesc scan = compat_index_beginscan(relation, index, GetActiveSnapshot(), nkeys);

	index_rescan(scan, keys, nkeys, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (!visitor(slot, arg))
			break;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
}

/*
 * Every row with these keys in an index, in a snapshot of the caller's or, if
 * NULL, in a fresh one under READ COMMITTED.  A statement
 * would do, but its plan is kept, and may have been made when the table was
 * empty and an index not worth the while.
 */
void
table_visit(Relation relation, OwnRelation by, const Datum *keys, int nkeys,
			Snapshot snapshot, TableVisitor visitor, void *arg)
{
	table_visit_after(relation, by, keys, nkeys, NULL, snapshot, visitor, arg);
}

/* The same in the order of the next column of the index, from beyond a value of it. */
void
table_visit_after(Relation relation, OwnRelation by, const Datum *keys, int nkeys, const Datum *after,
				  Snapshot snapshot, TableVisitor visitor, void *arg)
{
	Relation	index = index_open(table_oid(by), AccessShareLock);
	ScanKeyData scan_keys[MAX_KEYS];

	Assert(nkeys + (after ? 1 : 0) <= MAX_KEYS);
	equality_keys(index, keys, nkeys, scan_keys);
	if (after)
	{
		set_key(index, nkeys, BTGreaterStrategyNumber, *after, &scan_keys[nkeys]);
		nkeys++;
	}
	PushActiveSnapshot(snapshot ? snapshot : GetTransactionSnapshot());
	walk(relation, index, scan_keys, nkeys, visitor, arg);
	PopActiveSnapshot();
}

/*
 * Every row from one value to another of a column of an index, in its order, in
 * the active snapshot.  What is NULL is no condition: key is of the column
 * before it, if there is one, next of the one after it.
 */
void
table_visit_range(Relation relation, OwnRelation by, const Datum *key, const Datum *from,
				  const Datum *until, const Datum *next, TableVisitor visitor, void *arg)
{
	Relation	index = index_open(table_oid(by), AccessShareLock);
	int			column = key ? 1 : 0;
	ScanKeyData scan_keys[4];
	int			nkeys = 0;

	if (key)
		set_key(index, 0, BTEqualStrategyNumber, *key, &scan_keys[nkeys++]);
	if (from)
		set_key(index, column, BTGreaterEqualStrategyNumber, *from, &scan_keys[nkeys++]);
	if (until)
		set_key(index, column, BTLessEqualStrategyNumber, *until, &scan_keys[nkeys++]);
	if (next)
		set_key(index, column + 1, BTEqualStrategyNumber, *next, &scan_keys[nkeys++]);
	walk(relation, index, scan_keys, nkeys, visitor, arg);
}

/*
 * For a visitor: locks the row, whose last version is in the slot then.  False
 * if somebody else holds it, or if it has gone.
 */
bool
table_lock_visited(Relation relation, TupleTableSlot *slot)
{
	return lock_found(relation, slot, TABLE_LOCK_SKIP);
}
