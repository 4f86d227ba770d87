/*-------------------------------------------------------------------------
 *
 * policy.h
 *	  What policy says about an action.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_POLICY_H
#define APPROVAL_POLICY_H

#include "nodes/pg_list.h"
#include "utils/jsonb.h"

#include "hash.h"
#include "panel.h"

/* From loose to strict: a greater mode never lets through what a smaller stops. */
typedef enum GateMode
{
	MODE_INLINE,
	MODE_AUTO,
	MODE_REVIEW,
	MODE_DENY
} GateMode;

/*
 * Why a request is gated, or not: the words of approval.requests.gate_reason.
 * G(symbol, word, meaning); approval.gate_reasons() lists them.
 */
#define GATE_REASONS(G) \
	G(RULE, "rule", "a rule of the tool matched") \
	G(DEFAULT, "default", "no rule matched, and the tool has a default mode") \
	G(GRANT, "grant", "a standing grant covers it") \
	G(NO_RULE, "no_rule", "no rule matched, and the tool has no default mode") \
	G(UNKNOWN_TOOL, "unknown_tool", "the tool is not registered on this server for this tenant") \
	G(TOOL_RENAMED, "tool_renamed", "the definition is that of a tool of another name") \
	G(DEFINITION_CHANGED, "definition_changed", "the definition is not the reviewed one") \
	G(DEFINITION_MISSING, "definition_missing", "the tool is pinned, and no definition was given") \
	G(WRONG_ROLE, "wrong_role", "the login has none of the roles of the tool") \
	G(UNEXPECTED_ARGUMENTS, "unexpected_arguments", "an argument is missing or of another type than the tool expects, or a key path of its cool-down selects nothing") \
	G(LOOKALIKE_KEYS, "lookalike_keys", "two keys of one object look alike") \
	G(CONDITION_UNKNOWN, "condition_unknown", "the condition of a rule cannot be evaluated on these arguments") \
	G(POLICY_UNREADABLE, "policy_unreadable", "the stored policy is not one that a verb has written") \
	G(BUDGET_EXCEEDED, "budget_exceeded", "a budget of automatic approval is used up") \
	G(BUDGET_UNUSABLE, "budget_unusable", "the amount or key of a budget is missing, negative or of another type") \
	G(BUDGET_BUSY, "budget_busy", "a budget stayed locked by somebody else") \
	G(AT_LEAST, "at_least", "the proposer asked for more than policy does") \
	G(COOL_DOWN, "cool_down", "the same action was rejected a short while ago")

#define GATE_SYMBOL(symbol, word, meaning) GATE_##symbol,
typedef enum GateReason
{
	GATE_REASONS(GATE_SYMBOL)
	GATE_COUNT
} GateReason;
#undef GATE_SYMBOL

/* What was made of one rule, for explain. */
typedef struct RuleTrace
{
	const char *tenant;
	int			position;
	const char *text;
	GateMode	mode;
	int			truth;			/* a Truth */
} RuleTrace;

/* The verdict of policy; its strings live as long as the current context. */
typedef struct Policy
{
	GateMode	mode;
	GateReason	gate_reason;
	int			rule;			/* position; 0: none */
	const char *rule_reason;	/* the administrator's words, or NULL */
	int			policy_version; /* 0: not registered */
	const char *class;			/* NULL: not registered */
	const char *risk;
	const char *effect;			/* external or database */
	Panel		panel;			/* who has to agree */
	int			rejections_needed;
	int64		decide_within;	/* microseconds */
	int64		use_within;
	int64		remind_before;	/* 0: no reminder */
	int64		escalate_after; /* 0: no escalation */
	const char *escalate_to;	/* a group */
	const char *summary_template;
	bool		frozen;
	bool		retired;
	List	   *trace;			/* of RuleTrace, if asked for */
} Policy;

struct Registered;

/* What policy looks at. */
typedef struct Subject
{
	const Action *action;
	Jsonb	   *arguments;		/* the same, or NULL: made when needed */
	int			nroles;			/* of the proposing login; -1: not looked at */
	char	  **roles;
	const Digest *shape;		/* of the definition without its name, or NULL */
	const char *defined_name;	/* the name in the definition, or NULL */
	GateMode	at_least;
	bool		traced;
} Subject;

extern const char *policy_mode_word(GateMode mode);
extern bool policy_mode(const char *word, GateMode *mode);
extern const char *policy_gate_word(GateReason reason);
extern Jsonb *policy_arguments(Subject *subject);
extern void policy_evaluate(const struct Registered *registered, Subject *subject, Policy *policy);
extern void policy_review(const struct Registered *registered, GateReason why, Policy *policy);
extern bool policy_stricter(const Policy *now, GateMode mode, int approvals, const Panel *panel);

#endif							/* APPROVAL_POLICY_H */
