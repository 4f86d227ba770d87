/*-------------------------------------------------------------------------
 *
 * worker_hooks.c
 *	  What backends tell the worker when they commit, and when it must leave.
 *
 * Nothing here can fail a statement because a worker is absent.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/syscache.h"

#include "compat.h"
#include "set_aside.h"
#include "store.h"
#include "wait.h"
#include "worker_hooks.h"
#include "worker_shmem.h"

PG_FUNCTION_INFO_V1(approval_wake_worker);

/* As long as core itself waits for others to leave a database. */
#define LEAVE_TRIES 500
#define LEAVE_PAUSE_MS 10

/* What this transaction will tell when it commits. */
static bool wrote_event = false;
static TimestampTz nearest_due = DT_NOEND;

/* Databases that this transaction wants for itself: its own, and a template. */
#define MOST_HELD 2
static Oid	held[MOST_HELD];
static int	nheld = 0;

static ProcessUtility_hook_type previous_utility = NULL;

void
worker_event(void)
{
	wrote_event = true;
}

void
worker_due(TimestampTz due)
{
	nearest_due = Min(nearest_due, due);
}

/* Something has changed that nobody knows the particulars of. */
void
worker_look(void)
{
	wrote_event = true;
	nearest_due = DT_NOBEGIN;
}

static bool
has_createdb_privilege(void)
{
	HeapTuple	row = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	bool		has = HeapTupleIsValid(row) && ((Form_pg_authid) GETSTRUCT(row))->rolcreatedb;

	if (HeapTupleIsValid(row))
		ReleaseSysCache(row);
	return has;
}

static void
let_all_go(void)
{
	while (nheld > 0)
		worker_let_go(held[--nheld]);
}

static void
let_all_go_at_exit(int code, Datum arg)
{
	let_all_go();
}

static void
tell_worker(void)
{
	DatabaseSlot *slot;

	if (!wrote_event && nearest_due == DT_NOEND)
		return;
	do
		slot = worker_slot_of(MyDatabaseId, true);
	while (slot && !worker_ask(slot, wrote_event, nearest_due));
}

/* When others can see it, or when it has come to nothing. */
static void
transaction_ends(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			if (worker_shared)
			{
				tell_worker();
				wait_tell();
			}
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			break;
		default:
			return;
	}
	wrote_event = false;
	nearest_due = DT_NOEND;
	wait_forget();
	if (worker_shared)
		let_all_go();
}

/* Whom the statement will not be refused anyway, more or less. */
static bool
may_claim(Oid database)
{
	HeapTuple	row;
	bool		may;

	if (compat_owns_database(database))
		return true;
	row = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	may = HeapTupleIsValid(row) && ((Form_pg_database) GETSTRUCT(row))->datistemplate &&
		has_createdb_privilege();
	if (HeapTupleIsValid(row))
		ReleaseSysCache(row);
	return may;
}

/* The worker leaves the database, and none starts until this transaction ends. */
static void
hold(const char *name)
{
	static bool registered = false;
	Oid			database = name ? get_database_oid(name, true) : InvalidOid;
	DatabaseSlot *slot;
	int			tries;

	if (!OidIsValid(database) || nheld == MOST_HELD || !may_claim(database))
		return;
	if (!registered)
		before_shmem_exit(let_all_go_at_exit, (Datum) 0);
	registered = true;
	slot = worker_hold(database);
	if (slot == NULL)
		return;
	held[nheld++] = database;
	for (tries = 0; tries < LEAVE_TRIES && slot && slot->state != WORKER_NONE; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(LEAVE_PAUSE_MS * 1000L);
	}
}

/* The database that CREATE DATABASE copies. */
static const char *
template_of(const CreatedbStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "template") == 0 && option->arg && IsA(option->arg, String))
			return strVal(option->arg);
	}
	return "template1";
}

static bool
moves_tablespace(const AlterDatabaseStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->options)
		if (strcmp(lfirst_node(DefElem, cell)->defname, "tablespace") == 0)
		return true;
	return false;
}

/* Before a statement that wants a database for itself. */
static void
make_room(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			hold(((DropdbStmt *) statement)->dbname);
			break;
		case T_CreatedbStmt:
			hold(template_of((CreatedbStmt *) statement));
			break;
		case T_RenameStmt:
			if (((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
				hold(((RenameStmt *) statement)->subname);
			break;
		case T_AlterDatabaseStmt:
			if (moves_tablespace((AlterDatabaseStmt *) statement))
				hold(((AlterDatabaseStmt *) statement)->dbname);
			break;
		default:
			break;
	}
}

/* Perhaps ours: nobody needs rights to drop what is not there. */
static bool
drops_ours(Node *statement)
{
	ListCell   *cell;

	if (!IsA(statement, DropStmt) || ((DropStmt *) statement)->removeType != OBJECT_EXTENSION)
		return false;
	foreach(cell, ((DropStmt *) statement)->objects)
		if (strcmp(strVal(lfirst(cell)), "approval") == 0)
		return OidIsValid(get_extension_oid("approval", true));
	return false;
}

static void
utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree, ProcessUtilityContext context,
		ParamListInfo params, QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	Node	   *statement = pstmt->utilityStmt;
	bool		prepared = IsA(statement, TransactionStmt) &&
	((TransactionStmt *) statement)->kind == TRANS_STMT_COMMIT_PREPARED;
	bool		drops = drops_ours(statement);

	make_room(statement);
	(previous_utility ? previous_utility : standard_ProcessUtility)
		(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);

	/* the worker looks, and leaves */
	if (drops)
		worker_look();

	/* what it did was written by another transaction, perhaps long ago */
	if (prepared)
	{
		worker_look();
		wait_touch_all();
	}
}

void
worker_hooks_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}

/* wake_worker(): when this commits, the worker looks at everything */
Datum
approval_wake_worker(PG_FUNCTION_ARGS)
{
	Store		store;

	store_open(&store);
	set_aside_retry();
	store_close(&store);
	worker_look();
	PG_RETURN_BOOL(worker_shared != NULL);
}
