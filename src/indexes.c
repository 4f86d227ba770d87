/*-------------------------------------------------------------------------
 *
 * indexes.c
 *	  Which indexes of a table of ours a row goes into.
 *
 * Most indexes of requests are for a few rows only: what waits, what runs.  The
 * executor opens all of them for every row, prepares their predicates and finds
 * most of them false.  Here the predicates are kept, prepared once, and only the
 * indexes that a row belongs to are opened.  The predicates are those that the
 * catalogue has, whatever an administrator has made of them.  A trigger of his
 * that may change the row comes between, so then the executor does it all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/pg_trigger.h"
#include "executor/executor.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "indexes.h"
#include "table.h"

typedef struct KnownIndex
{
	Oid			oid;
	ExprState  *predicate;		/* NULL: of every row */
} KnownIndex;

typedef struct KnownTable
{
	Oid			table;
	bool		complete;
	bool		stale;			/* something about the table has changed */
	uint64		generation;		/* how often it was looked at */
	MemoryContext context;
	ExprContext *econtext;
	int			count;
	KnownIndex *indexes;
} KnownTable;

static KnownTable tables[OWN_TABLES];

/* It may be in use, so it is only marked here. */
static void
relation_changed(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < OWN_TABLES; i++)
		if (relid == InvalidOid || relid == tables[i].table)
			tables[i].stale = true;
}

void
indexes_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

static ExprState *
prepare_predicate(Oid oid)
{
	Relation	index = index_open(oid, AccessShareLock);
	List	   *predicate = RelationGetIndexPredicate(index);
	ExprState  *state = predicate == NIL ? NULL : ExecInitQual(copyObject(predicate), NULL);

	index_close(index, NoLock);
	return state;
}

/* The indexes of the table as the catalogue has them now. */
static void
learn(KnownTable *known, Relation relation)
{
	List	   *oids = RelationGetIndexList(relation);
	MemoryContext old;
	ListCell   *cell;

	known->complete = false;
	known->stale = false;
	known->table = RelationGetRelid(relation);
	known->generation++;
	if (known->context)
		MemoryContextDelete(known->context);
	known->context = AllocSetContextCreate(CacheMemoryContext, "approval indexes", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(known->context);
	known->count = 0;
	known->indexes = palloc(sizeof(KnownIndex) * (list_length(oids) + 1));
	known->econtext = CreateStandaloneExprContext();
	foreach(cell, oids)
	{
		KnownIndex *index = &known->indexes[known->count++];

		index->oid = lfirst_oid(cell);
		index->predicate = prepare_predicate(index->oid);
	}
	MemoryContextSwitchTo(old);
	known->complete = true;
}

/* Only our guard, which looks at a row and does not change it. */
static bool
only_guard(const TriggerDesc *triggers)
{
	int			i;

	for (i = 0; triggers && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_BEFORE(trigger->tgtype) &&
			strcmp(trigger->tgname, "guard") != 0)
			return false;
	}
	return true;
}

/* In the memory of the executor state that the target belongs to. */
void
indexes_open(Target *target, int which)
{
	Relation	relation = target->info->ri_RelationDesc;
	KnownTable *known = &tables[which];

	if (!only_guard(target->info->ri_TrigDesc))
	{
		ExecOpenIndices(target->info, target->speculative);
		return;
	}
	while (known->table != RelationGetRelid(relation) || known->stale || !known->complete)
		learn(known, relation);
	target->known = known;
	target->generation = known->generation;
	target->info->ri_NumIndices = known->count;
	target->info->ri_IndexRelationDescs = palloc0(sizeof(Relation) * (known->count + 1));
	target->info->ri_IndexRelationInfo = palloc0(sizeof(IndexInfo *) * (known->count + 1));
	target->opened = palloc0(sizeof(Relation) * (known->count + 1));
}

static void
open_one(Target *target, int n, Oid oid)
{
	Relation	index = index_open(oid, RowExclusiveLock);
	IndexInfo  *info = BuildIndexInfo(index);

	/* it has been tested by then */
	info->ii_Predicate = NIL;
	if (target->speculative && info->ii_Unique)
		BuildSpeculativeIndexInfo(index, info);
	target->info->ri_IndexRelationInfo[n] = info;
	target->opened[n] = index;
}

/*
 * Shows the executor the indexes that this row goes into, and no others.  As
 * with any statement, the list is that of when the target was opened.
 */
void
indexes_choose(Target *target, TupleTableSlot *slot)
{
	KnownTable *known = target->known;
	int			i;

	if (known == NULL)
		return;
	if (known->generation != target->generation)
		elog(ERROR, "the indexes of a table were looked up again while it was written");
	known->econtext->ecxt_scantuple = slot;
	for (i = 0; i < known->count; i++)
	{
		bool		wanted = known->indexes[i].predicate == NULL ||
		ExecQual(known->indexes[i].predicate, known->econtext);

		if (wanted && target->opened[i] == NULL)
			open_one(target, i, known->indexes[i].oid);
		target->info->ri_IndexRelationDescs[i] = wanted ? target->opened[i] : NULL;
	}
	known->econtext->ecxt_scantuple = NULL;
	ResetExprContext(known->econtext);
}

/* Those that were opened, and no gaps between them: 18 looks at every one. */
void
indexes_close(Target *target)
{
	ResultRelInfo *info = target->info;
	int			count = 0;
	int			i;

	for (i = 0; target->known && i < info->ri_NumIndices; i++)
		if (target->opened[i])
		{
			info->ri_IndexRelationDescs[count] = target->opened[i];
			info->ri_IndexRelationInfo[count++] = info->ri_IndexRelationInfo[i];
		}
	if (target->known)
		info->ri_NumIndices = count;
	ExecCloseIndices(info);
}
