/*-------------------------------------------------------------------------
 *
 * tool.h
 *	  A tool of the registry as a checked document.
 *
 * The same document is what an administrator writes, what is stored, what a
 * draft is simulated with and what is loaded to decide by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TOOL_H
#define APPROVAL_TOOL_H

#include "utils/jsonb.h"
#include "utils/jsonpath.h"
#include "utils/numeric.h"

#include "compat.h"
#include "digest.h"
#include "document.h"
#include "policy.h"

/* Stands for every tenant in the tables of policy. */
#define TOOL_EVERY_TENANT "*"

/* One line of a tool's policy; the first that matches decides. */
typedef struct Rule
{
	int			position;
	const char *text;			/* NULL: always matches */
	JsonPath   *condition;
	GateMode	mode;
	const char *reason;
	Panel		panel;			/* its own, or the tool's */
	int			rejections_needed;
	bool		costly;
} Rule;

/* What a member of the arguments has to be. */
typedef struct Expectation
{
	const char *member;
	int			type;			/* an index into expectation_words */
} Expectation;

/* Automatic approval of at most so much per key in a sliding window. */
typedef struct Budget
{
	const char *name;
	JsonPath   *amount;			/* NULL: every call counts one */
	JsonPath   *key;			/* NULL: there is only the ceiling */
	Numeric		limit;			/* per key */
	Numeric		ceiling;		/* over all keys */
	int64		within;			/* microseconds */
} Budget;

/* What a result must have, or must not. */
typedef struct ResultCheck
{
	JsonPath   *condition;
	bool		requires;		/* it has to be true; else it must not be */
	bool		empty;			/* what fails is empty; else degraded */
	const char *reason;			/* the administrator's words, or NULL */
} ResultCheck;

typedef struct Tool
{
	/* whose row it is, and its state */
	const char *tenant;
	int			policy_version;
	bool		retired;
	bool		pinned;
	Digest		definition_digest;

	/* options, in the order of the table in tool.c */
	const char *class;
	const char *risk;
	const char *description;
	const char *default_mode;
	const char *capability;
	const char *owner;
	const char *effect;
	bool		idempotent;
	int			max_attempts;
	int64		retry_within;	/* spans in microseconds; 0: not set */
	int64		lease;
	int64		decide_within;
	int64		use_within;
	int64		cool_down;
	int64		remind_before;
	int64		escalate_after;
	const char *escalate_to;
	const char *edits;
	bool		owner_may_confirm;
	const char *summary_template;
	const char *reviewer_group;
	int			approvals_needed;
	int			rejections_needed;
	Names		roles;
	Names		executors;
	Names		key_paths;
	Names		edit_paths;

	Panel		panel;			/* reviewers, or reviewer_group and
								 * approvals_needed */
	bool		several;		/* it comes from reviewers */
	int			nkeys;
	JsonPath  **keys;			/* key_paths, compiled */
	int			nexpects;
	Expectation *expects;
	int			nresults;
	ResultCheck *results;
	int			nbudgets;
	Budget	   *budgets;
	int			nrules;
	Rule	   *rules;
} Tool;

extern bool tool_parse(Jsonb *document, bool known_only, Tool *tool, Problem *problem);
extern bool tool_expects_met(const Tool *tool, Jsonb *arguments);

/* Parts of it, each with a file or a section of its own. */
extern bool rules_parse(JsonbContainer *rules, Tool *tool, Problem *problem);
extern bool budgets_parse(JsonbContainer *budgets, Tool *tool, Problem *problem);
extern bool results_parse(JsonbContainer *results, Tool *tool, Problem *problem);
extern bool expects_parse(JsonbContainer *expects, Tool *tool, Problem *problem);
extern bool expects_nonnegative(const char *path, const void *tool);

#endif							/* APPROVAL_TOOL_H */
