/*-------------------------------------------------------------------------
 *
 * param.c
 *	  Values bound to the parameters of our statements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
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

/* Several texts as one array; NULL among them stays NULL. */
Datum
param_texts(const char *const *texts, int count)
{
	Datum	   *values = palloc(sizeof(Datum) * count);
	bool	   *nulls = palloc(sizeof(bool) * count);
	int			dims[1] = {count};
	int			bounds[1] = {1};
	int			i;

	if (count == 0)
		return PointerGetDatum(construct_empty_array(TEXTOID));
	for (i = 0; i < count; i++)
	{
		nulls[i] = (texts[i] == NULL);
		values[i] = texts[i] ? CStringGetTextDatum(texts[i]) : (Datum) 0;
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, bounds, TEXTOID, -1, false, TYPALIGN_INT));
}
