/*-------------------------------------------------------------------------
 *
 * diff.c
 *	  Where two JSON values differ; of two actions, paths and no values.
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

/* Nor read a path to its end. */
#define DIFF_PATH_LIMIT 1000

typedef struct Diff
{
	DiffSink	sink;
	void	   *arg;
	bool		stopped;		/* the sink has had enough */
} Diff;

/* Where we are, one step for each open container, on the C stack. */
typedef struct Place
{
	const struct Place *parent;
	const JsonbValue *key;		/* NULL: an element of an array */
	uint32		index;
} Place;

static void diff_values(Diff *diff, JsonbValue *a, JsonbValue *b, const Place *place);

static void
append_step(StringInfo path, const Place *step)
{
	StringInfoData quoted;

	if (step->key == NULL)
	{
		appendStringInfo(path, "[%u]", step->index);
		return;
	}
	initStringInfo(&quoted);
	canonical_append_string(&quoted, step->key->val.string.val, step->key->val.string.len);
	canonical_append_key(path, quoted.data + 1, quoted.len - 2);
	pfree(quoted.data);
}

/* Paths are written out only for what differs, and clipped; NULL is a side that has nothing. */
static void
report(Diff *diff, const Place *place, JsonbValue *a, JsonbValue *b)
{
	const Place **steps;
	const Place *step;
	StringInfoData path;
	int			depth = 0;
	int			i;

	for (step = place; step; step = step->parent)
		depth++;
	steps = palloc(sizeof(Place *) * (depth + 1));
	i = depth;
	for (step = place; step; step = step->parent)
		steps[--i] = step;

	initStringInfo(&path);
	appendStringInfoChar(&path, '$');
	for (i = 0; i < depth; i++)
	{
		if (path.len > DIFF_PATH_LIMIT)
		{
			appendStringInfoString(&path, "...");
			break;
		}
		append_step(&path, steps[i]);
	}
	diff->stopped = !diff->sink(diff->arg, path.data, a, b);
	pfree(path.data);
	pfree(steps);
}

/* The members of a that b lacks; where both have one, also what differs in it. */
static void
diff_members(Diff *diff, JsonbContainer *a, JsonbContainer *b, const Place *place, bool swapped)
{
	JsonbIterator *it = JsonbIteratorInit(a);
	JsonbIteratorToken token;
	JsonbValue	key;
	Place		member = {place, &key, 0};

	while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
	{
		JsonbValue	mine;
		JsonbValue *theirs;

		if (token != WJB_KEY)
			continue;
		(void) JsonbIteratorNext(&it, &mine, true);
		theirs = getKeyJsonValueFromContainer(b, key.val.string.val, key.val.string.len, NULL);
		if (theirs == NULL)
			report(diff, &member, swapped ? NULL : &mine, swapped ? &mine : NULL);
		else if (!swapped)
			diff_values(diff, &mine, theirs, &member);
		if (theirs)
			pfree(theirs);
		if (diff->stopped)
			return;
	}
}

static void
diff_elements(Diff *diff, JsonbContainer *a, JsonbContainer *b, const Place *place)
{
	uint32		common = Min(JsonContainerSize(a), JsonContainerSize(b));
	uint32		longer = Max(JsonContainerSize(a), JsonContainerSize(b));
	uint32		i;

	for (i = 0; i < longer && !diff->stopped; i++)
	{
		Place		element = {place, NULL, i};
		JsonbValue *in_a = i < JsonContainerSize(a) ? getIthJsonbValueFromContainer(a, i) : NULL;
		JsonbValue *in_b = i < JsonContainerSize(b) ? getIthJsonbValueFromContainer(b, i) : NULL;

		if (i >= common)
			report(diff, &element, in_a, in_b);
		else
			diff_values(diff, in_a, in_b, &element);
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
diff_values(Diff *diff, JsonbValue *a, JsonbValue *b, const Place *place)
{
	JsonbContainer *in_a = a->type == jbvBinary ? a->val.binary.data : NULL;
	JsonbContainer *in_b = b->type == jbvBinary ? b->val.binary.data : NULL;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (in_a && in_b && JsonContainerIsObject(in_a) && JsonContainerIsObject(in_b))
	{
		diff_members(diff, in_a, in_b, place, false);
		if (!diff->stopped)
			diff_members(diff, in_b, in_a, place, true);
	}
	else if (in_a && in_b && JsonContainerIsArray(in_a) && JsonContainerIsArray(in_b))
		diff_elements(diff, in_a, in_b, place);
	else if (!same_scalar(a, b))
		report(diff, place, a, b);
}

/* Tells the sink of each place where the two differ, until it says no. */
void
diff_walk(JsonbValue *a, JsonbValue *b, DiffSink sink, void *arg)
{
	Diff		diff = {sink, arg, false};

	diff_values(&diff, a, b, NULL);
}

/* The value of a canonical text. */
void
diff_parse(const char *text, int len, JsonbValue *value)
{
	Jsonb	   *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(pnstrdup(text, len))));

	if (JB_ROOT_IS_SCALAR(json))
		*value = *getIthJsonbValueFromContainer(&json->root, 0);
	else
	{
		value->type = jbvBinary;
		value->val.binary.data = &json->root;
		value->val.binary.len = VARSIZE(json) - VARHDRSZ;
	}
}

/* Names and paths that differ, as a JSON array. */
typedef struct Paths
{
	StringInfoData out;
	int			count;
} Paths;

static bool
add_path(void *arg, const char *path, JsonbValue *a, JsonbValue *b)
{
	Paths	   *paths = arg;

	if (paths->count++ >= DIFF_MAX_PATHS)
		return false;
	if (paths->count > 1)
		appendStringInfoChar(&paths->out, ',');
	errors_escape(&paths->out, path);
	return true;
}

static void
diff_text(Paths *paths, const char *name, const char *a, const char *b)
{
	if (a == NULL || b == NULL ? a != b : strcmp(a, b) != 0)
		(void) add_path(paths, name, NULL, NULL);
}

/* A JSON array: names of the parts that differ, and JSON paths in arguments. */
char *
diff_actions(const Action *a, const Action *b)
{
	Paths		paths = {0};
	JsonbValue	in_a;
	JsonbValue	in_b;

	initStringInfo(&paths.out);
	appendStringInfoChar(&paths.out, '[');
	diff_text(&paths, "tool", a->tool, b->tool);
	diff_text(&paths, "server", a->server, b->server);
	diff_text(&paths, "resource", a->resource, b->resource);
	if ((a->definition == NULL) != (b->definition == NULL) ||
		(a->definition && memcmp(a->definition, b->definition, sizeof(Digest)) != 0))
		(void) add_path(&paths, "definition", NULL, NULL);
	diff_parse(a->arguments, a->arguments_len, &in_a);
	diff_parse(b->arguments, b->arguments_len, &in_b);
	diff_walk(&in_a, &in_b, add_path, &paths);
	appendStringInfoChar(&paths.out, ']');
	return paths.out.data;
}
