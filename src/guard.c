/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The guard triggers, and the only way past them.
 *
 * A row changes only while a verb writes that very row, along the table of
 * moves, in no column that verbs never change, and with the digest that the
 * verb has worked out for it; nothing is deleted or truncated.  This binds
 * the owner of the tables too.  It catches accidents: an owner can disable
 * triggers, and then the digests tell.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "errors.h"
#include "guard.h"
#include "request.h"
#include "run.h"

/* The row that a verb is writing. */
static bool writing = false;
static Ulid writing_id;
static Digest writing_digest;

/* The run that a verb is writing; NULL: none. */
static const char *writing_tenant = NULL;
static const char *writing_run = NULL;

/* A verb is settling entries of budgets, or answering a handle. */
static bool settling = false;

PG_FUNCTION_INFO_V1(approval_guard_request);
PG_FUNCTION_INFO_V1(approval_guard_run);
PG_FUNCTION_INFO_V1(approval_guard_append_only);
PG_FUNCTION_INFO_V1(approval_guard_entry);
PG_FUNCTION_INFO_V1(approval_table_changed);

/* Must be followed by guard_close, after an error too. */
void
guard_open(const Ulid *id, const Digest *row_digest)
{
	writing = true;
	writing_id = *id;
	writing_digest = *row_digest;
}

void
guard_close(void)
{
	writing = false;
}

/* The same for a run; the names must stay until then. */
void
guard_open_run(const char *tenant, const char *run_id)
{
	writing_tenant = tenant;
	writing_run = run_id;
}

void
guard_close_run(void)
{
	writing_run = NULL;
}

/* Must be closed again, after an error too. */
void
guard_entries(bool open)
{
	settling = open;
}

static void
guard_refuse(const TriggerData *trigger, const char *problem)
{
	const char *operation =
	TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? "UPDATE" :
	TRIGGER_FIRED_BY_DELETE(trigger->tg_event) ? "DELETE" : "TRUNCATE";

	errors_raise_standard(ERRCODE_INSUFFICIENT_PRIVILEGE,
						  "rows of the approval tables are changed by verbs only", "guard", 403,
						  psprintf(",\"operation\":\"%s\",\"problem\":\"%s\"", operation, problem),
						  "Use the functions of the schema approval; not even the owner of the tables changes them directly.");
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
holds(const Request *row, RequestColumn column, const void *bytes, int size)
{
	return !row->nulls[column] && memcmp(DatumGetPointer(row->values[column]), bytes, size) == 0;
}

/* One column of two rows of a table. */
static bool
unchanged(const Datum *before, const bool *before_nulls, const Datum *after, const bool *after_nulls,
		  TupleDesc desc, int column)
{
	Form_pg_attribute att = TupleDescAttr(desc, column);

	if (before_nulls[column] || after_nulls[column])
		return before_nulls[column] == after_nulls[column];
	return datumIsEqual(before[column], after[column], att->attbyval, att->attlen);
}

/* Why an update is not allowed, or NULL. */
static const char *
update_problem(const Request *before, const Request *after, TupleDesc desc)
{
	int			i;

	if (!holds(before, REQ_ID, &writing_id, sizeof(Ulid)) ||
		!holds(after, REQ_ROW_DIGEST, &writing_digest, sizeof(Digest)))
		return "not the row that a verb is writing";
	if (!state_legal(before->status, before->outcome, after->status, after->outcome))
		return "illegal move";
	for (i = 0; i < REQ_COUNT; i++)
		if ((request_columns[i].flags & COLUMN_FIXED) &&
			!unchanged(before->values, before->nulls, after->values, after->nulls, desc, i))
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
	if (!writing)
		guard_refuse(trigger, "no verb is writing");
	if (desc->natts < REQ_COUNT || desc->natts > REQ_COUNT + TABLE_SPARE_COLUMNS)
		guard_refuse(trigger, "not the table of this library");
	request_load(&before, trigger->tg_trigtuple, desc);
	request_load(&after, trigger->tg_newtuple, desc);
	problem = update_problem(&before, &after, desc);
	if (problem)
		guard_refuse(trigger, problem);
	return PointerGetDatum(trigger->tg_newtuple);
}

/* Why an update of a run is not allowed, or NULL. */
static const char *
run_problem(const Run *before, const Run *after, TupleDesc desc)
{
	int			i;

	if (!run_text_is(before, RUNC_RUN_ID, writing_run) || !run_text_is(before, RUNC_TENANT, writing_tenant))
		return "not the row that a verb is writing";
	if (!run_status_legal(before->status, after->status))
		return "illegal move";
	for (i = 0; i < RUN_COUNT; i++)
		if ((run_columns[i].flags & RUN_FIXED) &&
			!unchanged(before->values, before->nulls, after->values, after->nulls, desc, i))
			return "fixed column";
	if (run_int(after, RUNC_ITERATIONS) < run_int(before, RUNC_ITERATIONS) ||
		run_int(after, RUNC_FENCE) < run_int(before, RUNC_FENCE))
		return "a counter that only grows";
	if (!run_sound(after))
		return "not a run that can be";
	return NULL;
}

/* BEFORE UPDATE OR DELETE FOR EACH ROW, BEFORE TRUNCATE on runs */
Datum
approval_guard_run(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = guard_called(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	Run			before;
	Run			after;
	const char *problem;

	if (!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		guard_refuse(trigger, "nothing is removed");
	if (writing_run == NULL)
		guard_refuse(trigger, "no verb is writing");
	if (desc->natts < RUN_COUNT || desc->natts > RUN_COUNT + TABLE_SPARE_COLUMNS)
		guard_refuse(trigger, "not the table of this library");
	run_load(&before, trigger->tg_trigtuple, desc);
	run_load(&after, trigger->tg_newtuple, desc);
	problem = run_problem(&before, &after, desc);
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

/* The same on budget_entries and handles, which verbs settle. */
Datum
approval_guard_entry(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = guard_called(fcinfo);

	if (!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		guard_refuse(trigger, "nothing is removed");
	if (!settling)
		guard_refuse(trigger, "no verb is writing");
	return PointerGetDatum(trigger->tg_newtuple);
}

/* Trigger: makes every session forget what it keeps of the table. */
Datum
approval_table_changed(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by the trigger manager")));
	CacheInvalidateRelcache(((TriggerData *) fcinfo->context)->tg_relation);
	return PointerGetDatum(NULL);
}
