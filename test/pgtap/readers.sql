-- What readers see: deadlines hold though nobody has written them down, and the
-- loop finds what it needs to go on.
\set ns readers
\ir include/gate.psql
SELECT no_plan();

SELECT t.row('agent', 'approval.propose(''quiet'', ''refund'', ''{}'', ''elsewhere'')') ->> 'status' AS s \gset
CREATE TABLE t.states AS SELECT state, t.request(state) AS id
  FROM unnest(ARRAY['pending', 'approved', 'rejected', 'cancelled', 'revoked', 'late', 'stale', 'in_flight', 'lost', 'unknown', 'succeeded', 'failed']) AS state;
SELECT t.row('alice', format('approval.edit(%L, %L, %L)', i, t.seen(i), '{"amount":40}')) ->> 'id' AS edited FROM t.proposed('run_id => ''run-7''') AS i \gset
SELECT t.row('alice', format('approval.reject(%L, %L, result => ''Ask "less".'')', i, t.seen(i))) ->> 'id' AS denied FROM t.proposed('run_id => ''run-7''') AS i \gset
SELECT FROM pg_sleep(1.1);

CREATE TABLE t.effective AS SELECT * FROM (VALUES
	('pending', 'pending', NULL, NULL), ('approved', 'approved', 'person', NULL), ('rejected', 'rejected', 'person', NULL), ('cancelled', 'cancelled', 'withdrawn', NULL),
	('revoked', 'revoked', 'revoked', NULL), ('late', 'expired', 'decide_deadline', NULL), ('stale', 'expired', 'use_deadline', NULL), ('in_flight', 'consumed', 'person', 'in_flight'),
	('lost', 'consumed', 'person', 'unknown'), ('unknown', 'consumed', 'person', 'unknown'), ('succeeded', 'consumed', 'person', 'succeeded'), ('failed', 'consumed', 'person', 'failed')) AS v(state, status, cause, outcome);
CREATE FUNCTION t.three(r jsonb) RETURNS text LANGUAGE sql RETURN concat_ws(' ', r ->> 'status', r ->> 'cause', r ->> 'outcome');
SELECT is(t.three(r), concat_ws(' ', e.status, e.cause, e.outcome), format('%s: %s', what, state))
  FROM t.effective e JOIN t.states USING (state), LATERAL (VALUES
	('request_of', t.row('agent', format('approval.request_of(%L)', id))),
	('request_for', t.row('agent', format('approval.request_for('''', %L)', (t.stored(id)).tool_call_id))),
	('history', t.row('auditor', format('(SELECT * FROM approval.history WHERE id = %L)', id))),
	('outcomes', (SELECT x FROM jsonb_array_elements((t.as('agent', 'approval.outcomes('''')')).rows) x WHERE x ->> 'id' = id::text)),
	('propose again', t.row('agent', format('approval.propose(%L, ''refund'', ''{"order":"A-1","amount":50}'')', (t.stored(id)).tool_call_id)))) AS v(what, r);
SELECT is((t.stored(id)).status || ' ' || coalesce((t.stored(id)).outcome, ''), stored, state || ': as stored') FROM t.states JOIN (VALUES ('late', 'pending '), ('stale', 'approved '), ('lost', 'consumed in_flight')) AS v(state, stored) USING (state);

-- inbox: what waits for a person.
SELECT set_eq($$SELECT s.state, i.status, i.outcome FROM approval.inbox i JOIN t.states s USING (id)$$,
	$$VALUES ('pending', 'pending', NULL), ('late', 'expired', NULL), ('lost', 'consumed', 'unknown'), ('unknown', 'consumed', 'unknown')$$, 'inbox');
SELECT is_empty('SELECT id FROM approval.inbox GROUP BY id HAVING count(*) > 1', 'each once');
SELECT results_eq('SELECT sort_key FROM approval.history ORDER BY sort_key COLLATE "C"', 'SELECT id::text FROM approval.history ORDER BY id', 'sort_key sorts as the id does');

-- pending: the questions of a conversation, and the set that was shown.
SELECT is((SELECT array_agg(x ->> 'id') FROM jsonb_array_elements((t.as('agent', 'approval.pending('''')')).rows) x), (SELECT array_agg(id::text) FROM t.states WHERE state = 'pending'), 'pending');
SELECT t.proposed('conversation_id => ''three''') AS p1 \gset
SELECT t.proposed('conversation_id => ''three''') AS p2 \gset
SELECT t.proposed('conversation_id => ''three''') AS p3 \gset
SELECT is((SELECT array_agg(x ->> 'id' ORDER BY o) FROM jsonb_array_elements((t.as('agent', 'approval.pending(''three'')')).rows) WITH ORDINALITY AS v(x, o)), ARRAY[:'p1', :'p2', :'p3'], 'in order of proposal');
SELECT is((SELECT array_agg(DISTINCT x ->> 'seen_set') FROM jsonb_array_elements((t.as('agent', 'approval.pending(''three'')')).rows) x),
	ARRAY[encode(sha256(convert_to(approval.jcs(json_build_array(json_build_array(:'p1', t.seen(:'p1')::text), json_build_array(:'p2', t.seen(:'p2')::text), json_build_array(:'p3', t.seen(:'p3')::text))), 'UTF8')), 'hex')],
	'seen_set is the SHA-256 of the canonical array of [id, review_hash]');
SELECT t.row('alice', format('approval.approve(%L, %L)', :'p2', t.seen(:'p2'))) ->> 'status' AS s \gset
SELECT is((SELECT array_agg(x ->> 'id' ORDER BY o) FROM jsonb_array_elements((t.as('agent', 'approval.pending(''three'')')).rows) WITH ORDINALITY AS v(x, o)), ARRAY[:'p1', :'p3'], 'what is decided is gone');
SELECT is((t.as('agent', 'approval.pending(''nothing'')')).rows, NULL, 'no rows: nothing waits');
SELECT is((t.as('agent', 'approval.outcomes(''nothing'')')).rows, NULL, 'nor has anything come of it');

-- outcomes: what the loop goes on with.
CREATE FUNCTION t.outcome(request approval.ulid) RETURNS jsonb LANGUAGE sql
RETURN (SELECT x FROM jsonb_array_elements((t.as('agent', 'approval.outcomes('''')')).rows) x WHERE x ->> 'id' = request::text);
SELECT is(o ->> key, value, format('edited: %s', key)) FROM t.outcome(:'edited') AS o, (VALUES ('verdict', 'approve'), ('edited', 'true'), ('stop', 'false'), ('arguments', '{"amount": 40}'), ('record', NULL), ('run', 'run-7')) AS v(key, value);
SELECT is(o ->> key, value, format('rejected with a text: %s', key)) FROM t.outcome(:'denied') AS o, (VALUES ('verdict', 'reject'), ('edited', 'false'), ('stop', 'false'), ('denial', 'Ask "less".')) AS v(key, value);
SELECT is(o -> 'record', jsonb_build_object('tool_call_id', o ->> 'tool_call_id', 'status', 'rejected', 'executed', 'no', 'content', 'Ask "less".'), 'and its record stands ready') FROM t.outcome(:'denied') AS o;
SELECT is((o ->> 'stop', o ->> 'verdict', o #>> '{record,content}')::text, (stop, verdict, content)::text, state || ': stop, verdict, record') FROM t.states, LATERAL t.outcome(id) AS o,
	LATERAL (SELECT CASE WHEN state IN ('rejected') THEN 'true' ELSE 'false' END AS stop, CASE WHEN state = 'rejected' THEN 'reject' WHEN state IN ('pending', 'late', 'cancelled', 'revoked', 'stale') THEN NULL ELSE 'approve' END AS verdict,
		CASE state WHEN 'rejected' THEN 'The call was not approved and not executed.' WHEN 'cancelled' THEN 'The call was withdrawn, and not executed.'
			WHEN 'revoked' THEN 'The approval was taken back, and the call was not executed.' WHEN 'late' THEN 'The call was not approved in time, and not executed.'
			WHEN 'stale' THEN 'The approval has lapsed, and the call was not executed.' END AS content) AS w;
SELECT is((SELECT array_agg(s.state ORDER BY s.state) FROM jsonb_array_elements((t.as('agent', format('approval.outcomes('''', open_only => %L)', word))).rows) x JOIN t.states s ON s.id::text = x ->> 'id'),
	CASE WHEN word IN ('true', 'on', '1', 'yes') THEN ARRAY['approved', 'in_flight', 'lost', 'pending', 'unknown'] ELSE (SELECT array_agg(state ORDER BY state) FROM t.states) END, format('open_only %L', word))
  FROM unnest(ARRAY['true', 'on', '1', 'yes', 'false', '', NULL]) AS word;
SELECT is(t.says('agent', 'approval.outcomes('''', open_only => ''maybe'')'), '22023', 'open_only is true or false');
SELECT is(jsonb_array_length((t.as('agent', 'approval.outcomes('''', ''run-7'')')).rows), 2, 'of one run');
SELECT is(t.row('agent', 'approval.request_for(''elsewhere'', ''quiet'')') ->> 'tool_call_id', 'quiet', 'request_for goes by conversation');
SELECT is(t.says('agent', 'approval.request_for('''', ''quiet'')'), 'PT404 not_found', 'and not beyond it');

SELECT * FROM finish();
ROLLBACK;
