/*
 * ulid.c
 *	  The type approval.ulid and its generator.
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "fixed_type.h"
#include "clock.h"
#include "errors.h"
#include "ulid.h"

#define MILLISECONDS_TO_EPOCH \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1000)

/*
 * A new identifier, larger than all that this process made before.  The last
 * one is kept with the process that made it: should a parent ever have made
 * one, its children do not go on from there side by side.
 */
void
ulid_generate(Ulid *out)
{
	static Ulid last;
	static int	owner = 0;
	Ulid		next = last;
	int64		now = GetCurrentTimestamp() / 1000 + MILLISECONDS_TO_EPOCH;

	if (owner != MyProcPid)
		memset(&next, 0, sizeof(next));
	if (ulid_step(&next, (uint64) Max(now, 0)) &&
		!pg_strong_random(next.bytes + ULID_TIME_SIZE, ULID_SIZE - ULID_TIME_SIZE))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	last = next;
	owner = MyProcPid;
	*out = next;
}

PG_FUNCTION_INFO_V1(approval_new_ulid);
Datum
approval_new_ulid(PG_FUNCTION_ARGS)
{
	Ulid	   *ulid = palloc(sizeof(Ulid));

	ulid_generate(ulid);
	PG_RETURN_ULID_P(ulid);
}

PG_FUNCTION_INFO_V1(approval_ulid_in);
Datum
approval_ulid_in(PG_FUNCTION_ARGS)
{
	char	   *string = PG_GETARG_CSTRING(0);
	Ulid	   *ulid = palloc(sizeof(Ulid));

	if (!ulid_from_text(string, (int) strnlen(string, ULID_TEXT_LEN + 1), ulid))
		ereturn(fcinfo->context, (Datum) 0, FIXED_TYPE_BAD_INPUT("approval.ulid"));
	PG_RETURN_ULID_P(ulid);
}

PG_FUNCTION_INFO_V1(approval_ulid_out);
Datum
approval_ulid_out(PG_FUNCTION_ARGS)
{
	char	   *string = palloc(ULID_TEXT_LEN + 1);

	ulid_to_text(PG_GETARG_ULID_P(0), string);
	PG_RETURN_CSTRING(string);
}

PG_FUNCTION_INFO_V1(approval_ulid_recv);
Datum
approval_ulid_recv(PG_FUNCTION_ARGS)
{
	Ulid	   *ulid = palloc(sizeof(Ulid));

	pq_copymsgbytes((StringInfo) PG_GETARG_POINTER(0), (char *) ulid->bytes, ULID_SIZE);
	PG_RETURN_ULID_P(ulid);
}

PG_FUNCTION_INFO_V1(approval_ulid_send);
Datum
approval_ulid_send(PG_FUNCTION_ARGS)
{
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendbytes(&buf, (const char *) PG_GETARG_ULID_P(0)->bytes, ULID_SIZE);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* 48 bits of milliseconds end in the year 10889, which a timestamptz can hold. */
PG_FUNCTION_INFO_V1(approval_ulid_to_timestamptz);
Datum
approval_ulid_to_timestamptz(PG_FUNCTION_ARGS)
{
	int64		milliseconds = (int64) ulid_time(PG_GETARG_ULID_P(0));

	PG_RETURN_TIMESTAMPTZ((milliseconds - MILLISECONDS_TO_EPOCH) * 1000);
}

FIXED_TYPE_OPERATORS(ulid, ULID_SIZE)

/* The first identifier that can have been made in this millisecond. */
void
ulid_floor(int64 milliseconds, Ulid *out)
{
	uint64		time = Min((uint64) milliseconds, ULID_LAST_TIME);
	int			i;

	memset(out, 0, sizeof(*out));
	for (i = ULID_TIME_SIZE - 1; i >= 0; i--)
	{
		out->bytes[i] = (uint8) time;
		time >>= 8;
	}
}

/* ulid_from(timestamptz): for conditions over the time of an identifier */
PG_FUNCTION_INFO_V1(approval_ulid_from);
Datum
approval_ulid_from(PG_FUNCTION_ARGS)
{
	Ulid	   *out = palloc(sizeof(Ulid));

	if (PG_ARGISNULL(0))
		errors_raise_null("at");
	ulid_floor(clock_unix_ms(PG_GETARG_TIMESTAMPTZ(0)), out);
	PG_RETURN_ULID_P(out);
}
