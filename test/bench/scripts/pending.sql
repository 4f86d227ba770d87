-- Requests that wait, on top of the finished ones of fill.sql: nine tenths of
-- them proposed among those, the rest after them.  One tenth is of the tool
-- transfer_funds, another one of critical risk; forty are assigned, forty are
-- for a group.  They lie in the table in no order, so that no page of them has
-- its rows side by side.  Inserted as a superuser: nothing guards an INSERT.
-- Variables: how_many (finished requests), pending.

\set place '(CASE WHEN j <= :pending * 9 / 10 THEN j * :how_many * 10 / (:pending * 9) ELSE :how_many + j - :pending * 9 / 10 END)'
\set digest 'sha256((j || $$ waits$$)::bytea)::approval.digest'
\set call '(100000000000000000 + abs(hashint8extended(j, 9) % 900000000000000000))::text'
\set conversation '(100000000000000000 + abs(hashint8extended(j / 3, 10) % 900000000000000000))::text'
\set arguments '$${"amount":"129.90","currency":"EUR","customer":"cus_4711","lines":[{"quantity":2,"sku":"TS-1001-BLK-M"}],"payment":"pay_$$ || j || $$"}$$'

INSERT INTO approval.requests (tenant, id, conversation_id, tool_call_id, run_id, server, tool, resource, arguments,
	action_hash, review_hash, summary, agent_reason, requester_login, requested_by, on_behalf_of, assignee, mode, risk,
	effect, gate_reason, reviewer_group, approvals, approvals_needed, rejections, rejections_needed, status, proposed_at,
	expires_at, use_within, attempt, events, row_digest, head)
SELECT '', (lpad(to_hex(ms), 12, '0') || lpad(to_hex(j), 20, '0'))::uuid::approval.ulid,
	:conversation, :call, 'run_' || j / 3, 'payments', tool, 'customer/4711', (:arguments)::json,
	d, d, 'payments/' || tool || ' on customer/4711 with ' || :arguments, 'The customer was charged twice.',
	'bench', 'agent:support', 'user:9', CASE WHEN nth = 1 THEN 'user:7' END, 'review',
	CASE j % 10 WHEN 3 THEN 'critical' WHEN 5 THEN 'high' ELSE 'medium' END,
	'external', 'unknown_tool', CASE WHEN nth = 2 THEN 'board' END, 0, 1, 0, 1, 'pending',
	timestamptz '1970-01-01 00:00:00Z' + ms * interval '1 ms', now() + interval '30 days',
	3600000000, 0, 1, d, d
  FROM (SELECT j, 1700000000200 + :place * 400 AS ms, :digest AS d,
			   CASE WHEN j % (:pending / 40) < 3 THEN j % (:pending / 40) END AS nth,
			   CASE j % 10 WHEN 1 THEN 'transfer_funds' WHEN 2 THEN 'send_mail' WHEN 4 THEN 'delete_object'
				   ELSE 'refund_payment' END AS tool
		  FROM generate_series(1::bigint, :pending) j) s
 ORDER BY hashint8extended(j, 11);
