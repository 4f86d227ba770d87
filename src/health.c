/*-------------------------------------------------------------------------
 *
 * health.c
 *	  oldest_transaction: who may be keeping the notification queue.
 *
 * The view health shows it to auditors, to whom pg_stat_activity would not
 * tell since when another login's transaction is open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(approval_oldest_transaction);

enum
{
	OLDEST_PID, OLDEST_LOGIN, OLDEST_DATABASE, OLDEST_STATE, OLDEST_SINCE, OLDEST_COLUMNS
};

static const char *
state_word(BackendState state)
{
	switch (state)
	{
		case STATE_RUNNING:
			return "active";
		case STATE_IDLEINTRANSACTION:
			return "idle in transaction";
		case STATE_IDLEINTRANSACTION_ABORTED:
			return "idle in transaction (aborted)";
		case STATE_FASTPATH:
			return "fastpath function call";
		default:
			return NULL;
	}
}

/* The oldest among the clients but ourselves, or NULL. */
static PgBackendStatus *
find_oldest(void)
{
	PgBackendStatus *oldest = NULL;
	int			count = pgstat_fetch_stat_numbackends();
	int			i;

	for (i = 1; i <= count; i++)
	{
		PgBackendStatus *one = &compat_local_beentry(i)->backendStatus;

		if (one->st_procpid == MyProcPid || one->st_backendType != B_BACKEND ||
			one->st_xact_start_timestamp == 0)
			continue;
		if (!oldest || one->st_xact_start_timestamp < oldest->st_xact_start_timestamp)
			oldest = one;
	}
	return oldest;
}

static void
set_text(Datum *values, bool *nulls, int column, const char *text)
{
	nulls[column] = (text == NULL);
	if (text)
		values[column] = CStringGetTextDatum(text);
}

/* oldest_transaction(): one row, of NULLs if there is none */
Datum
approval_oldest_transaction(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[OLDEST_COLUMNS];
	bool		nulls[OLDEST_COLUMNS];
	PgBackendStatus *oldest = find_oldest();

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != OLDEST_COLUMNS)
		elog(ERROR, "oldest_transaction must return a row of %d columns", OLDEST_COLUMNS);
	memset(nulls, true, sizeof(nulls));
	if (oldest)
	{
		values[OLDEST_PID] = Int32GetDatum(oldest->st_procpid);
		values[OLDEST_SINCE] = TimestampTzGetDatum(oldest->st_xact_start_timestamp);
		nulls[OLDEST_PID] = nulls[OLDEST_SINCE] = false;
		set_text(values, nulls, OLDEST_LOGIN, GetUserNameFromId(oldest->st_userid, true));
		set_text(values, nulls, OLDEST_DATABASE, get_database_name(oldest->st_databaseid));
		set_text(values, nulls, OLDEST_STATE, state_word(oldest->st_state));
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
