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

void
param_digest(Datum *values, char *nulls, int n, const Digest *value)
{
	bytea	   *copy;

	nulls[n] = value ? ' ' : 'n';
	values[n] = (Datum) 0;
	if (value == NULL)
		return;
	copy = (bytea *) palloc(VARHDRSZ + sizeof(Digest));
	SET_VARSIZE(copy, VARHDRSZ + sizeof(Digest));
	memcpy(VARDATA(copy), value, sizeof(Digest));
	values[n] = PointerGetDatum(copy);
}

/* "$3, $4::approval.digest, …" */
void
param_list(StringInfo sql, int first, int count, const char *const *casts)
{
	int			i;

	for (i = 0; i < count; i++)
		appendStringInfo(sql, "%s$%d%s", i ? ", " : "", first + i, casts[i]);
}
