/*
 * How people review: signs of rubber-stamping, and how long things take.  Both
 * look at requests proposed in the last 30 days, which the primary keys serve,
 * since ids are in the order of time.
 */
CREATE VIEW approval.reviewer_stats WITH (security_barrier) AS
WITH given AS (
SELECT d.tenant, d.actor, d.verdict, d.at, s.kind,
	   d.at OPERATOR(pg_catalog.-) s.shown_at AS looked,
	   d.at OPERATOR(pg_catalog.-) pg_catalog.lag(d.at) OVER own AS after_last,
	   pg_catalog.row_number() OVER own
	   OPERATOR(pg_catalog.-) pg_catalog.row_number() OVER (PARTITION BY d.tenant, d.actor, d.verdict ORDER BY d.at, d.request_id, d.n) AS run
  FROM approval.decisions d
 CROSS JOIN LATERAL (SELECT pg_catalog.max(e.at) FILTER (WHERE e.n OPERATOR(pg_catalog.<) d.n) AS shown_at,
							pg_catalog.max(e.kind) FILTER (WHERE e.n OPERATOR(pg_catalog.=) d.n) AS kind
					   FROM approval.events e
					  WHERE e.tenant OPERATOR(pg_catalog.=) d.tenant AND e.request_id OPERATOR(pg_catalog.=) d.request_id
						AND (e.n OPERATOR(pg_catalog.=) d.n
							 OR e.kind OPERATOR(pg_catalog.=) ANY ('{proposed,edited,amended}'::pg_catalog.text[])
							 OR (e.kind OPERATOR(pg_catalog.=) 'claimed' AND e.actor OPERATOR(pg_catalog.=) d.actor))) s
 WHERE d.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND d.request_id OPERATOR(pg_catalog.>=) approval.ulid_from(pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) '30 days'::pg_catalog.interval)
WINDOW own AS (PARTITION BY d.tenant, d.actor ORDER BY d.at, d.request_id, d.n)
), runs AS (
SELECT g.tenant, g.actor, pg_catalog.count(*) AS length, pg_catalog.max(g.at) AS ended_at
  FROM given g
 WHERE g.verdict OPERATOR(pg_catalog.=) 'approve'
 GROUP BY g.tenant, g.actor, g.run
)
SELECT g.tenant, g.actor, pg_catalog.count(*) AS decisions,
	   pg_catalog.count(*) FILTER (WHERE g.verdict OPERATOR(pg_catalog.=) 'approve') AS approvals,
	   pg_catalog.count(*) FILTER (WHERE g.verdict OPERATOR(pg_catalog.=) 'reject') AS rejections,
	   pg_catalog.count(*) FILTER (WHERE g.kind OPERATOR(pg_catalog.=) 'edited') AS edits,
	   pg_catalog.bool_and(g.verdict OPERATOR(pg_catalog.=) 'approve') AS never_rejects,
	   pg_catalog.count(*) FILTER (WHERE g.looked OPERATOR(pg_catalog.<=) '2 seconds'::pg_catalog.interval) AS within_2s,
	   pg_catalog.count(*) FILTER (WHERE g.after_last OPERATOR(pg_catalog.<=) '2 seconds'::pg_catalog.interval) AS within_2s_of_last,
	   (SELECT pg_catalog.max(r.length) FROM runs r WHERE r.tenant OPERATOR(pg_catalog.=) g.tenant AND r.actor OPERATOR(pg_catalog.=) g.actor) AS longest_streak,
	   COALESCE((SELECT r.length FROM runs r WHERE r.tenant OPERATOR(pg_catalog.=) g.tenant AND r.actor OPERATOR(pg_catalog.=) g.actor
				   AND r.ended_at OPERATOR(pg_catalog.=) pg_catalog.max(g.at) ORDER BY r.length DESC LIMIT 1), 0) AS current_streak,
	   pg_catalog.percentile_cont(0.5) WITHIN GROUP (ORDER BY g.looked) AS median_look,
	   pg_catalog.min(g.at) AS first_at, pg_catalog.max(g.at) AS last_at
  FROM given g
 GROUP BY g.tenant, g.actor;
COMMENT ON VIEW approval.reviewer_stats IS 'Signs of rubber-stamping, for each tenant and reviewer, over the requests proposed in the last 30 days: never_rejects; within_2s, decisions at most 2 seconds after the request could be seen as it was decided (its proposal or last edit, or the reviewer''s own claim, whichever came last); within_2s_of_last, decisions at most 2 seconds after the reviewer''s decision before; longest_streak and current_streak, approvals without a rejection between them; median_look, the time from when it could be seen. They are reasons to ask, and prove nothing.';

CREATE VIEW approval.review_times WITH (security_barrier) AS
SELECT r.tenant, r.server, r.tool, r.reviewer_group, r.reviewers::pg_catalog.text AS reviewers,
	   pg_catalog.count(*) FILTER (WHERE r.decided_at IS NOT NULL) AS decided,
	   pg_catalog.count(*) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'approved' OR r.status OPERATOR(pg_catalog.=) 'consumed') AS approved,
	   pg_catalog.count(*) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'rejected') AS rejected,
	   pg_catalog.count(*) FILTER (WHERE r.decided_at IS NULL AND (r.status OPERATOR(pg_catalog.=) 'expired'
			OR (r.status OPERATOR(pg_catalog.=) 'pending' AND r.expires_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()))) AS expired,
	   pg_catalog.count(*) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'pending' AND r.expires_at OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()) AS pending,
	   pg_catalog.percentile_cont(0.5) WITHIN GROUP (ORDER BY r.decided_at OPERATOR(pg_catalog.-) r.proposed_at) AS median_time,
	   pg_catalog.percentile_cont(0.95) WITHIN GROUP (ORDER BY r.decided_at OPERATOR(pg_catalog.-) r.proposed_at) AS p95_time,
	   pg_catalog.max(r.decided_at OPERATOR(pg_catalog.-) r.proposed_at) AS longest_time,
	   pg_catalog.max(pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) r.proposed_at) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'pending'
			AND r.expires_at OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()) AS oldest_pending
  FROM approval.requests r
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND r.mode OPERATOR(pg_catalog.=) 'review'
   AND r.id OPERATOR(pg_catalog.>=) approval.ulid_from(pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) '30 days'::pg_catalog.interval)
 GROUP BY r.tenant, r.server, r.tool, r.reviewer_group, r.reviewers::pg_catalog.text;
COMMENT ON VIEW approval.review_times IS 'How long people take, for each tool and the reviewers it needs (reviewer_group, or reviewers where several groups have to agree; both NULL: any approver), over the requests proposed for review in the last 30 days: the time from proposal to decision, and what waits now.';

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['reviewer_stats', 'review_times']
	LOOP
		EXECUTE pg_catalog.format('ALTER VIEW approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
	END LOOP;
END
$do$;
