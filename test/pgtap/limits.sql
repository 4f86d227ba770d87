-- Sizes at and over their limit, empty texts, deep documents: each works, or
-- gets a documented refusal.
\set ns limits
\ir include/gate.psql
SELECT no_plan();
GRANT approval_requester TO limits_web;

-- 255 bytes, not characters.
CREATE TABLE t.sizes AS SELECT * FROM (VALUES
	('255 bytes', repeat('x', 255), true), ('256 bytes', repeat('x', 256), false), ('127 umlauts', repeat('ä', 127), true), ('128 umlauts', repeat('ä', 128), false),
	('63 emojis', repeat('😀', 63), true), ('64 emojis', repeat('😀', 64), false), ('10,000 bytes', repeat('ä', 5000), false), ('1 MB', repeat('ä', 500000), false)) AS v(size, value, fits);
SELECT is(t.says('web', format('approval.propose(tool_call_id => %L, tool => %L, arguments => ''{}'', conversation_id => %L, server => %L, run_id => %L, requested_by => %L, on_behalf_of => %L, assignee => %L)',
		CASE argument WHEN 'tool_call_id' THEN value ELSE argument || size END, CASE argument WHEN 'tool' THEN value ELSE 'x' END, CASE argument WHEN 'conversation_id' THEN value ELSE '' END,
		CASE argument WHEN 'server' THEN value ELSE '' END, CASE argument WHEN 'run_id' THEN value END, CASE argument WHEN 'requested_by' THEN value END, CASE argument WHEN 'on_behalf_of' THEN value END,
		CASE argument WHEN 'assignee' THEN value END)), CASE WHEN fits THEN 'ok' ELSE '22023' END, format('propose, %s of %s', argument, size))
  FROM t.sizes, unnest(ARRAY['tool_call_id', 'tool', 'conversation_id', 'server', 'run_id', 'requested_by', 'on_behalf_of', 'assignee']) AS argument;
SELECT is(t.says('agent', format('approval.propose(%L, ''x'', ''{}'', %s => %L)', argument || v.size, argument, repeat('x', v.size))), CASE WHEN v.size <= most THEN 'ok' ELSE '22023' END, format('propose, %s of %s bytes', argument, v.size))
  FROM (VALUES ('resource', 2048), ('reply_to', 2048), ('agent_reason', 65536)) AS l(argument, most), LATERAL (VALUES (most), (most + 1)) AS v(size);
SELECT approval.register_login('limits_agent2', 'service', NULL, '{*}') \gset _
SELECT is(t.says('agent2', format('approval.propose(''t'', ''x'', ''{}'', tenant => %L)', value)), CASE WHEN fits THEN 'ok' ELSE '22023' END, 'tenant of ' || size) FROM t.sizes;
SELECT is(t.says('admin', format('approval.register_login(''limits_nobody'', ''person'', %L, ARRAY[%L])', CASE what WHEN 'actor' THEN value END, CASE what WHEN 'tenants' THEN value ELSE '' END)),
	CASE WHEN fits THEN 'ok' ELSE '22023' END, format('register_login, %s of %s', what, size)) FROM t.sizes, unnest(ARRAY['actor', 'tenants']) AS what;
SELECT t.request('approved') AS id \gset
SELECT is(t.says('runner', format('approval.consume(%L, %L, ''{}'', %L, %L)', :'id', CASE what WHEN 'tool' THEN value ELSE 'x' END, CASE what WHEN 'execution_id' THEN value ELSE 'x' END, CASE what WHEN 'server' THEN value ELSE 'x' END)),
	CASE WHEN fits THEN 'PT412 hash_mismatch' ELSE '22023' END, format('consume, %s of %s', what, size)) FROM t.sizes, unnest(ARRAY['tool', 'execution_id', 'server']) AS what;
SELECT is(t.says('web', format('approval.approve(%L, %L, actor => %L)', i, t.seen(i), value)), CASE WHEN fits THEN 'ok' ELSE '22023' END, 'actor of ' || size) FROM t.sizes, LATERAL (SELECT t.proposed() AS i WHERE t.sizes.size <> '') AS p;
SELECT is(t.says('alice', format('approval.reject(%L, %L, %s => %L)', i, t.seen(i), v.what, repeat('x', v.size))), CASE WHEN v.size <= 65536 THEN 'ok' ELSE '22023' END, format('%s of %s bytes', v.what, v.size))
  FROM (VALUES ('result', 65536), ('result', 65537), ('note', 65536), ('note', 65537)) AS v(what, size), LATERAL (SELECT t.proposed() AS i WHERE v.size > 0) AS p;
SELECT is(a.detail::jsonb, '{"sqlstate":"22023","reason":"too_long","http":400,"id":null,"status":null,"argument":"tool","limit":255,"hint":"It may be 255 bytes long at most."}', 'DETAIL says what and how long') FROM t.as('agent', format('approval.propose(''x'', %L, ''{}'')', repeat('x', 256))) AS a;

-- Empty names are none; empty texts are texts.
SELECT is(t.says('agent', format('approval.propose(%s)', args)), answer, format('propose(%s)', args)) FROM (VALUES
	($$'', 'x', '{}'$$, '22023'), ($$'e1', '', '{}'$$, '22023'), ($$'e2', 'x', '{}', ''$$, 'ok'), ($$'e3', 'x', '{}', server => ''$$, 'ok'), ($$'e4', 'x', '{}', resource => ''$$, 'ok'),
	($$'e5', 'x', '{}', run_id => ''$$, '22023'), ($$'e6', 'x', '{}', on_behalf_of => ''$$, '22023'), ($$'e7', 'x', '{}', assignee => ''$$, '22023'), ($$'e8', 'x', '{}', agent_reason => ''$$, 'ok'),
	($$'e9', 'x', '{}', reply_to => ''$$, 'ok'), ($$'e10', 'x', ''$$, '22P02'), ($$' ', ' ', '{}'$$, 'ok')) AS v(args, answer);
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', '''')', :'id')), '22023', 'an execution has a name');
SELECT is((t.as('agent', $$approval.request_for('', '')$$)).code, 'PT404', 'request_for an empty id finds nothing');

-- approval.max_action_size, in bytes of the text that was sent.
CREATE FUNCTION t.doc(bytes int) RETURNS text LANGUAGE sql RETURN '{"a":"' || repeat('x', bytes - 8) || '"}';
SELECT is(octet_length(t.doc(1048576)), 1048576, 'a megabyte');
SELECT is(t.says('agent', format('approval.propose(%L, ''x'', %L, %s)', 'big' || what || size, CASE what WHEN 'arguments' THEN t.doc(size) ELSE '{}' END,
	CASE what WHEN 'arguments' THEN 'server => ''''' ELSE format('%s => %L', what, t.doc(size)) END)), CASE WHEN size <= 1048576 THEN 'ok' ELSE 'PT422 too_large' END, format('%s of %s bytes', what, size))
  FROM unnest(ARRAY['arguments', 'preview', 'metadata']) AS what, unnest(ARRAY[1048576, 1048577]) AS size;
SELECT is(t.says('gateway', format('approval.propose(%L, ''x'', ''{}'', definition => %L)', 'def' || size, t.doc(size))), CASE WHEN size <= 1048576 THEN 'ok' ELSE 'PT422 too_large' END, format('definition of %s bytes', size))
  FROM unnest(ARRAY[1048576, 1048577]) AS size;
SELECT is(t.detail('agent', format('approval.propose(''big'', ''x'', %L)', t.doc(1048577))) - 'hint',
	'{"sqlstate":"PT422","reason":"too_large","http":422,"id":null,"status":null,"argument":"arguments","limit":1048576}', 'DETAIL says which and how large');
SELECT (t.stored(r.id)).id AS big FROM approval.requests r WHERE tool_call_id = 'bigarguments1048576' \gset
SELECT is(t.row('alice', format('approval.approve(%L, %L)', :'big', t.seen(:'big'))) ->> 'status', 'approved', 'a megabyte is approved');
SELECT is(t.says('runner', format('approval.consume(%L, ''x'', %L, ''r'')', :'big', t.doc(1048577))), 'PT422 too_large', 'consume looks at the size, too');
SELECT is(t.says('runner', format('approval.consume(%L, ''x'', %L, ''r'')', :'big', t.doc(1048575))), 'PT412 hash_mismatch', 'and at every byte');
SELECT is(t.says('runner', format('approval.consume(%L, ''x'', %L, ''r'')', :'big', t.doc(1048576))), 'ok', 'and is consumed');
SELECT is(t.says('alice', format('approval.edit(%L, %L, %L)', i, t.seen(i), t.doc(1048577))), 'PT422 too_large', 'an edit is bound by it') FROM t.proposed() AS i;
SELECT t.request('in_flight') AS id \gset
SELECT is(t.says('runner', format('(SELECT id FROM approval.complete(%L, ''run-1'', %L, ''succeeded'', %L))', :'id', t.token(:'id'), t.doc(5000000))), 'ok', 'a result is never refused for its size');
SELECT is(octet_length((t.stored(:'id')).result::text), 5000000, 'and kept whole');
SELECT is((approval.verify_request(i)).ok, true, 'large rows verify') FROM unnest(ARRAY[:'big', :'id']::approval.ulid[]) AS i;

-- Deep nesting: a value or one clean error, at every depth.
CREATE FUNCTION t.deep(depth int, o text, c text) RETURNS text LANGUAGE sql RETURN '{"a":' || repeat(o, depth) || '1' || repeat(c, depth) || '}';
CREATE FUNCTION t.hash_of(doc text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN approval.hash_action('x', doc::json) IS NOT NULL THEN 'a hash' END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SELECT is(t.hash_of(t.deep(100, o, c)), 'a hash', '100 levels of ' || o) FROM (VALUES ('[', ']'), ('{"a":', '}')) AS v(o, c);
SELECT is(t.hash_of(t.deep(100000, o, c)), '54001', '100,000 levels of ' || o) FROM (VALUES ('[', ']'), ('{"a":', '}')) AS v(o, c);
SELECT is_empty($$SELECT depth, h FROM (SELECT depth, t.hash_of(t.deep(depth, o, c)) AS h FROM generate_series(500, 30000, 500) depth, (VALUES ('[', ']'), ('{"a":', '}')) AS v(o, c)) AS x
	WHERE h NOT IN ('a hash', '54001')$$, 'nothing in between');
SELECT is(t.says('agent', format('approval.propose(''deep'', ''x'', %L)', t.deep(100000, '[', ']'))), '54001', 'propose: one clean error');
-- presented by an executor, where one side only is deep
SELECT t.request('approved') AS id \gset
SELECT is_empty(format($$SELECT depth, s FROM (SELECT depth, t.says('runner', format('approval.consume(%%L, ''refund'', %%L, ''x'')', %L, t.deep(depth, '[', ']'))) AS s FROM generate_series(1000, 20000, 1000) depth) AS x
	WHERE s NOT IN ('PT412 hash_mismatch', '54001')$$, :'id'), 'consume: refused, at every depth');
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', ''x'')', :'id')), 'ok', 'and the approval is still good');
-- ... and both sides are
SELECT t.proposed(arguments => t.deep(1500, '[', ']')) AS id \gset
SELECT t.row('alice', format('approval.approve(%L, %L)', :'id', t.seen(:'id'))) ->> 'status' AS s \gset
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', %L, ''x'')', :'id', replace(t.deep(1500, '[', ']'), '1', '2'))), 'PT412 hash_mismatch', 'a difference 1,500 levels down');

SELECT * FROM finish();
ROLLBACK;
