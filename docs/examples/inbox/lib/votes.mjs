// Who has voted, by the rules of the gate: the last verdict of each actor.  An approval
// stands while what it was given on does, and until somebody takes back what that actor
// approved.  groups: whose seats the voter may take.
const stands = `v.verdict = 'reject' OR v.review_hash = r.review_hash
  AND v.n >= (SELECT coalesce(max(e.n), 0) FROM approval.audit e
              WHERE e.tenant = r.tenant AND e.request_id = r.id AND e.kind IN ('edited', 'amended'))
  AND NOT EXISTS (SELECT FROM approval.policy_audit p
                  WHERE p.tenant = r.tenant AND p.chain = 'freeze' AND p.verb = 'revoke_by' AND p.subject = v.actor AND p.at >= v.at)`;

export const groupsOf = (actor) => `(SELECT coalesce(json_agg(DISTINCT m.reviewer_group), '[]') FROM approval.group_members m
  WHERE m.actor = ${actor} AND m.tenant IN (r.tenant, '*'))`;

// Of the request r.
export const VOTES = `(SELECT coalesce(json_agg(json_build_object(
    'actor', v.actor, 'verdict', v.verdict, 'at', v.at, 'stands', ${stands}, 'groups', ${groupsOf('v.actor')}) ORDER BY v.n), '[]')
  FROM (SELECT DISTINCT ON (d.actor) d.actor, d.verdict, d.at, d.review_hash, d.n FROM approval.votes d
        WHERE d.tenant = r.tenant AND d.request_id = r.id ORDER BY d.actor, d.n DESC) v)`;
