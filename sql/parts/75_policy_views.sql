/*
 * Views over policy, and the lists from which agents load their tools.
 */
CREATE FUNCTION approval.caller_roles() RETURNS pg_catalog.text[]
LANGUAGE c STABLE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_caller_roles';
REVOKE ALL ON FUNCTION approval.caller_roles FROM PUBLIC;
COMMENT ON FUNCTION approval.caller_roles IS 'The roles for which the login''s agents work, from approval.logins; NULL for approvers, auditors and administrators, who see the tools of all roles.';

CREATE FUNCTION approval.tool_words(tool pg_catalog.text, capability pg_catalog.text, description pg_catalog.text)
RETURNS pg_catalog.tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.to_tsvector('pg_catalog.english'::pg_catalog.regconfig,
	pg_catalog.translate(pg_catalog.concat_ws(' ', tool, capability), '_-./:', '     ')
	OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) COALESCE(description, ''));
REVOKE ALL ON FUNCTION approval.tool_words FROM PUBLIC;
COMMENT ON FUNCTION approval.tool_words IS 'What find_tools searches: the words of a tool''s name, capability and description, in English.';

CREATE INDEX tools_words ON approval.tools USING gin (approval.tool_words(tool, capability, description))
	WHERE retired_at IS NULL;

CREATE VIEW approval.registry WITH (security_barrier) AS
SELECT t.tenant, t.server, t.tool, t.policy_version, t.class, t.risk, t.roles, t.description, t.annotations,
	   t.default_mode, t.definition_digest, t.reviewed_by, t.reviewed_at, t.capability, t.owner, t.effect,
	   t.idempotent, t.max_attempts, t.retry_within, t.executors, t.lease, t.decide_within, t.use_within,
	   t.edits, t.edit_paths, t.owner_may_confirm, t.summary_template, t.expects, t.reviewer_group,
	   t.approvals_needed, t.reviewers, t.rejections_needed, t.key_paths, t.cool_down, t.remind_before, t.escalate_after, t.escalate_to, t.budgets, t.results, t.retired_at, t.retired_by, t.replaced_by,
	   EXISTS (SELECT FROM approval.freezes f
			   WHERE (f.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[t.tenant, '*'])
					  OR (t.tenant OPERATOR(pg_catalog.=) '*'
						  AND f.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])))
				 AND (f.tool OPERATOR(pg_catalog.=) ''
					  OR (f.server OPERATOR(pg_catalog.=) t.server AND f.tool OPERATOR(pg_catalog.=) t.tool))) AS frozen,
	   (SELECT pg_catalog.json_agg(pg_catalog.json_build_object('position', r.position, 'condition', r.condition,
			   'mode', r.mode, 'reason', r.reason, 'approvals_needed', COALESCE(r.approvals_needed, t.approvals_needed),
			   'reviewer_group', COALESCE(r.reviewer_group, t.reviewer_group),
			   'reviewers', COALESCE(r.reviewers, t.reviewers),
			   'rejections_needed', COALESCE(r.rejections_needed, t.rejections_needed)) ORDER BY r.position)
		  FROM approval.rules r
		 WHERE r.tenant OPERATOR(pg_catalog.=) t.tenant AND r.server OPERATOR(pg_catalog.=) t.server
		   AND r.tool OPERATOR(pg_catalog.=) t.tool) AS rules
  FROM approval.tools t
 WHERE t.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[]);
COMMENT ON VIEW approval.registry IS 'The tools of the caller''s tenants and of every tenant (*), with their rules. Thresholds are policy: proposers do not see it.';

CREATE VIEW approval.tool_list WITH (security_barrier) AS
SELECT t.tenant, t.server, t.tool, t.class, t.risk, t.capability, t.roles, t.description, t.definition, t.definition_digest,
	   EXISTS (SELECT FROM approval.freezes f
			   WHERE (f.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[t.tenant, '*'])
					  OR (t.tenant OPERATOR(pg_catalog.=) '*'
						  AND f.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])))
				 AND (f.tool OPERATOR(pg_catalog.=) ''
					  OR (f.server OPERATOR(pg_catalog.=) t.server AND f.tool OPERATOR(pg_catalog.=) t.tool))) AS frozen,
	   approval.tool_words(t.tool, t.capability, t.description) AS words
  FROM approval.tools t
 WHERE t.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[])
   AND NOT EXISTS (SELECT FROM approval.tools o
					WHERE o.server OPERATOR(pg_catalog.=) t.server AND o.tool OPERATOR(pg_catalog.=) t.tool
					  AND (o.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[t.tenant, '*'])
						   OR (t.tenant OPERATOR(pg_catalog.=) '*'
							   AND o.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])))
					  AND (o.retired_at IS NOT NULL
						   OR NOT (pg_catalog.cardinality(COALESCE(o.roles, '{}')) OPERATOR(pg_catalog.=) 0
								   OR (SELECT approval.caller_roles()) IS NULL
								   OR o.roles OPERATOR(pg_catalog.&&) (SELECT approval.caller_roles()))));
COMMENT ON VIEW approval.tool_list IS 'The active tools that the caller''s agents may know of, by the roles of its login, without any threshold.';

CREATE FUNCTION approval.tools_for(
	role pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL,
	OUT server pg_catalog.text,
	OUT tool pg_catalog.text,
	OUT class pg_catalog.text,
	OUT risk pg_catalog.text,
	OUT capability pg_catalog.text,
	OUT description pg_catalog.text,
	OUT definition pg_catalog.json,
	OUT frozen pg_catalog.bool)
RETURNS SETOF pg_catalog.record
LANGUAGE sql STABLE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT DISTINCT ON (l.server, l.tool) l.server, l.tool, l.class, l.risk, l.capability, l.description, l.definition, l.frozen
	  FROM approval.tool_list l
	 WHERE (tools_for.role IS NULL OR pg_catalog.cardinality(COALESCE(l.roles, '{}')) OPERATOR(pg_catalog.=) 0
			OR tools_for.role OPERATOR(pg_catalog.=) ANY (l.roles))
	   AND (tools_for.tenant IS NULL OR l.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[tools_for.tenant, '*']))
	 ORDER BY l.server, l.tool, l.tenant OPERATOR(pg_catalog.=) '*';
END;
REVOKE ALL ON FUNCTION approval.tools_for FROM PUBLIC;
COMMENT ON FUNCTION approval.tools_for IS 'The tools for one of the login''s roles (NULL: for all of them), so that an agent loads only what it needs. Which roles a login has is written in approval.logins: a role that it does not have shows only the tools that are for every role. tenant: one of the caller''s (NULL: all). class says what a tool does: knowledge, live_data or action.';

CREATE FUNCTION approval.find_tools(
	query pg_catalog.text,
	role pg_catalog.text DEFAULT NULL,
	max_rows pg_catalog.int4 DEFAULT 20,
	tenant pg_catalog.text DEFAULT NULL,
	OUT server pg_catalog.text,
	OUT tool pg_catalog.text,
	OUT class pg_catalog.text,
	OUT risk pg_catalog.text,
	OUT capability pg_catalog.text,
	OUT description pg_catalog.text,
	OUT definition pg_catalog.json,
	OUT frozen pg_catalog.bool,
	OUT rank pg_catalog.float4)
RETURNS SETOF pg_catalog.record
LANGUAGE sql STABLE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT f.server, f.tool, f.class, f.risk, f.capability, f.description, f.definition, f.frozen, f.rank
	  FROM (SELECT DISTINCT ON (l.server, l.tool) l.server, l.tool, l.class, l.risk, l.capability, l.description,
				   l.definition, l.frozen, pg_catalog.ts_rank(l.words, q.q) AS rank
			  FROM (SELECT pg_catalog.replace(pg_catalog.plainto_tsquery('pg_catalog.english'::pg_catalog.regconfig,
						   pg_catalog.translate(find_tools.query, '_-./:', '     '))::pg_catalog.text, '&', '|')::pg_catalog.tsquery AS q) q
			  JOIN approval.tool_list l ON l.words OPERATOR(pg_catalog.@@) q.q
			 WHERE (find_tools.role IS NULL OR pg_catalog.cardinality(COALESCE(l.roles, '{}')) OPERATOR(pg_catalog.=) 0
					OR find_tools.role OPERATOR(pg_catalog.=) ANY (l.roles))
			   AND (find_tools.tenant IS NULL OR l.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[find_tools.tenant, '*']))
			 ORDER BY l.server, l.tool, l.tenant OPERATOR(pg_catalog.=) '*') f
	 ORDER BY f.rank DESC, f.server, f.tool
	 LIMIT GREATEST(find_tools.max_rows, 0);
END;
REVOKE ALL ON FUNCTION approval.find_tools FROM PUBLIC;
COMMENT ON FUNCTION approval.find_tools IS 'Full-text search (English) over the names, capabilities and descriptions of the tools that tools_for would show; any word may match, the best matches come first. No rows for NULL or for a query without words.';

CREATE VIEW approval.tool_changes WITH (security_barrier) AS
SELECT s.tenant, s.server, s.tool, s.digest AS seen, t.definition_digest AS reviewed, s.first_seen_at, s.seen_by,
	   d.path, d.change, d.before_value AS reviewed_value, d.after_value AS seen_value
  FROM (SELECT DISTINCT ON (s.tenant, s.server, s.tool, s.digest) s.tenant, s.server, s.tool, s.digest, s.definition,
			   s.seen_by, s.seen_at AS first_seen_at
		  FROM approval.seen_definitions s
		 WHERE s.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
		 ORDER BY s.tenant, s.server, s.tool, s.digest, s.seen_at) s
  LEFT JOIN LATERAL (SELECT t.definition, t.definition_digest FROM approval.tools t
					  WHERE t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[s.tenant, '*'])
						AND t.server OPERATOR(pg_catalog.=) s.server AND t.tool OPERATOR(pg_catalog.=) s.tool
					  ORDER BY t.tenant OPERATOR(pg_catalog.=) '*' LIMIT 1) t ON true
 CROSS JOIN LATERAL approval.diff((t.definition::pg_catalog.jsonb OPERATOR(pg_catalog.-) '{_meta,icons}'::pg_catalog.text[])::pg_catalog.json, s.definition) d
 WHERE t.definition_digest IS DISTINCT FROM s.digest;
COMMENT ON VIEW approval.tool_changes IS 'What gateways brought that is not the reviewed definition: one row for each changed path, side by side. seen is what review_tool() pins. The values come from the upstream server: read them as such.';

CREATE VIEW approval.standing_grants WITH (security_barrier) AS
SELECT g.tenant, g.id, g.server, g.tool, g.condition, g.requester_login, g.requested_by, g.until, g.max_uses, u.uses,
	   g.policy_version, g.grantors, g.granted_at, g.note, g.voided_at, g.voided_by,
	   CASE WHEN g.voided_at IS NOT NULL THEN g.void_reason
			WHEN g.until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() THEN 'until'
			WHEN u.uses OPERATOR(pg_catalog.>=) g.max_uses THEN 'used_up'
			WHEN v.policy_version IS DISTINCT FROM g.policy_version THEN 'policy_changed' END AS void_reason
  FROM approval.grants g
 CROSS JOIN LATERAL (SELECT pg_catalog.count(*)::pg_catalog.int4 AS uses FROM approval.requests r
					  WHERE r.tenant OPERATOR(pg_catalog.=) g.tenant AND r.grant_id OPERATOR(pg_catalog.=) g.id) u
 CROSS JOIN LATERAL (SELECT pg_catalog.max(t.policy_version) AS policy_version FROM approval.tools t
					  WHERE t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[g.tenant, '*'])
						AND t.server OPERATOR(pg_catalog.=) g.server AND t.tool OPERATOR(pg_catalog.=) g.tool) v
 WHERE g.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[]);
COMMENT ON VIEW approval.standing_grants IS 'What people have allowed in advance, how often it was used, and why it holds no more (void_reason: rejection, freeze, disallowed, revoked, until, used_up, policy_changed; NULL while it holds). Grantors who left the group of the rule do not count at the next use.';

CREATE VIEW approval.frozen WITH (security_barrier) AS
SELECT f.tenant, f.server, f.tool, f.frozen_at, f.frozen_by, f.reason
  FROM approval.freezes f
 WHERE f.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[]);
COMMENT ON VIEW approval.frozen IS 'Tools, or (tool '''') whole tenants, for which nothing is proposed or consumed now.';

CREATE VIEW approval.group_members WITH (security_barrier) AS
SELECT m.tenant, m.reviewer_group, m.actor, m.added_by, m.added_at
  FROM approval.members m
 WHERE m.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[]);
COMMENT ON VIEW approval.group_members IS 'Who belongs to which group of reviewers.';

CREATE VIEW approval.policy_audit WITH (security_barrier) AS
SELECT e.tenant, e.chain, e.n, e.at, e.verb, e.actor, e.login, e.role, e.client, e.server, e.tool, e.subject,
	   e.policy_version, e.before, e.after, e.note, e.previous, e.hash
  FROM approval.policy_events e
 WHERE e.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[]);
COMMENT ON VIEW approval.policy_audit IS 'Every change of policy, with before and after, chained by hash within a tenant and chain (n, previous, hash). Changes of logins and of what holds for every tenant stand under tenant *.';

CREATE VIEW approval.tool_health WITH (security_barrier) AS
SELECT r.tenant, r.server, r.tool, w.time_window,
	   pg_catalog.count(*) AS requests,
	   pg_catalog.count(*) FILTER (WHERE r.mode OPERATOR(pg_catalog.=) 'inline') AS inline,
	   pg_catalog.count(*) FILTER (WHERE r.mode OPERATOR(pg_catalog.=) 'auto') AS auto,
	   pg_catalog.count(*) FILTER (WHERE r.mode OPERATOR(pg_catalog.=) 'review') AS review,
	   pg_catalog.count(*) FILTER (WHERE r.mode OPERATOR(pg_catalog.=) 'deny') AS deny,
	   pg_catalog.count(*) FILTER (WHERE r.proposed_arguments IS NOT NULL) AS edits,
	   pg_catalog.count(*) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'rejected' AND r.cause OPERATOR(pg_catalog.<>) 'policy') AS rejections,
	   pg_catalog.count(*) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'expired'
			OR (r.status OPERATOR(pg_catalog.=) 'pending' AND r.expires_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp())
			OR (r.status OPERATOR(pg_catalog.=) 'approved' AND r.use_by OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp())) AS expiries,
	   pg_catalog.count(*) FILTER (WHERE r.outcome OPERATOR(pg_catalog.=) 'failed') AS failures,
	   pg_catalog.percentile_cont(0.5) WITHIN GROUP (ORDER BY r.decided_at OPERATOR(pg_catalog.-) r.proposed_at)
			FILTER (WHERE r.mode OPERATOR(pg_catalog.=) 'review' AND r.decided_at IS NOT NULL) AS median_wait
  FROM (VALUES ('1 hour'::pg_catalog.interval), ('1 day'::pg_catalog.interval), ('7 days'::pg_catalog.interval)) AS w (time_window)
 CROSS JOIN LATERAL (SELECT q.tenant, q.server, q.tool, q.mode, q.status, q.cause, q.outcome, q.proposed_arguments, q.proposed_at,
							q.expires_at, q.use_by, q.decided_at FROM approval.requests q
					  WHERE q.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
						AND q.id OPERATOR(pg_catalog.>=) approval.ulid_from(pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) w.time_window)) r
 GROUP BY r.tenant, r.server, r.tool, w.time_window;
COMMENT ON VIEW approval.tool_health IS 'What became of the proposals of each tool in the last hour, day and week: by mode (the one it was born with), edits, rejections by people, expiries, failures, and the median time to a decision where a person was asked. ORDER BY review DESC: which tool causes most reviews.';

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['registry', 'tool_list', 'tool_changes', 'standing_grants', 'frozen', 'group_members',
									'policy_audit', 'tool_health']
	LOOP
		EXECUTE pg_catalog.format('ALTER VIEW approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
	END LOOP;
END
$do$;
