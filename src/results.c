/*-------------------------------------------------------------------------
 *
 * results.c
 *	  Whether a result is one: the conditions that the registry has for it.
 *
 * A tool that answers with nothing, or with half of it, has failed, whatever its
 * status says.  What a result must have (requires) has to be true of it; what it
 * must not have (refuses) must not be.  Both rows of a tool hold, the tenant's
 * and that for every tenant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "blank.h"
#include "condition.h"
#include "results.h"
#include "verb.h"

PG_FUNCTION_INFO_V1(approval_validate_result);

#define MAX_RESULTS 100

static bool
result_parse(JsonbContainer *object, const char *place, ResultCheck *check, Problem *problem)
{
	static const char *const members[] = {"requires", "refuses", "as", "reason", "costly"};
	ConditionLimits limits = {0};
	const char *requires = NULL;
	const char *refuses = NULL;
	const char *as = "degraded";
	char	   *why = NULL;

	if (!document_known(object, members, lengthof(members), place, problem) ||
		!document_text(object, "requires", place, 10000, &requires, problem) ||
		!document_text(object, "refuses", place, 10000, &refuses, problem) ||
		!document_word(object, "as", place, "empty degraded", &as, problem) ||
		!document_text(object, "reason", place, 1000, &check->reason, problem) ||
		!document_bool(object, "costly", place, &limits.costly, problem))
		return false;
	if ((requires != NULL) == (refuses != NULL))
		return document_problem(problem, place, "has either requires or refuses");
	check->requires = (requires != NULL);
	check->empty = strcmp(as, "empty") == 0;
	check->condition = condition_compile(requires ? requires : refuses, &limits, &why);
	return check->condition ? true :
		document_problem(problem, document_place(place, requires ? "requires" : "refuses"), why);
}

/* [{"requires": jsonpath, "as": "empty"|"degraded", "reason"}, {"refuses": ...}] */
bool
results_parse(JsonbContainer *results, Tool *tool, Problem *problem)
{
	uint32		i;

	if (JsonContainerSize(results) > MAX_RESULTS)
		return document_problem(problem, "$.results", psprintf("must have %d elements at most", MAX_RESULTS));
	tool->results = palloc0(sizeof(ResultCheck) * (JsonContainerSize(results) + 1));
	for (i = 0; i < JsonContainerSize(results); i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(results, i);
		char	   *place = psprintf("$.results[%u]", i);

		if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
			return document_problem(problem, place, "must be an object");
		if (!result_parse(value->val.binary.data, place, &tool->results[i], problem))
			return false;
		tool->nresults++;
	}
	return true;
}

/* Of two members with one name a condition would see one, and a reader maybe the other. */
static bool
unambiguous(const text *result)
{
	CanonicalError error = {0};
	StringInfoData ignored;
	bool		sound;

	initStringInfo(&ignored);
	sound = canonical_append(&ignored, VARDATA_ANY(result), VARSIZE_ANY_EXHDR(result), CANONICAL_JCS, &error);
	pfree(ignored.data);
	return sound;
}

/* null, {}, [], and a text in which there is nothing to read. */
static bool
is_empty(Jsonb *json)
{
	JsonbValue	value;

	if (!JB_ROOT_IS_SCALAR(json))
		return JB_ROOT_COUNT(json) == 0;
	(void) JsonbExtractScalar(&json->root, &value);
	return value.type == jbvNull ||
		(value.type == jbvString && blank_text(pnstrdup(value.val.string.val, value.val.string.len)));
}

static bool
check_fails(const ResultCheck *check, Jsonb *json)
{
	Truth		truth = condition_test(check->condition, json);

	return check->requires ? truth != TRUTH_TRUE : truth == TRUTH_TRUE;
}

static void
found_bad(BadResult *bad, Reason reason, const char *problem)
{
	bad->reason = reason;
	bad->problem = problem;
}

/*
 * Without conditions nothing is known of a result, and only with "always" one
 * that is empty is bad.
 */
void
results_check(const Registered *registered, const text *result, bool always, BadResult *bad)
{
	Jsonb	   *json;
	int			conditions = 0;
	int			i;
	int			j;

	memset(bad, 0, sizeof(*bad));
	for (i = 0; i < registered->ntools; i++)
		conditions += registered->tools[i].nresults;
	if (registered->unreadable)
	{
		found_bad(bad, REASON_DEGRADED_RESULT, "the stored policy is not readable");
		return;
	}
	if (conditions == 0 && !always)
		return;
	json = result && (conditions == 0 || unambiguous(result)) ? document_loose(result) : NULL;
	if (result && json == NULL)
	{
		if (conditions > 0)
			found_bad(bad, REASON_DEGRADED_RESULT, "the result cannot be looked into");
		return;
	}
	if (json == NULL || is_empty(json))
		found_bad(bad, REASON_EMPTY_RESULT, "there is nothing in the result");
	for (i = 0; bad->reason == REASON_NONE && i < registered->ntools; i++)
		for (j = 0; bad->reason == REASON_NONE && j < registered->tools[i].nresults; j++)
		{
			const ResultCheck *check = &registered->tools[i].results[j];

			if (!check_fails(check, json))
				continue;
			found_bad(bad, check->empty ? REASON_EMPTY_RESULT : REASON_DEGRADED_RESULT,
					  check->requires ? "a condition that the tool requires does not hold" :
					  "a condition that the tool refuses holds");
			bad->condition = j + 1;
			bad->why = check->reason;
		}
}

/* validate_result(tool, result, server, tenant): true, or the error */
Datum
approval_validate_result(PG_FUNCTION_ARGS)
{
	Call		call;
	const char *tool;
	const char *server;
	text	   *result;
	BadResult	bad;

	verb_begin(&call, fcinfo, "validate_result");
	tool = args_required(fcinfo, 0, "tool", ARGS_KEY_LIMIT);
	args_check_name("tool", tool, ARGS_KEY_LIMIT);
	result = args_json(fcinfo, 1);
	server = args_text(fcinfo, 2, "server", ARGS_KEY_LIMIT);
	call_tenant(&call, 3);
	results_check(registry_find(call.tenant, server ? server : "", tool), result, true, &bad);
	if (bad.reason != REASON_NONE)
	{
		errors_member(&call.refusal, "tool", tool);
		errors_member_constant(&call.refusal, "problem", bad.problem);
		if (bad.condition)
			errors_member_raw(&call.refusal, "condition", psprintf("%d", bad.condition));
		if (bad.why)
			errors_member(&call.refusal, "why", bad.why);
		call_refuse(&call, bad.reason);
		errors_raise(&call.refusal);
	}
	verb_end(&call);
	PG_RETURN_BOOL(true);
}
