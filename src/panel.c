/*-------------------------------------------------------------------------
 *
 * panel.c
 *	  Who has to agree: seats of groups, to be filled by different people.
 *
 * One person takes one seat, whatever groups that person belongs to.  Whether
 * people fill a panel is therefore a matching, and Hall's theorem says how far
 * they do: the seats that stay empty are the most that any set of groups lacks
 * of people (Ore's deficiency version).  There are few groups, so all sets of
 * them are looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "args.h"
#include "canonical.h"
#include "panel.h"

/* One group, or anybody; no group is NULL or "*". */
void
panel_set(Panel *panel, const char *group, int needed)
{
	panel->count = 1;
	panel->stand_in = NULL;
	panel->seats[0].group = group && strcmp(group, PANEL_ANYBODY) != 0 ? group : NULL;
	panel->seats[0].needed = needed;
}

/* {"finance": 1, "legal": 2}: at least so many of each, all different people */
bool
panel_parse(JsonbContainer *object, const char *place, Panel *panel, Problem *problem)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue	key;

	panel->count = 0;
	panel->stand_in = NULL;
	if (JsonContainerSize(object) < 1 || JsonContainerSize(object) > PANEL_SEATS)
		return document_problem(problem, place, psprintf("must name 1 to %d groups", PANEL_SEATS));
	while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
	{
		Seats	   *seats = &panel->seats[panel->count];
		char	   *group;

		if (token != WJB_KEY)
			continue;
		group = pnstrdup(key.val.string.val, key.val.string.len);
		if (group[0] == '\0' || strlen(group) > ARGS_KEY_LIMIT)
			return document_problem(problem, place, psprintf("a group's name must be 1 to %d bytes long", ARGS_KEY_LIMIT));
		seats->needed = 0;
		if (!document_int(object, group, place, 1, PANEL_MOST, &seats->needed, problem))
			return false;
		if (seats->needed == 0)
			return document_problem(problem, document_place(place, group), "must not be null");
		seats->group = strcmp(group, PANEL_ANYBODY) == 0 ? NULL : group;
		panel->count++;
	}
	if (panel_needed(panel) > PANEL_MOST)
		return document_problem(problem, place, psprintf("must ask for %d people at most", PANEL_MOST));
	return true;
}

/* How many people that is. */
int
panel_needed(const Panel *panel)
{
	int			needed = 0;
	int			i;

	for (i = 0; i < panel->count; i++)
		needed += panel->seats[i].needed;
	return needed;
}

/* Whether it is for members of groups only, at least in part. */
bool
panel_grouped(const Panel *panel)
{
	int			i;

	for (i = 0; i < panel->count; i++)
		if (panel->seats[i].group)
			return true;
	return false;
}

static bool
same_group(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const Seats *
seats_of(const Panel *panel, const char *group)
{
	int			i;

	for (i = 0; i < panel->count; i++)
		if (same_group(panel->seats[i].group, group))
			return &panel->seats[i];
	return NULL;
}

/* Asks for more people where it asks for fewer. */
void
panel_raise(Panel *panel, int needed)
{
	int			lacking = needed - panel_needed(panel);

	if (lacking > 0)
		panel->seats[0].needed += lacking;
}

/*
 * The one of two that wants more people, or else the one with groups: never
 * fewer people than either wants, and never anybody in place of a group.
 */
void
panel_stricter(Panel *panel, const Panel *other)
{
	int			needed = Max(panel_needed(panel), panel_needed(other));

	if (panel_grouped(other) &&
		(panel_needed(other) > panel_needed(panel) || !panel_grouped(panel)))
		*panel = *other;
	panel_raise(panel, needed);
}

/*
 * What satisfies both: of every group as many as either wants.  False if those
 * are more groups, or more people, than a panel has.
 */
bool
panel_both(Panel *panel, const Panel *other)
{
	int			needed = Max(panel_needed(panel), panel_needed(other));
	Panel		both = {0};
	int			i;

	for (i = 0; i < panel->count + other->count; i++)
	{
		const Seats *seats = i < panel->count ? &panel->seats[i] : &other->seats[i - panel->count];
		Seats	   *mine = unconstify(Seats *, seats_of(&both, seats->group));

		if (seats->group == NULL)
			continue;
		if (mine == NULL && both.count == PANEL_SEATS)
			return false;
		if (mine)
			mine->needed = Max(mine->needed, seats->needed);
		else
			both.seats[both.count++] = *seats;
	}
	if (panel_needed(&both) < needed && both.count < PANEL_SEATS)
	{
		Seats		anybody = {NULL, needed - panel_needed(&both)};

		both.seats[both.count++] = anybody;
	}
	panel_raise(&both, needed);
	if (panel_needed(&both) > PANEL_MOST)
		return false;
	*panel = both;
	return true;
}

/* Whether a panel that was filled leaves nothing to be asked by another. */
bool
panel_covers(const Panel *panel, const Panel *other)
{
	int			i;

	for (i = 0; i < other->count; i++)
	{
		const Seats *seats = &other->seats[i];
		const Seats *mine = seats_of(panel, seats->group);

		if (seats->group && (mine == NULL || mine->needed < seats->needed))
			return false;
	}
	return panel_needed(panel) >= panel_needed(other);
}

/* How many people may take a seat of this set. */
static int
people_for(SeatMask set, const SeatMask *people, int count)
{
	int			able = 0;
	int			i;

	for (i = 0; i < count; i++)
		if (people[i] & set)
			able++;
	return able;
}

static int
needed_of(const Panel *panel, SeatMask set)
{
	int			needed = 0;
	int			i;

	for (i = 0; i < panel->count; i++)
		if (set & (1U << i))
			needed += panel->seats[i].needed;
	return needed;
}

/* The most seats that these people fill, each taking one. */
int
panel_filled(const Panel *panel, const SeatMask *people, int count)
{
	int			lacking = 0;
	SeatMask	set;

	for (set = 1; set < (1U << panel->count); set++)
		lacking = Max(lacking, needed_of(panel, set) - people_for(set, people, count));
	return panel_needed(panel) - lacking;
}

/* Whether these, the members of its groups, are enough.  Of anybody there are. */
bool
panel_fillable(const Panel *panel, const SeatMask *people, int count)
{
	SeatMask	open = 0;
	SeatMask	set;
	int			i;

	for (i = 0; i < panel->count; i++)
		if (panel->seats[i].group == NULL)
			open |= 1U << i;
	for (set = 1; set < (1U << panel->count); set++)
		if ((set & open) == 0 && needed_of(panel, set) > people_for(set, people, count))
			return false;
	return true;
}

/* Out of a registry that may be read again. */
void
panel_copy(Panel *panel)
{
	int			i;

	for (i = 0; i < panel->count; i++)
		if (panel->seats[i].group)
			panel->seats[i].group = pstrdup(panel->seats[i].group);
	if (panel->stand_in)
		panel->stand_in = pstrdup(panel->stand_in);
}

static int
by_group(const void *a, const void *b)
{
	const char *one = (*(const Seats *const *) a)->group;
	const char *two = (*(const Seats *const *) b)->group;

	one = one ? one : PANEL_ANYBODY;
	two = two ? two : PANEL_ANYBODY;
	return canonical_compare_keys(one, strlen(one), two, strlen(two));
}

/* As canonical JSON. */
char *
panel_text(const Panel *panel)
{
	const Seats *sorted[PANEL_SEATS] = {NULL};
	StringInfoData out;
	int			i;

	for (i = 0; i < panel->count; i++)
		sorted[i] = &panel->seats[i];
	qsort(sorted, panel->count, sizeof(sorted[0]), by_group);
	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	for (i = 0; i < panel->count; i++)
	{
		const char *group = sorted[i]->group ? sorted[i]->group : PANEL_ANYBODY;

		if (i > 0)
			appendStringInfoChar(&out, ',');
		canonical_append_string(&out, group, strlen(group));
		appendStringInfo(&out, ":%d", sorted[i]->needed);
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* Once a request has been escalated, that group may do what the others may. */
static void
take_stand_in(const Request *request, Panel *panel)
{
	if (!request->nulls[REQ_ESCALATED_AT])
		panel->stand_in = request_text(request, REQ_ESCALATE_TO);
}

/* A panel of one group stands in two columns, any other in a third. */
void
panel_of_request(const Request *request, Panel *panel)
{
	Problem		problem;
	Jsonb	   *json;

	if (request->nulls[REQ_REVIEWERS])
	{
		panel_set(panel, request_text(request, REQ_REVIEWER_GROUP),
				  DatumGetInt32(request->values[REQ_APPROVALS_NEEDED]));
		take_stand_in(request, panel);
		return;
	}
	json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(request_text(request, REQ_REVIEWERS))));
	if (!JB_ROOT_IS_OBJECT(json) || !panel_parse(&json->root, "$", panel, &problem))
		elog(ERROR, "a request has reviewers that no verb wrote");
	take_stand_in(request, panel);
}

void
panel_to_request(const Panel *panel, Request *request)
{
	request_set(request, REQ_APPROVALS_NEEDED, Int32GetDatum(panel_needed(panel)));
	if (panel->count == 1)
	{
		request_set_text(request, REQ_REVIEWER_GROUP, panel->seats[0].group);
		request_set_null(request, REQ_REVIEWERS);
		return;
	}
	request_set_null(request, REQ_REVIEWER_GROUP);
	request_set_text(request, REQ_REVIEWERS, panel_text(panel));
}
