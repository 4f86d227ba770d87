-- Events: one for each transition, in a chain that anybody can compute again
-- with SQL and a canonical JSON.
\set ns events
\ir include/gate.psql
SELECT no_plan();

-- A life with everything in it, next to one in each state.
SELECT t.row('gateway', $$approval.propose('call "1"', 'réfund', '{"amount":50,"to":"\u202e\n😀"}', 'conv', 'shop', 'order:1', '{"name":"réfund"}', 'run', E'why \\ "so"',
	'{ "p": 1e400 }', on_behalf_of => 'user:ü', assignee => 'user:bob', expires_in => '2 h', reply_to => 'https://x/', metadata => '[ ]')$$) ->> 'id' AS id \gset
SELECT t.row('alice', format('approval.edit(%L, %L, %L, note => %L)', :'id', t.seen(:'id'), '{"amount":40}', E'a "note"\twith ä and \\')) ->> 'status' AS s \gset
SELECT t.row('runner', format('approval.consume(%L, ''réfund'', ''{"amount":40}'', ''run-1'', ''shop'', ''order:1'')', :'id')) ->> 'token' AS token \gset
SELECT t.row('runner', format('approval.complete(%L, ''run-1'', %L, ''unknown'', ''{ "r": 12345678901234567890 }'')', :'id', :'token')) ->> 'outcome' AS s \gset
SELECT t.row('bob', format('approval.reconcile(%L, ''succeeded'', ''seen'')', :'id')) ->> 'outcome' AS s \gset
CREATE TABLE t.states AS SELECT state, t.request(state) AS id
  FROM unnest(ARRAY['pending', 'approved', 'rejected', 'cancelled', 'revoked', 'in_flight', 'lost', 'unknown', 'succeeded', 'failed']) AS state;

SELECT results_eq(format('SELECT n, kind, actor, login, role, status_before, status_after, outcome_before, outcome_after, note FROM approval.events WHERE request_id = %L ORDER BY n', :'id'),
	$$VALUES (1, 'proposed', 'gateway:mcp', 'events_gateway', 'events_gateway', NULL, 'pending', NULL, NULL, NULL),
		(2, 'edited', 'user:alice', 'events_alice', 'events_alice', 'pending', 'approved', NULL, NULL, E'a "note"\twith ä and \\'),
		(3, 'consumed', 'service:runner', 'events_runner', 'events_runner', 'approved', 'consumed', NULL, 'in_flight', NULL),
		(4, 'completed', 'service:runner', 'events_runner', 'events_runner', 'consumed', 'consumed', 'in_flight', 'unknown', NULL),
		(5, 'reconciled', 'user:bob', 'events_bob', 'events_bob', 'consumed', 'consumed', 'unknown', 'succeeded', 'seen')$$, 'the trail of a request');
SELECT set_eq($$SELECT DISTINCT kind FROM approval.events$$, '{proposed,approved,edited,rejected,cancelled,revoked,consumed,completed,reconciled}'::text[], 'the kinds of events');
SELECT is_empty($$SELECT id FROM approval.requests r WHERE events <> (SELECT count(*) FROM approval.events e WHERE (e.tenant, e.request_id) = (r.tenant, r.id))$$, 'a request counts its events');
SELECT is_empty($$SELECT e.hash FROM approval.events e JOIN approval.requests r ON r.id = e.request_id
	WHERE e.at <> CASE e.kind WHEN 'proposed' THEN r.proposed_at WHEN 'approved' THEN r.decided_at WHEN 'edited' THEN r.decided_at WHEN 'rejected' THEN r.decided_at
	WHEN 'consumed' THEN r.consumed_at WHEN 'reconciled' THEN r.completed_at ELSE e.at END$$, 'the time of an event is the time of the row');
SELECT is_empty($$SELECT d.n FROM approval.decisions d LEFT JOIN approval.events e ON (e.tenant, e.request_id, e.n, e.at, e.actor, e.login, e.action_hash, e.review_hash)
	= (d.tenant, d.request_id, d.n, d.at, d.actor, d.login, d.action_hash, d.review_hash) AND e.kind IN ('approved', 'edited', 'rejected') WHERE e.n IS NULL$$, 'each decision is one event');
SELECT is((SELECT count(*) FROM approval.decisions), (SELECT count(*) FROM approval.events WHERE kind IN ('approved', 'edited', 'rejected')), 'and the reverse');

-- The chain, from what an auditor sees and nothing else.
CREATE FUNCTION t.rfc3339(at timestamptz) RETURNS text LANGUAGE sql RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
CREATE FUNCTION t.sha256(doc text) RETURNS text LANGUAGE sql RETURN encode(sha256(convert_to(doc, 'UTF8')), 'hex');
CREATE VIEW t.chain AS
SELECT request_id, n, hash::text, previous::text, lag(hash::text) OVER (PARTITION BY tenant, request_id ORDER BY n) AS hash_before,
	t.sha256(approval.jcs(json_build_object('v', 1, 'tenant', tenant, 'request', request_id::text, 'n', n, 'at', t.rfc3339(at), 'kind', kind, 'actor', actor, 'login', login,
		'role', role, 'client', client, 'status_before', status_before, 'status_after', status_after, 'outcome_before', outcome_before, 'outcome_after', outcome_after,
		'action', action_hash::text, 'review', review_hash::text, 'note', note, 'row', row_digest::text, 'previous', previous::text))) AS computed
  FROM approval.audit;
GRANT SELECT ON t.chain TO PUBLIC;
SELECT cmp_ok((SELECT count(*) FROM t.chain), '>=', 25::bigint, 'events to compute');
SELECT is_empty('SELECT request_id, n FROM t.chain WHERE hash <> computed', 'every hash can be computed from the audit view');
SELECT is_empty('SELECT request_id, n FROM t.chain WHERE previous IS DISTINCT FROM hash_before', 'and each event names the one before');
SELECT is_empty($$SELECT id FROM approval.requests r WHERE head <> (SELECT hash FROM approval.events e WHERE e.request_id = r.id ORDER BY n DESC LIMIT 1)$$, 'the head is the last hash');

-- The digest of a row, from its columns.
CREATE FUNCTION t.row_digest(r approval.requests) RETURNS text LANGUAGE sql
BEGIN ATOMIC
	SELECT t.sha256(approval.jcs(json_object_agg(name, value)))
	  FROM (SELECT 'v' AS name, '1'::json AS value
			UNION ALL
			SELECT a.attname, CASE format_type(a.atttypid, NULL)
					WHEN 'json' THEN to_json(t.sha256(c.value))
					WHEN 'timestamp with time zone' THEN to_json(t.rfc3339(c.value::timestamptz))
					WHEN 'integer' THEN c.value::json
					ELSE to_json(c.value) END
			  FROM pg_attribute a,
				   LATERAL (SELECT CASE a.attname WHEN 'arguments' THEN r.arguments::text WHEN 'proposed_arguments' THEN r.proposed_arguments::text
							WHEN 'preview' THEN r.preview::text WHEN 'metadata' THEN r.metadata::text WHEN 'result' THEN r.result::text
							ELSE row_to_json(r) ->> a.attname END) AS c(value)
			 WHERE a.attrelid = 'approval.requests'::regclass AND a.attnum > 0 AND NOT a.attisdropped
			   AND c.value IS NOT NULL
			   AND a.attname NOT IN ('lease_until', 'claimed_by', 'claimed_until', 'due_at', 'events', 'row_digest', 'head')) AS members;
END;
SELECT is_empty('SELECT id FROM approval.requests r WHERE t.row_digest(r) <> row_digest::text', 'the digest of a row can be computed from its columns');
SELECT is_empty('SELECT id FROM approval.requests r WHERE row_digest <> (SELECT row_digest FROM approval.events e WHERE e.request_id = r.id ORDER BY n DESC LIMIT 1)',
	'and stands in its last event');
SELECT is_empty('SELECT r.id FROM approval.requests r, LATERAL approval.verify_request(r.id) v WHERE NOT v.ok OR v.events <> r.events OR v.problem IS NOT NULL', 'verify_request agrees');

-- The settings of a session make no difference to a hash.
SET timezone = 'Asia/Kathmandu';
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
SET bytea_output = 'escape';
SET extra_float_digits = -3;
SELECT is_empty('SELECT r.id FROM approval.requests r, LATERAL approval.verify_request(r.id) v WHERE NOT v.ok', 'nor to verifying');
SELECT t.request('succeeded') AS elsewhere \gset
RESET timezone; RESET datestyle; RESET intervalstyle; RESET bytea_output; RESET extra_float_digits;
SELECT is((approval.verify_request(:'elsewhere')).ok, true, 'nor to making one');
SELECT is_empty('SELECT request_id, n FROM t.chain WHERE hash <> computed', 'which can be computed again');

-- The tests' own reading is sharp: each member counts.
SELECT isnt(t.row_digest(r), t.row_digest(jsonb_populate_record(r, jsonb_build_object(column_name, other))), 'the digest covers ' || column_name)
  FROM approval.requests r, (VALUES ('tool', 'x'), ('use_within', '1'), ('approvals', '9'), ('denial', 'x'), ('token_hash', repeat('0', 64))) AS v(column_name, other)
 WHERE r.id = :'id';

-- The events number themselves across requests; the doorbell's clients go by that.
SELECT is((SELECT count(DISTINCT seq) FROM approval.events), (SELECT count(*) FROM approval.events), 'seq is unique');
SELECT is((SELECT count(DISTINCT origin) FROM approval.events), 1::bigint, 'all have one origin');

SELECT * FROM finish();
ROLLBACK;
