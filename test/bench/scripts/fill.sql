-- Finished requests, of which half were executed and half rejected, with their
-- decisions and events.  Inserted as a superuser: nothing guards an INSERT.
-- Variables: schema, how_many, relation (requests, decisions, events or all).

\set ulid '(lpad(to_hex(1700000000000 + i * 400), 12, $$0$$) || lpad(to_hex(i), 20, $$0$$))::uuid::approval.ulid'
\set proposed '(timestamptz $$2023-11-14 22:13:20Z$$ + i * interval $$400 ms$$)'
\set digest 'sha256(i::text::bytea)::approval.digest'
\set call '(100000000000000000 + abs(hashint8extended(i, 7) % 900000000000000000))::text'
\set conversation '(100000000000000000 + abs(hashint8extended(i / 3, 8) % 900000000000000000))::text'
\set arguments '$${"amount":"129.90","currency":"EUR","customer":"cus_4711","lines":[{"quantity":2,"sku":"TS-1001-BLK-M"}],"payment":"pay_$$ || i || $$"}$$'

SELECT :'relation' IN ('requests', 'all') AS fill_requests,
	:'relation' IN ('decisions', 'all') AS fill_decisions,
	:'relation' IN ('events', 'all') AS fill_events \gset

\if :fill_requests
INSERT INTO :schema.requests (tenant, id, conversation_id, tool_call_id, run_id, server, tool, resource, arguments,
	action_hash, review_hash, summary, agent_reason, requester_login, requested_by, on_behalf_of, mode, effect,
	gate_reason, approvals, approvals_needed, rejections, rejections_needed, status, cause, proposed_at, expires_at, use_within, decided_by,
	decided_at, denial, use_by, consumed_at, executor_login, execution_id, attempt, token_hash, lease_until,
	outcome, result, completed_at, events, row_digest, head)
SELECT '', :ulid, :conversation, :call, 'run_' || i / 3, 'payments', 'refund_payment', 'customer/4711', (:arguments)::json,
	d, d, 'payments/refund_payment on customer/4711 with ' || :arguments, 'The customer was charged twice.',
	'bench', 'agent:support', 'user:7', 'review', 'external',
	'unknown_tool', done::int, 1, 0, 1, CASE WHEN done THEN 'consumed' ELSE 'rejected' END, 'person',
	at, at + interval '1 day', 3600000000, 'user:42',
	at + interval '1 minute', CASE WHEN NOT done THEN 'Ask the customer for the second receipt first.' END,
	CASE WHEN done THEN at + interval '61 minutes' END, CASE WHEN done THEN at + interval '2 minutes' END,
	CASE WHEN done THEN 'bench' END, CASE WHEN done THEN :call END, done::int,
	CASE WHEN done THEN d END, CASE WHEN done THEN at + interval '7 minutes' END,
	CASE WHEN done THEN 'succeeded' END, CASE WHEN done THEN '{"refund_id":"re_5kJ2mQ81","status":"succeeded"}'::json END,
	CASE WHEN done THEN at + interval '3 minutes' END, CASE WHEN done THEN 4 ELSE 2 END, d, d
  FROM (SELECT i, :digest AS d, :proposed AS at, i % 2 = 0 AS done
		  FROM generate_series(1::bigint, :how_many) i) s;
\endif

\if :fill_decisions
INSERT INTO :schema.decisions (tenant, request_id, n, at, verdict, actor, login, seen, review_hash, action_hash)
SELECT '', :ulid, 2, :proposed + interval '1 minute', CASE WHEN i % 2 = 0 THEN 'approve' ELSE 'reject' END,
	'user:42', 'bench', d, d, d
  FROM (SELECT i, :digest AS d FROM generate_series(1::bigint, :how_many) i) s;
\endif

\if :fill_events
INSERT INTO :schema.events (tenant, request_id, n, origin, at, kind, actor, login, role, client, status_before,
	status_after, outcome_before, outcome_after, action_hash, review_hash, row_digest, previous, hash)
SELECT '', :ulid, n, 7714101331448530312, :proposed + (n - 1) * interval '1 minute',
	CASE n WHEN 1 THEN 'proposed' WHEN 3 THEN 'consumed' WHEN 4 THEN 'completed'
		ELSE CASE WHEN i % 2 = 0 THEN 'approved' ELSE 'rejected' END END,
	CASE n WHEN 2 THEN 'user:42' ELSE 'agent:support' END, 'bench', 'bench', '[local]',
	CASE n WHEN 2 THEN 'pending' WHEN 3 THEN 'approved' WHEN 4 THEN 'consumed' END,
	CASE n WHEN 1 THEN 'pending' WHEN 2 THEN CASE WHEN i % 2 = 0 THEN 'approved' ELSE 'rejected' END ELSE 'consumed' END,
	CASE n WHEN 4 THEN 'in_flight' END, CASE n WHEN 3 THEN 'in_flight' WHEN 4 THEN 'succeeded' END,
	d, d, d, CASE WHEN n > 1 THEN d END, d
  FROM (SELECT i, :digest AS d FROM generate_series(1::bigint, :how_many) i) s,
	generate_series(1, 2 + 2 * (1 - i % 2)::int) n;
\endif
