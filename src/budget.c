/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  How much may be approved automatically in a window of time.
 *
 * An entry says what a request took, and is never changed: whether it counts
 * follows from the request itself.  So nothing has to be given back, nothing
 * is left reserved by a crash, and a person who rejects waits for nobody.
 * Those who add take turns, and look at what is committed when it is theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "budget.h"
#include "condition.h"
#include "param.h"
#include "turn.h"

#define WINDOW_PARAMS 7

#define WINDOW_ENTRIES \
	" FROM approval.budget_entries b JOIN approval.requests r" \
	" ON r.tenant OPERATOR(pg_catalog.=) b.tenant AND r.id OPERATOR(pg_catalog.=) b.request_id" \
	" WHERE b.tenant OPERATOR(pg_catalog.=) $1 AND b.server OPERATOR(pg_catalog.=) $2" \
	" AND b.tool OPERATOR(pg_catalog.=) $3 AND b.tool_tenant OPERATOR(pg_catalog.=) $4" \
	" AND b.budget OPERATOR(pg_catalog.=) $5 AND b.at OPERATOR(pg_catalog.>) $6"

/* $7 is the key */
#define SUMS " COALESCE(pg_catalog.sum(b.amount) FILTER (WHERE b.key OPERATOR(pg_catalog.=) $7), 0)," \
	" COALESCE(pg_catalog.sum(b.amount), 0)"

#define WINDOW_TYPES {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID}

/*
 * Withdrawn requests have used nothing, and one that a person found failed has
 * not either; the executor's own word for a failure is not enough.
 */
static Statement select_used = {
	.sql = "SELECT" SUMS WINDOW_ENTRIES
	" AND NOT (r.status OPERATOR(pg_catalog.=) ANY ('{rejected,cancelled,revoked,expired}'::pg_catalog.text[]))"
	" AND NOT (r.outcome IS NOT DISTINCT FROM 'failed' AND r.reconciled_by IS NOT NULL)",
	.nparams = WINDOW_PARAMS,
	.types = WINDOW_TYPES,
};

/*
 * Approvals that lapsed and that nobody has put away.  One that is being
 * consumed this moment is locked, and counts.
 */
static Statement select_lapsed = {
	.sql = "SELECT" SUMS " FROM (SELECT b.amount, b.key" WINDOW_ENTRIES
	" AND r.status OPERATOR(pg_catalog.=) 'approved'"
	" AND r.use_by OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()"
	" FOR NO KEY UPDATE OF r SKIP LOCKED) b",
	.nparams = WINDOW_PARAMS,
	.types = WINDOW_TYPES,
};

static Statement insert_entry = {
	.sql = "INSERT INTO approval.budget_entries (tenant, request_id, tool_tenant, budget, server, tool, key, amount, at)"
	" VALUES ($1, $2::approval.ulid, $3, $4, $5, $6, $7, $8, $9)",
	.nparams = 9,
	.types = {TEXTOID, UUIDOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, NUMERICOID, TIMESTAMPTZOID},
};

static bool
greater(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(a), NumericGetDatum(b)));
}

static Numeric
number(int value)
{
	return DatumGetNumeric(DirectFunctionCall1(int4_numeric, Int32GetDatum(value)));
}

static Numeric
arithmetic(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a), NumericGetDatum(b)));
}

/* NULL for what is no amount: absent, negative, or not a number. */
static Numeric
amount_of(const Budget *budget, Jsonb *arguments)
{
	JsonbValue *value;

	if (budget->amount == NULL)
		return number(1);
	value = condition_select(budget->amount, arguments);
	if (value == NULL || value->type != jbvNumeric || greater(number(0), value->val.numeric))
		return NULL;
	return value->val.numeric;
}

/* A number and the string of its digits are one key: an agent must not have two. */
static const char *
key_of(const Budget *budget, Jsonb *arguments)
{
	JsonbValue *value;

	if (budget->key == NULL)
		return "";
	value = condition_select(budget->key, arguments);
	if (value && value->type == jbvString && value->val.string.len > 0)
		return pnstrdup(value->val.string.val, value->val.string.len);
	if (value && value->type == jbvNumeric)
		return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
	return NULL;
}

static bool
take_turn(const Call *call, const Subject *subject, const Reservation *reservation)
{
	Digest		what;

	digest_start();
	digest_add("budget", sizeof("budget"));
	digest_add(call->tenant, strlen(call->tenant) + 1);
	digest_add(subject->action->server, strlen(subject->action->server) + 1);
	digest_add(subject->action->tool, strlen(subject->action->tool) + 1);
	digest_add(reservation->tool_tenant, strlen(reservation->tool_tenant) + 1);
	digest_add(reservation->budget, strlen(reservation->budget) + 1);
	digest_finish(&what);
	return turn_take(&what);
}

/* The two sums of a statement: of the key, and of all keys. */
static void
take_sums(Numeric sums[2])
{
	int			i;

	for (i = 0; i < 2; i++)
	{
		bool		isnull;

		sums[i] = DatumGetNumericCopy(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &isnull));
	}
}

static bool
fits(const Budget *budget, Numeric amount, Numeric sums[2])
{
	Numeric		of_key = arithmetic(numeric_add, sums[0], amount);
	Numeric		of_all = arithmetic(numeric_add, sums[1], amount);

	return !greater(of_key, budget->limit) &&
		(budget->ceiling == NULL || !greater(of_all, budget->ceiling));
}

/* What is used of the window, at this moment; lapsed approvals are looked at last. */
static bool
within_budget(const Call *call, const Subject *subject, const Budget *budget,
			  const Reservation *reservation, bool only_look)
{
	Datum		values[WINDOW_PARAMS];
	char		nulls[WINDOW_PARAMS];
	Numeric		used[2];
	Numeric		lapsed[2];

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, subject->action->server);
	param_text(values, nulls, 2, subject->action->tool);
	param_text(values, nulls, 3, reservation->tool_tenant);
	param_text(values, nulls, 4, reservation->budget);
	values[5] = TimestampTzGetDatum(GetCurrentTimestamp() - budget->within);
	nulls[5] = ' ';
	param_text(values, nulls, 6, reservation->key);
	PushActiveSnapshot(GetLatestSnapshot());
	store_read(&select_used, values, nulls);
	PopActiveSnapshot();
	take_sums(used);
	if (fits(budget, reservation->amount, used))
		return true;
	if (only_look)
		return false;
	store_run(&select_lapsed, values, nulls, SPI_OK_SELECT, 0);
	take_sums(lapsed);
	used[0] = arithmetic(numeric_sub, used[0], lapsed[0]);
	used[1] = arithmetic(numeric_sub, used[1], lapsed[1]);
	return fits(budget, reservation->amount, used);
}

static bool
reserve_one(const Call *call, Subject *subject, const Tool *tool, const Budget *budget,
			bool only_look, List **reservations, GateReason *why)
{
	Reservation *reservation = palloc(sizeof(Reservation));

	reservation->tool_tenant = pstrdup(tool->tenant);
	reservation->budget = pstrdup(budget->name);
	reservation->amount = amount_of(budget, policy_arguments(subject));
	reservation->key = key_of(budget, policy_arguments(subject));
	if (reservation->amount == NULL || reservation->key == NULL)
		*why = GATE_BUDGET_UNUSABLE;
	else if (!only_look && !take_turn(call, subject, reservation))
		*why = GATE_BUDGET_BUSY;
	else if (!within_budget(call, subject, budget, reservation, only_look))
		*why = GATE_BUDGET_EXCEEDED;
	else
	{
		*reservations = lappend(*reservations, reservation);
		return true;
	}
	return false;
}

/* Every budget of the tool must have room; false and a reason if one has not. */
bool
budget_reserve(const Call *call, const Registered *registered, Subject *subject,
			   bool only_look, List **reservations, GateReason *why)
{
	int			i;
	int			j;

	for (i = 0; i < registered->ntools; i++)
		for (j = 0; j < registered->tools[i].nbudgets; j++)
			if (!reserve_one(call, subject, &registered->tools[i], &registered->tools[i].budgets[j],
							 only_look, reservations, why))
				return false;
	return true;
}

/* The entries of a request that has been stored. */
void
budget_keep(const Call *call, List *reservations)
{
	ListCell   *cell;

	foreach(cell, reservations)
	{
		const Reservation *reservation = lfirst(cell);
		Datum		values[9];
		char		nulls[9];

		param_text(values, nulls, 0, call->tenant);
		param_ulid(values, nulls, 1, request_id(call->request));
		param_text(values, nulls, 2, reservation->tool_tenant);
		param_text(values, nulls, 3, reservation->budget);
		param_text(values, nulls, 4, request_text(call->request, REQ_SERVER));
		param_text(values, nulls, 5, request_text(call->request, REQ_TOOL));
		param_text(values, nulls, 6, reservation->key);
		values[7] = NumericGetDatum(reservation->amount);
		values[8] = TimestampTzGetDatum(call->now);
		nulls[7] = nulls[8] = ' ';
		store_run(&insert_entry, values, nulls, SPI_OK_INSERT, 0);
	}
}
