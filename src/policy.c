/*-------------------------------------------------------------------------
 *
 * policy.c
 *	  What policy says about an action.
 *
 * A function of the action, the registry and the proposing login; nothing is
 * stored.  Whatever cannot be told leads to a person, under the strictest
 * quorum of the tool: nobody chooses his reviewers by sending a string where a
 * number is meant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "condition.h"
#include "lookalike.h"
#include "registry.h"
#include "settings.h"

PG_FUNCTION_INFO_V1(approval_gate_reasons);

static const char *const mode_words[] = {"inline", "auto", "review", "deny"};

#define GATE_ROW(symbol, word, meaning) {word, meaning},
static const struct
{
	const char *word;
	const char *meaning;
}			gate_reasons[GATE_COUNT] = {

	GATE_REASONS(GATE_ROW)
};

#undef GATE_ROW

const char *
policy_mode_word(GateMode mode)
{
	return mode_words[mode];
}

/* False for what is not a mode. */
bool
policy_mode(const char *word, GateMode *mode)
{
	int			i;

	for (i = 0; i < (int) lengthof(mode_words); i++)
		if (strcmp(word, mode_words[i]) == 0)
		{
			*mode = (GateMode) i;
			return true;
		}
	return false;
}

const char *
policy_gate_word(GateReason reason)
{
	return gate_reasons[reason].word;
}

/* The hashed members, as jsonpath wants them. */
Jsonb *
policy_arguments(Subject *subject)
{
	if (subject->arguments == NULL)
	{
		char	   *text = pnstrdup(subject->action->arguments, subject->action->arguments_len);

		subject->arguments = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
		pfree(text);
	}
	return subject->arguments;
}

/* The reviewers of a rule, or of the tool, if they are stricter. */
static void
stricter_reviewers(const Panel *panel, int rejections_needed, Policy *policy)
{
	panel_stricter(&policy->panel, panel);
	policy->rejections_needed = Min(policy->rejections_needed, rejections_needed);
}

/* Reviewers of what cannot be told: those of the strictest rule. */
static void
strictest_reviewers(const Tool *tool, Policy *policy)
{
	int			i;

	stricter_reviewers(&tool->panel, tool->rejections_needed, policy);
	for (i = 0; i < tool->nrules; i++)
		if (tool->rules[i].mode == MODE_REVIEW)
			stricter_reviewers(&tool->rules[i].panel, tool->rules[i].rejections_needed, policy);
}

static void
apply_rule(const Rule *rule, Policy *policy)
{
	policy->mode = rule->mode;
	policy->gate_reason = GATE_RULE;
	policy->rule = rule->position;
	policy->rule_reason = rule->reason;
	policy->panel = rule->panel;
	policy->rejections_needed = rule->rejections_needed;
}

static void
apply_default(const Tool *tool, Policy *policy)
{
	(void) policy_mode(tool->default_mode, &policy->mode);
	policy->gate_reason = GATE_DEFAULT;
	policy->panel = tool->panel;
	policy->rejections_needed = tool->rejections_needed;
}

static void
trace(const Tool *tool, const Rule *rule, Truth truth, Policy *policy)
{
	RuleTrace  *line = palloc(sizeof(RuleTrace));

	line->tenant = tool->tenant;
	line->position = rule->position;
	line->text = rule->text;
	line->mode = rule->mode;
	line->truth = truth;
	policy->trace = lappend(policy->trace, line);
}

/*
 * The first rule that matches.  After one that cannot be evaluated only a
 * denial still counts.
 */
static void
evaluate_rules(const Tool *tool, Subject *subject, Policy *policy)
{
	bool		unknown = false;
	int			i;

	for (i = 0; i < tool->nrules; i++)
	{
		const Rule *rule = &tool->rules[i];
		Truth		truth = TRUTH_TRUE;

		if (unknown && rule->mode != MODE_DENY)
			continue;
		if (rule->condition)
			truth = condition_test(rule->condition, policy_arguments(subject));
		if (subject->traced)
			trace(tool, rule, truth, policy);
		if (truth == TRUTH_TRUE)
		{
			apply_rule(rule, policy);
			return;
		}
		unknown |= truth == TRUTH_UNKNOWN;
	}
	policy->mode = MODE_REVIEW;
	policy->gate_reason = unknown ? GATE_CONDITION_UNKNOWN : GATE_NO_RULE;
	if (!unknown && tool->default_mode)
		apply_default(tool, policy);
	else
		strictest_reviewers(tool, policy);
}

/* A login that has none of the roles for which the tool is meant. */
static bool
wrong_role(const Tool *tool, const Subject *subject)
{
	int			i;

	if (tool->roles.count == 0 || subject->nroles < 0)
		return false;
	for (i = 0; i < subject->nroles; i++)
		if (document_names_has(&tool->roles, subject->roles[i]))
			return false;
	return true;
}

/* A key that is missing must not make another action of a rejected one. */
static bool
keys_selected(const Tool *tool, Jsonb *arguments)
{
	int			i;

	for (i = 0; i < tool->nkeys; i++)
		if (condition_key(tool->keys[i], arguments) == NULL)
			return false;
	return true;
}

/* What makes a person look whatever the rules say, or GATE_RULE for nothing. */
static GateReason
suspicion(const Tool *tool, Subject *subject)
{
	const Digest *given = subject->action->definition;

	if (subject->defined_name && strcmp(subject->defined_name, subject->action->tool) != 0)
		return GATE_TOOL_RENAMED;
	if (tool->pinned && given == NULL)
		return GATE_DEFINITION_MISSING;
	if (tool->pinned && memcmp(given, &tool->definition_digest, sizeof(Digest)) != 0)
		return GATE_DEFINITION_CHANGED;
	if (wrong_role(tool, subject))
		return GATE_WRONG_ROLE;
	if (tool->nexpects > 0 && !tool_expects_met(tool, policy_arguments(subject)))
		return GATE_UNEXPECTED_ARGUMENTS;
	if (tool->cool_down > 0 && !keys_selected(tool, policy_arguments(subject)))
		return GATE_UNEXPECTED_ARGUMENTS;
	if (lookalike_keys(policy_arguments(subject)))
		return GATE_LOOKALIKE_KEYS;
	return GATE_RULE;
}

static int64
span_or(int64 span, int otherwise)
{
	return span ? span : otherwise * USECS_PER_SEC;
}

static void
evaluate_tool(const Tool *tool, Subject *subject, Policy *policy)
{
	GateReason	why;

	policy->policy_version = tool->policy_version;
	policy->class = tool->class;
	policy->risk = tool->risk;
	policy->effect = tool->effect;
	policy->retired = tool->retired;
	policy->summary_template = tool->summary_template;
	policy->decide_within = span_or(tool->decide_within, setting_decide_within);
	policy->use_within = span_or(tool->use_within, setting_use_within);
	policy->remind_before = tool->remind_before;
	policy->escalate_after = tool->escalate_after;
	policy->escalate_to = tool->escalate_to;
	evaluate_rules(tool, subject, policy);
	why = suspicion(tool, subject);
	if (why == GATE_RULE || policy->mode == MODE_DENY)
		return;
	policy->mode = MODE_REVIEW;
	policy->gate_reason = why;
	policy->rule = 0;
	policy->rule_reason = NULL;
	strictest_reviewers(tool, policy);
}

/* A reason that is no verdict of the rules, but a doubt about the proposal. */
static bool
doubtful(const Policy *policy)
{
	return policy->mode == MODE_REVIEW && policy->gate_reason != GATE_RULE &&
		policy->gate_reason != GATE_DEFAULT && policy->gate_reason != GATE_NO_RULE;
}

/* The doubt of either row stays the reason, whichever row is the stricter. */
static void
keep_doubt(Policy *policy, const Policy *row)
{
	if (policy->mode != MODE_REVIEW || !doubtful(row))
		return;
	policy->gate_reason = row->gate_reason;
	policy->rule = 0;
	policy->rule_reason = NULL;
}

/*
 * An escalation lets more people in, so both rows have to want it, and the
 * later one counts; a reminder only says something, so the earlier one does.
 */
static void
combine_timers(Policy *policy, const Policy *other)
{
	policy->remind_before = Max(policy->remind_before, other->remind_before);
	policy->escalate_after = Max(policy->escalate_after, other->escalate_after);
	if (policy->escalate_to && other->escalate_to &&
		strcmp(policy->escalate_to, other->escalate_to) == 0)
		return;
	policy->escalate_after = 0;
	policy->escalate_to = NULL;
}

/*
 * Two rows for one tool: in every respect the stricter wins.  Where both want
 * as many people, each of its group, it is the group of the row for every
 * tenant: a tenant must not get round it.
 */
static void
combine(Policy *policy, const Policy *other)
{
	const Policy own = *policy;

	if (other->mode > own.mode ||
		(other->mode == own.mode && panel_needed(&other->panel) > panel_needed(&own.panel)))
	{
		policy->mode = other->mode;
		policy->gate_reason = other->gate_reason;
		policy->rule = other->rule;
		policy->rule_reason = other->rule_reason;
		if (panel_grouped(&other->panel))
			policy->panel = other->panel;
	}
	else if (!panel_grouped(&own.panel) ||
			 (other->mode == own.mode && panel_needed(&other->panel) == panel_needed(&own.panel) &&
			  panel_grouped(&other->panel)))
		policy->panel = other->panel;
	panel_raise(&policy->panel, Max(panel_needed(&own.panel), panel_needed(&other->panel)));
	policy->rejections_needed = Min(own.rejections_needed, other->rejections_needed);
	keep_doubt(policy, other);
	keep_doubt(policy, &own);
	policy->policy_version = Max(own.policy_version, other->policy_version);
	policy->retired = own.retired || other->retired;
	policy->decide_within = Min(own.decide_within, other->decide_within);
	policy->use_within = Min(own.use_within, other->use_within);
	combine_timers(policy, other);
	if (own.summary_template == NULL)
		policy->summary_template = other->summary_template;
	if (strcmp(other->effect, "external") == 0)
		policy->effect = other->effect;
	policy->trace = list_concat(own.trace, other->trace);
}

/* A tool that nobody has registered is always asked about. */
static void
evaluate_unknown(const Registered *registered, Subject *subject, Policy *policy)
{
	int			i;

	for (i = 0; i < registered->ntools; i++)
	{
		policy->retired |= registered->tools[i].retired;
		policy->policy_version = Max(policy->policy_version, registered->tools[i].policy_version);
	}
	policy->mode = MODE_REVIEW;
	policy->gate_reason = registered->unreadable ? GATE_POLICY_UNREADABLE : GATE_UNKNOWN_TOOL;
	policy->effect = "external";
	policy->rejections_needed = 1;
	policy->decide_within = span_or(0, setting_decide_within);
	policy->use_within = span_or(0, setting_use_within);
	if (!registered->unreadable && subject->shape &&
		registry_renamed(subject->action->tenant, subject->action->server, subject->shape))
		policy->gate_reason = GATE_TOOL_RENAMED;
}

static const char *
own_copy(const char *text)
{
	return text ? pstrdup(text) : NULL;
}

/* Out of the registry, which may be read again while the verdict is used. */
static void
keep_strings(Policy *policy)
{
	policy->rule_reason = own_copy(policy->rule_reason);
	policy->class = own_copy(policy->class);
	policy->risk = own_copy(policy->risk);
	policy->effect = own_copy(policy->effect);
	panel_copy(&policy->panel);
	policy->escalate_to = own_copy(policy->escalate_to);
	policy->summary_template = own_copy(policy->summary_template);
}

/* Before anything is known: one approver, whoever it is, and a veto. */
static void
unasked(Policy *policy)
{
	memset(policy, 0, sizeof(*policy));
	panel_set(&policy->panel, NULL, 1);
	policy->rejections_needed = PANEL_MOST;
}

void
policy_evaluate(const Registered *registered, Subject *subject, Policy *policy)
{
	Policy		shared;

	unasked(policy);
	unasked(&shared);
	if (registered->ntools == 0 || registered->unreadable)
		evaluate_unknown(registered, subject, policy);
	else
		evaluate_tool(&registered->tools[0], subject, policy);
	if (registered->ntools == 2 && !registered->unreadable)
	{
		evaluate_tool(&registered->tools[1], subject, &shared);
		combine(policy, &shared);
	}
	policy->frozen = registered->frozen;
	if (subject->at_least > policy->mode)
	{
		policy->mode = subject->at_least;
		policy->gate_reason = GATE_AT_LEAST;
		policy->rule = 0;
		policy->rule_reason = NULL;
	}
	keep_strings(policy);
}

/* What would have been approved goes to a person after all. */
void
policy_review(const Registered *registered, GateReason why, Policy *policy)
{
	int			i;

	policy->mode = MODE_REVIEW;
	policy->gate_reason = why;
	for (i = 0; i < registered->ntools; i++)
		strictest_reviewers(&registered->tools[i], policy);
	panel_copy(&policy->panel);
}

/*
 * Whether what holds now asks for more than what a request went through: its
 * mode, and the people who agreed.
 */
bool
policy_stricter(const Policy *now, GateMode mode, int approvals, const Panel *panel)
{
	if (now->mode == MODE_DENY)
		return true;
	if (now->mode != MODE_REVIEW)
		return false;
	return mode < MODE_REVIEW || panel_needed(&now->panel) > approvals ||
		!panel_covers(panel, &now->panel);
}

/* approval.gate_reasons(): the words of gate_reason */
Datum
approval_gate_reasons(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < GATE_COUNT; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {false, false};

		values[0] = CStringGetTextDatum(gate_reasons[i].word);
		values[1] = CStringGetTextDatum(gate_reasons[i].meaning);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
