/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The guard triggers, and the only way past them.
 *
 * Rows change only while a verb writes, only along the table of moves, and
 * never in a column that no verb may change; nothing is deleted or truncated.
 * This binds the owner of the tables too.  It catches accidents: an owner can
 * disable triggers, and then the digests tell.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "guard.h"
#include "request.h"

/* Greater than zero while a verb writes. */
static int	writing = 0;

PG_FUNCTION_INFO_V1(approval_guard_request);
PG_FUNCTION_INFO_V1(approval_guard_append_only);

/* Run a statement of ours with the guard open. */
uint64
guard_run(Statement *statement, Datum *values, const char *nulls, int expected)
{
	uint64		rows = 0;

	writing++;
	PG_TRY();
	{
		rows = store_run(statement, values, nulls, expected, 0);
	}
	PG_FINALLY();
	{
		writing--;
	}
	PG_END_TRY();
	return rows;
}

static void
guard_refuse(const TriggerData *trigger, const char *problem)
{
	const char *operation =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? "UPDATE" :
		TRIGGER_FIRED_BY_DELETE(trigger->tg_event) ? "DELETE" : "TRUNCATE";

	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("rows of the approval tables are changed by verbs only"),
			 errdetail_internal("{\"sqlstate\":\"42501\",\"reason\":\"guard\",\"operation\":\"%s\",\"problem\":\"%s\"}",
								operation, problem),
			 errhint("Use the functions of the schema approval; not even the owner of the tables changes them directly.")));
}

static const TriggerData *
guard_called(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by the trigger manager")));
	return (const TriggerData *) fcinfo->context;
}

static bool
column_unchanged(const Request *before, const Request *after, TupleDesc desc, int column)
{
	Form_pg_attribute att = TupleDescAttr(desc, column);

	if (before->nulls[column] || after->nulls[column])
		return before->nulls[column] == after->nulls[column];
	return datumIsEqual(before->values[column], after->values[column],
						att->attbyval, att->attlen);
}

/* Why an update is not allowed, or NULL. */
static const char *
update_problem(const Request *before, const Request *after, TupleDesc desc)
{
	int			i;

	if (writing == 0)
		return "no verb is writing";
	if (!state_legal(before->status, before->outcome, after->status, after->outcome))
		return "illegal move";
	for (i = 0; i < REQ_COUNT; i++)
		if ((request_columns[i].flags & COLUMN_FIXED) &&
			!column_unchanged(before, after, desc, i))
			return "fixed column";
	return NULL;
}

/* BEFORE UPDATE OR DELETE FOR EACH ROW, BEFORE TRUNCATE on requests */
Datum
approval_guard_request(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = guard_called(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	Request		before;
	Request		after;
	const char *problem;

	if (!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		guard_refuse(trigger, "nothing is removed");
	if (writing == 0)
		guard_refuse(trigger, "no verb is writing");
	request_load(&before, trigger->tg_trigtuple, desc);
	request_load(&after, trigger->tg_newtuple, desc);
	problem = update_problem(&before, &after, desc);
	if (problem)
		guard_refuse(trigger, problem);
	return PointerGetDatum(trigger->tg_newtuple);
}

/* BEFORE UPDATE OR DELETE FOR EACH ROW, BEFORE TRUNCATE on the other tables */
Datum
approval_guard_append_only(PG_FUNCTION_ARGS)
{
	guard_refuse(guard_called(fcinfo), "append only");
	return (Datum) 0;
}
