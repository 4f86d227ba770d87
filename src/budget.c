/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  How much may be approved automatically in a window of time.
 *
 * An entry says what a request took.  The verb that withdraws the request
 * releases it, and nobody else writes it, so that a person who rejects waits
 * for nobody, and nothing stays reserved by a crash.  Those who add take
 * turns, and look at what is committed when it is theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "budget.h"
#include "condition.h"
#include "guard.h"
#include "param.h"
#include "row.h"
#include "turn.h"

/* Lapsed approvals that are looked for at a time. */
#define MAX_LAPSED 1000

#define THIS_BUDGET \
	" FROM approval.budget_entries b" \
	" WHERE b.tenant OPERATOR(pg_catalog.=) $1 AND b.server OPERATOR(pg_catalog.=) $2" \
	" AND b.tool OPERATOR(pg_catalog.=) $3 AND b.tool_tenant OPERATOR(pg_catalog.=) $4" \
	" AND b.budget OPERATOR(pg_catalog.=) $5 AND b.released_at IS NULL"

/* In the window: of the key, and of all keys. */
static Statement select_used = {
	.sql = "SELECT COALESCE(pg_catalog.sum(b.amount) FILTER (WHERE b.key OPERATOR(pg_catalog.=) $7), 0),"
	" COALESCE(pg_catalog.sum(b.amount), 0)" THIS_BUDGET
	" AND b.at OPERATOR(pg_catalog.>) $6",
	.nparams = 7,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID},
};

/* Approvals that nobody has used in time, and nobody has put away. */
static Statement select_lapsed = {
	.sql = "SELECT b.request_id, b.key, b.amount" THIS_BUDGET
	" AND b.consumed_at IS NULL AND b.use_by OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()"
	" AND b.at OPERATOR(pg_catalog.>) $6 ORDER BY b.use_by LIMIT $7",
	.nparams = 7,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, INT8OID},
};

static Statement insert_entry = {
	.sql = "INSERT INTO approval.budget_entries (tenant, request_id, tool_tenant, budget, server, tool, key, amount, at, use_by)"
	" VALUES (($1::pg_catalog.text[])[1], $2::approval.ulid, ($1::pg_catalog.text[])[2], ($1::pg_catalog.text[])[3],"
	" ($1::pg_catalog.text[])[4], ($1::pg_catalog.text[])[5], ($1::pg_catalog.text[])[6], $3, $4, $5)",
	.nparams = 5,
	.types = {TEXTARRAYOID, UUIDOID, NUMERICOID, TIMESTAMPTZOID, TIMESTAMPTZOID},
};

static Statement settle_entries = {
	.sql = "UPDATE approval.budget_entries b SET consumed_at = COALESCE(b.consumed_at, $3),"
	" released_at = COALESCE(b.released_at, $4)"
	" WHERE b.tenant OPERATOR(pg_catalog.=) $1 AND b.request_id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND ((b.consumed_at IS NULL AND $3 IS NOT NULL) OR (b.released_at IS NULL AND $4 IS NOT NULL))",
	.nparams = 4,
	.types = {TEXTOID, UUIDOID, TIMESTAMPTZOID, TIMESTAMPTZOID},
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

static void
window_params(const Call *call, const Subject *subject, const Budget *budget,
			  const Reservation *reservation, Datum *values, char *nulls)
{
	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, subject->action->server);
	param_text(values, nulls, 2, subject->action->tool);
	param_text(values, nulls, 3, reservation->tool_tenant);
	param_text(values, nulls, 4, reservation->budget);
	values[5] = TimestampTzGetDatum(GetCurrentTimestamp() - budget->within);
	nulls[5] = ' ';
}

/*
 * Whether an approval has lapsed for good.  One that is being consumed at this
 * moment is locked, and counts; nobody consumes it any more once it is ours.
 */
static bool
lapsed_for_good(const Call *call, const Ulid *id)
{
	Request    *request = row_lock(call->tenant, id, false);

	return request != NULL &&
		request_effective(request, GetCurrentTimestamp()).status == STATUS_EXPIRED;
}

/* Takes what has lapsed out of the sums. */
static void
leave_out_lapsed(const Call *call, const Reservation *reservation, bool only_look,
				 Datum *values, char *nulls, Numeric sums[2])
{
	SPITupleTable *table;
	uint64		count;
	uint64		i;
	bool		isnull;

	values[6] = Int64GetDatum(MAX_LAPSED);
	nulls[6] = ' ';
	count = store_run(&select_lapsed, values, nulls, SPI_OK_SELECT, 0);
	table = SPI_tuptable;
	for (i = 0; i < count; i++)
	{
		Numeric		amount;

		if (!only_look && !lapsed_for_good(call, DatumGetUlidP(SPI_getbinval(table->vals[i], table->tupdesc, 1, &isnull))))
			continue;
		amount = DatumGetNumeric(SPI_getbinval(table->vals[i], table->tupdesc, 3, &isnull));
		sums[1] = arithmetic(numeric_sub, sums[1], amount);
		if (strcmp(SPI_getvalue(table->vals[i], table->tupdesc, 2), reservation->key) == 0)
			sums[0] = arithmetic(numeric_sub, sums[0], amount);
	}
}

/* What is used of the window, at this moment; lapsed approvals are looked at last. */
static bool
within_budget(const Call *call, const Subject *subject, const Budget *budget,
			  const Reservation *reservation, bool only_look)
{
	Datum		values[7];
	char		nulls[7];
	Numeric		used[2];

	window_params(call, subject, budget, reservation, values, nulls);
	param_text(values, nulls, 6, reservation->key);
	PushActiveSnapshot(GetLatestSnapshot());
	store_read(&select_used, values, nulls);
	PopActiveSnapshot();
	take_sums(used);
	if (fits(budget, reservation->amount, used))
		return true;
	leave_out_lapsed(call, reservation, only_look, values, nulls, used);
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
	reservation->key = budget->key ? condition_key(budget->key, policy_arguments(subject)) : "";
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

static void
keep_one(const Call *call, const Reservation *reservation)
{
	const Request *request = call->request;
	const char *names[6] = {
		call->tenant, reservation->tool_tenant, reservation->budget,
		request_text(request, REQ_SERVER), request_text(request, REQ_TOOL), reservation->key
	};
	Datum		values[5];
	char		nulls[5];

	memset(nulls, ' ', sizeof(nulls));
	values[0] = param_texts(names, lengthof(names));
	param_ulid(values, nulls, 1, request_id(request));
	values[2] = NumericGetDatum(reservation->amount);
	values[3] = TimestampTzGetDatum(call->now);
	values[4] = request->values[REQ_USE_BY];
	nulls[4] = request->nulls[REQ_USE_BY] ? 'n' : ' ';
	store_run(&insert_entry, values, nulls, SPI_OK_INSERT, 0);
}

/* The entries of a request that has been stored. */
void
budget_keep(const Call *call, List *reservations)
{
	ListCell   *cell;

	foreach(cell, reservations)
		keep_one(call, lfirst(cell));
}

/*
 * What a withdrawn request took is free again, and so is what a person found
 * failed.  The executor's own word for a failure gives nothing back.
 */
static bool
releases(const Call *call)
{
	switch (call->request->status)
	{
		case STATUS_REJECTED:
		case STATUS_CANCELLED:
		case STATUS_REVOKED:
		case STATUS_EXPIRED:
			return true;
		default:
			return call->request->outcome == OUTCOME_FAILED &&
				!call->request->nulls[REQ_RECONCILED_BY];
	}
}

/* Called for every change of a request that has entries. */
void
budget_settle(const Call *call)
{
	bool		consumed = call->request->status == STATUS_CONSUMED;
	Datum		values[4];
	char		nulls[4];

	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, request_id(call->request));
	values[2] = values[3] = TimestampTzGetDatum(call->now);
	nulls[2] = consumed ? ' ' : 'n';
	nulls[3] = releases(call) ? ' ' : 'n';
	guard_entries(true);
	PG_TRY();
	{
		store_run(&settle_entries, values, nulls, SPI_OK_UPDATE, 0);
	}
	PG_FINALLY();
	{
		guard_entries(false);
	}
	PG_END_TRY();
}
