/*
 * Views for people.  The tenants come as an array from C, computed once, so
 * that the indexes, which all begin with the tenant, serve.
 */
CREATE FUNCTION approval.caller_tenants() RETURNS pg_catalog.text[]
LANGUAGE c STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_caller_tenants';
REVOKE ALL ON FUNCTION approval.caller_tenants FROM PUBLIC;
COMMENT ON FUNCTION approval.caller_tenants IS 'The tenants that the login may see; never NULL.';

CREATE FUNCTION approval.caller_reads(login pg_catalog.text) RETURNS pg_catalog.bool
LANGUAGE c STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_caller_reads';
REVOKE ALL ON FUNCTION approval.caller_reads FROM PUBLIC;
COMMENT ON FUNCTION approval.caller_reads IS 'Whether the caller may see what this login proposed, within its tenants; false for NULL unless the caller sees whole tenants.';

/*
 * The union stands in a subquery: as the top of the view it would be flattened,
 * and the barrier would be lost with it.
 */
CREATE VIEW approval.inbox WITH (security_barrier) AS
SELECT u.*
  FROM (
SELECT r.id, r.tenant, r.conversation_id, r.run_id, r.tool_call_id, r.server, r.tool, r.class, r.risk,
	   CASE WHEN r.expires_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'expired' ELSE 'pending' END AS status, NULL::pg_catalog.text AS outcome,
	   r.resource, r.arguments, r.proposed_arguments, r.action_hash, r.review_hash,
	   r.summary, r.preview, approval.preview_diff(r.preview) AS diff, r.gate_reason, r.rule, r.rule_reason, r.policy_version, r.edited_by,
	   r.agent_reason, '{agent_reason,preview,diff}'::pg_catalog.text[] AS unverified, r.requested_by, r.on_behalf_of, r.assignee,
	   CASE WHEN r.claimed_until OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp() THEN r.claimed_by END AS claimed_by,
	   r.approvals, r.approvals_needed, r.rejections, r.rejections_needed, r.reviewer_group, r.reviewers,
	   CASE WHEN r.escalated_at IS NOT NULL THEN r.escalate_to END AS escalated_to,
	   r.proposed_at, r.expires_at, r.id::pg_catalog.text AS sort_key
  FROM approval.requests r
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(r.requester_login)
   AND r.status OPERATOR(pg_catalog.=) 'pending'
 UNION ALL
SELECT r.id, r.tenant, r.conversation_id, r.run_id, r.tool_call_id, r.server, r.tool, r.class, r.risk,
	   r.status AS status, 'unknown' AS outcome,
	   r.resource, r.arguments, r.proposed_arguments, r.action_hash, r.review_hash,
	   r.summary, r.preview, approval.preview_diff(r.preview) AS diff, r.gate_reason, r.rule, r.rule_reason, r.policy_version, r.edited_by,
	   r.agent_reason, '{agent_reason,preview,diff}'::pg_catalog.text[] AS unverified, r.requested_by, r.on_behalf_of, r.assignee,
	   CASE WHEN r.claimed_until OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp() THEN r.claimed_by END AS claimed_by,
	   r.approvals, r.approvals_needed, r.rejections, r.rejections_needed, r.reviewer_group, r.reviewers,
	   CASE WHEN r.escalated_at IS NOT NULL THEN r.escalate_to END AS escalated_to,
	   r.proposed_at, r.expires_at, r.id::pg_catalog.text AS sort_key
  FROM approval.requests r
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(r.requester_login)
   AND r.outcome OPERATOR(pg_catalog.=) 'unknown'
 UNION ALL
SELECT r.id, r.tenant, r.conversation_id, r.run_id, r.tool_call_id, r.server, r.tool, r.class, r.risk,
	   r.status AS status, 'unknown' AS outcome,
	   r.resource, r.arguments, r.proposed_arguments, r.action_hash, r.review_hash,
	   r.summary, r.preview, approval.preview_diff(r.preview) AS diff, r.gate_reason, r.rule, r.rule_reason, r.policy_version, r.edited_by,
	   r.agent_reason, '{agent_reason,preview,diff}'::pg_catalog.text[] AS unverified, r.requested_by, r.on_behalf_of, r.assignee,
	   CASE WHEN r.claimed_until OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp() THEN r.claimed_by END AS claimed_by,
	   r.approvals, r.approvals_needed, r.rejections, r.rejections_needed, r.reviewer_group, r.reviewers,
	   CASE WHEN r.escalated_at IS NOT NULL THEN r.escalate_to END AS escalated_to,
	   r.proposed_at, r.expires_at, r.id::pg_catalog.text AS sort_key
  FROM approval.requests r
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(r.requester_login)
   AND r.outcome OPERATOR(pg_catalog.=) 'in_flight'
   AND r.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
) u;
COMMENT ON VIEW approval.inbox IS 'What waits for a person, in the caller''s tenants: pending requests, and executions whose outcome is unknown. summary is the gate''s own text over the arguments that are hashed; agent_reason, preview and diff (the changed paths of the preview) are the agent''s words, and unverified: mark them so, as the column of that name says. status and outcome are the effective ones: a request past its deadline shows as expired until it is put away.';

CREATE FUNCTION approval.inbox_page(
	filters pg_catalog.json DEFAULT '{}',
	after_key pg_catalog.text DEFAULT NULL,
	max_rows pg_catalog.int4 DEFAULT 50)
RETURNS SETOF approval.inbox
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'approval_inbox_page';
REVOKE ALL ON FUNCTION approval.inbox_page FROM PUBLIC;
COMMENT ON FUNCTION approval.inbox_page IS
'A page of the view inbox, oldest first: max_rows rows (1 to 1000) beyond after_key, the sort_key of the last row of the page before (NULL or empty: from the first). filters (NULL, {} or []: none): one JSON object; max_rows NULL: 50. Members: status (pending, expired, unknown), tenant, risk, assignee, claimed_by, reviewer_group, server, tool, conversation_id, each a string or an array of strings, and older_than and newer_than (an interval as text, or seconds). A member that is null is no filter. A page costs what it shows, however many requests there are, without a filter and with one value of assignee, reviewer_group or tool, which have indexes of what waits; any other filter reads what it leaves out as well. Errors: 22023 for filters that are none (DETAIL: place, problem), 42501 for a tenant that is not the caller''s.';

CREATE VIEW approval.history WITH (security_barrier) AS
SELECT r.id, r.tenant, r.conversation_id, r.run_id, r.tool_call_id, r.server, r.tool, r.class, r.risk,
	   CASE WHEN r.status OPERATOR(pg_catalog.=) 'pending' AND r.expires_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'expired'
			WHEN r.status OPERATOR(pg_catalog.=) 'approved' AND r.use_by OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'expired'
			ELSE r.status END AS status,
	   CASE WHEN r.status OPERATOR(pg_catalog.=) 'pending' AND r.expires_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'decide_deadline'
			WHEN r.status OPERATOR(pg_catalog.=) 'approved' AND r.use_by OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'use_deadline'
			ELSE r.cause END AS cause,
	   CASE WHEN r.outcome OPERATOR(pg_catalog.=) 'in_flight' AND r.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'unknown'
			ELSE r.outcome END AS outcome,
	   r.mode, r.resource, r.arguments, r.proposed_arguments, r.action_hash, r.review_hash, r.summary,
	   r.gate_reason, r.rule, r.rule_reason, r.policy_version, r.grant_id, r.edited_by, r.agent_reason,
	   r.requester_login, r.requested_by, r.on_behalf_of, r.approvals, r.approvals_needed, r.rejections, r.rejections_needed,
	   r.reviewer_group, r.reviewers, CASE WHEN r.escalated_at IS NOT NULL THEN r.escalate_to END AS escalated_to, r.escalated_at, r.reminded_at,
	   r.decided_by, r.decided_at, r.denial, r.executor_login, r.execution_id, r.attempt,
	   r.result, r.proposed_at, r.expires_at, r.use_by, r.consumed_at, r.lease_until, r.completed_at, r.reconciled_by,
	   r.retry_of, r.id::pg_catalog.text AS sort_key
  FROM approval.requests r
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(r.requester_login);
COMMENT ON VIEW approval.history IS 'Every request in the caller''s tenants, with its effective status. A requester sees what its own login proposed.';

CREATE VIEW approval.audit WITH (security_barrier) AS
SELECT e.tenant, e.request_id, e.n, e.seq, e.at, e.kind, e.actor, e.login, e.role, e.client,
	   e.status_before, e.status_after, e.outcome_before, e.outcome_after,
	   e.action_hash, e.review_hash, e.note, e.row_digest, e.previous, e.hash
  FROM approval.events e
 WHERE e.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[]);
COMMENT ON VIEW approval.audit IS 'The audit trail in the caller''s tenants: one row for each transition, chained by hash within a request (n, previous, hash).';

CREATE VIEW approval.votes WITH (security_barrier) AS
SELECT d.tenant, d.request_id, d.n, d.at, d.verdict, d.actor, d.login, d.seen, d.review_hash, d.action_hash,
	   d.result, d.note, d.map_hash
  FROM approval.decisions d
 WHERE d.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[]);
COMMENT ON VIEW approval.votes IS 'The verdicts of people in the caller''s tenants; n is the event that each one made; map_hash, of a verdict that came with decide_all, is SHA-256 of the canonical JSON array [conversation_id, seen_set or null, decisions].';

CREATE VIEW approval.refusals WITH (security_barrier) AS
SELECT f.tenant, f.id, f.at, f.verb, f.login, f.role, f.actor, f.request_id, f.reason, f.http_status, f.detail
  FROM approval.refusal_log f
 WHERE f.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(f.login);
COMMENT ON VIEW approval.refusals IS 'What the try_ verbs refused in the caller''s tenants. A requester sees its own.';

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['inbox', 'history', 'audit', 'votes', 'refusals']
	LOOP
		EXECUTE pg_catalog.format('ALTER VIEW approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
	END LOOP;
END
$do$;
