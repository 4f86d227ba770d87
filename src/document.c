/*-------------------------------------------------------------------------
 *
 * document.c
 *	  Members of a JSON document that an administrator wrote, checked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "args.h"
#include "clock.h"
#include "compat.h"
#include "document.h"

/* No span of a policy is longer than this, in microseconds: 10 years. */
#define LONGEST_SPAN (INT64CONST(3653) * USECS_PER_DAY)

#define MAX_NAMES 200

/*
 * A document that has a canonical form, so that no key stands in it twice and
 * what jsonb makes of it is the same document; or NULL.  The form itself is of use
 * to who compares documents.
 */
Jsonb *
document_read(const text *json, char **canonical, CanonicalError *error)
{
	StringInfoData out;

	initStringInfo(&out);
	if (!canonical_append(&out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), CANONICAL_STRICT, error))
		return NULL;
	if (canonical)
		*canonical = out.data;
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(out.data)));
}

/*
 * JSON that came from somewhere, as jsonb; NULL for what has none, such as a number
 * that is out of range or a zero byte.  A report must not fail for that.
 */
Jsonb *
document_loose(const text *json)
{
	char	   *string = text_to_cstring(json);
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	Jsonb	   *volatile document = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		document = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(string)));
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
			ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
			ReThrowError(error);
		document = NULL;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return document;
}

/* Always false, so that it can be returned. */
bool
document_problem(Problem *problem, const char *place, const char *text)
{
	problem->place = place;
	problem->problem = text;
	return false;
}

char *
document_place(const char *parent, const char *member)
{
	return psprintf("%s.%s", parent, member);
}

/* NULL for a member that is absent or null. */
JsonbValue *
document_member(JsonbContainer *object, const char *name)
{
	JsonbValue *value = getKeyJsonValueFromContainer(object, name, strlen(name), NULL);

	return value && value->type != jbvNull ? value : NULL;
}

static char *
string_of(const JsonbValue *value)
{
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* A misspelt member must not be ignored: it may have been meant as a limit. */
bool
document_known(JsonbContainer *object, const char *const *names, int count,
			   const char *place, Problem *problem)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue	key;

	while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
	{
		char	   *name;
		int			i;

		if (token != WJB_KEY)
			continue;
		name = string_of(&key);
		for (i = 0; i < count; i++)
			if (strcmp(names[i], name) == 0)
				break;
		if (i == count)
			return document_problem(problem, document_place(place, name), "there is no such member");
	}
	return true;
}

bool
document_text(JsonbContainer *object, const char *name, const char *place,
			  int limit, const char **out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);

	if (value == NULL)
		return true;
	if (value->type != jbvString)
		return document_problem(problem, document_place(place, name), "must be a string");
	if (value->val.string.len == 0 || value->val.string.len > limit)
		return document_problem(problem, document_place(place, name),
								psprintf("must be 1 to %d bytes long", limit));
	*out = string_of(value);
	return true;
}

/* One of the words, which are separated by blanks. */
bool
document_word(JsonbContainer *object, const char *name, const char *place,
			  const char *words, const char **out, Problem *problem)
{
	const char *word = NULL;
	const char *found;

	if (!document_text(object, name, place, ARGS_KEY_LIMIT, &word, problem))
		return false;
	if (word == NULL)
		return true;
	for (found = words; found; found = strchr(found, ' '))
	{
		size_t		len;

		found += strspn(found, " ");
		len = strcspn(found, " ");
		if (len == strlen(word) && strncmp(found, word, len) == 0)
		{
			*out = word;
			return true;
		}
	}
	return document_problem(problem, document_place(place, name), psprintf("must be one of: %s", words));
}

bool
document_int(JsonbContainer *object, const char *name, const char *place,
			 int least, int most, int *out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);
	char	   *digits;
	long		number;
	char	   *end;

	if (value == NULL)
		return true;
	if (value->type == jbvNumeric)
	{
		digits = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
		errno = 0;
		number = strtol(digits, &end, 10);
		if (*end == '\0' && errno == 0 && number >= least && number <= most)
		{
			*out = (int) number;
			return true;
		}
	}
	return document_problem(problem, document_place(place, name),
							psprintf("must be an integer from %d to %d", least, most));
}

bool
document_bool(JsonbContainer *object, const char *name, const char *place,
			  bool *out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);

	if (value == NULL)
		return true;
	if (value->type != jbvBool)
		return document_problem(problem, document_place(place, name), "must be true or false");
	*out = value->val.boolean;
	return true;
}

/* Reads an interval as interval_in does, but without raising; false if it is none. */
static bool
read_interval(const char *text, int64 *span)
{
	char	   *fields[MAXDATEFIELDS];
	int			types[MAXDATEFIELDS];
	char		work[256];
	int			count;
	int			kind;
	struct pg_itm_in parts = {0};
	Interval	interval;

	if (ParseDateTime(text, work, sizeof(work), fields, types, MAXDATEFIELDS, &count) != 0 ||
		(DecodeInterval(fields, types, count, INTERVAL_FULL_RANGE, &kind, &parts) != 0 &&
		 DecodeISO8601Interval(unconstify(char *, text), &kind, &parts) != 0) ||
		kind != DTK_DELTA || itmin2interval(&parts, &interval) != 0)
		return false;
	*span = clock_span(&interval);
	return true;
}

/* "15 minutes", "PT15M", or a number of seconds. */
bool
document_span(JsonbContainer *object, const char *name, const char *place,
			  int64 *out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);
	const char *text = "";
	int64		span = 0;

	if (value == NULL)
		return true;
	if (value->type == jbvNumeric)
		text = psprintf("%s seconds", DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric))));
	else if (value->type == jbvString)
		text = string_of(value);
	if (!read_interval(text, &span) || span <= 0 || span > LONGEST_SPAN)
		return document_problem(problem, document_place(place, name),
								"must be an interval, longer than nothing, and 10 years at most");
	*out = span;
	return true;
}

/* An array of names without repetitions; an empty one counts as none. */
bool
document_names(JsonbContainer *object, const char *name, const char *place,
			   Names *out, Problem *problem)
{
	JsonbContainer *array = NULL;
	uint32		i;

	if (!document_container(object, name, place, true, &array, problem))
		return false;
	if (array == NULL)
		return true;
	if (JsonContainerSize(array) > MAX_NAMES)
		return document_problem(problem, document_place(place, name), psprintf("must have %d elements at most", MAX_NAMES));
	out->count = 0;
	out->names = palloc0(sizeof(char *) * (JsonContainerSize(array) + 1));
	for (i = 0; i < JsonContainerSize(array); i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(array, i);

		if (value->type != jbvString || value->val.string.len == 0 || value->val.string.len > ARGS_KEY_LIMIT)
			return document_problem(problem, psprintf("%s[%u]", document_place(place, name), i),
									psprintf("must be a string of 1 to %d bytes", ARGS_KEY_LIMIT));
		out->names[out->count++] = string_of(value);
	}
	return true;
}

bool
document_names_has(const Names *names, const char *name)
{
	int			i;

	for (i = 0; i < names->count; i++)
		if (strcmp(names->names[i], name) == 0)
			return true;
	return false;
}

bool
document_container(JsonbContainer *object, const char *name, const char *place,
				   bool array, JsonbContainer **out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);

	if (value == NULL)
		return true;
	if (value->type != jbvBinary || JsonContainerIsArray(value->val.binary.data) != array)
		return document_problem(problem, document_place(place, name),
								array ? "must be an array" : "must be an object");
	*out = value->val.binary.data;
	return true;
}
