/*-------------------------------------------------------------------------
 *
 * diff.c
 *	  Where two actions differ: paths, no values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "diff.h"
#include "errors.h"

/* An executor that presents something else entirely need not read it all. */
#define DIFF_MAX_PATHS 20

typedef struct Diff
{
	StringInfoData out;			/* a JSON array of escaped paths */
	int			count;
} Diff;

static void diff_values(Diff *diff, JsonbValue *a, JsonbValue *b, const char *path);

static void
report(Diff *diff, const char *path)
{
	if (diff->count++ >= DIFF_MAX_PATHS)
		return;
	if (diff->count > 1)
		appendStringInfoChar(&diff->out, ',');
	errors_escape(&diff->out, path);
}

static char *
key_path(const char *path, const JsonbValue *key)
{
	StringInfoData out;
	StringInfoData quoted;

	initStringInfo(&quoted);
	canonical_append_string(&quoted, key->val.string.val, key->val.string.len);
	initStringInfo(&out);
	appendStringInfoString(&out, path);
	canonical_append_key(&out, quoted.data + 1, quoted.len - 2);
	return out.data;
}

/* The members of a that b lacks; where both have one, also what differs in it. */
static void
diff_members(Diff *diff, JsonbContainer *a, JsonbContainer *b, const char *path, bool compare)
{
	JsonbIterator *it = JsonbIteratorInit(a);
	JsonbIteratorToken token;
	JsonbValue	key;

	while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
	{
		JsonbValue	mine;
		JsonbValue *theirs;

		if (token != WJB_KEY)
			continue;
		(void) JsonbIteratorNext(&it, &mine, true);
		theirs = getKeyJsonValueFromContainer(b, key.val.string.val, key.val.string.len, NULL);
		if (theirs == NULL)
			report(diff, key_path(path, &key));
		else if (compare)
			diff_values(diff, &mine, theirs, key_path(path, &key));
		if (diff->count > DIFF_MAX_PATHS)
			return;
	}
}

static void
diff_elements(Diff *diff, JsonbContainer *a, JsonbContainer *b, const char *path)
{
	uint32		common = Min(JsonContainerSize(a), JsonContainerSize(b));
	uint32		longer = Max(JsonContainerSize(a), JsonContainerSize(b));
	uint32		i;

	for (i = 0; i < longer && diff->count <= DIFF_MAX_PATHS; i++)
	{
		char	   *place = psprintf("%s[%u]", path, i);

		if (i >= common)
			report(diff, place);
		else
			diff_values(diff, getIthJsonbValueFromContainer(a, i),
						getIthJsonbValueFromContainer(b, i), place);
		pfree(place);
	}
}

static bool
same_scalar(const JsonbValue *a, const JsonbValue *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type)
	{
		case jbvNull:
			return true;
		case jbvBool:
			return a->val.boolean == b->val.boolean;
		case jbvString:
			return a->val.string.len == b->val.string.len &&
				memcmp(a->val.string.val, b->val.string.val, a->val.string.len) == 0;
		case jbvNumeric:
			return DatumGetBool(DirectFunctionCall2(numeric_eq,
													NumericGetDatum(a->val.numeric),
													NumericGetDatum(b->val.numeric)));
		default:
			return false;
	}
}

static void
diff_values(Diff *diff, JsonbValue *a, JsonbValue *b, const char *path)
{
	JsonbContainer *in_a = a->type == jbvBinary ? a->val.binary.data : NULL;
	JsonbContainer *in_b = b->type == jbvBinary ? b->val.binary.data : NULL;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (in_a && in_b && JsonContainerIsObject(in_a) && JsonContainerIsObject(in_b))
	{
		diff_members(diff, in_a, in_b, path, true);
		diff_members(diff, in_b, in_a, path, false);
	}
	else if (in_a && in_b && JsonContainerIsArray(in_a) && JsonContainerIsArray(in_b))
		diff_elements(diff, in_a, in_b, path);
	else if (!same_scalar(a, b))
		report(diff, path);
}

static void
parse(const Action *action, JsonbValue *value)
{
	char	   *text = pnstrdup(action->arguments, action->arguments_len);
	Jsonb	   *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));

	value->type = jbvBinary;
	value->val.binary.data = &json->root;
	value->val.binary.len = VARSIZE(json) - VARHDRSZ;
}

static void
diff_text(Diff *diff, const char *name, const char *a, const char *b)
{
	if (a == NULL || b == NULL ? a != b : strcmp(a, b) != 0)
		report(diff, name);
}

/* A JSON array: names of the parts that differ, and JSON paths in arguments. */
char *
diff_actions(const Action *a, const Action *b)
{
	Diff		diff = {0};
	JsonbValue	in_a;
	JsonbValue	in_b;

	initStringInfo(&diff.out);
	appendStringInfoChar(&diff.out, '[');
	diff_text(&diff, "tool", a->tool, b->tool);
	diff_text(&diff, "server", a->server, b->server);
	diff_text(&diff, "resource", a->resource, b->resource);
	if ((a->definition == NULL) != (b->definition == NULL) ||
		(a->definition && memcmp(a->definition, b->definition, sizeof(Digest)) != 0))
		report(&diff, "definition");
	parse(a, &in_a);
	parse(b, &in_b);
	diff_values(&diff, &in_a, &in_b, "$");
	appendStringInfoChar(&diff.out, ']');
	return diff.out.data;
}
