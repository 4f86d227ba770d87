/*-------------------------------------------------------------------------
 *
 * tool_parts.c
 *	  The parts of a tool's document that have a form of their own: the types
 *	  that it expects, its budgets and its rules.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "condition.h"
#include "tool.h"

#define MAX_EXPECTS 200
#define MAX_BUDGETS 10
#define MAX_RULES 1000
#define MAX_POSITION 1000000

/* One minute of a sliding window is as good as none; a year is long enough. */
#define SHORTEST_WINDOW USECS_PER_MINUTE
#define LONGEST_WINDOW (INT64CONST(366) * USECS_PER_DAY)

typedef enum ExpectedType
{
	EXPECT_NUMBER,
	EXPECT_NONNEGATIVE,
	EXPECT_INTEGER,
	EXPECT_STRING,
	EXPECT_BOOLEAN,
	EXPECT_OBJECT,
	EXPECT_ARRAY
} ExpectedType;

static const char *const expected_words[] = {
	"number", "nonnegative", "integer", "string", "boolean", "object", "array"
};

#define EXPECTED_LIST "number, nonnegative, integer, string, boolean, object, array"

/* {"amount":"nonnegative", "currency":"string"}: members of the arguments */
bool
expects_parse(JsonbContainer *expects, Tool *tool, Problem *problem)
{
	JsonbIterator *it = JsonbIteratorInit(expects);
	JsonbIteratorToken token;
	JsonbValue	key;

	if (JsonContainerSize(expects) > MAX_EXPECTS)
		return document_problem(problem, "$.expects", psprintf("must have %d members at most", MAX_EXPECTS));
	tool->expects = palloc(sizeof(Expectation) * (JsonContainerSize(expects) + 1));
	while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
	{
		Expectation *expectation = &tool->expects[tool->nexpects];
		const char *word = NULL;
		int			type;

		if (token != WJB_KEY)
			continue;
		expectation->member = pnstrdup(key.val.string.val, key.val.string.len);
		if (!document_text(expects, expectation->member, "$.expects", ARGS_KEY_LIMIT, &word, problem))
			return false;
		for (type = 0; word && type < (int) lengthof(expected_words); type++)
			if (strcmp(word, expected_words[type]) == 0)
				break;
		if (word == NULL || type == (int) lengthof(expected_words))
			return document_problem(problem, document_place("$.expects", expectation->member),
									"must be one of: " EXPECTED_LIST);
		expectation->type = type;
		tool->nexpects++;
	}
	return true;
}

/* For conditions: whether "$.amount" is a member that must not be negative. */
bool
expects_nonnegative(const char *path, const void *arg)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const Tool *tool = arg;
	int			i;

	/* "a.b" as one name must not speak for the member b of a */
	for (i = 0; i < tool->nexpects; i++)
		if (strspn(tool->expects[i].member, plain) == strlen(tool->expects[i].member) &&
			tool->expects[i].type == EXPECT_NONNEGATIVE && strncmp(path, "$.", 2) == 0 &&
			strcmp(path + 2, tool->expects[i].member) == 0)
			return true;
	return false;
}

static bool
negative(const JsonbValue *value)
{
	return DatumGetBool(DirectFunctionCall2(numeric_lt, NumericGetDatum(value->val.numeric),
											DirectFunctionCall1(int4_numeric, Int32GetDatum(0))));
}

static bool
whole(const JsonbValue *value)
{
	Datum		number = NumericGetDatum(value->val.numeric);

	return DatumGetBool(DirectFunctionCall2(numeric_eq, number, DirectFunctionCall1(numeric_floor, number)));
}

static bool
is_of_type(const JsonbValue *value, ExpectedType type)
{
	switch (type)
	{
		case EXPECT_NUMBER:
			return value->type == jbvNumeric;
		case EXPECT_NONNEGATIVE:
			return value->type == jbvNumeric && !negative(value);
		case EXPECT_INTEGER:
			return value->type == jbvNumeric && whole(value);
		case EXPECT_STRING:
			return value->type == jbvString;
		case EXPECT_BOOLEAN:
			return value->type == jbvBool;
		case EXPECT_OBJECT:
			return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
		case EXPECT_ARRAY:
			return value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data);
	}
	return false;
}

/* An argument that is absent or null is of no type. */
bool
tool_expects_met(const Tool *tool, Jsonb *arguments)
{
	int			i;

	for (i = 0; i < tool->nexpects; i++)
	{
		JsonbValue *value = document_member(&arguments->root, tool->expects[i].member);

		if (value == NULL || !is_of_type(value, tool->expects[i].type))
			return false;
	}
	return true;
}

static bool
compile_path(JsonbContainer *object, const char *name, const char *place,
			 JsonPath **out, Problem *problem)
{
	const char *text = NULL;
	char	   *why = NULL;

	if (!document_text(object, name, place, ARGS_ADDRESS_LIMIT, &text, problem))
		return false;
	if (text == NULL)
		return true;
	*out = condition_compile_path(text, &why);
	return *out ? true : document_problem(problem, document_place(place, name), why);
}

static bool
take_amount(JsonbContainer *object, const char *name, const char *place, bool required,
			Numeric *out, Problem *problem)
{
	JsonbValue *value = document_member(object, name);

	if (value == NULL && !required)
		return true;
	if (value == NULL || value->type != jbvNumeric || negative(value))
		return document_problem(problem, document_place(place, name), "must be a number of at least 0");
	*out = value->val.numeric;
	return true;
}

/* {"name", "amount", "key", "limit", "ceiling", "within"} */
static bool
budget_parse(JsonbContainer *object, const char *place, Budget *budget, Problem *problem)
{
	static const char *const members[] = {"name", "amount", "key", "limit", "ceiling", "within"};

	if (!document_known(object, members, lengthof(members), place, problem) ||
		!document_text(object, "name", place, ARGS_KEY_LIMIT, &budget->name, problem) ||
		!compile_path(object, "amount", place, &budget->amount, problem) ||
		!compile_path(object, "key", place, &budget->key, problem) ||
		!take_amount(object, "limit", place, true, &budget->limit, problem) ||
		!take_amount(object, "ceiling", place, budget->key != NULL, &budget->ceiling, problem) ||
		!document_span(object, "within", place, &budget->within, problem))
		return false;
	if (budget->name == NULL)
		return document_problem(problem, document_place(place, "name"), "is required");
	if (budget->within < SHORTEST_WINDOW || budget->within > LONGEST_WINDOW)
		return document_problem(problem, document_place(place, "within"), "is required, and must be from one minute to 366 days");
	if (budget->key == NULL && budget->ceiling != NULL)
		return document_problem(problem, document_place(place, "ceiling"), "goes with a key: without one the limit is the ceiling");
	return true;
}

bool
budgets_parse(JsonbContainer *budgets, Tool *tool, Problem *problem)
{
	uint32		i;
	int			j;

	if (JsonContainerSize(budgets) > MAX_BUDGETS)
		return document_problem(problem, "$.budgets", psprintf("must have %d elements at most", MAX_BUDGETS));
	tool->budgets = palloc0(sizeof(Budget) * (JsonContainerSize(budgets) + 1));
	for (i = 0; i < JsonContainerSize(budgets); i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(budgets, i);
		char	   *place = psprintf("$.budgets[%u]", i);

		if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
			return document_problem(problem, place, "must be an object");
		if (!budget_parse(value->val.binary.data, place, &tool->budgets[i], problem))
			return false;
		for (j = 0; j < (int) i; j++)
			if (strcmp(tool->budgets[j].name, tool->budgets[i].name) == 0)
				return document_problem(problem, document_place(place, "name"), "another budget has this name");
		tool->nbudgets++;
	}
	return true;
}

static bool
rule_condition(Rule *rule, const Tool *tool, const char *place, Problem *problem)
{
	ConditionLimits limits = {0};
	char	   *why = NULL;

	if (rule->text == NULL)
		return true;
	limits.costly = rule->costly;
	limits.loosens = rule->mode == MODE_INLINE || rule->mode == MODE_AUTO;
	limits.bounded = rule->mode != MODE_DENY;
	limits.nonnegative = expects_nonnegative;
	limits.arg = tool;
	rule->condition = condition_compile(rule->text, &limits, &why);
	return rule->condition ? true : document_problem(problem, document_place(place, "condition"), why);
}

/*
 * Who reviews what matches: "reviewers", or the group and number that the rule
 * names, or those of the tool.
 */
static bool
rule_panel(JsonbContainer *object, const char *place, const Tool *tool, Rule *rule, Problem *problem)
{
	JsonbContainer *reviewers = NULL;
	const char *group = tool->reviewer_group;
	int			needed = tool->approvals_needed;
	bool		single = document_member(object, "approvals_needed") || document_member(object, "reviewer_group");

	if (!document_container(object, "reviewers", place, false, &reviewers, problem) ||
		!document_int(object, "approvals_needed", place, 1, PANEL_MOST, &needed, problem) ||
		!document_text(object, "reviewer_group", place, ARGS_KEY_LIMIT, &group, problem))
		return false;
	if (single && (reviewers || tool->several))
		return document_problem(problem, place, reviewers ?
								"reviewers takes the place of reviewer_group and approvals_needed" :
								"the tool names its reviewers, so a rule does it in the same way");
	if (rule->mode != MODE_REVIEW && (single || reviewers || document_member(object, "rejections_needed")))
		return document_problem(problem, place, "approvals_needed, rejections_needed, reviewer_group and reviewers go with review");
	if (reviewers)
		return panel_parse(reviewers, document_place(place, "reviewers"), &rule->panel, problem);
	if (single)
		panel_set(&rule->panel, group, needed);
	else
		rule->panel = tool->panel;
	return true;
}

/* A member that may be left out, but not be null. */
static bool
not_null(JsonbContainer *object, const char *name, const char *place, const char *text, Problem *problem)
{
	JsonbValue *value = getKeyJsonValueFromContainer(object, name, strlen(name), NULL);

	return value == NULL || value->type != jbvNull ? true :
		document_problem(problem, document_place(place, name), text);
}

/*
 * {"position", "condition", "mode", "reason", "approvals_needed", "reviewer_group", "reviewers",
 * "rejections_needed", "costly"}
 */
static bool
rule_parse(JsonbContainer *object, const char *place, const Tool *tool, Rule *rule, Problem *problem)
{
	static const char *const members[] = {
		"position", "condition", "mode", "reason", "approvals_needed", "reviewer_group", "reviewers",
		"rejections_needed", "costly"
	};
	const char *mode = NULL;

	rule->rejections_needed = tool->rejections_needed;
	if (!document_known(object, members, lengthof(members), place, problem) ||
		!document_int(object, "position", place, 1, MAX_POSITION, &rule->position, problem) ||
		!document_text(object, "condition", place, 10000, &rule->text, problem) ||
		!document_word(object, "mode", place, "inline auto review deny", &mode, problem) ||
		!document_text(object, "reason", place, 1000, &rule->reason, problem) ||
		!document_int(object, "rejections_needed", place, 1, PANEL_MOST, &rule->rejections_needed, problem) ||
		!document_bool(object, "costly", place, &rule->costly, problem) ||
		!not_null(object, "approvals_needed", place, "must not be null", problem) ||
		!not_null(object, "rejections_needed", place, "must not be null", problem) ||
		!not_null(object, "reviewer_group", place, "must not be null: leave it out for the tool's", problem) ||
		!not_null(object, "reviewers", place, "must not be null: leave it out for the tool's", problem))
		return false;
	if (mode == NULL)
		return document_problem(problem, document_place(place, "mode"), "is required");
	(void) policy_mode(mode, &rule->mode);
	if (rule->mode == MODE_INLINE && strcmp(tool->class, "action") == 0)
		return document_problem(problem, document_place(place, "mode"), "an action never runs inline");
	return rule_panel(object, place, tool, rule, problem) &&
		rule_condition(rule, tool, place, problem);
}

/* A rule that does not say its position follows the one before it. */
static bool
rule_position(Tool *tool, int i, const char *place, Problem *problem)
{
	int			before = i > 0 ? tool->rules[i - 1].position : 0;

	if (tool->rules[i].position == 0)
		tool->rules[i].position = before + 1;
	if (tool->rules[i].position > MAX_POSITION)
		return document_problem(problem, document_place(place, "position"),
								psprintf("must not be greater than %d", MAX_POSITION));
	if (tool->rules[i].position > before)
		return true;
	return document_problem(problem, document_place(place, "position"),
							tool->rules[i].position == before ? "another rule has this position" :
							"positions must ascend");
}

bool
rules_parse(JsonbContainer *rules, Tool *tool, Problem *problem)
{
	uint32		i;

	if (JsonContainerSize(rules) > MAX_RULES)
		return document_problem(problem, "$.rules", psprintf("must have %d elements at most", MAX_RULES));
	tool->rules = palloc0(sizeof(Rule) * (JsonContainerSize(rules) + 1));
	for (i = 0; i < JsonContainerSize(rules); i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(rules, i);
		char	   *place = psprintf("$.rules[%u]", i);

		if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
			return document_problem(problem, place, "must be an object");
		if (!rule_parse(value->val.binary.data, place, tool, &tool->rules[i], problem) ||
			!rule_position(tool, i, place, problem))
			return false;
		if (i > 0 && tool->rules[i - 1].text == NULL)
			return document_problem(problem, place, "stands after a rule without a condition, which always matches");
		tool->nrules++;
	}
	return true;
}
