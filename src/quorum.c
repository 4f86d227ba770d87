/*-------------------------------------------------------------------------
 *
 * quorum.c
 *	  How many have approved, and who may.
 *
 * A vote is the last decision of an actor, and belongs to the review hash that
 * it was given on.  Those of a member who has left, or whose approvals were
 * taken back since (revoke_by), do not count.  Votes are counted under the lock of the request, which
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

static Statement count_votes = {
	.sql = "SELECT pg_catalog.count(*) FROM (SELECT DISTINCT ON (d.actor) d.actor, d.at, d.verdict, d.review_hash"
	" FROM approval.decisions d WHERE d.tenant OPERATOR(pg_catalog.=) $1"
	" AND d.request_id OPERATOR(pg_catalog.=) $2::approval.ulid ORDER BY d.actor, d.n DESC) v"
	" WHERE v.verdict OPERATOR(pg_catalog.=) 'approve'"
	" AND v.review_hash OPERATOR(pg_catalog.=) $3::approval.digest"
	" AND v.actor OPERATOR(pg_catalog.<>) $4"
	" AND NOT EXISTS (SELECT FROM approval.policy_events e WHERE e.tenant OPERATOR(pg_catalog.=) $1"
	" AND e.chain OPERATOR(pg_catalog.=) 'freeze' AND e.verb OPERATOR(pg_catalog.=) 'revoke_by'"
	" AND e.subject OPERATOR(pg_catalog.=) v.actor AND e.at OPERATOR(pg_catalog.>=) v.at)"
	" AND ($5 IS NULL OR EXISTS (SELECT FROM approval.members m"
	" WHERE m.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])"
	" AND m.reviewer_group OPERATOR(pg_catalog.=) $5 AND m.actor OPERATOR(pg_catalog.=) v.actor))",
	.nparams = 5,
	.types = {TEXTOID, UUIDOID, TEXTOID, TEXTOID, TEXTOID},
};

/* Whether the actor belongs to the group that has to look, if there is one. */
bool
quorum_member(const Call *call)
{
	char	   *group = request_text(call->request, REQ_REVIEWER_GROUP);

	return group == NULL || members_has(call->tenant, group, call->actor);
}

/* Those who have approved what the row shows now, and still may; but one. */
static int
count_all_but(const Call *call, const char *actor)
{
	char		hex[DIGEST_TEXT_LEN + 1];
	Datum		values[5];
	char		nulls[5];
	bool		isnull;

	if (DatumGetInt32(call->request->values[REQ_APPROVALS]) == 0)
		return 0;
	digest_to_hex(request_digest_at(call->request, REQ_REVIEW_HASH), hex);
	param_text(values, nulls, 0, call->tenant);
	param_ulid(values, nulls, 1, request_id(call->request));
	param_text(values, nulls, 2, hex);
	param_text(values, nulls, 3, actor);
	param_text(values, nulls, 4, request_text(call->request, REQ_REVIEWER_GROUP));
	PushActiveSnapshot(GetLatestSnapshot());
	store_read(&count_votes, values, nulls);
	PopActiveSnapshot();
	return (int) DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

/* Others than the actor. */
int
quorum_others(const Call *call)
{
	return count_all_but(call, call->actor);
}

/* Whether the actor's own approval counts already. */
bool
quorum_counts(const Call *call)
{
	return count_all_but(call, "") > quorum_others(call);
}
