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

/* Receives a row that was found; it lives as long as the current context. */
typedef struct Found
{
	HeapTuple	tuple;
	ItemPointerData tid;
} Found;

/* One or more rows being written, in one command. */
typedef struct Writer
{
	EState	   *estate;			/* its result relations stay open to the end */
} Writer;

/* What we open on every call. */
typedef enum OwnRelation
{
	OWN_REQUESTS,
	OWN_REQUESTS_BY_ID,
	OWN_REQUESTS_BY_CALL,
	OWN_DECISIONS,
	OWN_EVENTS,
	OWN_EVENTS_SEQUENCE,
	OWN_COUNT
}			OwnRelation;

extern void table_init(void);
extern Oid	table_oid(OwnRelation which);
extern Relation table_of_ours(OwnRelation which, LOCKMODE lockmode, int columns);
extern bool table_find(Relation relation, OwnRelation index, const Datum *keys, int nkeys,
					   Snapshot snapshot, bool lock, Found *found);

extern void table_write_begin(Writer *writer);
extern void table_insert(Writer *writer, Relation relation, const Datum *values, const bool *nulls);
extern bool table_insert_new(Writer *writer, Relation relation, OwnRelation index,
							 const Datum *values, const bool *nulls);
extern void table_update(Writer *writer, Relation relation, ItemPointer tid,
						 const Datum *values, const bool *nulls);
extern void table_write_end(Writer *writer);

#endif							/* APPROVAL_TABLE_H */
