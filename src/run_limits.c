/*-------------------------------------------------------------------------
 *
 * run_limits.c
 *	  How many iterations policy gives a run: set_run_limits.
 *
 * A tenant's row and the row for every tenant both hold, and so does the
 * setting where neither says anything: the least of them counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "change.h"
#include "param.h"
#include "run.h"
#include "run_limits.h"
#include "settings.h"

PG_FUNCTION_INFO_V1(approval_set_run_limits);

#define LARGEST_LIMIT 1000000

static Statement select_limits = {
	.sql = "SELECT pg_catalog.min(l.max_iterations), pg_catalog.min(l.iterations_per_day) FROM approval.run_limits l"
	" WHERE l.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])",
	.nparams = 1,
	.types = {TEXTOID},
};

static Statement select_stored = {
	.sql = "SELECT pg_catalog.to_json(l) FROM approval.run_limits l WHERE l.tenant OPERATOR(pg_catalog.=) $1",
	.nparams = 1,
	.types = {TEXTOID},
};

static Statement store_limits = {
	.sql = "INSERT INTO approval.run_limits AS l (tenant, policy_version, max_iterations, iterations_per_day)"
	" VALUES ($1, $2, $3, $4) ON CONFLICT (tenant) DO UPDATE SET policy_version = $2, max_iterations = $3,"
	" iterations_per_day = $4",
	.nparams = 4,
	.types = {TEXTOID, INT4OID, INT4OID, INT4OID},
};

static int
limit_column(int column, int setting)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	if (!isnull)
		return DatumGetInt32(value);
	return setting > 0 ? setting : RUN_NO_LIMIT;
}

/* With the store open, in the latest snapshot: what was made stricter holds. */
void
run_limits_get(const char *tenant, RunLimits *limits)
{
	Datum		values[1];

	values[0] = CStringGetTextDatum(tenant);
	PushActiveSnapshot(GetLatestSnapshot());
	store_read(&select_limits, values, NULL);
	PopActiveSnapshot();
	limits->max_iterations = limit_column(1, setting_run_iterations);
	limits->per_day = limit_column(2, setting_run_iterations_per_day);
}

typedef struct Spending
{
	TimestampTz since;
	int64		spent;
} Spending;

/* A child's iterations are its root's as well. */
static bool
add_spent(TupleTableSlot *slot, void *arg)
{
	Spending   *spending = arg;
	Run			run;

	slot_getallattrs(slot);
	run_of_slot(&run, slot);
	if (run.nulls[RUNC_PARENT] && !run.nulls[RUNC_ITERATED_AT] &&
		run_time(&run, RUNC_ITERATED_AT) > spending->since)
		spending->spent += run_int(&run, RUNC_ITERATIONS);
	return true;
}

/* The iterations of runs of the conversation that went on in the last 24 hours. */
int64
run_limits_spent(const char *tenant, const char *conversation_id, TimestampTz now)
{
	Relation	runs = table_of_ours(OWN_RUNS, AccessShareLock);
	Spending	spending = {now - USECS_PER_DAY, 0};
	Datum		keys[2];

	keys[0] = CStringGetTextDatum(tenant);
	keys[1] = CStringGetTextDatum(conversation_id);
	table_visit(runs, OWN_RUNS_CONVERSATION, keys, 2, GetLatestSnapshot(), add_spent, &spending);
	table_close(runs, NoLock);
	return spending.spent;
}

static char *
stored(const Change *change)
{
	Datum		values[1];

	values[0] = CStringGetTextDatum(change->call.tenant);
	if (store_run(&select_stored, values, NULL, SPI_OK_SELECT, 1) == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/* The two members; 0 for what is not limited. */
static void
take_limits(Change *change, int *max_iterations, int *per_day)
{
	static const char *const members[] = {"max_iterations", "iterations_per_day"};
	CanonicalError error = {0};
	Problem		problem = {0};
	Jsonb	   *document = document_read(args_required_json(change->call.fcinfo, 0, "limits"), NULL, &error);

	if (document == NULL)
		errors_raise_not_canonical(&error);
	if (!JB_ROOT_IS_OBJECT(document))
		change_bad_policy(change, "$", "must be an object");
	if (!document_known(&document->root, members, lengthof(members), "$", &problem) ||
		!document_int(&document->root, members[0], "$", 1, LARGEST_LIMIT, max_iterations, &problem) ||
		!document_int(&document->root, members[1], "$", 1, LARGEST_LIMIT, per_day, &problem))
		change_bad_policy(change, problem.place, problem.problem);
}

/* set_run_limits(limits, actor, tenant): the whole of them, replacing what was there */
Datum
approval_set_run_limits(PG_FUNCTION_ARGS)
{
	Change		change;
	int			max_iterations = 0;
	int			per_day = 0;
	Datum		values[4];
	char		nulls[4];

	change_begin(&change, fcinfo, "set_run_limits", CHAIN_POLICY, 2, 1);
	take_limits(&change, &max_iterations, &per_day);
	change.subject = "runs";
	change.before = stored(&change);
	change_new_version(&change);
	memset(nulls, ' ', sizeof(nulls));
	param_text(values, nulls, 0, change.call.tenant);
	values[1] = Int32GetDatum(change.policy_version);
	values[2] = Int32GetDatum(max_iterations);
	values[3] = Int32GetDatum(per_day);
	nulls[2] = max_iterations ? ' ' : 'n';
	nulls[3] = per_day ? ' ' : 'n';
	store_run(&store_limits, values, nulls, SPI_OK_INSERT, 0);
	change.after = stored(&change);
	PG_RETURN_DATUM(change_end(&change));
}
