-- Handles: another system reports once, with a secret that is shown once, and
-- changes nothing else.
\set ns handles
\ir include/gate.psql
SELECT no_plan();

SELECT t.row('agent', $$approval.start_run('conv', 'r')$$) IS NOT NULL, t.row('agent', $$approval.start_run('conv 2', 'r2')$$) IS NOT NULL \g /dev/null
SELECT t.row('agent', $$approval.claim_run('r')$$) ->> 'token' AS token, t.row('agent', $$approval.claim_run('r2')$$) ->> 'token' AS token2 \gset
CREATE FUNCTION t.attached(handle text, token text, run text DEFAULT 'r') RETURNS jsonb LANGUAGE sql
RETURN t.row('agent', format('approval.attach_handle(%L, %L, ''n8n'', %L)', run, token, handle));
CREATE FUNCTION t.report(handle text, secret text, more text DEFAULT '''succeeded''', who text DEFAULT 'runner') RETURNS text LANGUAGE sql
RETURN t.says(who, format('approval.callback(''n8n'', %L, %L, %s)', handle, secret, more));
CREATE FUNCTION t.h(wanted text) RETURNS approval.handles LANGUAGE sql RETURN (SELECT h FROM approval.handles h WHERE h.handle = wanted);

SELECT t.attached('exec-1', :'token') ->> 'secret' AS secret \gset
SELECT matches(:'secret'::text, '^[0-9a-f]{64}$', 'a secret');
SELECT ok(position(:'secret' IN row_to_json(h)::text) = 0, 'which is stored nowhere') FROM t.h('exec-1') AS h;
SELECT is_empty(format('SELECT FROM approval.steps s WHERE s::text LIKE %L', '%' || :'secret' || '%'), 'not in the journal either');

-- Wrong ones: the same answer for all.
SELECT is(t.report(handle, secret), 'PT404 not_found', what) FROM (VALUES ('exec-0', :'secret', 'another handle'), ('exec-1', repeat('0', 64), 'another secret'), ('exec-1', '', 'no secret')) AS v(handle, secret, what);
SELECT is(t.says('runner', format('approval.callback(''airflow'', ''exec-1'', %L, ''succeeded'')', :'secret')), 'PT404 not_found', 'another system');
SELECT is(a.detail, b.detail, 'nothing tells them apart') FROM t.as('runner', 'approval.callback(''n8n'', ''exec-0'', ''x'', ''succeeded'')') AS a, t.as('runner', 'approval.callback(''n8n'', ''exec-1'', ''x'', ''succeeded'')') AS b;
SELECT is(t.report('exec-1', :'secret', outcome), '22023', 'outcome ' || outcome) FROM unnest(ARRAY['''unknown''', '''ok''', '''''']) AS outcome;
SELECT is(t.report('exec-1', :'secret', '''succeeded''', 'alice'), '42501', 'an approver reports nothing');
SELECT is((t.h('exec-1')).outcome, NULL::text, 'nothing has happened');

-- Once.
SELECT is(t.report('exec-1', :'secret', $$'succeeded', '{"rows": 3}', 'delivery-1'$$), 'ok', 'the report');
SELECT is((t.h('exec-1')).outcome || ' ' || (t.h('exec-1')).result, 'succeeded {"rows": 3}', 'is stored as it came');
SELECT is(t.report('exec-1', :'secret', more), 'ok', 'again: ' || more)
  FROM unnest(ARRAY[$$'succeeded', '{"rows": 3}', 'delivery-1'$$, $$'succeeded', '{"rows":3}', 'delivery-1'$$, $$'succeeded', NULL, 'delivery-1'$$, $$'succeeded', '{"rows": 3}'$$, $$'succeeded', '{"rows": 3}', 'delivery-2'$$]) AS more;
SELECT is(t.report('exec-1', :'secret', more), 'PT409 outcome_conflict', 'another: ' || more)
  FROM unnest(ARRAY[$$'failed', '{"rows": 3}', 'delivery-1'$$, $$'failed'$$, $$'succeeded', '{"rows": 4}', 'delivery-2'$$, $$'succeeded'$$]) AS more;
SELECT is((SELECT count(*) FROM approval.steps WHERE kind = 'callback'), 1::bigint, 'one line in the journal');
SELECT is((SELECT status FROM approval.runs WHERE run_id = 'r'), 'running', 'the run is as it was');

-- Attached again.
SELECT t.attached('exec-2', :'token') ->> 'secret' AS first, t.attached('exec-2', :'token') ->> 'secret' AS second \gset
SELECT isnt(:'first'::text, :'second'::text, 'a lost answer is made up for by another secret');
SELECT is(t.report('exec-2', :'first'), 'PT404 not_found', 'the first is void');
SELECT is(t.report('exec-2', :'second', '''failed'''), 'ok', 'the second reports');
SELECT is(t.says('agent', format('approval.attach_handle(%L, %L, ''n8n'', %L)', run, token, handle)), 'PT409 handle_conflict', format('%s to %s', handle, run))
  FROM (VALUES ('exec-2', 'r', :'token'), ('exec-2', 'r2', :'token2'), ('exec-1', 'r2', :'token2')) AS v(handle, run, token);
SELECT t.attached('exec-3', :'token') ->> 'secret' AS secret3 \gset
SELECT is(t.says('agent', format('approval.attach_handle(''r2'', %L, ''n8n'', ''exec-3'')', :'token2')), 'PT409 handle_conflict', 'one that waits is not taken over');
SELECT is(t.says('agent', format('approval.attach_handle(''r2'', %L, ''airflow'', ''exec-3'')', :'token2')), 'ok', 'another system has names of its own');

-- Out of order: the run has ended before the report comes.
SELECT t.row('agent', format('approval.complete_run(''r'', %L, ''done'')', :'token')) IS NOT NULL AS done \g /dev/null
SELECT is(t.report('exec-3', :'secret3', '''failed'''), 'ok', 'what became of it is recorded all the same');
SELECT is((SELECT status || ' ' || answer FROM approval.runs WHERE run_id = 'r'), 'completed done', 'and the run stays as it ended');
SELECT is((SELECT string_agg(kind, ' ' ORDER BY seq) FROM approval.trace('r') WHERE source = 'handle'), 'handle_attached callback handle_attached handle_attached callback handle_attached callback', 'all of it in the trace');
SELECT is(t.says('agent', format('approval.attach_handle(''r'', %L, ''n8n'', ''exec-4'')', :'token')), 'PT409 run_ended', 'nothing new is attached');

SELECT is((SELECT detail::text FROM approval.trace('r') WHERE kind = 'callback' ORDER BY seq LIMIT 1), '{"outcome":"succeeded","result":{"rows": 3}}', 'with what was reported');
SELECT set_eq($$SELECT handle || ' ' || coalesce(outcome, '-') || ' ' || coalesce(result::text, '-') FROM approval.handle_list WHERE run_id = 'r'$$,
	ARRAY['exec-1 succeeded {"rows": 3}', 'exec-2 failed -', 'exec-3 failed -'], 'and in the list of handles');
SELECT is((t.as(who, '(SELECT * FROM approval.handle_list)')).rows IS NULL, expected, who || ' and the list') FROM (VALUES ('agent', false), ('agent2', true), ('auditor', false)) AS v(who, expected);

-- It never touches a request.
SELECT t.request('in_flight') AS i \gset
SELECT t.row('agent', format('approval.attach_handle(''r2'', %L, ''n8n'', %L)', :'token2', :'i')) ->> 'secret' AS secret4 \gset
SELECT t.report(:'i', :'secret4', '''failed''') AS done \g /dev/null
SELECT is((t.stored(:'i')).outcome, 'in_flight', 'a handle of the same name as a request is not the request');
SELECT is(t.says('runner', format('approval.callback(''n8n'', ''exec-9'', ''x'', ''succeeded'', %L)', '"' || repeat('x', 1100000) || '"')), 'PT422 too_large', 'a result has its limit');

SELECT is(t.says(who, 'approval.attach_handle(''r2'', ''x'', ''s'', ''h'')'), expected, who || ' attaches') FROM (VALUES ('agent2', 'PT404 not_found'), ('runner', '42501'), ('alice', '42501')) AS v(who, expected);

SELECT * FROM finish();
ROLLBACK;
