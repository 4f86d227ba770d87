/*-------------------------------------------------------------------------
 *
 * condition_bounds.c
 *	  Numbers that a condition bounds on one side only.
 *
 * Whoever writes $.amount <= 200 rarely thinks of -5000.  So what has an upper
 * bound has to have a lower one whenever the condition is true; and what is
 * computed has to have both, because a minus turns one into the other.
 *
 * A fact is the text of an operand behind '>' (it has a lower bound) or '<'
 * (an upper one).  From the leaves up, each predicate yields the facts that
 * hold if it is true, and those that it needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"

#include "condition_private.h"

/* Members compared with each other: one fact makes another. */
typedef struct Implication
{
	const char *from;
	const char *to;
} Implication;

/* Lists of facts as C strings, and of implications. */
typedef struct Bounds
{
	List	   *has;
	List	   *needs;
	List	   *implies;
} Bounds;

/* One side of a comparison. */
typedef struct Side
{
	const char *text;
	bool		path;			/* it depends on the arguments */
	bool		computed;
	bool		nonnegative;
	JsonPathItemType literal;	/* a string, boolean or null; else jpiNumeric */
} Side;

static bool
is_arithmetic(JsonPathItemType type)
{
	return type == jpiAdd || type == jpiSub || type == jpiMul || type == jpiDiv ||
		type == jpiMod || type == jpiPlus || type == jpiMinus;
}

bool
condition_has_path(JsonPathItem *chain)
{
	JsonPathItem operand;

	check_stack_depth();
	if (!is_arithmetic(chain->type))
		return chain->type == jpiRoot || chain->type == jpiCurrent;
	if (chain->type == jpiPlus || chain->type == jpiMinus)
	{
		jspGetArg(chain, &operand);
		return condition_has_path(&operand);
	}
	jspGetLeftArg(chain, &operand);
	if (condition_has_path(&operand))
		return true;
	jspGetRightArg(chain, &operand);
	return condition_has_path(&operand);
}

static JsonPathItemType
last_type(JsonPathItem *chain)
{
	JsonPathItem item = *chain;
	JsonPathItem next;

	while (jspGetNext(&item, &next))
		item = next;
	return item.type;
}

static Side
describe(JsonPathItem *chain, const ConditionLimits *limits)
{
	Side		side = {.literal = jpiNumeric};
	JsonPathItemType last = last_type(chain);
	bool		magnitude = last == jpiAbs || last == jpiSize;

	side.text = condition_text(chain);
	side.path = condition_has_path(chain);
	side.computed = side.path && is_arithmetic(chain->type) && !magnitude;
	side.nonnegative = magnitude ||
		(side.path && !side.computed && limits->nonnegative &&
		 limits->nonnegative(side.text, limits->arg));
	if (!jspHasNext(chain) && jspIsScalar(chain->type))
		side.literal = chain->type;
	return side;
}

static bool
has_fact(List *facts, const char *fact)
{
	ListCell   *cell;

	foreach(cell, facts)
		if (strcmp(lfirst(cell), fact) == 0)
		return true;
	return false;
}

static char *
fact(char direction, const Side *side)
{
	return psprintf("%c%s", direction, side->text);
}

static void
add(List **facts, char direction, const Side *side)
{
	*facts = lappend(*facts, fact(direction, side));
}

/* What bounds the one side in this direction bounds the other. */
static void
imply(Bounds *bounds, char direction, const Side *from, const Side *to)
{
	Implication *implication;

	if (!to->path)
		return;
	if (!from->path || (direction == '>' && from->nonnegative))
	{
		add(&bounds->has, direction, to);
		return;
	}
	implication = palloc(sizeof(Implication));
	implication->from = fact(direction, from);
	implication->to = fact(direction, to);
	bounds->implies = lappend(bounds->implies, implication);
}

/*
 * low is at most high.  If that is said by negating the opposite, then null, of
 * which neither is true, passes as well: two members do not bound each other.
 */
static void
order(Bounds *bounds, const Side *low, const Side *high, bool negated)
{
	if (low->path && !low->nonnegative)
		add(&bounds->needs, '>', low);
	if (high->computed)
		add(&bounds->needs, '<', high);
	if (negated && low->path && high->path)
		return;
	imply(bounds, '>', low, high);
	imply(bounds, '<', high, low);
}

static void
equate(Bounds *bounds, const Side *a, const Side *b)
{
	imply(bounds, '>', a, b);
	imply(bounds, '<', a, b);
	imply(bounds, '>', b, a);
	imply(bounds, '<', b, a);
}

static JsonPathItemType
meaning(JsonPathItemType type, bool negated)
{
	if (!negated)
		return type;
	switch (type)
	{
		case jpiEqual:
			return jpiNotEqual;
		case jpiNotEqual:
			return jpiEqual;
		case jpiLess:
			return jpiGreaterOrEqual;
		case jpiLessOrEqual:
			return jpiGreater;
		case jpiGreater:
			return jpiLessOrEqual;
		default:
			return jpiLess;
	}
}

/*
 * Compared with a string or a boolean, a number yields unknown: what passes is
 * none, and needs no bounds.  null bounds nothing.
 */
static void
collect_comparison(JsonPathItem *item, bool negated, const ConditionLimits *limits,
				   Bounds *bounds)
{
	JsonPathItemType type = meaning(item->type, negated);
	JsonPathItem operand;
	Side		left;
	Side		right;

	jspGetLeftArg(item, &operand);
	left = describe(&operand, limits);
	jspGetRightArg(item, &operand);
	right = describe(&operand, limits);

	if (type == jpiNotEqual || left.literal == jpiNull || right.literal == jpiNull)
		return;
	if (type == jpiEqual || left.literal != jpiNumeric || right.literal != jpiNumeric)
		equate(bounds, &left, &right);
	else if (type == jpiLess || type == jpiLessOrEqual)
		order(bounds, &left, &right, negated);
	else
		order(bounds, &right, &left, negated);
}

/* Follow the implications, and strike the needs that are met. */
static void
settle(Bounds *bounds)
{
	List	   *open = NIL;
	ListCell   *cell;
	int			i;

	for (i = 0; i < list_length(bounds->has); i++)
	{
		CHECK_FOR_INTERRUPTS();
		foreach(cell, bounds->implies)
		{
			Implication *implication = lfirst(cell);

			if (strcmp(implication->from, list_nth(bounds->has, i)) == 0 &&
				!has_fact(bounds->has, implication->to))
				bounds->has = lappend(bounds->has, unconstify(char *, implication->to));
		}
	}
	foreach(cell, bounds->needs)
		if (!has_fact(bounds->has, lfirst(cell)))
		open = lappend(open, lfirst(cell));
	bounds->needs = open;
}

static void
join(Bounds *bounds, const Bounds *other)
{
	bounds->has = list_concat(bounds->has, other->has);
	bounds->needs = list_concat(bounds->needs, other->needs);
	bounds->implies = list_concat(bounds->implies, other->implies);
}

/*
 * Either may be true: what both have is had, and what one of them needs has to
 * come from what surrounds both.
 */
static void
choose(Bounds *bounds, Bounds *other)
{
	List	   *common = NIL;
	ListCell   *cell;

	settle(bounds);
	settle(other);
	foreach(cell, bounds->has)
		if (has_fact(other->has, lfirst(cell)))
		common = lappend(common, lfirst(cell));
	bounds->has = common;
	bounds->needs = list_concat(bounds->needs, other->needs);
	bounds->implies = NIL;
}

static void
collect(JsonPathItem *item, bool negated, const ConditionLimits *limits, Bounds *bounds)
{
	Bounds		other = {0};
	JsonPathItem operand;

	check_stack_depth();
	switch (item->type)
	{
		case jpiAnd:
		case jpiOr:
			jspGetLeftArg(item, &operand);
			collect(&operand, negated, limits, bounds);
			jspGetRightArg(item, &operand);
			collect(&operand, negated, limits, &other);
			if ((item->type == jpiAnd) != negated)
				join(bounds, &other);
			else
				choose(bounds, &other);
			break;
		case jpiNot:
			jspGetArg(item, &operand);
			collect(&operand, !negated, limits, bounds);
			break;
		case jpiIsUnknown:
		case jpiExists:
		case jpiStartsWith:
		case jpiLikeRegex:
			break;
		default:
			collect_comparison(item, negated, limits, bounds);
	}
}

bool
condition_check_bounds(JsonPathItem *predicate, const ConditionLimits *limits, char **problem)
{
	Bounds		bounds = {0};
	const char *need;

	collect(predicate, false, limits, &bounds);
	settle(&bounds);
	if (bounds.needs == NIL)
		return true;
	need = linitial(bounds.needs);
	return condition_refuse(problem, need + 1, need[0] == '>' ?
							"has an upper bound and no lower one, so that negative numbers pass" :
							"is computed and has a lower bound and no upper one, so that negative numbers may pass");
}
