/*
 * What the worker does, and what does not get on.
 */
CREATE VIEW approval.worker_stats WITH (security_barrier) AS
SELECT w.*, b.backlog, b.oldest_overdue
  FROM approval.worker_state() w
 CROSS JOIN LATERAL (SELECT pg_catalog.count(*) AS backlog, pg_catalog.min(r.due_at) AS oldest_overdue
					   FROM approval.requests r WHERE r.due_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
						AND r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])) b;
COMMENT ON VIEW approval.worker_stats IS 'One row: the worker of this database. state: running, starting, sleeping (it comes when something is due), absent (the library is not preloaded). notify: who rings, as approval.notify says here. Counts are since the start of the server; error is the last one, failures how often in a row, retry_at when a worker that could not be started is tried again. Counts, times and the error are of all tenants together, and NULL for a login that does not have all of them. backlog: requests in the caller''s tenants for which something is due, those set aside included, since oldest_overdue. waits: open calls of wait(), of all databases.';

/* The union stands in a subquery for the reason given in 70_views.sql. */
CREATE VIEW approval.stuck WITH (security_barrier) AS
SELECT u.*
  FROM (
SELECT r.tenant, r.id, s.why, s.since, s.what_to_do
  FROM approval.requests r
 CROSS JOIN LATERAL (VALUES
	(r.outcome OPERATOR(pg_catalog.=) 'unknown',
	 'outcome unknown', COALESCE(r.completed_at, r.lease_until), 'find out what the tool did, then reconcile()'),
	(r.outcome OPERATOR(pg_catalog.=) 'in_flight' AND r.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp(),
	 'lease over', r.lease_until, 'find out what the tool did, then reconcile(), or let its executor resume() or complete()'),
	(r.status OPERATOR(pg_catalog.=) 'approved' AND r.use_by OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
	 AND r.decided_at OPERATOR(pg_catalog.<) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) '5 minutes'::pg_catalog.interval),
	 'approved and unused', r.decided_at, 'see whether the executor runs; revoke() what is not wanted any more'),
	(r.due_at OPERATOR(pg_catalog.<) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) '1 minute'::pg_catalog.interval)
	 AND LEAST(r.use_by, r.expires_at) OPERATOR(pg_catalog.<) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) '1 minute'::pg_catalog.interval)
	 AND r.status OPERATOR(pg_catalog.=) ANY ('{pending,approved}'::pg_catalog.text[])
	 AND NOT EXISTS (SELECT FROM approval.set_aside a WHERE a.tenant OPERATOR(pg_catalog.=) r.tenant AND a.request_id OPERATOR(pg_catalog.=) r.id),
	 'overdue', r.due_at, 'see worker_stats, or call expire_due()'),
	(r.status OPERATOR(pg_catalog.=) 'pending' AND EXISTS (
		SELECT FROM (SELECT r.reviewer_group AS name WHERE r.reviewer_group IS NOT NULL
					 UNION ALL SELECT pg_catalog.json_object_keys(r.reviewers)) AS g (name)
		 WHERE g.name OPERATOR(pg_catalog.<>) '*' AND NOT EXISTS (
			SELECT FROM approval.members m WHERE m.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[r.tenant, '*'])
			   AND m.reviewer_group OPERATOR(pg_catalog.=) ANY (ARRAY[g.name, CASE WHEN r.escalated_at IS NOT NULL THEN r.escalate_to END])
			   AND m.actor OPERATOR(pg_catalog.<>) r.requested_by AND m.actor IS DISTINCT FROM r.on_behalf_of AND m.actor IS DISTINCT FROM r.edited_by)),
	 'nobody eligible', r.proposed_at, 'add_member() to its group, or cancel() it')) AS s (holds, why, since, what_to_do)
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND (r.status OPERATOR(pg_catalog.=) ANY ('{pending,approved}'::pg_catalog.text[])
		OR r.outcome OPERATOR(pg_catalog.=) ANY ('{in_flight,unknown}'::pg_catalog.text[]))
   AND s.holds
 UNION ALL
SELECT a.tenant, a.request_id, 'set aside', a.since,
	   CASE a.problem WHEN 'row_tampered' THEN 'somebody has changed the row: verify_request() says where'
			ELSE pg_catalog.format('mend what raises "%s", then wake_worker()', a.problem) END
  FROM approval.set_aside a
  JOIN approval.requests r ON r.tenant OPERATOR(pg_catalog.=) a.tenant AND r.id OPERATOR(pg_catalog.=) a.request_id AND r.due_at OPERATOR(pg_catalog.<=) a.retry_at
 WHERE a.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
) u;
COMMENT ON VIEW approval.stuck IS 'Requests in the caller''s tenants that do not get on by themselves: why, since when, and what to do. A request may be there for several reasons: outcome unknown, lease over, approved and unused (for 5 minutes), overdue (by a minute), nobody eligible (a group of its reviewers has no member who could approve), set aside (it could not be put away).';

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['worker_stats', 'stuck']
	LOOP
		EXECUTE pg_catalog.format('ALTER VIEW approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
	END LOOP;
END
$do$;
