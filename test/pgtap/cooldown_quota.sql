-- Loops and floods: the same action again, and too many at once.
\set ns floods
\ir include/gate.psql
SELECT no_plan();
DO $$
BEGIN
	PERFORM approval.register_tool('pay', 'action', '{"cool_down":"10 minutes","key_paths":["$.order","$.customer.id"]}');
	PERFORM approval.register_tool('mail', 'action', '{"cool_down":"10 minutes"}');
	PERFORM approval.register_tool('free', 'action', '{"default_mode":"auto","cool_down":"1 hour","rules":[{"condition":"$.x == 1","mode":"deny","reason":"never"},{"condition":"$.x == 2","mode":"review"},{"mode":"auto"}]}');
	PERFORM approval.register_tool('none', 'action', '{}');
END
$$;
CREATE FUNCTION t.ask(tool text, arguments text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.propose(%L, %L, %L %s)', 'k_' || nextval('t.calls'), tool, arguments, ', ' || nullif(more, ''))) ->> 'id')::approval.ulid;
CREATE FUNCTION t.answer(i approval.ulid) RETURNS text LANGUAGE sql
RETURN concat_ws(' ', (t.stored(i)).mode, (t.stored(i)).gate_reason, (t.stored(i)).status, (t.stored(i)).denial);
CREATE FUNCTION t.try(tool text, arguments text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN t.answer(t.ask(tool, arguments, more, who)); END $$;
CREATE FUNCTION t.reject(i approval.ulid, result text DEFAULT 'too much') RETURNS approval.ulid LANGUAGE sql
BEGIN ATOMIC
	SELECT t.row('alice', format('approval.reject(%L, %L, result => %L)', i, t.seen(i), result));
	SELECT i;
END;
CREATE FUNCTION t.age(i approval.ulid, by interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL session_replication_role = replica;
	UPDATE approval.requests SET decided_at = decided_at - by WHERE id = i;
	SET LOCAL session_replication_role = origin;
END
$$;

-- by key paths
SELECT t.reject(t.ask('pay', '{"order":"A-1","customer":{"id":7},"note":"please"}')) AS i \gset
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":7},"note":"please"}'), 'deny cool_down rejected too much', 'the same again is rejected, with the reason');
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":7},"note":"PLEASE!"}'), 'deny cool_down rejected too much', 'in other words, too');
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":"7"},"amount":1}'), 'deny cool_down rejected too much', 'and with a string for the number');
SELECT is(t.try('pay', '{"order":"A-2","customer":{"id":7},"note":"please"}'), 'review no_rule pending', 'another order is another action');
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":8},"note":"please"}'), 'review no_rule pending', 'and another customer');
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":7},"note":"please"}', '', 'agent2'), 'review no_rule pending', 'another login may ask');
SELECT is((SELECT note FROM approval.events e JOIN approval.requests r ON r.id = e.request_id WHERE r.gate_reason = 'cool_down' ORDER BY e.seq LIMIT 1), 'cool-down after ' || :'i', 'the event says after which');
SELECT is(t.row('admin', $$approval.explain('pay', '{"order":"A-1","customer":{"id":7}}', requester => 'floods_agent')$$) ->> 'gate_reason', 'cool_down', 'explain knows');
SELECT t.age(:'i', '9 minutes 50 seconds');
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":7}}'), 'deny cool_down rejected too much', 'to the end of the cool-down');
SELECT t.age(:'i', '11 seconds');
SELECT is(t.try('pay', '{"order":"A-1","customer":{"id":7}}'), 'review no_rule pending', 'which its own rejections do not prolong');
-- key paths that select nothing: all arguments
SELECT t.reject(t.ask('pay', '{"x":1}'), NULL) AS i \gset
SELECT is(t.try('pay', '{"x":1}'), 'deny cool_down rejected', 'without a reason, no reason');
SELECT is(t.try('pay', '{"x":2}'), 'review no_rule pending', 'no key: all arguments count');
-- no key paths
SELECT t.reject(t.ask('mail', '{"to":"x","text":"hi"}')) AS i \gset
SELECT is(t.try('mail', '{"text":"hi","to":"x"}'), 'deny cool_down rejected too much', 'all arguments, in whatever order');
SELECT is(t.try('mail', '{"text":"hi!","to":"x"}'), 'review no_rule pending', 'one of them differs');
SELECT is(t.try('mail', '{"text":"hi","to":"x"}', $$resource => 'r'$$), 'review no_rule pending', 'or the resource');
-- what policy itself rejects, and what others do to it
SELECT is(t.try('free', '{"x":1}') || ', ' || t.try('free', '{"x":1}'), 'deny rule rejected never, deny rule rejected never', 'a denial by a rule starts no cool-down');
SELECT t.reject(t.ask('free', '{"x":2}')) AS i \gset
SELECT is(t.try('free', '{"x":2}'), 'deny cool_down rejected too much', 'of a tool with rules');
SELECT t.row('agent', format('approval.cancel(%L)', t.ask('mail', '{"to":"c"}'))) ->> 'id' AS i \gset
SELECT is(t.try('mail', '{"to":"c"}'), 'review no_rule pending', 'a cancelled one starts none');
SELECT t.reject(t.ask('none', '{}')) AS i \gset
SELECT is(t.try('none', '{}'), 'review no_rule pending', 'nor is there one without the option');
SELECT t.reject(t.ask('unknown', '{}')) AS i \gset
SELECT is(t.try('unknown', '{}'), 'review unknown_tool pending', 'nor for what nobody registered');

-- quotas: each in number and in bytes
CREATE FUNCTION t.refused(tool text, arguments text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a t.answer := t.as(who, format('approval.propose(%L, %L, %L %s)', 'k_' || nextval('t.calls'), tool, arguments, ', ' || nullif(more, '')));
BEGIN
	RETURN CASE a.code WHEN '00000' THEN 'ok' ELSE concat_ws(' ', a.code, a.detail::json ->> 'reason', a.detail::json ->> 'scope', a.detail::json ->> 'of', a.detail::json ->> 'limit') END;
END
$$;
SET approval.quota_conversation = 3;
SELECT is((SELECT string_agg(t.refused('none', '{}', $$conversation_id => 'full'$$), ', ') FROM generate_series(1, 4)), 'ok, ok, ok, PT429 quota conversation requests 3', 'three of one conversation');
SELECT is(t.refused('none', '{}', $$conversation_id => 'other'$$), 'ok', 'another one has room');
SELECT is(t.refused('free', '{"x":3}', $$conversation_id => 'full'$$), 'ok', 'what is approved does not wait');
SELECT is(t.refused('free', '{"x":1}', $$conversation_id => 'full'$$), 'ok', 'nor what is denied');
SELECT is((SELECT string_agg(DISTINCT t.refused('none', '{}'), ', ') FROM generate_series(1, 10)), 'ok', 'no conversation is no conversation');
SELECT is(t.says('agent', (SELECT format('approval.propose(%L, ''none'', ''{}'', conversation_id => ''full'')', tool_call_id) FROM approval.requests WHERE conversation_id = 'full' AND tool = 'none' LIMIT 1)), 'ok', 'a call that is there is answered at the quota, too');
SELECT t.row('alice', format('approval.reject(%L, %L)', id, review_hash)) ->> 'id' AS i FROM approval.requests WHERE conversation_id = 'full' AND tool = 'none' LIMIT 1 \gset
SELECT is(t.refused('none', '{}', $$conversation_id => 'full'$$), 'ok', 'one is decided: there is room for one');
SELECT is(t.refused('none', '{}', $$conversation_id => 'full'$$), 'PT429 quota conversation requests 3', 'not for two');
SET LOCAL session_replication_role = replica;
UPDATE approval.requests SET expires_at = clock_timestamp() - interval '1 second' WHERE conversation_id = 'full' AND status = 'pending' AND id = (SELECT min(id::text)::approval.ulid FROM approval.requests WHERE conversation_id = 'full' AND status = 'pending');
SET LOCAL session_replication_role = origin;
SELECT is(t.refused('none', '{}', $$conversation_id => 'full'$$), 'ok', 'one has lapsed, though nobody put it away');
SET approval.quota_conversation = 0;
SELECT is(t.refused('none', '{}', $$conversation_id => 'full'$$), 'ok', '0: no limit');
SET approval.quota_conversation_bytes = '20kB';
SELECT is(t.refused('none', format('{"x":%s}', to_json(repeat(md5('1'), 400))), $$conversation_id => 'wide'$$), 'ok', '13 kB');
SELECT is(t.refused('none', format('{"x":%s}', to_json((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 900) i))), $$conversation_id => 'wide'$$), 'PT429 quota conversation bytes 20480', 'and 28 more');
SELECT is(t.refused('none', '{}', format($$conversation_id => 'wide', preview => %L$$, to_json((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 900) i)))), 'PT429 quota conversation bytes 20480', 'a preview counts as well');
RESET approval.quota_conversation_bytes;

SELECT count(*) FILTER (WHERE requester_login = 'floods_agent') AS mine, count(*) AS waiting FROM approval.requests WHERE status = 'pending' AND expires_at > clock_timestamp() AND tenant = '' \gset
SELECT set_config('approval.quota_login', (:mine + 2)::text, false) AS q \gset
SELECT is((SELECT string_agg(t.refused('none', '{}'), ', ') FROM generate_series(1, 3)), 'ok, ok, PT429 quota login requests ' || :'q', 'of one login');
SELECT is(t.refused('none', '{}', '', 'agent2'), 'ok', 'another login has room');
SET approval.quota_login = 0;
SELECT set_config('approval.quota_tenant', (:waiting + 5)::text, false) AS q \gset
SELECT is((SELECT string_agg(t.refused('none', '{}', '', 'agent2'), ', ') FROM generate_series(1, 3)), 'ok, ok, PT429 quota tenant requests ' || :'q', 'of the whole tenant');
SET approval.quota_tenant = 0;
SET approval.quota_login_bytes = '1kB';
SELECT is(split_part(t.refused('none', format('{"x":%s}', to_json((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 50) i)))), ' ', 4), 'bytes', 'bytes of a login');
SET approval.quota_login_bytes = 0;
SET approval.quota_tenant_bytes = '1kB';
SELECT is(split_part(t.refused('none', format('{"x":%s}', to_json((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 50) i)))), ' ', 3) || ' ' || split_part(t.refused('none', format('{"x":%s}', to_json((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 50) i)))), ' ', 4), 'tenant bytes', 'bytes of a tenant');
SET approval.quota_tenant_bytes = 0;
SELECT is(t.refused('none', '{}'), 'ok', 'no limits');
SELECT is(t.says('agent', $$(SELECT set_config('approval.quota_login', '0', false))$$), '42501', 'which are not the agent''s to set');
SELECT * FROM finish();
ROLLBACK;
