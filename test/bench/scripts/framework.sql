\set conversation random(100000000000000000, 999999999999999999)
\set call random(100000000000000000, 999999999999999999)

/* propose */ BEGIN;
/* propose */ INSERT INTO framework.requests (tenant, id, conversation_id, tool_call_id, run_id, server, tool, resource,
	arguments, action_hash, review_hash, summary, agent_reason, requester_login, requested_by, on_behalf_of,
	mode, effect, gate_reason, approvals, approvals_needed, rejections, rejections_needed, status, proposed_at, expires_at, use_within,
	attempt, events, row_digest, head)
VALUES ('', approval.new_ulid(), :conversation, :call, :run, :server, :tool, :resource,
	:canonical, :digest, :digest, :summary, :reason, :login, :agent, :owner,
	'review', 'external', 'unknown_tool', 0, 1, 0, 1, 'pending', clock_timestamp(),
	clock_timestamp() + interval '1 day', 3600000000, 0, 1, :digest, :digest)
RETURNING id
\gset r_
/* propose */ INSERT INTO framework.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
	status_after, action_hash, review_hash, row_digest, hash)
VALUES ('', :r_id, 1, :origin, clock_timestamp(), 'proposed', :agent, :login, :login, '[local]',
	'pending', :digest, :digest, :digest, :digest);
/* propose */ SELECT pg_notify(:channel_tenant, '{"id":"' || :r_id || '","event":"proposed","status":"pending"}'), pg_notify(:channel_conversation, '{"id":"' || :r_id || '","event":"proposed","status":"pending"}'), pg_notify('approval', '{"id":"' || :r_id || '","event":"proposed","status":"pending"}'); -- notify
/* propose */ COMMIT;

/* decide */ BEGIN;
/* decide */ SELECT * FROM framework.requests WHERE tenant = '' AND id = :r_id FOR UPDATE;
/* decide */ UPDATE framework.requests
   SET status = 'approved', cause = 'person', approvals = 1, decided_by = :reviewer,
	   decided_at = clock_timestamp(), use_by = clock_timestamp() + interval '1 hour',
	   events = 2, row_digest = :digest, head = :digest
 WHERE tenant = '' AND id = :r_id;
/* decide */ INSERT INTO framework.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
	status_before, status_after, note, action_hash, review_hash, row_digest, previous, hash)
VALUES ('', :r_id, 2, :origin, clock_timestamp(), 'approved', :reviewer, :login, :login, '[local]',
	'pending', 'approved', :note, :digest, :digest, :digest, :digest, :digest);
/* decide */ INSERT INTO framework.decisions (tenant, request_id, n, at, verdict, actor, login, seen, review_hash, action_hash, note)
VALUES ('', :r_id, 2, clock_timestamp(), 'approve', :reviewer, :login, :digest, :digest, :digest, :note);
/* decide */ SELECT pg_notify(:channel_tenant, '{"id":"' || :r_id || '","event":"approved","status":"approved"}'), pg_notify(:channel_conversation, '{"id":"' || :r_id || '","event":"approved","status":"approved"}'), pg_notify('approval', '{"id":"' || :r_id || '","event":"approved","status":"approved"}'); -- notify
/* decide */ COMMIT;

/* consume */ BEGIN;
/* consume */ SELECT * FROM framework.requests WHERE tenant = '' AND id = :r_id FOR UPDATE;
/* consume */ UPDATE framework.requests
   SET status = 'consumed', outcome = 'in_flight', consumed_at = clock_timestamp(), executor_login = :login,
	   execution_id = :call, attempt = 1, token_hash = :digest,
	   lease_until = clock_timestamp() + interval '5 minutes',
	   events = 3, row_digest = :digest, head = :digest
 WHERE tenant = '' AND id = :r_id;
/* consume */ INSERT INTO framework.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
	status_before, status_after, outcome_after, action_hash, review_hash, row_digest, previous, hash)
VALUES ('', :r_id, 3, :origin, clock_timestamp(), 'consumed', :agent, :login, :login, '[local]',
	'approved', 'consumed', 'in_flight', :digest, :digest, :digest, :digest, :digest);
/* consume */ SELECT pg_notify(:channel_tenant, '{"id":"' || :r_id || '","event":"consumed","status":"consumed"}'), pg_notify(:channel_conversation, '{"id":"' || :r_id || '","event":"consumed","status":"consumed"}'), pg_notify('approval', '{"id":"' || :r_id || '","event":"consumed","status":"consumed"}'); -- notify
/* consume */ COMMIT;

/* complete */ BEGIN;
/* complete */ SELECT * FROM framework.requests WHERE tenant = '' AND id = :r_id FOR UPDATE;
/* complete */ UPDATE framework.requests
   SET outcome = 'succeeded', result = :result, completed_at = clock_timestamp(),
	   events = 4, row_digest = :digest, head = :digest
 WHERE tenant = '' AND id = :r_id;
/* complete */ INSERT INTO framework.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
	status_before, status_after, outcome_before, outcome_after, action_hash, review_hash, row_digest, previous, hash)
VALUES ('', :r_id, 4, :origin, clock_timestamp(), 'completed', :agent, :login, :login, '[local]',
	'consumed', 'consumed', 'in_flight', 'succeeded', :digest, :digest, :digest, :digest, :digest);
/* complete */ SELECT pg_notify(:channel_tenant, '{"id":"' || :r_id || '","event":"completed","status":"consumed"}'), pg_notify(:channel_conversation, '{"id":"' || :r_id || '","event":"completed","status":"consumed"}'), pg_notify('approval', '{"id":"' || :r_id || '","event":"completed","status":"consumed"}'); -- notify
/* complete */ COMMIT;
