/*-------------------------------------------------------------------------
 *
 * param.c
 *	  Values bound to the parameters of our statements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "param.h"

void
param_text(Datum *values, char *nulls, int n, const char *value)
{
	nulls[n] = value ? ' ' : 'n';
	values[n] = value ? CStringGetTextDatum(value) : (Datum) 0;
}

/* The same sixteen bytes as a uuid. */
void
param_ulid(Datum *values, char *nulls, int n, const Ulid *value)
{
	nulls[n] = value ? ' ' : 'n';
	values[n] = PointerGetDatum(value);
}
