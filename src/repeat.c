/*-------------------------------------------------------------------------
 *
 * repeat.c
 *	  Whether a person has just rejected the same action.
 *
 * The same, that is for one login and one tool: equal at the tool's key paths,
 * or in all arguments where it has none.  Other words in a free text do not
 * make a rejected refund another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "condition.h"
#include "param.h"
#include "repeat.h"

static Statement select_rejection = {
	.sql = "SELECT r.id, r.denial FROM approval.requests r"
	" WHERE r.tenant OPERATOR(pg_catalog.=) $1 AND r.repeat_key OPERATOR(pg_catalog.=) $2::approval.digest"
	" AND r.status OPERATOR(pg_catalog.=) 'rejected' AND r.decided_at OPERATOR(pg_catalog.>) $3"
	" AND r.cause OPERATOR(pg_catalog.<>) 'policy'"
	" ORDER BY r.decided_at DESC",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TIMESTAMPTZOID},
};

/* The longest of the rows, or 0. */
static int64
cool_down(const Registered *registered)
{
	int64		longest = 0;
	int			i;

	for (i = 0; i < registered->ntools; i++)
		longest = Max(longest, registered->tools[i].cool_down);
	return longest;
}

static void
add_text(const char *text)
{
	digest_add(text, strlen(text) + 1);
}

/* One text for each key path; NULL if one of them selects no single value. */
static List *
selected_texts(const Tool *tool, Jsonb *arguments)
{
	List	   *texts = NIL;
	int			i;

	for (i = 0; i < tool->nkeys; i++)
	{
		JsonbValue *value = condition_select(tool->keys[i], arguments);

		if (value == NULL)
			return NIL;
		texts = lappend(texts, JsonbToCString(NULL, &JsonbValueToJsonb(value)->root, 0));
	}
	return texts;
}

/* False for a tool without a cool-down. */
bool
repeat_key(const Call *call, const Registered *registered, Subject *subject, Digest *key)
{
	const Action *action = subject->action;
	List	   *texts = NIL;
	ListCell   *cell;

	if (registered->ntools == 0 || cool_down(registered) == 0)
		return false;
	if (registered->tools[0].nkeys > 0)
		texts = selected_texts(&registered->tools[0], policy_arguments(subject));
	digest_start();
	add_text(call->caller->login);
	add_text(action->server);
	add_text(action->tool);
	if (texts == NIL)
	{
		add_text(action->resource ? action->resource : "");
		digest_add(action->arguments, action->arguments_len);
	}
	foreach(cell, texts)
		add_text(lfirst(cell));
	digest_finish(key);
	return true;
}

bool
repeat_rejected(const Call *call, const Registered *registered, const Digest *key, Rejection *rejection)
{
	char		hex[DIGEST_TEXT_LEN + 1];
	Datum		values[3];
	char		nulls[3];
	bool		isnull;

	digest_to_hex(key, hex);
	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, hex);
	values[2] = TimestampTzGetDatum(GetCurrentTimestamp() - cool_down(registered));
	nulls[2] = ' ';
	if (store_run(&select_rejection, values, nulls, SPI_OK_SELECT, 1) == 0)
		return false;
	rejection->id = *DatumGetUlidP(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	rejection->denial = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
	return true;
}
