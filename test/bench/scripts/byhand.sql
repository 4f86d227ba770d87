\set conversation random(100000000000000000, 999999999999999999)
\set call random(100000000000000000, 999999999999999999)

/* propose */ WITH r AS (
	INSERT INTO byhand.requests (tenant, id, conversation_id, tool_call_id, run_id, server, tool, resource,
		arguments, action_hash, review_hash, summary, agent_reason, requester_login, requested_by, on_behalf_of,
		mode, effect, gate_reason, approvals, approvals_needed, rejections, rejections_needed, status, proposed_at, expires_at, use_within,
		attempt, events, row_digest, head)
	VALUES ('', approval.new_ulid(), :conversation, :call, :run, :server, :tool, :resource,
		:canonical, :digest, :digest, :summary, :reason, :login, :agent, :owner,
		'review', 'external', 'unknown_tool', 0, 1, 0, 1, 'pending', clock_timestamp(),
		clock_timestamp() + interval '1 day', 3600000000, 0, 1, :digest, :digest)
	RETURNING *
), e AS (
	INSERT INTO byhand.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
		status_after, action_hash, review_hash, row_digest, hash)
	SELECT r.tenant, r.id, r.events, :origin, r.proposed_at, 'proposed', :agent, :login, :login, '[local]',
		r.status, r.action_hash, r.review_hash, r.row_digest, r.head
	  FROM r
	RETURNING pg_notify(:channel_tenant, '{"id":"' || request_id || '","event":"proposed","status":"pending"}'), -- notify
		pg_notify(:channel_conversation, '{"id":"' || request_id || '","event":"proposed","status":"pending"}'), -- notify
		pg_notify('approval', '{"id":"' || request_id || '","event":"proposed","status":"pending"}') -- notify
)
SELECT @REQUEST@ FROM r
\gset r_

/* decide */ WITH r AS (
	UPDATE byhand.requests
	   SET status = 'approved', cause = 'person', approvals = 1, decided_by = :reviewer,
		   decided_at = clock_timestamp(), use_by = clock_timestamp() + interval '1 hour',
		   events = events + 1, row_digest = :digest, head = :digest
	 WHERE tenant = '' AND id = :r_id AND status = 'pending'
	RETURNING *
), e AS (
	INSERT INTO byhand.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
		status_before, status_after, note, action_hash, review_hash, row_digest, previous, hash)
	SELECT r.tenant, r.id, r.events, :origin, r.decided_at, 'approved', :reviewer, :login, :login, '[local]',
		'pending', r.status, :note, r.action_hash, r.review_hash, r.row_digest, :digest, r.head
	  FROM r
	RETURNING pg_notify(:channel_tenant, '{"id":"' || request_id || '","event":"approved","status":"approved"}'), -- notify
		pg_notify(:channel_conversation, '{"id":"' || request_id || '","event":"approved","status":"approved"}'), -- notify
		pg_notify('approval', '{"id":"' || request_id || '","event":"approved","status":"approved"}') -- notify
), d AS (
	INSERT INTO byhand.decisions (tenant, request_id, n, at, verdict, actor, login, seen, review_hash, action_hash, note)
	SELECT r.tenant, r.id, r.events, r.decided_at, 'approve', :reviewer, :login,
		r.review_hash, r.review_hash, r.action_hash, :note
	  FROM r
)
SELECT @REQUEST@ FROM r;

/* consume */ WITH r AS (
	UPDATE byhand.requests
	   SET status = 'consumed', outcome = 'in_flight', consumed_at = clock_timestamp(), executor_login = :login,
		   execution_id = :call, attempt = attempt + 1, token_hash = :digest,
		   lease_until = clock_timestamp() + interval '5 minutes',
		   events = events + 1, row_digest = :digest, head = :digest
	 WHERE tenant = '' AND id = :r_id AND status = 'approved'
	RETURNING *
), e AS (
	INSERT INTO byhand.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
		status_before, status_after, outcome_after, action_hash, review_hash, row_digest, previous, hash)
	SELECT r.tenant, r.id, r.events, :origin, r.consumed_at, 'consumed', :agent, :login, :login, '[local]',
		'approved', r.status, r.outcome, r.action_hash, r.review_hash, r.row_digest, :digest, r.head
	  FROM r
	RETURNING pg_notify(:channel_tenant, '{"id":"' || request_id || '","event":"consumed","status":"consumed"}'), -- notify
		pg_notify(:channel_conversation, '{"id":"' || request_id || '","event":"consumed","status":"consumed"}'), -- notify
		pg_notify('approval', '{"id":"' || request_id || '","event":"consumed","status":"consumed"}') -- notify
)
SELECT r.id, r.tool_call_id, r.conversation_id, r.run_id, r.server, r.tool, r.resource, r.arguments, r.action_hash,
	r.execution_id, r.attempt, :token::text AS token, r.id::text AS idempotency_key, r.lease_until, r.decided_by, r.decided_at
  FROM r
\gset p_

/* complete */ WITH r AS (
	UPDATE byhand.requests
	   SET outcome = 'succeeded', result = :result, completed_at = clock_timestamp(),
		   events = events + 1, row_digest = :digest, head = :digest
	 WHERE tenant = '' AND id = :r_id AND status = 'consumed' AND outcome = 'in_flight'
	RETURNING *
), e AS (
	INSERT INTO byhand.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
		status_before, status_after, outcome_before, outcome_after, action_hash, review_hash, row_digest, previous, hash)
	SELECT r.tenant, r.id, r.events, :origin, r.completed_at, 'completed', :agent, :login, :login, '[local]',
		'consumed', r.status, 'in_flight', r.outcome, r.action_hash, r.review_hash, r.row_digest, :digest, r.head
	  FROM r
	RETURNING pg_notify(:channel_tenant, '{"id":"' || request_id || '","event":"completed","status":"consumed"}'), -- notify
		pg_notify(:channel_conversation, '{"id":"' || request_id || '","event":"completed","status":"consumed"}'), -- notify
		pg_notify('approval', '{"id":"' || request_id || '","event":"completed","status":"consumed"}') -- notify
)
SELECT @REQUEST@ FROM r;
