/*-------------------------------------------------------------------------
 *
 * condition.c
 *	  Conditions of policy rules: read once, tested against each call.
 *
 * They run in strict mode whatever the text says.  In lax mode $.amount <= 200
 * would be true of [1, 999999], since one element is enough.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "compat.h"
#include "condition_private.h"

/* Reading and judging a text takes time that grows with its square. */
#define CONDITION_MAX_BYTES 10000

/* One attempt at a text. */
typedef struct Reading
{
	const char *text;
	const ConditionLimits *limits;	/* NULL: it has to select a value */
	bool		parsed;			/* whatever was found after that is final */
	JsonPath   *path;			/* if acceptable */
	char	   *problem;		/* if not */
} Reading;

static void
read_text(Reading *reading)
{
	JsonPath   *path = DatumGetJsonPathP(DirectFunctionCall1(jsonpath_in,
															 CStringGetDatum(reading->text)));
	bool		good;

	reading->parsed = true;
	if (path->header & JSONPATH_LAX)
		good = condition_refuse(&reading->problem, "lax",
								"conditions and paths run in strict mode");
	else if (reading->limits)
		good = condition_check(path, reading->limits, &reading->problem);
	else
		good = condition_check_path(path, &reading->problem);
	if (good)
		reading->path = path;
}

/* Errors about the text; others, a cancelled statement say, stay errors. */
static bool
is_complaint(int sqlstate)
{
	int			category = ERRCODE_TO_CATEGORY(sqlstate);

	return category == ERRCODE_DATA_EXCEPTION ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_SYNTAX_ERROR) ||
		category == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		category == ERRCODE_FEATURE_NOT_SUPPORTED;
}

/* In a handler, once the context is no longer that of errors. */
static void
take_error(Reading *reading)
{
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
	reading->path = NULL;
	reading->problem = error->message;
	if (error->detail)
		reading->problem = psprintf("%s: %s", error->message, error->detail);
	if (!is_complaint(error->sqlerrcode))
		ReThrowError(error);
}

/*
 * jsonpath_in reports a malformed text as an error, in version 15 always as a
 * hard one.  The subtransaction is what makes it safe to go on after that; it
 * leaves the caller's SPI connection and user as they are.
 */
static void
attempt(Reading *reading, const char *text)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	reading->text = text;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		read_text(reading);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		take_error(reading);
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_END_TRY();
}

/*
 * A text without a mode would be lax.  Only such a text can be read with the
 * word "strict" in front; what cannot has a mode already, or is malformed.
 */
static JsonPath *
read_strictly(const char *text, const ConditionLimits *limits, char **problem)
{
	Reading		reading = {.limits = limits};

	if (strlen(text) > CONDITION_MAX_BYTES)
	{
		*problem = psprintf("longer than %d bytes", CONDITION_MAX_BYTES);
		return NULL;
	}
	attempt(&reading, psprintf("strict %s", text));
	if (!reading.parsed)
		attempt(&reading, text);
	*problem = reading.problem;
	return reading.path;
}

/*
 * What reading leaves behind is freed here, or by the end of the transaction
 * should an error come through; the caller's context may live longer.
 */
static JsonPath *
compile(const char *text, const ConditionLimits *limits, char **problem)
{
	MemoryContext scratch = AllocSetContextCreate(CurTransactionContext,
												  "approval condition",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	JsonPath   *path = read_strictly(text, limits, problem);

	MemoryContextSwitchTo(caller);
	if (path)
	{
		path = memcpy(palloc(VARSIZE(path)), path, VARSIZE(path));
		*problem = NULL;
	}
	else
		*problem = pstrdup(*problem);
	MemoryContextDelete(scratch);
	return path;
}

/*
 * A predicate within the limits, or NULL and a problem.  Problems quote the
 * text, so they have to be escaped.
 */
JsonPath *
condition_compile(const char *text, const ConditionLimits *limits, char **problem)
{
	return compile(text, limits, problem);
}

/* A path to one value: members and constant subscripts only. */
JsonPath *
condition_compile_path(const char *text, char **problem)
{
	return compile(text, NULL, problem);
}

/*
 * Whatever is wrong with the arguments makes it unknown: a missing member,
 * another type, a division by zero, a product that no numeric can hold.  null
 * is comparable with everything: less and greater are false of it, and hence
 * true under a negation.
 *
 * What can still raise an error, and let no call through by that: the regular
 * expression engine, a conversion to UTF-8 in a database of another encoding,
 * and .floor() or .ceiling() of more digits than a double can stand for.
 *
 * The function behind @@ is silent and needs no variables.
 */
Truth
condition_test(const JsonPath *path, Jsonb *arguments)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, NULL, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = JsonbPGetDatum(arguments);
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = PointerGetDatum(path);
	fcinfo->args[1].isnull = false;
	result = jsonb_path_match_opr(fcinfo);
	if (fcinfo->isnull)
		return TRUTH_UNKNOWN;
	return DatumGetBool(result) ? TRUTH_TRUE : TRUTH_FALSE;
}

/* One step down; NULL if there is nothing, or nothing to step into. */
static JsonbValue *
step_into(JsonbValue *value, JsonPathItem *step)
{
	JsonbContainer *container;
	const char *key;
	int32		len;
	int			index;

	if (value->type != jbvBinary)
		return NULL;
	container = value->val.binary.data;
	if (step->type == jpiKey && JsonContainerIsObject(container))
	{
		key = jspGetString(step, &len);
		return getKeyJsonValueFromContainer(container, key, len, NULL);
	}
	if (condition_subscript(step, &index) && JsonContainerIsArray(container) &&
		!JsonContainerIsScalar(container))
		return getIthJsonbValueFromContainer(container, index);
	return NULL;
}

/*
 * The value at a path of condition_compile_path, pointing into the arguments;
 * NULL if there is none.
 */
JsonbValue *
condition_select(const JsonPath *path, Jsonb *arguments)
{
	JsonbValue *value = palloc(sizeof(JsonbValue));
	JsonPathItem item;
	JsonPathItem next;

	value->type = jbvBinary;
	value->val.binary.data = &arguments->root;
	value->val.binary.len = VARSIZE(arguments) - VARHDRSZ;
	jspInit(&item, unconstify(JsonPath *, path));
	while (value && jspGetNext(&item, &next))
	{
		value = step_into(value, &next);
		item = next;
	}
	return value;
}

/*
 * The string or number that a path selects, as a key: a number and the string
 * of its digits are one key, so that an agent has not two for one thing.  NULL
 * for anything else.
 */
char *
condition_key(const JsonPath *path, Jsonb *arguments)
{
	JsonbValue *value = condition_select(path, arguments);

	if (value && value->type == jbvString && value->val.string.len > 0)
		return pnstrdup(value->val.string.val, value->val.string.len);
	if (value && value->type == jbvNumeric)
		return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
	return NULL;
}
