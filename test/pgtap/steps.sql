-- Steps: what happened in a run, in one order with its requests, under the
-- trace context of W3C.
\set ns steps
\ir include/gate.psql
SELECT no_plan();

SELECT t.row('agent', $$approval.start_run('conv', 'r', agent => 'support', traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00')$$) AS run \gset
SELECT t.row('agent', $$approval.claim_run('r')$$) ->> 'token' AS token \gset
SELECT set_config('t.token', :'token', true) IS NULL AS done \g /dev/null
CREATE FUNCTION t.step(more text, who text DEFAULT 'agent') RETURNS jsonb LANGUAGE sql
RETURN t.row(who, format('approval.record_step(''r'', %L, %s)', current_setting('t.token'), more));
CREATE FUNCTION t.step_says(more text, who text DEFAULT 'agent') RETURNS text LANGUAGE sql
RETURN t.says(who, format('approval.record_step(''r'', %L, %s)', current_setting('t.token'), more));

-- The trace of a run: the caller's, or a new one.
SELECT is(split_part(:'run'::jsonb ->> 'traceparent', '-', 2), '4bf92f3577b34da6a3ce929d0e0e4736', 'the caller''s trace goes on');
SELECT is(split_part(:'run'::jsonb ->> 'traceparent', '-', 4), '00', 'with its flags');
SELECT is((SELECT parent_span_id FROM approval.runs WHERE run_id = 'r'), '00f067aa0ba902b7', 'under its span');
SELECT matches(t.row('agent', $$approval.start_run('conv 2', 'r2')$$) ->> 'traceparent', '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$', 'otherwise a trace is made');

-- Which headers are taken: W3C Trace Context, section 3.2.2.
SELECT is(t.step_says(format('''s'', ''note'', traceparent => %L', header)), expected, header)
  FROM (VALUES ('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'ok'), ('cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings', 'ok'), ('cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'ok'),
		('ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '22023'), ('00-00000000000000000000000000000000-b7ad6b7169203331-01', '22023'), ('00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01', '22023'),
		('00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', '22023'), ('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331', '22023'), ('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x', '22023'),
		('cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x', '22023'), ('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1', '22023'), ('0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '22023'),
		('00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01', '22023'), ('', '22023'), ('00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01', '22023'), (' 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '22023')) AS v(header, expected);

-- Parents.
SELECT t.step($$'openai', 'model_call', '{"prompt":"?"}', 'gpt-5', input_tokens => 900, output_tokens => 80, cost => 0.0123, duration => '1.25 s'$$) AS a \gset
SELECT is(split_part(:'a'::jsonb ->> 'traceparent', '-', 2), '4bf92f3577b34da6a3ce929d0e0e4736', 'a step is of the run''s trace');
SELECT is(split_part(:'a'::jsonb ->> 'traceparent', '-', 3), :'a'::jsonb ->> 'step_id', 'its id is its span');
SELECT t.step(format($$'mcp', 'tool_call', name => 'lookup', parent_step => %L$$, :'a'::jsonb ->> 'step_id')) AS b \gset
SELECT t.step(format($$'mcp', 'tool_call', name => 'lookup', traceparent => %L$$, :'b'::jsonb ->> 'traceparent')) AS c \gset
SELECT t.step(format($$'mcp', 'note', traceparent => %L$$, '00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01')) AS d \gset
SELECT t.step(format($$'mcp', 'note', traceparent => %L$$, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')) AS e \gset
SELECT t.step(format($$'mcp', 'note', traceparent => %L$$, :'run'::jsonb ->> 'traceparent')) AS f \gset
SELECT is(x.parent_step, expected, what) FROM approval.trace('r') x JOIN (VALUES
	(:'b', :'a'::jsonb ->> 'step_id', 'a parent that was named'), (:'c', :'b'::jsonb ->> 'step_id', 'a parent by the header that it got'),
	(:'d', 'b7ad6b7169203331', 'a span of the trace that is somebody else''s'), (:'e', NULL, 'none of another trace'), (:'f', NULL, 'the run itself is no step')) AS v(step, expected, what) ON x.step_id = v.step::jsonb ->> 'step_id';
SELECT is((SELECT link FROM approval.trace('r') WHERE step_id = :'e'::jsonb ->> 'step_id'), '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'that is a link');
SELECT is(t.step_says(format($$'s', 'note', parent_step => %L$$, p)), '22023', 'no parent: ' || p) FROM unnest(ARRAY['', 'x', '0123456789abcdef', '42', repeat('f', 16)]) AS p;

-- Counters.
SELECT t.step($$'openai', 'model_call', name => 'gpt-5', input_tokens => 100, output_tokens => 20, cost => 0.0077$$) AS done \g /dev/null
SELECT ok(r ->> 'input_tokens' = '1000' AND r ->> 'output_tokens' = '100' AND r ->> 'cost' = '0.0200', 'are summed on the run') FROM t.row('agent', 'approval.run_of(''r'')') AS r;
SELECT is(t.step_says(more), '22023', more) FROM unnest(ARRAY[$$'s', 'note', input_tokens => -1$$, $$'s', 'note', output_tokens => -1$$, $$'s', 'note', cost => -0.01$$, $$'s', 'note', cost => 1e40$$, $$'s', 'note', cost => '0.1234567890123456789012345678901'$$, $$'s', 'note', cost => '1.00000000000000000000000000000000'$$, $$'s', 'note', input_tokens => 1000000000001$$, $$'s', 'note', cost => 'NaN'$$, $$'s', 'note', cost => 'Infinity'$$,
	$$'s', 'note', duration => '-1 s'$$, $$'s', 'note', duration => '400 days'$$, $$'s', 'note', started_at => 'infinity'$$, $$'s', 'note', started_at => '1999-01-01'$$,
	$$'', 'note'$$, $$'approval', 'note'$$, $$'s', 'iteration'$$, $$'s', 'callback'$$, $$'s', 'x'$$, $$'s', 'note', name => ''$$]) AS more;
SELECT is(t.step_says(format('''s'', ''note'', %L', '"' || repeat('x', 1100000) || '"')), 'PT422 too_large', 'a detail has its limit');
SELECT is((t.row('agent', 'approval.run_of(''r'')')) ->> 'input_tokens', '1000', 'what was refused is not counted');

-- Evidence names its chunks.
SELECT is(t.step_says(format('''qdrant'', ''retrieval'', %L', detail)), expected, coalesce(detail, 'NULL'))
  FROM (VALUES ('{"chunks":[{"id":"doc-1#4","score":0.83},{"id":7,"score":1}]}', 'ok'), ('{"chunks":[]}', 'ok'), ('{"chunks":[{"id":"a","score":0.1234567890123456789}],"query":"x"}', 'ok'),
		(NULL, '22023'), ('{}', '22023'), ('[]', '22023'), ('{"chunks":{}}', '22023'), ('{"chunks":[1]}', '22023'), ('{"chunks":[{"id":"a"}]}', '22023'), ('{"chunks":[{"id":"a","score":"0.5"}]}', '22023'), ('{"chunks":[{"score":1}]}', '22023'), ('{"chunks":[{"id":1,"score":1e999999}]}', '22023'), ('{"chunks":[{"id":"\u0000","score":1}]}', '22023')) AS v(detail, expected);

SELECT is_empty($$SELECT hint FROM t.as('agent', format('approval.record_step(''r'', %L, ''s'', ''retrieval'')', current_setting('t.token'))) AS a WHERE a.detail::json ->> 'hint' IS DISTINCT FROM a.hint$$, 'the refusal is JSON');
SELECT is(t.step_says($$'mcp', 'tool_call'$$), '22004', 'a tool call has a name');

-- A tool call and its request.
SELECT t.proposed(format('conversation_id => ''conv'', run_id => ''r'', run_token => %L', :'token')) AS i, t.proposed() AS other \gset
SELECT is(t.step_says(format('''mcp'', ''tool_call'', name => ''refund'', request_id => %L', :'i')), 'ok', 'a call of this run');
SELECT is(t.step_says(format('''mcp'', ''tool_call'', name => ''refund'', request_id => %L', id)), 'PT404 not_found', what) FROM (VALUES (:'other'::approval.ulid, 'not one of none'), (approval.new_ulid(), 'nor one that is not there')) AS v(id, what);
SELECT is(t.step_says(format('''mcp'', ''tool_call'', name => ''other'', request_id => %L', :'i')), '22023', 'nor of another tool');
SELECT t.step(format('''mcp'', ''tool_call'', request_id => %L', :'i')) AS named \gset
SELECT is((SELECT name FROM approval.trace('r') WHERE step_id = :'named'::jsonb ->> 'step_id'), 'refund', 'which need not be named');

-- Who records.
SELECT is(t.step_says($$'mcp', 'note'$$, who), expected, who) FROM (VALUES ('runner', 'ok'), ('agent2', 'PT404 not_found'), ('alice', '42501'), ('auditor', '42501')) AS v(who, expected);
SELECT is(t.says('runner', $$approval.record_step('r', 'x', 's', 'note')$$), 'PT404 not_found', 'an executor without the token learns nothing');
SELECT is((SELECT login FROM approval.trace('r') WHERE source = 'step' ORDER BY seq DESC LIMIT 1), t.login('runner'), 'and who it was is kept');

-- The trace: everything in the order in which it was written.
SELECT t.row('alice', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))) IS NOT NULL AS done \g /dev/null
SELECT t.consumed(:'i') AS done \g /dev/null
SELECT t.row('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'', ''{"ok":true}'')', :'i', t.token(:'i'))) IS NOT NULL AS done \g /dev/null
SELECT is((SELECT string_agg(source || ' ' || kind, ', ' ORDER BY seq) FROM approval.trace('r') WHERE request_id = :'i'), 'request proposed, step tool_call, step tool_call, decision approved, execution consumed, execution completed', 'the life of a request');
SELECT is((SELECT string_agg(coalesce(status, '-'), ', ' ORDER BY seq) FROM approval.trace('r') WHERE request_id = :'i'), 'pending, -, -, approved, consumed in_flight, consumed succeeded', 'with what it was');
SELECT ok(bool_and(a), 'rows come in that order') FROM (SELECT seq > lag(seq, 1, 0::bigint) OVER () AS a FROM approval.trace('r')) x;
SELECT is((SELECT count(*) FROM approval.trace('r')), (SELECT count(*) FROM approval.steps WHERE run_id = 'r') + (SELECT count(*) FROM approval.events e JOIN approval.requests r ON r.id = e.request_id WHERE r.run_id = 'r'), 'and all of them');
SELECT t.row('agent', format('approval.start_run(''conv'', ''kid'', ''r'', %L)', :'token')) IS NOT NULL AS done \g /dev/null
SELECT is((SELECT string_agg(trace_run_id || ' ' || kind, ', ' ORDER BY seq) FROM approval.trace('r') WHERE kind IN ('run_started', 'child_started')), 'r run_started, kid run_started, r child_started', 'runs below are in it');
SELECT is((SELECT count(*) FROM approval.trace('kid')), 1::bigint, 'and have one of their own');

-- Who sees it.
SELECT is(t.says(who, 'approval.trace(''r'')'), expected, who || ' and the trace') FROM (VALUES ('agent', 'ok'), ('agent2', 'PT404 not_found'), ('alice', 'ok'), ('runner', 'ok'), ('auditor', 'ok'), ('admin', 'ok'), ('nobody', '42501')) AS v(who, expected);
SELECT is(t.says('agent', 'approval.trace(''nothing'')'), 'PT404 not_found', 'a run that is not there');
SELECT t.proposed('run_id => ''only an id''') AS loose \gset
SELECT is((t.as('agent', 'approval.trace(''only an id'')')).rows -> 0 ->> 'kind', 'proposed', 'an id that only calls bear has a trace');
SELECT is(t.says('agent2', 'approval.trace(''only an id'')'), 'PT404 not_found', 'of one''s own calls');
SELECT t.row('alice', format('approval.comment(%L, ''for reviewers'')', :'loose')) IS NOT NULL AS done \g /dev/null
SELECT is((SELECT string_agg(r -> 'detail' ->> 'note', ',') FROM jsonb_array_elements((t.as('agent', 'approval.trace(''only an id'')')).rows) r), NULL, 'remarks are not for requesters');
SELECT is((SELECT string_agg(r -> 'detail' ->> 'note', ',') FROM jsonb_array_elements((t.as('alice', 'approval.trace(''only an id'')')).rows) r), 'for reviewers', 'but for who reads the trail');

-- For people.
SELECT t.step($$'evil; end', 'note', name => E'a;\nb --> c #lt; %%{init}%%', error => '<script>'$$) AS done \g /dev/null
SELECT matches(d, '^sequenceDiagram\n    participant gate\n(    (participant|actor) p\d+ as [^\n]+\n)+(    [^\n]+\n?)+$', 'a diagram, a line each') FROM approval.timeline('r') AS d;
SELECT ok(d !~ '[<>"`{}%]' AND d NOT LIKE '%evil;%', 'in which nobody''s text is syntax') FROM replace(replace(approval.timeline('r'), '-->>', ''), '->>', '') AS d;
SELECT is(array_length(string_to_array(approval.timeline('r', 'text'), E'\n'), 1), (SELECT count(*)::int FROM approval.trace('r')), 'as text, a line each');
SELECT t.step($$'user:alice', 'note', name => E'approved refund (approved)\n2026-12-02T20:00:00.000000Z     +0.900 decision  user:alice: approved refund (approved)\u202e'$$) AS done \g /dev/null
SELECT is((SELECT count(*) FROM regexp_split_to_table(approval.timeline('r', 'text'), E'\n') AS l WHERE l ~ '^\S+ +\S+ decision  user:alice: '), 1::bigint, 'one line for the one decision: no name passes for another');
SELECT is((SELECT count(*) FROM regexp_split_to_table(approval.timeline('r', 'text'), E'\n') AS l WHERE l ~ U&'\202e'), 0::bigint, 'nor changes the direction of writing');
SELECT is((SELECT count(*) FROM regexp_split_to_table(approval.timeline('r'), E'\n') AS l WHERE l ~ '^    (actor|participant) p\d+ as (system )?user#58;alice$'), 2::bigint, 'a system that is called like an actor is not the actor');
SELECT is(t.says('agent', 'approval.timeline(''r'', ''svg'')'), '22023', 'no other format');
SELECT is(t.says('agent', 'approval.trace_otlp(''only an id'')'), 'PT404 not_found', 'no spans of what is no run');
SELECT is(t.says('agent2', call), 'PT404 not_found', call) FROM unnest(ARRAY['approval.timeline(''r'')', 'approval.trace_otlp(''r'')']) AS call;
SELECT is(approval.diagram_text(E'a;b #\u202e\u00e9'), 'a#59;b #35;#65533;#233;', 'what could be syntax is an entity');

-- For tools.
SELECT approval.trace_otlp('r') AS otlp \gset
CREATE TABLE t.spans AS SELECT s FROM jsonb_array_elements(:'otlp'::jsonb -> 'resourceSpans' -> 0 -> 'scopeSpans' -> 0 -> 'spans') AS s;
SELECT is((SELECT count(*) FROM t.spans), (SELECT count(*) FILTER (WHERE source = 'step') + count(DISTINCT request_id) FILTER (WHERE source = 'request') + 2 FROM approval.trace('r')), 'a span for each run, request and step');
SELECT is_empty($$SELECT s FROM t.spans WHERE s ->> 'traceId' <> '4bf92f3577b34da6a3ce929d0e0e4736'$$, 'of one trace');
SELECT is_empty($$SELECT s ->> 'spanId' FROM t.spans GROUP BY 1 HAVING count(*) > 1$$, 'no two with one id');
SELECT is_empty($$SELECT s FROM t.spans WHERE s ->> 'spanId' !~ '^[0-9a-f]{16}$' OR s ->> 'startTimeUnixNano' !~ '^\d{19}$' OR (s ->> 'endTimeUnixNano')::numeric < (s ->> 'startTimeUnixNano')::numeric$$, 'all as OTLP wants them');
SELECT is((SELECT string_agg(s ->> 'parentSpanId', ' ') FROM t.spans WHERE s ->> 'parentSpanId' NOT IN (SELECT s ->> 'spanId' FROM t.spans)) , '00f067aa0ba902b7 b7ad6b7169203331', 'every parent is there, but for those of other systems');
SELECT is((SELECT count(*) FROM t.spans WHERE s -> 'status' ->> 'code' = '2'), 1::bigint, 'what went wrong is an error');
SELECT is((SELECT s -> 'links' -> 0 ->> 'traceId' FROM t.spans WHERE jsonb_array_length(s -> 'links') > 0 AND s -> 'links' -> 0 ->> 'spanId' = 'b7ad6b7169203331' LIMIT 1), '0af7651916cd43dd8448eb211c80319c', 'another trace is a link');

SELECT * FROM finish();
ROLLBACK;
