/*-------------------------------------------------------------------------
 *
 * alone.c
 *	  Whether the statement that runs will commit by itself, at once.
 *
 * A permit that has left the server and is rolled back afterwards is the
 * classic double refund.  So consume wants to be one plain SELECT whose end is
 * the end of the transaction: no block, no pipeline behind other statements,
 * no savepoint, no function around it, no cursor or portal that stops after
 * the first row, and nothing else in the plan that could run, or fail, after
 * the row was sent.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "utils/fmgroids.h"

#include "alone.h"
#include "compat.h"
#include "settings.h"

static ExecutorRun_hook_type previous_run = NULL;

/* The row limit of the innermost ExecutorRun; 0 for none. */
static uint64 run_limit = 0;

/* Remembers how many rows the client asked for: nothing else knows. */
static void
alone_run(EXECUTOR_RUN_ARGS)
{
	uint64		outer = run_limit;

	run_limit = count;
	PG_TRY();
	{
		if (previous_run)
			previous_run(EXECUTOR_RUN_PASS);
		else
			standard_ExecutorRun(EXECUTOR_RUN_PASS);
	}
	PG_FINALLY();
	{
		run_limit = outer;
	}
	PG_END_TRY();
}

void
alone_init(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = alone_run;
}

/*
 * Whether somebody else's SPI call is active: DO, CALL, a function in a
 * procedural language.  Has to be asked before our own SPI_connect.  Nothing
 * can be registered under the empty name.
 */
bool
alone_spi_active(void)
{
	return SPI_unregister_relation("") != SPI_ERROR_UNCONNECTED;
}

/*
 * Whether an expression does more with the permit than show it.  A function
 * of the caller's could tell it to somebody and then fail, a cast could fail
 * with the token in its message.
 */
static bool
does_more(Node *node, void *function)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_Var:
		case T_RelabelType:
		case T_FieldSelect:
			break;
		case T_CoerceViaIO:
			if (((CoerceViaIO *) node)->resulttype != TEXTOID)
				return true;
			break;
		case T_FuncExpr:
			{
				Oid			called = ((FuncExpr *) node)->funcid;

				/*
				 * what stands in the arguments of this very call runs before
				 * it
				 */
				if (node == function)
					return false;
				if (called != F_TO_JSON && called != F_TO_JSONB && called != F_ROW_TO_JSON_RECORD)
					return true;
				break;
			}
		case T_Const:
		case T_Param:
			return false;
		default:
			return true;
	}
	return expression_tree_walker(node, does_more, function);
}

/* Whether the function of a FROM clause is this one, and not one around it. */
static bool
scans_only(const FunctionScan *scan, Node *function)
{
	const RangeTblFunction *first = linitial(scan->functions);

	return list_length(scan->functions) == 1 && first->funcexpr == function;
}

/* One row of one function, or of one expression, and nothing around it. */
static bool
plan_is_single(const PlannedStmt *statement, Node *function)
{
	const Plan *plan = statement->planTree;

	if (statement->commandType != CMD_SELECT || statement->hasModifyingCTE ||
		statement->subplans != NIL || statement->rowMarks != NIL)
		return false;

	/* ORMs like to add LIMIT 1 */
	if (IsA(plan, Limit) && plan->righttree == NULL)
		plan = plan->lefttree;
	if (plan->lefttree != NULL || plan->righttree != NULL || plan->qual != NIL ||
		does_more((Node *) plan->targetlist, function))
		return false;
	if (IsA(plan, FunctionScan))
		return scans_only((const FunctionScan *) plan, function);
	return IsA(plan, Result) && ((const Result *) plan)->resconstantqual == NULL;
}

/* The portal that runs sends its rows, and is then over. */
static bool
portal_is_single(Node *function)
{
	return ActivePortal != NULL &&
		ActivePortal->strategy == PORTAL_ONE_SELECT &&
		ActivePortal->queryDesc != NULL &&
		(ActivePortal->queryDesc->dest->mydest == DestRemote ||
		 ActivePortal->queryDesc->dest->mydest == DestRemoteExecute) &&
		run_limit == 0 &&
		plan_is_single(ActivePortal->queryDesc->plannedstmt, function);
}

bool
alone_in_transaction(bool spi_active, Node *function)
{
	return !spi_active &&
		!IsInTransactionBlock(true) &&
		GetCurrentTransactionNestLevel() == 1 &&
		portal_is_single(function);
}

/*
 * For what must not be rolled back once it was answered: the transaction has to
 * end with this statement, in a pipeline too.
 */
bool
alone_commits(bool spi_active, Node *function)
{
	if (!setting_commit_first)
		return true;
	if (!alone_in_transaction(spi_active, function))
		return false;
	MyXactFlags |= XACT_FLAGS_NEEDIMMEDIATECOMMIT;
	return true;
}
