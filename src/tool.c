/*-------------------------------------------------------------------------
 *
 * tool.c
 *	  A tool of the registry as a checked document: the one table of options.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "condition.h"
#include "template.h"
#include "tool.h"

typedef enum OptionKind
{
	OPTION_WORD,
	OPTION_TEXT,
	OPTION_INT,
	OPTION_BOOL,
	OPTION_SPAN,
	OPTION_NAMES,
	OPTION_ARRAY,				/* has a parser of its own, or is not read */
	OPTION_OBJECT
} OptionKind;

typedef struct Option
{
	const char *name;
	OptionKind	kind;
	size_t		offset;			/* in Tool; 0 where nothing is kept */
	int			limit;			/* bytes of a text, or the greatest integer */
	const char *words;
} Option;

#define kept(member) offsetof(Tool, member)

/* The columns of approval.tools that an administrator writes. */
static const Option options[] = {
	{"class", OPTION_WORD, kept(class), 0, "knowledge live_data action"},
	{"risk", OPTION_WORD, kept(risk), 0, "low medium high critical"},
	{"description", OPTION_TEXT, kept(description), ARGS_TEXT_LIMIT, NULL},
	{"default_mode", OPTION_WORD, kept(default_mode), 0, "inline auto review deny"},
	{"capability", OPTION_TEXT, kept(capability), ARGS_KEY_LIMIT, NULL},
	{"owner", OPTION_TEXT, kept(owner), ARGS_KEY_LIMIT, NULL},
	{"effect", OPTION_WORD, kept(effect), 0, "external database"},
	{"idempotent", OPTION_BOOL, kept(idempotent), 0, NULL},
	{"max_attempts", OPTION_INT, kept(max_attempts), 100, NULL},
	{"retry_within", OPTION_SPAN, kept(retry_within), 0, NULL},
	{"lease", OPTION_SPAN, kept(lease), 0, NULL},
	{"decide_within", OPTION_SPAN, kept(decide_within), 0, NULL},
	{"use_within", OPTION_SPAN, kept(use_within), 0, NULL},
	{"cool_down", OPTION_SPAN, kept(cool_down), 0, NULL},
	{"remind_before", OPTION_SPAN, kept(remind_before), 0, NULL},
	{"escalate_after", OPTION_SPAN, kept(escalate_after), 0, NULL},
	{"escalate_to", OPTION_TEXT, kept(escalate_to), ARGS_KEY_LIMIT, NULL},
	{"edits", OPTION_WORD, kept(edits), 0, "none tighten free"},
	{"owner_may_confirm", OPTION_BOOL, kept(owner_may_confirm), 0, NULL},
	{"summary_template", OPTION_TEXT, kept(summary_template), 4000, NULL},
	{"reviewer_group", OPTION_TEXT, kept(reviewer_group), ARGS_KEY_LIMIT, NULL},
	{"approvals_needed", OPTION_INT, kept(approvals_needed), PANEL_MOST, NULL},
	{"rejections_needed", OPTION_INT, kept(rejections_needed), PANEL_MOST, NULL},
	{"reviewers", OPTION_OBJECT, 0, 0, NULL},
	{"roles", OPTION_NAMES, kept(roles), 0, NULL},
	{"executors", OPTION_NAMES, kept(executors), 0, NULL},
	{"key_paths", OPTION_NAMES, kept(key_paths), 0, NULL},
	{"edit_paths", OPTION_NAMES, kept(edit_paths), 0, NULL},
	{"expects", OPTION_OBJECT, 0, 0, NULL},
	{"budgets", OPTION_ARRAY, 0, 0, NULL},
	{"results", OPTION_ARRAY, 0, 0, NULL},
	{"rules", OPTION_ARRAY, 0, 0, NULL},
	{"definition", OPTION_OBJECT, 0, 0, NULL},
	{"annotations", OPTION_OBJECT, 0, 0, NULL},
};

static bool
take_option(JsonbContainer *document, const Option *option, Tool *tool, Problem *problem)
{
	void	   *out = (char *) tool + option->offset;
	JsonbContainer *ignored = NULL;

	switch (option->kind)
	{
		case OPTION_WORD:
			return document_word(document, option->name, "$", option->words, out, problem);
		case OPTION_TEXT:
			return document_text(document, option->name, "$", option->limit, out, problem);
		case OPTION_INT:
			return document_int(document, option->name, "$", 1, option->limit, out, problem);
		case OPTION_BOOL:
			return document_bool(document, option->name, "$", out, problem);
		case OPTION_SPAN:
			return document_span(document, option->name, "$", out, problem);
		case OPTION_NAMES:
			return document_names(document, option->name, "$", out, problem);
		case OPTION_ARRAY:
		case OPTION_OBJECT:
			return document_container(document, option->name, "$", option->kind == OPTION_ARRAY, &ignored, problem);
	}
	return false;
}

/* An option that may not be taken away: null would be the loose end of it. */
static bool
check_not_null(JsonbContainer *document, Problem *problem)
{
	static const char *const fixed[] = {
		"class", "approvals_needed", "effect", "edits", "idempotent", "max_attempts",
		"owner_may_confirm", "rejections_needed", "reviewer_group", "reviewers", "risk"
	};
	int			i;

	for (i = 0; i < (int) lengthof(fixed); i++)
	{
		JsonbValue *value = getKeyJsonValueFromContainer(document, fixed[i], strlen(fixed[i]), NULL);

		if (value && value->type == jbvNull)
			return document_problem(problem, document_place("$", fixed[i]), "must not be null");
	}
	return true;
}

static bool
compile_keys(Tool *tool, Problem *problem)
{
	int			i;

	char	   *why = NULL;

	tool->nkeys = tool->key_paths.count;
	tool->keys = palloc0(sizeof(JsonPath *) * (tool->nkeys + 1));
	for (i = 0; i < tool->nkeys; i++)
	{
		tool->keys[i] = condition_compile_path(tool->key_paths.names[i], &why);
		if (tool->keys[i] == NULL)
			return document_problem(problem, psprintf("$.key_paths[%d]", i), why);
	}
	for (i = 0; i < tool->edit_paths.count; i++)
		if (condition_compile_path(tool->edit_paths.names[i], &why) == NULL)
			return document_problem(problem, psprintf("$.edit_paths[%d]", i), why);
	return true;
}

/* What only holds of several options together. */
static bool
check_together(const Tool *tool, Problem *problem)
{
	const char *why = NULL;

	if (tool->class == NULL)
		return document_problem(problem, "$.class", "is required");
	if (tool->default_mode && strcmp(tool->default_mode, "inline") == 0 && strcmp(tool->class, "action") == 0)
		return document_problem(problem, "$.default_mode", "an action never runs inline");
	if (tool->capability && tool->owner == NULL)
		return document_problem(problem, "$.owner", "a capability has an owner");
	if (!tool->idempotent && tool->max_attempts > 1)
		return document_problem(problem, "$.max_attempts", "only an idempotent tool may be run a second time");
	if (tool->edit_paths.count > 0 && strcmp(tool->edits, "tighten") != 0)
		return document_problem(problem, "$.edit_paths", "goes with edits: tighten");
	if (tool->owner_may_confirm && panel_needed(&tool->panel) != 1)
		return document_problem(problem, "$.owner_may_confirm", "goes with one approval");
	if ((tool->escalate_after > 0) != (tool->escalate_to != NULL))
		return document_problem(problem, "$.escalate_to", "goes with escalate_after");
	if (tool->escalate_to && strcmp(tool->escalate_to, PANEL_ANYBODY) == 0)
		return document_problem(problem, "$.escalate_to", "must name a group");
	if (tool->summary_template && !template_sound(tool->summary_template, &why))
		return document_problem(problem, "$.summary_template", why);
	return true;
}

static void
set_defaults(Tool *tool)
{
	memset(tool, 0, sizeof(*tool));
	tool->risk = "high";
	tool->effect = "external";
	tool->edits = "free";
	tool->max_attempts = 1;
	tool->approvals_needed = 1;
	tool->rejections_needed = 1;
}

/* "reviewers" says all that reviewer_group and approvals_needed say of one group. */
static bool
take_panel(JsonbContainer *document, Tool *tool, Problem *problem)
{
	JsonbContainer *reviewers = NULL;

	panel_set(&tool->panel, tool->reviewer_group, tool->approvals_needed);
	if (!document_container(document, "reviewers", "$", false, &reviewers, problem))
		return false;
	if (reviewers == NULL)
		return true;
	tool->several = true;
	if (tool->reviewer_group || tool->approvals_needed != 1)
		return document_problem(problem, "$.reviewers", "takes the place of reviewer_group and approvals_needed: leave them out");
	return panel_parse(reviewers, "$.reviewers", &tool->panel, problem);
}

/* The parts that have parsers of their own, expects first: rules look at it. */
static bool
take_parts(JsonbContainer *document, Tool *tool, Problem *problem)
{
	JsonbContainer *expects = NULL;
	JsonbContainer *budgets = NULL;
	JsonbContainer *results = NULL;
	JsonbContainer *rules = NULL;

	return document_container(document, "expects", "$", false, &expects, problem) &&
		document_container(document, "budgets", "$", true, &budgets, problem) &&
		document_container(document, "results", "$", true, &results, problem) &&
		document_container(document, "rules", "$", true, &rules, problem) &&
		(expects == NULL || expects_parse(expects, tool, problem)) &&
		(budgets == NULL || budgets_parse(budgets, tool, problem)) &&
		(results == NULL || results_parse(results, tool, problem)) &&
		(rules == NULL || rules_parse(rules, tool, problem));
}

/*
 * Reads a tool's document into memory of the current context.  With known_only
 * a member that is no option is a problem; a stored row has some others.
 */
bool
tool_parse(Jsonb *document, bool known_only, Tool *tool, Problem *problem)
{
	const char *names[lengthof(options)];
	int			i;

	set_defaults(tool);
	if (!JB_ROOT_IS_OBJECT(document))
		return document_problem(problem, "$", "must be an object");
	for (i = 0; i < (int) lengthof(options); i++)
		names[i] = options[i].name;
	if (known_only && !document_known(&document->root, names, lengthof(options), "$", problem))
		return false;
	for (i = 0; i < (int) lengthof(options); i++)
		if (!take_option(&document->root, &options[i], tool, problem))
			return false;
	return check_not_null(&document->root, problem) &&
		take_panel(&document->root, tool, problem) &&
		check_together(tool, problem) &&
		compile_keys(tool, problem) &&
		take_parts(&document->root, tool, problem);
}
