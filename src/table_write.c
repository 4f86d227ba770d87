/*-------------------------------------------------------------------------
 *
 * table_write.c
 *	  Rows of our own tables written without a statement.
 *
 * By what logical replication uses to apply a row (execReplication.c), with
 * indexes, constraints and row triggers.  Statement triggers do not fire, since
 * there is no statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "errors.h"
#include "indexes.h"
#include "table.h"

void
table_write_begin(Writer *writer)
{
	writer->estate = CreateExecutorState();
	writer->targets = NIL;
	writer->estate->es_output_cid = GetCurrentCommandId(true);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer->estate->es_snapshot = GetActiveSnapshot();
	AfterTriggerBeginQuery();
}

/* What was written becomes visible to the next command. */
void
table_write_end(Writer *writer)
{
	ListCell   *cell;

	AfterTriggerEndQuery(writer->estate);
	foreach(cell, writer->targets)
	{
		Target	   *target = lfirst(cell);

		indexes_close(target);
		table_close(target->info->ri_RelationDesc, NoLock);
	}
	ExecResetTupleTable(writer->estate->es_tupleTable, false);
	PopActiveSnapshot();
	FreeExecutorState(writer->estate);
	CommandCounterIncrement();
}

/* Whether the one CHECK of a table is the one that verbs have tested already. */
static bool
only_own_check(Relation relation)
{
	TupleConstr *constraints = relation->rd_att->constr;

	return constraints && constraints->num_check == 1 &&
		strcmp(constraints->check[0].ccname, psprintf("%s_sound", RelationGetRelationName(relation))) == 0;
}

/*
 * A result relation with its indexes, open until the end.  The executor would
 * parse the text of each CHECK anew for every row; verbs call the C function
 * behind ours instead (sound.c).  If an administrator has added others, all of
 * them are tested.
 */
static Target *
open_target(Writer *writer, Relation relation, bool speculative)
{
	Target	   *target;
	MemoryContext old;
	ListCell   *cell;

	foreach(cell, writer->targets)
	{
		target = lfirst(cell);
		if (RelationGetRelid(target->info->ri_RelationDesc) == RelationGetRelid(relation))
			return target;
	}
	old = MemoryContextSwitchTo(writer->estate->es_query_cxt);
	target = palloc0(sizeof(Target));
	target->speculative = speculative;
	target->info = makeNode(ResultRelInfo);
	InitResultRelInfo(target->info, relation, 0, NULL, 0);
	if (only_own_check(relation))
		target->info->compat_check_exprs = palloc0(sizeof(ExprState *));
	indexes_open(target, table_which(relation));
	RelationIncrementReferenceCount(relation);
	writer->targets = lappend(writer->targets, target);
	writer->estate->es_opened_result_relations =
		lappend(writer->estate->es_opened_result_relations, target->info);
	MemoryContextSwitchTo(old);
	return target;
}

/* The target, with the indexes that this row goes into. */
static ResultRelInfo *
target_for(Writer *writer, Relation relation, bool speculative, TupleTableSlot *slot)
{
	Target	   *target = open_target(writer, relation, speculative);
	MemoryContext old = MemoryContextSwitchTo(writer->estate->es_query_cxt);

	indexes_choose(target, slot);
	MemoryContextSwitchTo(old);
	return target->info;
}

/* A row of ours; what was added and dropped again stays empty. */
static TupleTableSlot *
row_slot(Relation relation, const Datum *values, const bool *nulls)
{
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	int			natts = slot->tts_tupleDescriptor->natts;
	int			i;

	ExecClearTuple(slot);
	for (i = 0; i < natts; i++)
	{
		bool		dropped = TupleDescAttr(slot->tts_tupleDescriptor, i)->attisdropped;

		slot->tts_values[i] = dropped ? (Datum) 0 : values[i];
		slot->tts_isnull[i] = dropped || nulls[i];
	}
	return ExecStoreVirtualTuple(slot);
}

/* A trigger of somebody's that skips our row must not go unnoticed. */
void
table_row_suppressed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
			 errmsg("a trigger suppressed a row of the approval tables"),
			 errhint("Triggers on these tables may look at rows, and must return them.")));
}

static void
check_written(TupleTableSlot *slot)
{
	if (!ItemPointerIsValid(&slot->tts_tid))
		table_row_suppressed();
}

void
table_insert(Writer *writer, Relation relation, const Datum *values, const bool *nulls)
{
	TupleTableSlot *slot = row_slot(relation, values, nulls);
	ResultRelInfo *target = target_for(writer, relation, false, slot);

	ExecSimpleRelationInsert(target, writer->estate, slot);
	check_written(slot);
	ResetPerTupleExprContext(writer->estate);
	ExecDropSingleTupleTableSlot(slot);
}

/* Over a row that table_find has locked, so that nobody else is in the way. */
void
table_update(Writer *writer, Relation relation, ItemPointer tid,
			 const Datum *values, const bool *nulls)
{
	TupleTableSlot *before = table_slot_create(relation, NULL);
	TupleTableSlot *after = row_slot(relation, values, nulls);
	ResultRelInfo *target = target_for(writer, relation, false, after);
	EPQState	epq;

	before->tts_tid = *tid;
	compat_eval_plan_qual_init(&epq, writer->estate);
	ExecSimpleRelationUpdate(target, writer->estate, &epq, before, after);
	EvalPlanQualEnd(&epq);
	ResetPerTupleExprContext(writer->estate);
	check_written(after);
	ExecDropSingleTupleTableSlot(before);
	ExecDropSingleTupleTableSlot(after);
}

/*
 * A row with the key exists.  One that this transaction must not see is a
 * conflict that only a new transaction can resolve.
 */
static void
check_visible(Relation relation, ItemPointer tid)
{
	TupleTableSlot *slot;
	bool		visible;

	if (!IsolationUsesXactSnapshot())
		return;
	slot = table_slot_create(relation, NULL);
	visible = table_tuple_fetch_row_version(relation, tid, SnapshotAny, slot) &&
		table_tuple_satisfies_snapshot(relation, slot, GetActiveSnapshot());
	ExecDropSingleTupleTableSlot(slot);
	if (!visible)
		errors_raise_serialization();
}

/* One attempt of a speculative insertion; false if somebody else was faster. */
static bool
insert_speculatively(Writer *writer, ResultRelInfo *target, TupleTableSlot *slot, List *arbiters)
{
	Relation	relation = target->ri_RelationDesc;
	uint32		token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
	bool		conflict = false;

	table_tuple_insert_speculative(relation, slot, writer->estate->es_output_cid, 0, NULL, token);
	(void) compat_insert_index_tuples(target, slot, writer->estate, &conflict, arbiters);
	table_tuple_complete_speculative(relation, slot, token, !conflict);
	SpeculativeInsertionLockRelease(GetCurrentTransactionId());
	return !conflict;
}

static void
before_insert(Writer *writer, ResultRelInfo *target, TupleTableSlot *slot)
{
	if (target->ri_TrigDesc && target->ri_TrigDesc->trig_insert_before_row &&
		!ExecBRInsertTriggers(writer->estate, target, slot))
		table_row_suppressed();
	if (target->ri_RelationDesc->rd_att->constr)
		ExecConstraints(target, slot, writer->estate);
}

/*
 * INSERT ... ON CONFLICT DO NOTHING: waits for a concurrent insertion of the
 * same key, and is false if that was committed, or was there before.
 */
bool
table_insert_new(Writer *writer, Relation relation, OwnRelation index,
				 const Datum *values, const bool *nulls)
{
	TupleTableSlot *slot = row_slot(relation, values, nulls);
	ResultRelInfo *target = target_for(writer, relation, true, slot);
	List	   *arbiters = index == OWN_ANY_KEY ? NIL : list_make1_oid(table_oid(index));
	ItemPointerData tid;
	bool		inserted;

	before_insert(writer, target, slot);
	do
	{
		CHECK_FOR_INTERRUPTS();
		ItemPointerSetInvalid(&slot->tts_tid);
		if (!compat_check_index_constraints(target, slot, writer->estate, &tid, arbiters))
		{
			check_visible(relation, &tid);
			inserted = false;
			break;
		}
		inserted = insert_speculatively(writer, target, slot, arbiters);
	} while (!inserted);
	if (inserted)
		ExecARInsertTriggers(writer->estate, target, slot, NIL, NULL);
	ExecDropSingleTupleTableSlot(slot);
	return inserted;
}
