/*-------------------------------------------------------------------------
 *
 * expire.c
 *	  expire_due: what the worker does, for installations without it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "args.h"
#include "sweep.h"

PG_FUNCTION_INFO_V1(approval_expire_due);

#define MOST_ROWS 1000000

/* expire_due(max_rows): what somebody holds is left for the next time. */
Datum
approval_expire_due(PG_FUNCTION_ARGS)
{
	Call		call;
	Sweep		sweep;
	int64		most;

	if (PG_ARGISNULL(0))
		errors_raise_null("max_rows");
	most = PG_GETARG_INT32(0);
	if (most < 1 || most > MOST_ROWS)
		args_bad_value("max_rows", "From 1 to 1000000.");
	verb_begin(&call, fcinfo, "expire_due");
	PreventCommandIfReadOnly(call.verb);
	sweep_begin(&sweep, &call, GetCurrentTimestamp());
	while (most > sweep_written(&sweep.swept) &&
		   sweep_batch(&sweep, most - sweep_written(&sweep.swept)))
		CHECK_FOR_INTERRUPTS();
	verb_end(&call);
	PG_RETURN_INT64(sweep_written(&sweep.swept));
}
