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
SELECT is(t.try('pay', '{"x":2}'), 'review unexpected_arguments pending', 'no key: all arguments count, and a person looks');
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

-- A second look.
RESET approval.quota_conversation;
RESET approval.quota_login;
RESET approval.quota_tenant;
RESET approval.quota_login_bytes;
RESET approval.quota_tenant_bytes;
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin, approval_approver TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('acme'));
	EXECUTE format('GRANT approval_requester TO %I', t.login('acme'));
	PERFORM approval.register_login(t.login('acme'), 'service', 'agent:refunds', '{acme}');
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('both'));
	EXECUTE format('GRANT approval_requester TO %I', t.login('both'));
	PERFORM approval.register_login(t.login('both'), 'service', 'agent:both', '{"",acme}');
END
$$;
CREATE FUNCTION t.tool(name text, options text, tenant text DEFAULT '', class text DEFAULT 'action') RETURNS text LANGUAGE sql
RETURN t.row('root', format('approval.register_tool(%L, %L, %L, tenant => %L)', name, class, options, tenant)) ->> 'tool';

-- who is refused does not get it in smaller pieces
SELECT t.tool('money', '{"cool_down":"1 hour","key_paths":["$.order"],"rules":[{"condition":"$.amount >= 0 && $.amount <= 10","mode":"auto"},{"mode":"review"}],"budgets":[{"name":"d","limit":100,"within":"1 day"}]}') \gset
SELECT t.tool('read', '{"cool_down":"1 hour","rules":[{"condition":"$.all == true","mode":"review"},{"mode":"inline"}],"key_paths":["$.file"]}', '', 'live_data') \gset
SELECT is(t.try('money', '{"order":"A-1","amount":1}'), 'auto rule approved', 'a small refund');
SELECT t.reject(t.ask('money', '{"order":"A-1","amount":5000}'), 'First call the customer.') AS i \gset
SELECT is(t.try('money', '{"order":"A-1","amount":1}'), 'deny cool_down rejected First call the customer.', 'not after a large one for the same order was rejected');
SELECT is(t.try('money', '{"order":"A-2","amount":1}'), 'auto rule approved', 'for another order it is as before');
SELECT is(t.try('money', '{"order":"A-1","amount":1}', more), 'deny cool_down rejected First call the customer.', 'nor ' || what) FROM (VALUES
	($$resource => 'r'$$, 'for another resource'), ($$conversation_id => 'new'$$, 'in another conversation'), ($$run_id => 'new'$$, 'in another run'), ($$on_behalf_of => 'user:zoe'$$, 'in the name of somebody'),
	($$at_least => 'inline'$$, 'if it asks for less'), ($$at_least => 'review'$$, 'if it asks for more'), (format('retry_of => %L', :'i'), 'as a retry'), ($$preview => '{"x":1}', agent_reason => 'urgent'$$, 'with other words')) AS v(more, what);
SELECT is((SELECT sum(amount) FROM approval.budget_entries), 2::numeric, 'a denial takes nothing from a budget');
SELECT is(t.row('agent', format('approval.request_of(%L)', i)) ->> key, value, 'the denied request: ' || key) FROM (SELECT max(id::text) AS i FROM approval.requests WHERE gate_reason = 'cool_down' AND tool = 'money') AS x,
	(VALUES ('status', 'rejected'), ('cause', 'policy'), ('decided_by', 'policy'), ('rule', NULL), ('rule_reason', NULL), ('grant_id', NULL), ('denial', 'First call the customer.'), ('use_by', NULL)) AS v(key, value);
SELECT is(t.says('runner', format('approval.consume(%L, ''money'', ''{"order":"A-1","amount":1}'', ''x'')', (SELECT max(id::text) FROM approval.requests WHERE gate_reason = 'cool_down' AND tool = 'money'))), 'PT409 not_approved', 'it cannot be used');
SELECT is(t.says('alice', format('approval.approve(%L, %L)', id, review_hash)), 'PT409 already_decided', 'nor approved after all') FROM approval.requests WHERE id::text = (SELECT max(id::text) FROM approval.requests WHERE gate_reason = 'cool_down' AND tool = 'money');
SELECT is(t.says('agent', (SELECT format('approval.propose(%L, ''money'', %L)', tool_call_id, arguments) FROM approval.requests WHERE id = :'i')), 'ok', 'the rejected call itself is answered');
SELECT is((SELECT count(*) FROM approval.requests WHERE tool_call_id = (SELECT tool_call_id FROM approval.requests WHERE id = :'i')), 1::bigint, 'by the row that is there');
SELECT is(t.try('read', '{"file":"x","all":false}'), 'inline rule consumed', 'reading runs inline');
SELECT t.reject(t.ask('read', '{"file":"x","all":true}'), 'Not this file.') AS i \gset
SELECT is(t.try('read', '{"file":"x","all":false}'), 'deny cool_down rejected Not this file.', 'until a person says no');
-- the key
SELECT t.reject(t.ask('money', '{"order":42,"amount":5000}')) AS i \gset
SELECT is(t.try('money', format('{"order":%s,"amount":1}', k)), answer, 'order ' || k) FROM (VALUES ('42', 'deny cool_down rejected too much'), ('"42"', 'deny cool_down rejected too much'), ('42.0', 'deny cool_down rejected too much'), ('4.2e1', 'deny cool_down rejected too much'),
	('"042"', 'auto rule approved'), ('"42.0"', 'auto rule approved'), ('420', 'auto rule approved'), ('-42', 'auto rule approved')) AS v(k, answer);
-- the last rejection speaks; a change of the option holds at once
SELECT t.reject(t.ask('money', '{"order":"B-1","amount":5000}'), 'first') AS i, t.ask('money', '{"order":"C-1","amount":5000}') AS other \gset
SELECT t.age(:'i', '50 minutes');
SELECT t.row('admin', $$approval.update_tool('money', '{"cool_down":"30 minutes"}')$$) ->> 'verb' AS v \gset
SELECT is(t.try('money', '{"order":"B-1","amount":1}'), 'auto rule approved', 'a shorter cool-down is over at once');
SELECT t.reject(t.ask('money', '{"order":"B-1","amount":5000}'), 'second') AS j \gset
SELECT t.row('admin', $$approval.update_tool('money', '{"cool_down":"2 hours"}')$$) ->> 'verb' AS v \gset
SELECT is(t.try('money', '{"order":"B-1","amount":1}'), 'deny cool_down rejected second', 'the last of two rejections speaks');
SELECT t.row('admin', $$approval.update_tool('money', '{"cool_down":null}')$$) ->> 'verb' AS v \gset
SELECT is(t.try('money', '{"order":"B-1","amount":1}'), 'auto rule approved', 'and without the option there is none');
-- what counts as a rejection
SELECT t.tool('two', '{"cool_down":"1 hour","approvals_needed":2,"key_paths":["$.k"]}') \gset
CREATE FUNCTION t.ended(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a text := format('{"k":"%s"}', nextval('t.calls'));
	i approval.ulid := t.ask('two', a);
BEGIN
	IF what IN ('approved', 'revoked', 'veto') THEN
		PERFORM t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	IF what IN ('approved', 'revoked') THEN
		PERFORM t.row('carol', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	IF what = 'revoked' THEN
		PERFORM t.row('alice', format('approval.revoke(%L)', i));
	ELSIF what = 'edited, then rejected' THEN
		PERFORM t.row('bob', format('approval.edit(%L, %L, ''{"k":"other"}'')', i, t.seen(i)));
	ELSIF what = 'expired' THEN
		PERFORM set_config('session_replication_role', 'replica', true);
		UPDATE approval.requests SET expires_at = clock_timestamp() - interval '1 second' WHERE id = i;
		PERFORM set_config('session_replication_role', 'origin', true);
	END IF;
	IF what IN ('veto', 'rejected', 'edited, then rejected') THEN
		PERFORM t.row('web', format('approval.reject(%L, %L, ''user:zed'', ''no'')', i, t.seen(i)));
	END IF;
	RETURN t.try('two', a);
END
$$;
SELECT is(t.ended(what), answer, what) FROM (VALUES ('rejected', 'deny cool_down rejected no'), ('veto', 'deny cool_down rejected no'), ('edited, then rejected', 'deny cool_down rejected no'),
	('approved', 'review no_rule pending'), ('revoked', 'review no_rule pending'), ('expired', 'review no_rule pending'), ('nothing yet', 'review no_rule pending')) AS v(what, answer);
-- tenants, and two rows for one tool
SELECT t.tool('money', '{"cool_down":"1 hour","key_paths":["$.order"]}', 'acme') \gset
SELECT t.row('admin', $$approval.update_tool('money', '{"cool_down":"1 hour"}')$$) ->> 'verb' AS v \gset
SELECT t.reject(t.ask('money', '{"order":"T-1","amount":5000}', $$tenant => ''$$, 'both')) AS i \gset
SELECT is(t.try('money', '{"order":"T-1","amount":5000}', $$tenant => ''$$, 'both') || ', ' || t.try('money', '{"order":"T-1","amount":5000}', $$tenant => 'acme'$$, 'both'), 'deny cool_down rejected too much, review no_rule pending', 'a rejection in one tenant says nothing in another');
SELECT t.tool('rows', '{"cool_down":"1 minute"}') \gset
SELECT t.tool('rows', '{"cool_down":"1 hour"}', '*') \gset
SELECT t.reject(t.ask('rows', '{"order":"A-1"}')) AS i \gset
SELECT t.age(:'i', '59 minutes');
SELECT is(t.try('rows', '{"order":"A-1"}'), 'deny cool_down rejected too much', 'of two rows the longer cool-down counts');
SELECT t.age(:'i', '2 minutes');
SELECT is(t.try('rows', '{"order":"A-1"}'), 'review no_rule pending', 'until it is over');
SELECT t.tool('keys', '{"description":"a row of the tenant"}') \gset
SELECT t.tool('keys', '{"cool_down":"1 hour","key_paths":["$.order"]}', '*') \gset
SELECT t.reject(t.ask('keys', '{"order":"A-1","note":"please"}')) AS i \gset
SELECT is(t.try('keys', '{"order":"A-1","note":"please"}'), 'deny cool_down rejected too much', 'a cool-down for every tenant holds for one with a row of its own');
SELECT is(t.try('keys', '{"order":"A-1","note":"pretty please"}'), 'deny cool_down rejected too much', 'and so do its key paths');

-- quotas: what is refused leaves nothing behind
CREATE FUNCTION t.traces() RETURNS text LANGUAGE sql
RETURN (SELECT count(*) FROM approval.requests) || ' ' || (SELECT count(*) FROM approval.events) || ' ' || (SELECT count(*) FROM approval.budget_entries) || ' ' || (SELECT count(*) FROM approval.seen_definitions);
SET approval.quota_conversation = 2;
SELECT is((SELECT string_agg(t.refused('none', '{}', $$conversation_id => 'c1'$$, who), ', ' ORDER BY n) FROM (VALUES (1, 'agent'), (2, 'agent2'), (3, 'gateway')) AS v(n, who)), 'ok, ok, PT429 quota conversation requests 2', 'a conversation is one, whoever speaks in it');
SELECT t.traces() AS before \gset
SELECT is(t.detail('gateway', $$approval.propose('over', 'none', '{}', 'c1', definition => '{"name":"none"}')$$) - 'hint', '{"sqlstate":"PT429","reason":"quota","http":429,"id":null,"status":null,"scope":"conversation","of":"requests","limit":2}', 'DETAIL says which quota');
SELECT is(t.traces(), :'before'::text, 'and nothing is left of it');
SELECT is(t.refused('money', '{"order":"Q-1","amount":3}', $$conversation_id => 'c1'$$) || ', ' || t.refused('money', '{"order":"Q-1","amount":3000}', $$conversation_id => 'c1'$$), 'ok, PT429 quota conversation requests 2', 'what policy approves goes through, what it wants reviewed does not');
SELECT is(t.refused('none', '{}', $$conversation_id => 'c1', at_least => 'deny'$$), 'ok', 'a denial goes through');
SELECT is(t.says('agent', format('approval.propose(%L, ''none'', ''{"other":1}'', ''c1'')', (SELECT tool_call_id FROM approval.requests WHERE conversation_id = 'c1' AND requester_login = t.login('agent') AND mode = 'review' LIMIT 1))), 'PT409 tool_call_conflict', 'a conflict is a conflict');
SELECT is(t.refused('none', '{}', $$conversation_id => 'c1', tenant => 'acme'$$, 'both'), 'ok', 'a conversation of that name in another tenant is another one');
CREATE FUNCTION t.then(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r approval.requests := (SELECT r FROM approval.requests r WHERE r.conversation_id = 'c1' AND r.status = 'pending' AND r.tenant = '' AND r.requester_login = t.login('agent') ORDER BY r.id LIMIT 1);
BEGIN
	IF what = 'cancel' THEN
		PERFORM t.row('agent', format('approval.cancel(%L)', r.id));
	ELSE
		PERFORM t.row('alice', format('approval.%s(%L, %L %s)', what, r.id, r.review_hash, CASE what WHEN 'edit' THEN ', ''{"y":1}''' ELSE '' END));
	END IF;
	RETURN t.refused('none', '{}', $q$conversation_id => 'c1'$q$) || ', ' || t.refused('none', '{}', $q$conversation_id => 'c1'$q$);
END
$$;
SELECT is(t.then(what), 'ok, PT429 quota conversation requests 2', what || ' makes room for one') FROM unnest(ARRAY['approve', 'edit', 'reject', 'cancel']) AS what;
-- exactly, also where a count is used several times
SET approval.quota_conversation = 100;
SELECT is((SELECT count(*) FILTER (WHERE answer = 'ok') || ' ' || count(*) FILTER (WHERE answer LIKE 'PT429%') FROM (SELECT t.refused('none', '{}', $$conversation_id => 'long'$$) AS answer FROM generate_series(1, 110)) AS a), '100 10', 'of 110 a hundred');
SELECT is((SELECT count(*) FILTER (WHERE answer = 'ok') || ' ' || count(*) FILTER (WHERE answer LIKE 'PT429%') FROM (SELECT t.refused('none', '{}', format('conversation_id => %L', CASE n % 2 WHEN 0 THEN 'even' ELSE 'odd' END), CASE n % 3 WHEN 0 THEN 'agent' ELSE 'agent2' END) AS answer FROM generate_series(1, 220) n) AS a), '200 20', 'of two at a time a hundred each');
RESET approval.quota_conversation;
-- each tenant has its own
SELECT count(*) AS acme FROM approval.requests WHERE status = 'pending' AND tenant = 'acme' \gset
SELECT set_config('approval.quota_tenant', (:acme + 2)::text, false) AS q \gset
SELECT is(t.refused('none', '{}', $$tenant => ''$$, 'both') || ', ' || (SELECT string_agg(t.refused('none', '{}', $$tenant => 'acme'$$, 'both'), ', ') FROM generate_series(1, 3)), 'PT429 quota tenant requests ' || :'q' || ', ok, ok, PT429 quota tenant requests ' || :'q', 'the full tenant, and one that fills up');
SELECT is(t.refused('none', '{}', '', 'acme'), 'PT429 quota tenant requests ' || :'q', 'for every login of it');
RESET approval.quota_tenant;
SELECT count(*) AS mine FROM approval.requests WHERE status = 'pending' AND tenant = 'acme' AND requester_login = t.login('both') \gset
SELECT set_config('approval.quota_login', (:mine + 1)::text, false) AS q \gset
SELECT is((SELECT string_agg(t.refused('none', '{}', $$tenant => 'acme'$$, 'both'), ', ') FROM generate_series(1, 2)), 'ok, PT429 quota login requests ' || :'q', 'a login in one tenant');
SELECT is(t.refused('none', '{}', $$tenant => ''$$, 'both') || ', ' || t.refused('none', '{}', '', 'acme'), 'ok, ok', 'has room in another one, and another login has in this one');
RESET approval.quota_login;
-- bytes of everything that a proposer writes
SET approval.quota_conversation_bytes = '20kB';
CREATE FUNCTION t.noise(n int) RETURNS text LANGUAGE sql RETURN (SELECT string_agg(md5(i::text), '') FROM generate_series(1, n) i);
SELECT is(t.refused('none', arguments, format('conversation_id => %L, ', what) || more), 'PT429 quota conversation bytes 20480', '28 kB of ' || what) FROM (VALUES
	('arguments', format('{"x":"%s"}', t.noise(900)), $$run_id => 'r'$$), ('preview', '{}', format('preview => %L', to_json(t.noise(900)))), ('metadata', '{}', format('metadata => %L', to_json(t.noise(900)))), ('reason', '{}', format('agent_reason => %L', t.noise(900)))) AS v(what, arguments, more);
SELECT is((SELECT string_agg(left(t.refused('none', format('{"x":"%s"}', t.noise(150)), $$conversation_id => 'sum'$$), 5), ' ') FROM generate_series(1, 6)), 'ok ok ok ok PT429 PT429', 'or of many: 4.8 kB each');
SELECT is(t.refused('none', '{}', $$conversation_id => 'sum'$$), 'ok', 'where a smaller one may still fit');
RESET approval.quota_conversation_bytes;
-- whose they are to set
SELECT is(t.says(who, format('(SELECT set_config(%L, ''0'', false))', s)), '42501', format('%s and %s', who, s)) FROM unnest(ARRAY['agent', 'alice', 'admin']) AS who,
	unnest(ARRAY['approval.quota_conversation', 'approval.quota_login', 'approval.quota_tenant', 'approval.quota_conversation_bytes', 'approval.quota_login_bytes', 'approval.quota_tenant_bytes']) AS s;
SELECT throws_ok('SET approval.quota_login = -1', '22023', NULL, 'no quota is negative');

-- an agent that spoils one of the keys, and a tenant with finer keys of its own
SELECT t.tool('spoil', '{"cool_down":"1 hour","key_paths":["$.order","$.currency"],"rules":[{"condition":"$.amount >= 0 && $.amount <= 10","mode":"auto"},{"mode":"review"}]}') \gset
SELECT t.reject(t.ask('spoil', '{"order":"A-1","amount":5000,"currency":"EUR"}')) AS i \gset
SELECT is(t.try('spoil', '{"order":"A-1","amount":1,"currency":"EUR"}'), 'deny cool_down rejected too much', 'the same order');
SELECT isnt(split_part(t.try('spoil', a), ' ', 1), 'auto', a || ' is not approved by policy') FROM unnest(ARRAY['{"order":"A-1","amount":1}', '{"order":"A-1","amount":1,"currency":null}', '{"order":"A-1","amount":1,"currency":["EUR"]}', '{"order":["A-1"],"amount":1,"currency":"EUR"}']) AS a;
SELECT t.tool('finer', '{"cool_down":"1 hour","key_paths":["$.order","$.note"]}') \gset
SELECT t.tool('finer', '{"cool_down":"1 hour","key_paths":["$.order"]}', '*') \gset
SELECT t.reject(t.ask('finer', '{"order":"A-1","note":"please"}')) AS i \gset
SELECT is(t.try('finer', '{"order":"A-1","note":"pretty please"}'), 'deny cool_down rejected too much', 'of two rows both keys count');
SELECT * FROM finish();
ROLLBACK;
