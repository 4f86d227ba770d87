-- propose: what is stored, the same call again, and what it refuses.
\set ns propose
\ir include/gate.psql
SELECT no_plan();

-- What comes back is what was said.
SELECT t.row('agent', $$approval.propose(
	tool_call_id => 'call-full', tool => 'refund', arguments => '{ "b": 1.0, "a": [ ] }',
	conversation_id => 'conv', server => 'shop', resource => 'order:1', run_id => 'run',
	agent_reason => 'because', preview => '{ "shown":  1 }', on_behalf_of => 'user:customer',
	assignee => 'user:alice', expires_in => '2 hours', reply_to => 'https://n8n/1', metadata => '{ "m":  1 }')$$) AS r \gset
SELECT is(:'r'::jsonb ->> key, value, key)
  FROM (VALUES ('tenant', ''), ('tool_call_id', 'call-full'), ('tool', 'refund'), ('conversation_id', 'conv'),
			   ('server', 'shop'), ('resource', 'order:1'), ('run_id', 'run'), ('agent_reason', 'because'),
			   ('on_behalf_of', 'user:customer'), ('assignee', 'user:alice'), ('reply_to', 'https://n8n/1'),
			   ('requested_by', 'agent:refunds'), ('requester_login', 'propose_agent'), ('status', 'pending'),
			   ('mode', 'review'), ('gate_reason', 'unknown_tool'), ('effect', 'external'), ('approvals', '0'),
			   ('approvals_needed', '1'), ('attempt', '0'), ('definition', NULL), ('proposed_arguments', NULL),
			   ('decided_by', NULL), ('use_by', NULL), ('outcome', NULL), ('cause', NULL),
			   ('summary', 'shop/refund on order:1 with {"a":[],"b":1}')) AS v(key, value);
SELECT r.id AS id FROM approval.requests r WHERE tool_call_id = 'call-full' \gset
SELECT is((t.stored(:'id')).arguments::text, '{"a":[],"b":1}', 'arguments are stored in canonical form');
SELECT is((t.stored(:'id')).preview::text, '{ "shown":  1 }', 'a preview is kept verbatim');
SELECT is((t.stored(:'id')).metadata::text, '{ "m":  1 }', 'and so is metadata');
SELECT is((t.stored(:'id')).action_hash,
	approval.hash_action('refund', '{"a":[],"b":1}', 'shop', 'order:1'), 'action_hash is hash_action of the action');
SELECT is((t.stored(:'id')).review_hash,
	approval.hash_review((t.stored(:'id')).action_hash, (t.stored(:'id')).summary, '{ "shown":  1 }', 'because',
						 'agent:refunds', 'user:customer'), 'review_hash is hash_review of what is shown');
SELECT is((t.stored(:'id')).expires_at - (t.stored(:'id')).proposed_at, interval '2 hours', 'expires_in counts from the proposal');
SELECT is(r.expires_at - r.proposed_at, interval '24 hours', 'a day to decide by default')
  FROM t.proposed() AS i, LATERAL t.stored(i) AS r;
SELECT is((SELECT (kind, actor, login, role, status_before, status_after, n) FROM approval.events WHERE request_id = :'id')::text,
	'(proposed,agent:refunds,propose_agent,propose_agent,,pending,1)', 'one event');

-- The same call again.
CREATE FUNCTION t.again(arguments text, who text DEFAULT 'agent', more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a t.answer;
	before text := (SELECT r::text FROM approval.requests r WHERE tool_call_id = 'again' AND conversation_id = 'c');
	events bigint := (SELECT count(*) FROM approval.events);
BEGIN
	a := t.as(who, format('approval.propose(''again'', ''refund'', %L, conversation_id => ''c''%s)', arguments, more));
	IF before IS NOT NULL AND (before <> (SELECT r::text FROM approval.requests r WHERE tool_call_id = 'again' AND conversation_id = 'c')
							   OR events <> (SELECT count(*) FROM approval.events)) THEN
		RETURN 'something changed';
	END IF;
	RETURN CASE WHEN a.code = '00000' THEN a.rows -> 0 ->> 'status' ELSE a.code || ' ' || (a.detail::json ->> 'reason') END;
END
$$;
SELECT is(t.again('{"amount":50,"order":"A"}'), 'pending', 'first');
SELECT r.id AS id FROM approval.requests r WHERE tool_call_id = 'again' AND conversation_id = 'c' \gset
SELECT is(t.again('{"amount":50,"order":"A"}'), 'pending', 'the same again');
SELECT is(t.again('{ "order" : "A", "amount" : 5e1 }'), 'pending', 'in another spelling of the same action');
SELECT is(t.again('{"amount":50,"order":"A"}', 'agent', ', expires_in => ''1 hour'', agent_reason => ''another'''), 'pending',
	'with another reason: the stored row');
SELECT is(t.again('{"amount":51,"order":"A"}'), 'PT409 tool_call_conflict', 'another amount');
SELECT is(t.again('{"amount":50,"order":"A"}', 'agent2'), 'PT409 tool_call_conflict', 'the same from another login');
SELECT is(t.again('{"amount":50,"order":"A"}', 'agent', ', server => ''x'''), 'PT409 tool_call_conflict', 'another server');
SELECT is(t.again('{"amount":50,"order":"A"}', 'agent', ', resource => ''x'''), 'PT409 tool_call_conflict', 'another resource');
SELECT is(t.detail('agent2', $$approval.propose('again', 'refund', '{"amount":50,"order":"A"}', 'c')$$),
	'{"sqlstate":"PT409","reason":"tool_call_conflict","http":409,"id":null,"status":null,"hint":"Use a new tool_call_id for a new call."}',
	'and a conflict tells nothing');
SELECT is(t.says('agent', $$approval.propose('again', 'refund', '{"amount":51}', 'another conversation')$$), 'ok',
	'the key is that of a conversation');
-- ... after an edit both the proposal and the correction are this call
SELECT t.row('alice', format('approval.edit(%L, %L, %L)', :'id', t.seen(:'id'), '{"amount":40,"order":"A"}')) AS edited \gset
SELECT is(t.again('{"amount":50,"order":"A"}'), 'approved', 'after an edit: as proposed');
SELECT is(t.again('{"amount":40,"order":"A"}'), 'approved', 'after an edit: as approved');
SELECT is(t.again('{"amount":45,"order":"A"}'), 'PT409 tool_call_conflict', 'after an edit: neither');
SELECT is((t.row('agent', $$approval.propose('again', 'refund', '{"amount":50,"order":"A"}', 'c')$$) -> 'arguments')::jsonb,
	'{"amount":40,"order":"A"}', 'what comes back is what was approved');
SELECT t.consumed(:'id') \gset _
SELECT is(t.again('{"amount":50,"order":"A"}'), 'consumed', 'and after it was used, too');

-- at_least is stricter, never looser.
SELECT is(t.row('agent', format('approval.propose(%L, ''refund'', ''{}'', at_least => %L)', 'mode-' || word, word)) ->> 'mode', mode,
	format('at_least %s', word))
  FROM (VALUES ('inline', 'review'), ('auto', 'review'), ('review', 'review'), ('deny', 'deny')) AS v(word, mode);
SELECT is(t.says('agent', format('approval.propose(''m'', ''refund'', ''{}'', at_least => %L)', word)), '22023', format('at_least %L', word))
  FROM unnest(ARRAY['', 'REVIEW', 'allow', 'review ']) AS word;

-- expires_in only shortens, and not to nothing.
SELECT is(t.says('agent', format('approval.propose(%L, ''refund'', ''{}'', expires_in => %L)', 'i' || span, span)), answer,
	format('expires_in %L', span))
  FROM (VALUES ('60 s', 'ok'), ('1 day', 'ok'), ('24:00:00', 'ok'), ('59.999999 s', '22023'), ('0', '22023'), ('-1 s', '22023'),
			   ('1 day 1 microsecond', '22023'), ('1 mon', '22023'), ('178000000 years', '22023'), ('-178000000 years', '22023'),
			   ('1 mon -29 days', 'ok'), ('2147483647 days', '22023'), ('-2147483648 days', '22023')) AS v(span, answer);
SELECT is(t.says('agent', $$approval.propose('none', 'refund', '{}', expires_in => NULL)$$), 'ok', 'expires_in NULL: the default');
SELECT is(t.says('agent', $$approval.propose('inf', 'refund', '{}', expires_in => 'infinity')$$),
	CASE WHEN current_setting('server_version_num')::int >= 170000 THEN '22023' ELSE '22007' END, 'expires_in infinity (no interval before 17)');
SELECT is_empty($$SELECT id FROM approval.requests WHERE NOT isfinite(expires_at)$$, 'no deadline is infinite');

-- retry_of: an ended request of the same login.
SELECT is(t.says('agent', format('approval.propose(%L, ''refund'', ''{}'', retry_of => %L)', 'retry-' || state, t.request(state))), answer,
	format('retry of a request that is %s', state))
  FROM (VALUES ('pending', 'PT412 stale_state'), ('approved', 'PT412 stale_state'), ('in_flight', 'PT412 stale_state'),
			   ('rejected', 'ok'), ('cancelled', 'ok'), ('revoked', 'ok'), ('lost', 'PT412 stale_state'), ('unknown', 'PT412 stale_state'),
			   ('succeeded', 'ok'), ('failed', 'ok')) AS v(state, answer);
SELECT is(t.says('agent2', format('approval.propose(''r'', ''refund'', ''{}'', retry_of => %L)', t.request('rejected'))),
	'PT404 not_found', 'retry of a request of another login');
SELECT is(t.says('agent', format('approval.propose(''r'', ''refund'', ''{}'', retry_of => %L)', approval.new_ulid())),
	'PT404 not_found', 'retry of nothing');
SELECT t.request('failed') AS failed \gset
SELECT is(t.row('agent', format('approval.propose(''linked'', ''refund'', ''{}'', retry_of => %L)', :'failed')) ->> 'retry_of', :'failed',
	'the link is kept');

-- Arguments are an object; PHP's empty array is one.
SELECT is(t.says('agent', format('approval.propose(%L, ''refund'', %L)', 'a' || arguments, arguments)), answer, format('arguments %s', arguments))
  FROM (VALUES ('{}', 'ok'), ('[]', 'ok'), (' [ ] ', 'ok'), ('[1]', 'PT422 bad_arguments'), ('"x"', 'PT422 bad_arguments'),
			   ('1', 'PT422 bad_arguments'), ('null', 'PT422 bad_arguments'), ('true', 'PT422 bad_arguments'),
			   ('{"a":1,"a":1}', 'PT422 not_canonical'), ('{"n":9007199254740993}', 'PT422 not_canonical'),
			   ('{"n":1e400}', 'PT422 not_canonical'), ('{"s":"\ud800"}', 'PT422 not_canonical'),
			   ('{"s":"\u0000"}', 'PT422 not_canonical'), ('{', '22P02')) AS v(arguments, answer);
SELECT is(t.detail('agent', $$approval.propose('p', 'refund', '{"items":[{"price":9007199254740993}]}')$$) - 'hint',
	'{"sqlstate":"PT422","reason":"not_canonical","http":422,"id":null,"status":null,"problem":"number_not_exact","path":"$.items[0].price"}',
	'DETAIL says where');
SELECT is((SELECT arguments::text FROM approval.requests WHERE tool_call_id = 'a[]'), '{}', '[] is stored as {}');

-- Definitions come from gateways.
SELECT is(t.says('agent', $$approval.propose('d', 'refund', '{}', definition => '{"name":"refund"}')$$), 'PT403 not_eligible',
	'a definition from an agent proves nothing');
SELECT is(t.row('gateway', $$approval.propose('d', 'refund', '{}', definition => '{"name":"refund","icons":[1]}')$$) ->> 'definition',
	approval.tool_digest('{"name":"refund"}')::text, 'from a gateway it is kept as its digest');
SELECT is(t.says('gateway', $$approval.propose('d2', 'refund', '{}', definition => '[]')$$), 'PT422 bad_arguments', 'it is an object');

-- Optional names default; NULL for what has no NULL is the empty name.
SELECT is((r ->> 'conversation_id') || '|' || (r ->> 'server'), '|', 'NULL conversation and server count as empty')
  FROM t.row('agent', $$approval.propose('n', 'refund', '{}', NULL, NULL)$$) AS r;

-- The summary shows what would deceive, and both ends of what is long.
SELECT is(t.row('agent', E'approval.propose(''bidi'', ''refund'', ''{"to":"\u202Eabc\u200B"}'')') ->> 'summary',
	'refund with {"to":"<U+202E>abc<U+200B>"}', 'invisible characters are made visible');
SELECT t.row('agent', format('approval.propose(''long'', ''refund'', %L)', format('{"a":"%s","z":"end"}', repeat('ä', 5000)))) ->> 'summary' AS long \gset
SELECT ok(:'long' LIKE 'refund with {"a":"ää%' AND :'long' LIKE '% of 10002 bytes left out ...] %ä","z":"end"}' AND octet_length(:'long') < 2000,
	'a long value shows head, tail and length');
SELECT t.row('agent', format('approval.propose(''hide'', ''transfer'', %L)', json_build_object('a', repeat('x', 1600), 'amount', 1000000, 'to', 'evil', 'z', repeat('y', 400)))) ->> 'summary' AS hidden \gset
SELECT ok(:'hidden' LIKE '%,"amount":1000000,"to":"evil","z":%', 'and hides no other');
SELECT is(t.row('agent', $$approval.propose('spoof', 'refund', '{"amount":1000000}', resource => 'order A-1 with {"amount":1}')$$) ->> 'summary',
	'refund on "order A-1 with {\"amount\":1}" with {"amount":1000000}', 'a resource cannot pass for arguments');
SELECT is(t.row('agent', $$approval.propose('slash', 'prod/refund', '{}')$$) ->> 'summary', '"prod/refund" with {}', 'nor a tool for a server');
SELECT is(t.row('agent', $$approval.propose('nest', 'refund', '{"a":{"b":["}",{"c":"\\\","}]},"d":[[1],2],"e":"{"}')$$) ->> 'summary',
	'refund with {"a":{"b":["}",{"c":"\\\","}]},"d":[[1],2],"e":"{"}', 'nested values and quotes are kept');

SELECT * FROM finish();
ROLLBACK;
