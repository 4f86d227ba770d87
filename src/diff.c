/*-------------------------------------------------------------------------
 *
 * diff.c
 *	  Where two JSON documents differ, and where two actions do.
 *
 * The documents come from their canonical text: what jsonb would drop or round
 * has been refused there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "diff.h"
#include "errors.h"

/* An executor that presents something else entirely need not read it all. */
#define DIFF_MAX_PATHS 20

/* Nor read a path to its end. */
#define DIFF_PATH_LIMIT 1000

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

static void
append_path(StringInfo path, const Place *place)
{
	const Place **steps;
	const Place *step;
	int			depth = 0;
	int			i;

	for (step = place; step; step = step->parent)
		depth++;
	steps = palloc(sizeof(Place *) * (depth + 1));
	i = depth;
	for (step = place; step; step = step->parent)
		steps[--i] = step;

	appendStringInfoChar(path, '$');
	for (i = 0; i < depth; i++)
	{
		if (path->len > DIFF_PATH_LIMIT)
		{
			appendStringInfoString(path, "...");
			break;
		}
		append_step(path, steps[i]);
	}
	pfree(steps);
}

/* Paths are written out only for what is told, and clipped. */
static void
report(Diff *diff, const Place *place, JsonbValue *a, JsonbValue *b)
{
	StringInfoData path;

	if (diff->count++ >= diff->most)
		return;
	initStringInfo(&path);
	append_path(&path, place);
	diff->tell(diff, path.data, a, b);
	pfree(path.data);
}

static JsonbValue *
find_member(JsonbContainer *object, const JsonbValue *key, JsonbValue *value)
{
	return getKeyJsonValueFromContainer(object, key->val.string.val, key->val.string.len, value);
}

/* Adds the keys of an object, but for those that the other one has too. */
static void
add_keys(JsonbContainer *object, JsonbContainer *other, JsonbValue *keys, int *count)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue	item;
	JsonbValue	ignored;

	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
		if (token == WJB_KEY && (other == NULL || find_member(other, &item, &ignored) == NULL))
			keys[(*count)++] = item;
}

/* The heap gives its largest first. */
static int
compare_keys(Datum a, Datum b, void *arg)
{
	const JsonbValue *x = (const JsonbValue *) DatumGetPointer(a);
	const JsonbValue *y = (const JsonbValue *) DatumGetPointer(b);

	return canonical_compare_keys(y->val.string.val, y->val.string.len,
								  x->val.string.val, x->val.string.len);
}

/*
 * A heap, because the keys are somebody else's: quicksort has inputs that make
 * it quadratic.
 */
static binaryheap *
sort_keys(JsonbValue *keys, int count)
{
	binaryheap *heap = binaryheap_allocate(count, compare_keys, NULL);
	int			i;

	for (i = 0; i < count; i++)
		binaryheap_add_unordered(heap, PointerGetDatum(&keys[i]));
	binaryheap_build(heap);
	return heap;
}

static void
diff_members(Diff *diff, JsonbContainer *a, JsonbContainer *b, const Place *place)
{
	Size		room = (Size) JsonContainerSize(a) + JsonContainerSize(b);
	JsonbValue *keys = MemoryContextAllocHuge(CurrentMemoryContext,
											  sizeof(JsonbValue) * Max(room, 1));
	binaryheap *heap = NULL;
	int			count = 0;
	int			i;

	add_keys(a, NULL, keys, &count);
	add_keys(b, a, keys, &count);
	if (diff->in_order)
		heap = sort_keys(keys, count);
	for (i = 0; i < count && diff->count <= diff->most; i++)
	{
		JsonbValue *key = &keys[i];
		JsonbValue	in_a;
		JsonbValue	in_b;
		Place		member = {place, NULL, 0};

		if (heap)
			key = (JsonbValue *) DatumGetPointer(binaryheap_remove_first(heap));
		member.key = key;
		diff_values(diff, find_member(a, key, &in_a), find_member(b, key, &in_b), &member);
	}
	if (heap)
		binaryheap_free(heap);
	pfree(keys);
}

static JsonbValue *
find_element(JsonbContainer *array, uint32 i)
{
	return i < JsonContainerSize(array) ? getIthJsonbValueFromContainer(array, i) : NULL;
}

static void
diff_elements(Diff *diff, JsonbContainer *a, JsonbContainer *b, const Place *place)
{
	uint32		longer = Max(JsonContainerSize(a), JsonContainerSize(b));
	uint32		i;

	for (i = 0; i < longer && diff->count <= diff->most; i++)
	{
		Place		element = {place, NULL, i};
		JsonbValue *in_a = find_element(a, i);
		JsonbValue *in_b = find_element(b, i);

		diff_values(diff, in_a, in_b, &element);
		if (in_a)
			pfree(in_a);
		if (in_b)
			pfree(in_b);
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
	JsonbContainer *in_a = a && a->type == jbvBinary ? a->val.binary.data : NULL;
	JsonbContainer *in_b = b && b->type == jbvBinary ? b->val.binary.data : NULL;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (in_a && in_b && JsonContainerIsObject(in_a) && JsonContainerIsObject(in_b))
		diff_members(diff, in_a, in_b, place);
	else if (in_a && in_b && JsonContainerIsArray(in_a) && JsonContainerIsArray(in_b))
		diff_elements(diff, in_a, in_b, place);
	else if (a == NULL || b == NULL || !same_scalar(a, b))
		report(diff, place, a, b);
}

/* Tells of every place that differs; NULL: there is no such document. */
void
diff_documents(Diff *diff, JsonbValue *before, JsonbValue *after)
{
	if (before || after)
		diff_values(diff, before, after, NULL);
}

Jsonb *
diff_parse(const char *canonical, int len)
{
	char	   *text = pnstrdup(canonical, len);
	Jsonb	   *document = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));

	pfree(text);
	return document;
}

/* The value of a whole document, which jsonb wraps if it is a scalar. */
JsonbValue *
diff_root(Jsonb *document, JsonbValue *value)
{
	if (JB_ROOT_IS_SCALAR(document))
	{
		(void) JsonbExtractScalar(&document->root, value);
		return value;
	}
	value->type = jbvBinary;
	value->val.binary.data = &document->root;
	value->val.binary.len = VARSIZE(document) - VARHDRSZ;
	return value;
}

/* A name of our own, or a path: never a value. */
static void
tell_name(Diff *diff, const char *name, JsonbValue *before, JsonbValue *after)
{
	StringInfo	out = diff->state;

	if (diff->count > 1)
		appendStringInfoChar(out, ',');
	errors_escape(out, name);
}

static void
diff_part(Diff *diff, const char *name, bool same)
{
	if (!same && diff->count++ < diff->most)
		tell_name(diff, name, NULL, NULL);
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_digest(const Digest *a, const Digest *b)
{
	return a == NULL || b == NULL ? a == b : memcmp(a, b, sizeof(Digest)) == 0;
}

/* A JSON array: names of the parts that differ, and JSON paths in arguments. */
char *
diff_actions(const Action *a, const Action *b)
{
	StringInfoData out;
	Diff		diff = {.tell = tell_name,.state = &out,.most = DIFF_MAX_PATHS};
	JsonbValue	in_a;
	JsonbValue	in_b;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	diff_part(&diff, "tool", same_text(a->tool, b->tool));
	diff_part(&diff, "server", same_text(a->server, b->server));
	diff_part(&diff, "resource", same_text(a->resource, b->resource));
	diff_part(&diff, "definition", same_digest(a->definition, b->definition));
	diff_documents(&diff, diff_root(diff_parse(a->arguments, a->arguments_len), &in_a),
				   diff_root(diff_parse(b->arguments, b->arguments_len), &in_b));
	appendStringInfoChar(&out, ']');
	return out.data;
}
