/*-------------------------------------------------------------------------
 *
 * table.h
 *	  Rows of our own tables by key, without a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TABLE_H
#define APPROVAL_TABLE_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "nodes/execnodes.h"
#include "storage/itemptr.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "compat.h"

typedef enum ColumnType
{
	COLUMN_TEXT,
	COLUMN_ULID,
	COLUMN_DIGEST,
	COLUMN_JSON,
	COLUMN_TIME,
	COLUMN_INT4,
	COLUMN_INT8,
	COLUMN_XID8,
	COLUMN_NUMERIC
} ColumnType;

typedef struct ColumnInfo
{
	const char *name;
	ColumnType	type;
	int			flags;
} ColumnInfo;

/* Columns that were added and dropped again count in a row for ever. */
#define TABLE_SPARE_COLUMNS 16

/* Receives a row that was found; it lives as long as the current context. */
typedef struct Found
{
	HeapTuple	tuple;
	ItemPointerData tid;
} Found;

/* One or more rows being written, in one command. */
typedef struct Writer
{
	EState	   *estate;
	List	   *targets;		/* of Target; they stay open to the end */
} Writer;

/* What we open on every call. */
typedef enum OwnRelation
{
	OWN_REQUESTS,
	OWN_DECISIONS,
	OWN_EVENTS,
	OWN_RUNS,
	OWN_STEPS,
	OWN_TABLES,					/* the others are no tables */
	OWN_REQUESTS_BY_ID = OWN_TABLES,
	OWN_REQUESTS_BY_CALL,
	OWN_REQUESTS_OPEN,
	OWN_REQUESTS_WAITING,
	OWN_REQUESTS_RUNNING,
	OWN_REQUESTS_ASSIGNED,
	OWN_REQUESTS_GROUP,
	OWN_REQUESTS_PANEL,
	OWN_REQUESTS_TOOL,
	OWN_REQUESTS_DUE,
	OWN_REQUESTS_GRANT,
	OWN_REQUESTS_REPEAT,
	OWN_REQUESTS_RUN,
	OWN_EVENTS_BY_ID,
	OWN_EVENTS_FEED,
	OWN_EVENTS_SEQUENCE,
	OWN_RUNS_BY_ID,
	OWN_RUNS_CHILDREN,
	OWN_RUNS_LIVE,
	OWN_RUNS_CONVERSATION,
	OWN_STEPS_BY_ID,
	OWN_COUNT,
	OWN_ANY_KEY = OWN_COUNT		/* any unique index of a table */
} OwnRelation;

/* Whether a row is locked, and what is done if somebody else holds it. */
typedef enum TableLock
{
	TABLE_NO_LOCK,
	TABLE_LOCK_WAIT,
	TABLE_LOCK_SHARE,			/* waits, and shares it with its like */
	TABLE_LOCK_SKIP
} TableLock;

/* Looks at a row that a scan found; false ends the scan. */
typedef bool (*TableVisitor) (TupleTableSlot *slot, void *arg);

extern void table_init(void);
extern Oid	table_oid(OwnRelation which);
extern OwnRelation table_which(Relation relation);
extern Relation table_of_ours(OwnRelation which, LOCKMODE lockmode);
extern bool table_find(Relation relation, OwnRelation index, const Datum *keys, int nkeys,
					   Snapshot snapshot, TableLock lock, Found *found);

extern void table_visit(Relation relation, OwnRelation index, const Datum *keys, int nkeys,
						Snapshot snapshot, TableVisitor visitor, void *arg);
extern void table_visit_after(Relation relation, OwnRelation index, const Datum *keys, int nkeys,
							  const Datum *after, Snapshot snapshot, TableVisitor visitor, void *arg);

extern void table_visit_range(Relation relation, OwnRelation index, const Datum *key, const Datum *from,
							  const Datum *until, const Datum *next, TableVisitor visitor, void *arg);
extern bool table_lock_visited(Relation relation, TupleTableSlot *slot);

extern void table_write_begin(Writer *writer);
extern void table_insert(Writer *writer, Relation relation, const Datum *values, const bool *nulls);
extern bool table_insert_new(Writer *writer, Relation relation, OwnRelation index,
							 const Datum *values, const bool *nulls);
extern void table_update(Writer *writer, Relation relation, ItemPointer tid,
						 const Datum *values, const bool *nulls);
pg_noreturn extern void table_row_suppressed(void);
extern void table_write_end(Writer *writer);

#endif							/* APPROVAL_TABLE_H */
