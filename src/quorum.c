/*-------------------------------------------------------------------------
 *
 * quorum.c
 *	  How many have approved or rejected, and who may.
 *
 * A vote is the last decision of an actor.  An approval belongs to the review
 * hash that it was given on, and is void after an edit, even if a later one
 * leads back to it; those of a member who has left, or whose approvals were
 * taken back since (revoke_by), do not count.  A rejection stays, whatever
 * was edited since.  Votes are counted under the lock of the request, which
 * every vote updates, so that two last ones cannot miss each other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "members.h"
#include "param.h"
#include "quorum.h"

#define SEATS_OF(actor) \
	"(SELECT pg_catalog.bit_or(1 OPERATOR(pg_catalog.<<) (g.o::pg_catalog.int4 OPERATOR(pg_catalog.-) 1))" \
	" FROM pg_catalog.unnest($4) WITH ORDINALITY g(name, o)" \
	" WHERE g.name IS NULL OR EXISTS (SELECT FROM approval.members m" \
	" WHERE m.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])" \
	" AND m.reviewer_group OPERATOR(pg_catalog.=) ANY (ARRAY[g.name, $5])" \
	" AND m.actor OPERATOR(pg_catalog.=) " actor "))"

static Statement select_votes = {
	.sql = "SELECT v.actor, v.verdict OPERATOR(pg_catalog.=) 'approve', CASE WHEN v.verdict OPERATOR(pg_catalog.=) 'approve'"
	" AND v.review_hash OPERATOR(pg_catalog.=) $3::approval.digest"
	" AND v.n OPERATOR(pg_catalog.>=) (SELECT COALESCE(pg_catalog.max(e.n), 0) FROM approval.events e"
	" WHERE e.tenant OPERATOR(pg_catalog.=) $1 AND e.request_id OPERATOR(pg_catalog.=) $2::approval.ulid"
	" AND e.kind OPERATOR(pg_catalog.=) ANY ('{edited,amended}'::pg_catalog.text[]))"
	" AND NOT EXISTS (SELECT FROM approval.policy_events e WHERE e.tenant OPERATOR(pg_catalog.=) $1"
	" AND e.chain OPERATOR(pg_catalog.=) 'freeze' AND e.verb OPERATOR(pg_catalog.=) 'revoke_by'"
	" AND e.subject OPERATOR(pg_catalog.=) v.actor AND e.at OPERATOR(pg_catalog.>=) v.at)"
	" THEN " SEATS_OF("v.actor") " END, v.n, v.result"
	" FROM (SELECT DISTINCT ON (d.actor) d.actor, d.at, d.verdict, d.review_hash, d.n, d.result"
	" FROM approval.decisions d WHERE d.tenant OPERATOR(pg_catalog.=) $1"
	" AND d.request_id OPERATOR(pg_catalog.=) $2::approval.ulid ORDER BY d.actor, d.n DESC) v",
	.nparams = 5,
	.types = {TEXTOID, UUIDOID, TEXTOID, TEXTARRAYOID, TEXTOID},
};

/* The members of the groups of $4, as far as we look, and their seats. */
static Statement select_members = {
	.sql = "SELECT m.actor, pg_catalog.bit_or(1 OPERATOR(pg_catalog.<<) (g.o::pg_catalog.int4 OPERATOR(pg_catalog.-) 1))"
	" FROM approval.members m JOIN pg_catalog.unnest($2) WITH ORDINALITY g(name, o)"
	" ON m.reviewer_group OPERATOR(pg_catalog.=) ANY (ARRAY[g.name, $4])"
	" WHERE m.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*']) GROUP BY m.actor LIMIT $3",
	.nparams = 4,
	.types = {TEXTOID, TEXTARRAYOID, INT8OID, TEXTOID},
};

static Datum
column(int row, int n, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, n, isnull);
}

/* The last one, and the last one that has a text for the model. */
static void
take_rejection(int row, const char *actor, Votes *votes)
{
	bool		isnull;
	int			n = DatumGetInt32(column(row, 4, &isnull));
	char	   *result = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 5);

	if (n > votes->last_rejection)
	{
		votes->last_rejection = n;
		votes->rejecter = actor;
	}
	if (result && n > votes->last_result)
	{
		votes->last_result = n;
		votes->result = result;
	}
}

static void
take_vote(const Call *call, int row, Votes *votes)
{
	char	   *actor = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1);
	bool		own = strcmp(actor, call->actor) == 0;
	bool		isnull;
	bool		approves = DatumGetBool(column(row, 2, &isnull));
	SeatMask	seats = (SeatMask) DatumGetInt32(column(row, 3, &isnull));

	if (!approves)
	{
		take_rejection(row, actor, votes);
		votes->own_rejection |= own;
		if (!own)
			votes->rejecters = lappend(votes->rejecters, actor);
	}
	else if (isnull)
		return;
	else if (own)
		votes->own_approval = true;
	else
		votes->others[votes->nothers++] = seats;
}

/* All of it in the latest snapshot, whatever the transaction's is. */
void
quorum_look(const Call *call, Votes *votes)
{
	const Request *request = call->request;
	char		hex[DIGEST_TEXT_LEN + 1];
	Datum		values[5];
	char		nulls[5];
	uint64		count;
	uint64		i;

	memset(votes, 0, sizeof(*votes));
	panel_of_request(request, &votes->panel);
	votes->own_seats = members_seats(call->tenant, &votes->panel, call->actor);
	if (DatumGetInt32(request->values[REQ_APPROVALS]) == 0 &&
		DatumGetInt32(request->values[REQ_REJECTIONS]) == 0)
		return;
	digest_to_hex(request_digest_at(request, REQ_REVIEW_HASH), hex);
	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, request_id(request));
	param_text(values, nulls, 2, hex);
	values[3] = members_groups(&votes->panel);
	nulls[3] = ' ';
	param_text(values, nulls, 4, votes->panel.stand_in);
	PushActiveSnapshot(GetLatestSnapshot());
	count = store_read(&select_votes, values, nulls);
	PopActiveSnapshot();
	votes->others = palloc(sizeof(SeatMask) * (count + 1));
	for (i = 0; i < count; i++)
		take_vote(call, i, votes);
	votes->rejections = list_length(votes->rejecters);
}

/* How many seats are taken, with the actor's approval or without. */
int
quorum_filled(const Votes *votes, bool with_own)
{
	SeatMask   *people = palloc(sizeof(SeatMask) * (votes->nothers + 1));

	if (votes->nothers > 0)
		memcpy(people, votes->others, sizeof(SeatMask) * votes->nothers);
	people[votes->nothers] = votes->own_seats;
	return panel_filled(&votes->panel, people, votes->nothers + (with_own ? 1 : 0));
}

static bool
is_rejecter(const Votes *votes, const char *actor)
{
	ListCell   *cell;

	foreach(cell, votes->rejecters)
		if (strcmp(lfirst(cell), actor) == 0)
		return true;
	return false;
}

/* Somebody whose approval would not count: who asked, or has said no. */
static bool
out_of_question(const Call *call, const Votes *votes, const char *actor, bool without_own, bool owner_counts)
{
	return (without_own && strcmp(actor, call->actor) == 0) ||
		request_text_is(call->request, REQ_REQUESTED_BY, actor) ||
		request_text_is(call->request, REQ_EDITED_BY, actor) ||
		(!owner_counts && request_text_is(call->request, REQ_ON_BEHALF_OF, actor)) ||
		is_rejecter(votes, actor);
}

/* Whether those who may still approve are enough, now that the actor has voted. */
bool
quorum_reachable(const Call *call, const Votes *votes, bool without_own, bool owner_counts)
{
	Datum		values[4];
	char		nulls[4] = {' ', ' ', ' ', ' '};
	SeatMask   *people;
	uint64		count;
	uint64		i;
	int			able = 0;

	if (!panel_grouped(&votes->panel))
		return true;
	values[0] = CStringGetTextDatum(call->tenant);
	values[1] = members_groups(&votes->panel);
	values[2] = Int64GetDatum(MEMBERS_MOST);
	param_text(values, nulls, 3, votes->panel.stand_in);
	PushActiveSnapshot(GetLatestSnapshot());
	count = store_read(&select_members, values, nulls);
	PopActiveSnapshot();
	if (count == MEMBERS_MOST)
		return true;
	people = palloc(sizeof(SeatMask) * (count + 1));
	for (i = 0; i < count; i++)
	{
		bool		isnull;

		if (!out_of_question(call, votes, SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1), without_own, owner_counts))
			people[able++] = (SeatMask) DatumGetInt32(column(i, 2, &isnull));
	}
	return panel_fillable(&votes->panel, people, able);
}
