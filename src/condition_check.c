/*-------------------------------------------------------------------------
 *
 * condition_check.c
 *	  What may stand in a condition.
 *
 * Allowed is what is listed here; an item that a newer PostgreSQL brings is
 * not, so that a policy is acceptable to all versions or to none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"

#include "condition_private.h"

/*
 * The executor recurses once for each operator, and once for each step of a
 * path.  This many fit into the smallest stack that anybody would set up, so
 * that a condition that was accepted can be evaluated.
 */
#define MAX_DEPTH 1000

/* Such a predicate is true if any of the items selected matches. */
#define SEVERAL "may select several values; a rule that lets a call run without a person compares single members"

typedef struct Check
{
	const ConditionLimits *limits;
	JsonPathItem *place;		/* the chain that a problem names */
	int			depth;
	char	   *problem;
} Check;

static bool check_predicate(Check *check, JsonPathItem *item);
static bool check_value(Check *check, JsonPathItem *chain);

static bool
refuse(Check *check, const char *why)
{
	return condition_refuse(&check->problem, condition_text(check->place), why);
}

static bool
refuse_if(bool condition, Check *check, const char *why)
{
	return condition ? refuse(check, why) : true;
}

/* Counted on the way down; the way up is the caller's. */
static bool
descend(Check *check)
{
	check_stack_depth();
	if (++check->depth <= MAX_DEPTH)
		return true;
	check->problem = psprintf("nested more than %d deep", MAX_DEPTH);
	return false;
}

/* A subscript that is one number written out: [0]. */
bool
condition_subscript(JsonPathItem *item, int *index)
{
	JsonPathItem from;
	JsonPathItem to;
	const char *digits;

	if (item->type != jpiIndexArray || item->content.array.nelems != 1 ||
		jspGetArraySubscript(item, &from, &to, 0) ||
		from.type != jpiNumeric || jspHasNext(&from))
		return false;
	digits = DatumGetCString(DirectFunctionCall1(numeric_out,
												 NumericGetDatum(jspGetNumeric(&from))));
	if (strlen(digits) > 9 || strspn(digits, "0123456789") != strlen(digits))
		return false;
	*index = atoi(digits);
	return true;
}

static bool
check_subscripts(Check *check, JsonPathItem *item)
{
	JsonPathItem from;
	JsonPathItem to;
	int			index;
	int			i;

	if (check->limits->loosens)
		return refuse_if(!condition_subscript(item, &index), check,
						 "the subscript is not one constant; a rule that lets a call run without a person compares single members");
	for (i = 0; i < item->content.array.nelems; i++)
	{
		bool		range = jspGetArraySubscript(item, &from, &to, i);

		if (!check_value(check, &from) || (range && !check_value(check, &to)))
			return false;
	}
	return true;
}

/* A filter is a scope of its own: what it bounds is bounded there. */
static bool
check_filter(Check *check, JsonPathItem *item)
{
	JsonPathItem predicate;

	if (check->limits->loosens)
		return refuse(check, "a filter turns unknown into false; a rule that lets a call run without a person compares single members");
	jspGetArg(item, &predicate);
	return check_predicate(check, &predicate) &&
		(!check->limits->bounded ||
		 condition_check_bounds(&predicate, check->limits, &check->problem));
}

static bool
check_any(Check *check)
{
	if (check->limits->loosens)
		return refuse(check, ".** " SEVERAL);
	return refuse_if(!check->limits->costly, check, ".** is not allowed, because of its cost");
}

static bool
check_conversion(Check *check, JsonPathItem *item)
{
	if (!check->limits->loosens)
		return true;
	return refuse(check, psprintf(".%s() accepts other types; a rule that lets a call run without a person compares members as they are",
								  jspOperationName(item->type)));
}

static bool
check_arguments(Check *check, JsonPathItem *item)
{
	JsonPathItem operand;

	if (item->type == jpiPlus || item->type == jpiMinus)
	{
		jspGetArg(item, &operand);
		return check_value(check, &operand);
	}
	jspGetLeftArg(item, &operand);
	if (!check_value(check, &operand))
		return false;
	jspGetRightArg(item, &operand);
	return check_value(check, &operand);
}

static bool
is_predicate(JsonPathItemType type)
{
	switch (type)
	{
		case jpiAnd:
		case jpiOr:
		case jpiNot:
		case jpiIsUnknown:
		case jpiEqual:
		case jpiNotEqual:
		case jpiLess:
		case jpiGreater:
		case jpiLessOrEqual:
		case jpiGreaterOrEqual:
		case jpiExists:
		case jpiStartsWith:
		case jpiLikeRegex:
			return true;
		default:
			return false;
	}
}

/* Items that change the kind of value, or that no condition may have. */
static bool
check_method(Check *check, JsonPathItem *item)
{
	switch (item->type)
	{
		case jpiType:
		case jpiSize:
		case jpiAbs:
		case jpiFloor:
		case jpiCeiling:
			return true;
		case jpiDouble:
		case jpiKeyValue:
			return check_conversion(check, item);
		case jpiVariable:
			return refuse(check, "there are no variables");
		case jpiDatetime:
			return refuse(check, ".datetime() is not allowed, because it depends on settings of the session");
		default:
			if (is_predicate(item->type))
				return refuse(check, "a predicate stands where a value is expected");
			return refuse(check, psprintf(".%s() is not allowed", jspOperationName(item->type)));
	}
}

static bool
check_item(Check *check, JsonPathItem *item)
{
	switch (item->type)
	{
		case jpiNull:
		case jpiString:
		case jpiNumeric:
		case jpiBool:
		case jpiRoot:
		case jpiCurrent:
		case jpiLast:
		case jpiKey:
			return true;
		case jpiAdd:
		case jpiSub:
		case jpiMul:
		case jpiDiv:
		case jpiMod:
		case jpiPlus:
		case jpiMinus:
			return check_arguments(check, item);
		case jpiAny:
			return check_any(check);
		case jpiAnyKey:
			return refuse_if(check->limits->loosens, check, ".* " SEVERAL);
		case jpiAnyArray:
			return refuse_if(check->limits->loosens, check, "[*] " SEVERAL);
		case jpiIndexArray:
			return check_subscripts(check, item);
		case jpiFilter:
			return check_filter(check, item);
		default:
			return check_method(check, item);
	}
}

static bool
check_value(Check *check, JsonPathItem *chain)
{
	JsonPathItem *outer = check->place;
	int			depth = check->depth;
	JsonPathItem item = *chain;
	JsonPathItem next;

	check->place = chain;
	while (descend(check) && check_item(check, &item))
	{
		if (!jspGetNext(&item, &next))
		{
			check->place = outer;
			check->depth = depth;
			return true;
		}
		item = next;
	}
	return false;
}

/* A predicate about constants would say the same of every call. */
static bool
check_comparison(Check *check, JsonPathItem *item)
{
	JsonPathItem left;
	JsonPathItem right;

	jspGetLeftArg(item, &left);
	jspGetRightArg(item, &right);
	if (!check_value(check, &left) || !check_value(check, &right))
		return false;
	return refuse_if(!condition_has_path(&left) && !condition_has_path(&right), check,
					 "looks at no argument");
}

static bool
check_test(Check *check, JsonPathItem *item)
{
	JsonPathItem operand;

	if (item->type == jpiExists)
		jspGetArg(item, &operand);
	else
		jspInitByBuffer(&operand, item->base, item->content.like_regex.expr);
	if (item->type == jpiExists && check->limits->loosens)
		return refuse(check, "exists " SEVERAL);
	if (item->type == jpiLikeRegex && !check->limits->costly)
		return refuse(check, "like_regex is not allowed, because of its cost");
	return check_value(check, &operand) &&
		refuse_if(!condition_has_path(&operand), check, "looks at no argument");
}

static bool
check_operands(Check *check, JsonPathItem *item)
{
	JsonPathItem operand;

	switch (item->type)
	{
		case jpiAnd:
		case jpiOr:
			jspGetLeftArg(item, &operand);
			if (!check_predicate(check, &operand))
				return false;
			jspGetRightArg(item, &operand);
			return check_predicate(check, &operand);
		case jpiIsUnknown:
			if (check->limits->loosens)
				return refuse(check, "is unknown is true of missing members; a rule that lets a call run without a person compares members");
			jspGetArg(item, &operand);
			return check_predicate(check, &operand);
		case jpiNot:
			if (check->limits->loosens)
				return refuse(check, "! is true of null; a rule that lets a call run without a person says what is, not what is not");
			jspGetArg(item, &operand);
			return check_predicate(check, &operand);
		case jpiExists:
		case jpiLikeRegex:
			return check_test(check, item);
		default:
			return check_comparison(check, item);
	}
}

static bool
check_predicate(Check *check, JsonPathItem *item)
{
	JsonPathItem *outer = check->place;
	int			depth = check->depth;

	check->place = item;
	if (!descend(check))
		return false;
	if (!is_predicate(item->type) || jspHasNext(item))
		return refuse(check, "not a predicate");
	if (!check_operands(check, item))
		return false;
	check->place = outer;
	check->depth = depth;
	return true;
}

bool
condition_check(JsonPath *path, const ConditionLimits *limits, char **problem)
{
	Check		check = {.limits = limits};
	JsonPathItem root;
	bool		good;

	jspInit(&root, path);
	good = check_predicate(&check, &root) &&
		(!limits->bounded || condition_check_bounds(&root, limits, &check.problem));
	*problem = check.problem;
	return good;
}

bool
condition_check_path(JsonPath *path, char **problem)
{
	JsonPathItem root;
	JsonPathItem item;
	JsonPathItem next;
	int			index;

	jspInit(&root, path);
	if (root.type != jpiRoot)
		return condition_refuse(problem, condition_text(&root), "not a path from $");
	item = root;
	while (jspGetNext(&item, &next))
	{
		if (next.type != jpiKey && !condition_subscript(&next, &index))
			return condition_refuse(problem, condition_text(&root),
									"not made of members and constant subscripts");
		item = next;
	}
	return true;
}
