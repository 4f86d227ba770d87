-- Who may change policy, and that each change is an event with before and after.
\set ns polevents
\ir include/gate.psql
SELECT no_plan();
SELECT t.row('admin', $$approval.register_tool('pay', 'action', '{"default_mode":"auto"}')$$);

-- every verb of the administrator, by everybody
CREATE TABLE t.verbs (verb text, call text, approver boolean DEFAULT false);
INSERT INTO t.verbs VALUES
	('register_login', $$approval.register_login('postgres', 'person')$$, false), ('register_tool', $$approval.register_tool('new', 'action')$$, false),
	('update_tool', $$approval.update_tool('pay', '{"risk":"low"}')$$, false), ('set_rules', $$approval.set_rules('pay', '[{"mode":"review"}]')$$, false),
	('review_tool', $$approval.review_tool('pay', approval.tool_digest('{"name":"pay"}'), definition => '{"name":"pay"}')$$, false),
	('retire_tool', $$approval.retire_tool('pay')$$, false), ('freeze_tool', $$approval.freeze_tool('pay', 'why')$$, true), ('unfreeze_tool', $$approval.unfreeze_tool('frozen')$$, false),
	('freeze_tenant', $$approval.freeze_tenant('why')$$, true), ('unfreeze_tenant', $$approval.unfreeze_tenant()$$, false),
	('add_member', $$approval.add_member('board', 'user:zoe')$$, false), ('remove_member', $$approval.remove_member('board', 'user:amy')$$, false),
	('allow', $$approval.allow('pay', 'polevents_agent', now() + '1 hour', 1)$$, false), ('disallow', $$approval.disallow(approval.new_ulid())$$, true),
	('expire_due', $$approval.expire_due()$$, false);
SELECT is(t.says(who, call) = '42501', NOT (approver AND who IN ('alice', 'robot')), format('%s by %s', verb, who))
  FROM t.verbs, unnest(ARRAY['agent', 'agent2', 'alice', 'robot', 'runner', 'auditor', 'nobody', 'gateway']) AS who
 WHERE NOT (who = 'gateway' AND approver) ORDER BY verb, who;
SELECT is(t.says(who, call) = '42501', who NOT IN ('admin', 'auditor'), format('%s by %s', left(call, 20), who))
  FROM (VALUES ($$approval.explain('pay', '{}')$$), ($$approval.simulate('{"tool":"pay"}')$$)) AS v(call), unnest(ARRAY['agent', 'alice', 'robot', 'web', 'gateway', 'runner', 'auditor', 'admin', 'nobody']) AS who;
-- past the verbs nobody gets at policy, and an administrator does not either
SELECT is_empty(format($$SELECT who, c.relname, p FROM unnest(ARRAY['agent', 'alice', 'robot', 'web', 'gateway', 'runner', 'auditor', 'admin', 'nobody']) AS who, pg_class c, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p
	WHERE c.relnamespace = 'approval'::regnamespace AND c.relkind IN ('r', 'v') AND has_table_privilege(%L || who, c.oid, p)$$, 'polevents_'), 'no login writes a table or a view');
SELECT is_empty(format($$SELECT who, c.relname FROM unnest(ARRAY['agent', 'alice', 'robot', 'web', 'gateway', 'runner', 'auditor', 'admin', 'nobody']) AS who, pg_class c
	WHERE c.relnamespace = 'approval'::regnamespace AND c.relname IN ('tools', 'rules', 'seen_definitions', 'freezes', 'members', 'budget_entries', 'grants', 'policy_events', 'logins') AND has_table_privilege(%L || who, c.oid, 'SELECT')$$, 'polevents_'), 'nor reads one of policy');
SELECT is_empty(format($$SELECT who FROM unnest(ARRAY['agent', 'alice', 'robot', 'web', 'gateway', 'runner', 'auditor', 'admin', 'nobody']) AS who
	WHERE has_sequence_privilege(%L || who, 'approval.policy_version_seq', 'USAGE, SELECT, UPDATE')$$, 'polevents_'), 'nor takes a version');
-- alice has shut the gate meanwhile: that is what approvers may
SELECT is((SELECT count(*) FROM approval.freezes), 2::bigint, 'an approver has frozen the tool and the tenant');
SELECT is(t.says('admin', call), 'ok', call) FROM (VALUES ($$approval.unfreeze_tool('pay')$$), ($$approval.unfreeze_tenant()$$)) AS v(call);

-- each change, once
SELECT t.row('admin', $$approval.add_member('board', 'user:amy')$$) ->> 'n' AS n \gset
SELECT t.row('admin', $$approval.freeze_tool('frozen')$$) ->> 'n' AS n \gset
SELECT t.row('admin', $$approval.freeze_tenant()$$) ->> 'n' AS n \gset
CREATE FUNCTION t.changes(call text) RETURNS TABLE (verb text, events bigint, same boolean, before jsonb, after jsonb, version int) LANGUAGE plpgsql AS $$
DECLARE
	known bigint := (SELECT count(*) FROM approval.policy_events);
	answer jsonb := t.row('admin', call);
	e approval.policy_events;
BEGIN
	SELECT * INTO e FROM approval.policy_events p ORDER BY p.at DESC LIMIT 1;
	IF jsonb_typeof(answer) <> 'object' THEN
		SELECT * INTO e FROM approval.policy_events p WHERE tenant = '*' ORDER BY p.at DESC LIMIT 1;
		answer := to_jsonb(e);
	END IF;
	RETURN QUERY SELECT e.verb, (SELECT count(*) FROM approval.policy_events) - known,
		(e.before::jsonb, e.after::jsonb, e.n) IS NOT DISTINCT FROM (nullif(answer -> 'before', 'null'), nullif(answer -> 'after', 'null'), (answer ->> 'n')::int),
		e.before::jsonb, e.after::jsonb, e.policy_version;
END
$$;
CREATE TABLE t.done AS SELECT v.verb AS asked, c.* FROM (SELECT * FROM t.verbs WHERE verb NOT IN ('allow', 'disallow', 'expire_due', 'retire_tool') ORDER BY verb) v, LATERAL t.changes(v.call) c;
INSERT INTO t.done SELECT 'retire_tool', c.* FROM t.changes($$approval.retire_tool('pay', 'old')$$) c;
SELECT is(verb, asked, asked || ' is an event') FROM t.done;
SELECT is(events, 1::bigint, asked || ': one') FROM t.done;
SELECT ok(same, asked || ': the answer is the event') FROM t.done;
SELECT is((before IS NULL)::text || (after IS NULL)::text, CASE WHEN asked IN ('register_tool', 'add_member', 'freeze_tool', 'freeze_tenant', 'register_login') THEN 'truefalse' WHEN asked IN ('unfreeze_tool', 'unfreeze_tenant', 'remove_member', 'retire_tool') THEN 'falsetrue' ELSE 'falsefalse' END, asked || ': before and after')
  FROM t.done WHERE asked NOT IN ('freeze_tenant');
SELECT is((SELECT after ->> 'risk' FROM t.done WHERE asked = 'update_tool'), 'low', 'after is what it has become');
SELECT is((SELECT before -> 'rules' FROM t.done WHERE asked = 'set_rules'), '[]', 'before is what it was');
SELECT is((SELECT after #>> '{rules,0,mode}' FROM t.done WHERE asked = 'set_rules'), 'review', 'and after, rules and all');
SELECT is((SELECT after #>> '{definition,name}' FROM t.done WHERE asked = 'review_tool'), 'pay', 'a reviewed definition too');

-- of one tool each event begins where the last one ended
SELECT is_empty($$SELECT n FROM (SELECT n, before::jsonb AS before, lag(after::jsonb) OVER (PARTITION BY tool ORDER BY n) AS last FROM approval.policy_events WHERE tool = 'pay' AND verb ~ '_tool$|set_rules' AND verb !~ 'freeze') e
	WHERE last IS NOT NULL AND before IS DISTINCT FROM last$$, 'nothing changes between events');
SELECT is_empty($$SELECT n FROM (SELECT n, policy_version, lag(policy_version) OVER (ORDER BY n) AS last FROM approval.policy_events WHERE tenant = '' AND chain = 'policy' AND policy_version IS NOT NULL) e WHERE policy_version <= last$$, 'versions ascend');
SELECT is_empty($$SELECT n FROM (SELECT tenant, n, previous, lag(hash) OVER (PARTITION BY tenant, chain ORDER BY n) AS last, row_number() OVER (PARTITION BY tenant, chain ORDER BY n) AS i FROM approval.policy_events) e WHERE previous IS DISTINCT FROM last OR n <> i$$, 'chained without a gap');
SELECT is((SELECT bool_and((t.row('auditor', format('approval.verify_policy(%L)', chain)) ->> 'ok')::boolean) FROM unnest(ARRAY['policy', 'freeze']) chain), true, 'verify_policy finds it whole');
SELECT is((SELECT count(*) FROM approval.policy_events), (SELECT jsonb_array_length((t.as('auditor', '(SELECT n FROM approval.policy_audit)')).rows) + (SELECT count(*) FROM approval.policy_events WHERE tenant NOT IN ('', '*'))), 'an auditor sees all of it');
SELECT is(t.says('agent', '(SELECT * FROM approval.policy_audit)'), '42501', 'an agent none');
SELECT is(t.says('agent', '(SELECT * FROM approval.registry)'), '42501', 'nor the thresholds');
SELECT throws_ok(s, '42501', NULL, s) FROM (VALUES ('UPDATE approval.policy_events SET note = ''x'''), ('DELETE FROM approval.policy_events'), ('TRUNCATE approval.policy_events')) AS v(s);

-- a change found out
SAVEPOINT s;
SET LOCAL session_replication_role = replica;
UPDATE approval.policy_events SET after = '{"risk":"high"}' WHERE verb = 'update_tool';
SET LOCAL session_replication_role = origin;
SELECT t.row('auditor', 'approval.verify_policy()') AS v \gset
ROLLBACK TO s;
SELECT is((:'v')::jsonb ->> 'problem', 'event_changed', 'a changed event is found');
SELECT is(((:'v')::jsonb ->> 'at_event')::int, (SELECT n FROM approval.policy_events WHERE verb = 'update_tool' ORDER BY n LIMIT 1), 'with its number');

-- explain and simulate store nothing
CREATE FUNCTION t.everything() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
	c text;
	result text := '';
BEGIN
	FOR r IN SELECT relname FROM pg_class WHERE relnamespace = 'approval'::regnamespace AND relkind = 'r' ORDER BY relname LOOP
		EXECUTE format('SELECT count(*) || md5(coalesce(string_agg(x::text, ''|'' ORDER BY x::text), '''')) FROM approval.%I x', r) INTO c;
		result := result || c;
	END LOOP;
	RETURN result;
END
$$;
SELECT t.row('admin', $$approval.register_tool('sim', 'action', '{"rules":[{"condition":"$.a >= 0 && $.a <= 10","mode":"auto"},{"mode":"review"}],"budgets":[{"name":"d","amount":"$.a","limit":5,"within":"1 day"}]}')$$) ->> 'n' AS n \gset
SELECT t.row('agent', format('approval.propose(%L, ''sim'', %L)', 's' || i, json_build_object('a', i))) ->> 'mode' AS m FROM generate_series(1, 20) i;
SELECT t.everything() AS before \gset
SELECT t.row('admin', $$approval.explain('sim', '{"a":3}', requester => 'polevents_agent')$$) ->> 'gate_reason' AS g \gset
SELECT is(:'g'::text, 'budget_exceeded', 'explain');
SELECT r ->> 'considered' AS considered, r ->> 'changed' AS changed, r ->> 'stricter' AS stricter, r ->> 'looser' AS looser, r -> 'totals' AS totals, jsonb_array_length(r -> 'changes') AS listed
  FROM t.row('admin', $$approval.simulate('{"tool":"sim","rules":[{"condition":"$.a >= 0 && $.a <= 2","mode":"auto"},{"condition":"$.a > 15","mode":"deny"},{"mode":"review","approvals_needed":2}]}', max_rows => 5)$$) r \gset
SELECT is(:'considered'::int, 20, 'simulate considers all');
SELECT is((SELECT sum((x ->> 'requests')::int) FROM jsonb_array_elements(:'totals') x), 20::bigint, 'and the totals are of all');
SELECT is((SELECT (x ->> 'requests')::int FROM jsonb_array_elements(:'totals') x WHERE x ->> 'mode' = 'review' AND x ->> 'draft_mode' = 'deny'), 5, 'five would be denied');
SELECT is(:'stricter'::int + :'looser'::int, :'changed'::int, 'stricter and looser');
SELECT is(:'listed'::int, 5, 'as many as asked for are listed');
SELECT is(t.row('admin', format('approval.simulate(''{"tool":"sim"}'', since => %L)', clock_timestamp() + interval '1 hour')) ->> 'considered', '0', 'since');
SELECT is(t.says('admin', $$approval.simulate('{"tool":"sim","rules":[{"mode":"inline"}]}')$$), 'PT422 bad_policy', 'a bad draft');
SELECT is(t.says('admin', $$approval.simulate('{"rules":[]}')$$), 'PT422 bad_policy', 'a draft of no tool');
SELECT is(t.says('admin', $$approval.simulate('[]')$$), 'PT422 bad_policy', 'or no object');
SELECT is(t.says('admin', $$approval.simulate('{"tool":"sim"}', max_rows => -1)$$), '22023', 'max_rows');
SELECT is(t.row('admin', $$approval.simulate('{"tool":"nowhere","class":"action","default_mode":"auto"}')$$) ->> 'considered', '0', 'a tool that is not there yet');
SELECT is(t.everything(), :'before', 'all of that has stored nothing');

-- nothing that has happened can be changed or removed, by the owner either
SELECT cmp_ok((SELECT count(*) FROM approval.budget_entries), '>', 0::bigint, 'there are entries of budgets');
SELECT throws_ok(s, '42501', NULL, current_user || ': ' || s) FROM (VALUES ('UPDATE approval.budget_entries SET amount = 0'), ('UPDATE approval.budget_entries SET released_at = now()'), ('UPDATE approval.budget_entries SET key = key'),
	('DELETE FROM approval.budget_entries'), ('TRUNCATE approval.budget_entries'), ('UPDATE approval.policy_events SET hash = hash'), ('DELETE FROM approval.policy_events WHERE n = 1'), ('TRUNCATE approval.policy_events, approval.budget_entries')) AS v(s);
GRANT USAGE ON SCHEMA public TO approval_owner;
CREATE FUNCTION t.as_owner(statement text) RETURNS text LANGUAGE plpgsql SET role = approval_owner AS $$
BEGIN
	EXECUTE statement;
	RETURN 'done as ' || current_user;
EXCEPTION WHEN insufficient_privilege THEN
	RETURN CASE WHEN SQLERRM LIKE '%by verbs only%' THEN 'refused to ' || current_user ELSE SQLERRM END;
END
$$;
GRANT EXECUTE ON FUNCTION t.as_owner TO approval_owner;
SELECT is(t.as_owner(s), 'refused to approval_owner', s) FROM (VALUES ('UPDATE approval.policy_events SET note = ''x'''), ('DELETE FROM approval.policy_events'), ('TRUNCATE approval.policy_events'),
	('UPDATE approval.budget_entries SET amount = 0'), ('DELETE FROM approval.budget_entries'), ('TRUNCATE approval.budget_entries')) AS v(s);
SELECT is(t.as_owner('SELECT count(*) FROM approval.policy_events'), 'done as approval_owner', 'who may read them');

-- each way to forge the chain is found, with the number of the event
CREATE FUNCTION t.forged(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	BEGIN
		SET LOCAL session_replication_role = replica;
		EXECUTE statement;
		SET LOCAL session_replication_role = origin;
		answer := (SELECT concat_ws(' ', v ->> 'ok', v ->> 'events', v ->> 'problem', v ->> 'at_event') FROM t.row('auditor', 'approval.verify_policy()') AS v);
		RAISE EXCEPTION 'back' USING ERRCODE = 'XX999';
	EXCEPTION WHEN SQLSTATE 'XX999' THEN
		NULL;
	END;
	RETURN answer;
END
$$;
SELECT count(*) AS whole FROM approval.policy_events WHERE tenant = '' AND chain = 'policy' \gset
SELECT is(t.forged('UPDATE approval.policy_events SET ' || change || ' WHERE tenant = '''' AND chain = ''policy'' AND n = 3'), 'false 2 event_changed 3', change)
  FROM (VALUES ('actor = ''user:zoe'''), ('login = ''polevents_alice'''), ('role = ''polevents_alice'''), ('client = ''10.0.0.1'''), ('at = at + interval ''1 second'''), ('verb = ''set_rules'''), ('tool = ''other'''), ('server = ''other'''),
			   ('subject = ''other'''), ('policy_version = 12345'), ('before = ''{}'''), ('after = NULL'), ('note = ''fine'''), ('hash = repeat(''0'', 64)::approval.digest'), ('previous = repeat(''0'', 64)::approval.digest'), ('previous = NULL')) AS v(change);
SELECT is(t.forged('DELETE FROM approval.policy_events WHERE tenant = '''' AND chain = ''policy'' AND n = 3'), 'false 2 event_missing 3', 'an event removed');
SELECT is(t.forged('DELETE FROM approval.policy_events WHERE tenant = '''' AND chain = ''policy'' AND n = 1'), 'false 0 event_missing 1', 'the first one removed');
SELECT is(t.forged('DELETE FROM approval.policy_events WHERE tenant = '''' AND chain = ''policy'' AND n = ' || :whole), 'true ' || :whole - 1, 'the last one removed: that shows only against a copy of its hash');
SELECT is(t.forged('WITH gone AS (DELETE FROM approval.policy_events WHERE tenant = '''' AND chain = ''policy'' AND n = 3 RETURNING *) UPDATE approval.policy_events SET n = n WHERE false'), 'false 2 event_missing 3', 'removed another way');
SELECT is(t.forged('UPDATE approval.policy_events SET tenant = ''acme'' WHERE tenant = '''' AND chain = ''policy'' AND n = 4'), 'false 3 event_missing 4', 'given to another tenant');
SELECT is(t.forged('UPDATE approval.policy_events SET chain = ''freeze'', n = 1000 WHERE tenant = '''' AND chain = ''policy'' AND n = 4'), 'false 3 event_missing 4', 'or to the other chain');
SELECT is(t.forged('SELECT 1'), 'true ' || :whole, 'nothing forged');
SELECT is(t.says('auditor', call), answer, call) FROM (VALUES ('approval.verify_policy(''other'')', '22023'), ('approval.verify_policy(NULL)', '22004'), ('approval.verify_policy(tenant => ''acme'')', '42501')) AS v(call, answer);
SELECT is(t.says(who, 'approval.verify_policy()'), answer, who || ' verifies') FROM (VALUES ('agent', '42501'), ('runner', '42501'), ('nobody', '42501'), ('alice', 'ok'), ('admin', 'ok'), ('auditor', 'ok')) AS v(who, answer);

-- who made a change, and as what
SELECT is((SELECT concat_ws(' ', chain, actor, login, role, note) FROM approval.policy_events WHERE verb = 'freeze_tool' AND tool = 'pay' ORDER BY n LIMIT 1), 'freeze user:alice polevents_alice polevents_alice why', 'a person, by login and role, with a reason');
SELECT is((SELECT string_agg(DISTINCT chain, ' ') FROM approval.policy_events WHERE verb ~ 'freeze'), 'freeze', 'freezes have a chain of their own');
SELECT is((SELECT string_agg(DISTINCT chain, ' ') FROM approval.policy_events WHERE verb !~ 'freeze|revoke_by'), 'policy', 'all else the other');
SELECT is(t.says('web', $$approval.freeze_tool('sim', actor => 'user:dora')$$), 'ok', 'a delegate names the actor');
SELECT is((SELECT concat_ws(' ', actor, login) FROM approval.policy_events WHERE chain = 'freeze' AND tenant = '' ORDER BY n DESC LIMIT 1), 'user:dora polevents_web', 'who is in the event, beside the login');
SELECT is(t.says('alice', $$approval.freeze_tool('sim', actor => 'user:dora')$$), 'PT403 actor_not_allowed', 'nobody else does');
SELECT is(t.says('admin', $$approval.unfreeze_tool('sim')$$), 'ok', 'lifted');

-- each kind of change: before is the after of the last one, the answer is the row, requests keep the version
SELECT t.row('admin', $$approval.register_tool('life', 'action', '{"default_mode":"auto"}')$$) ->> 'n' AS n \gset
CREATE TABLE t.life (i serial, call text);
INSERT INTO t.life (call) VALUES ($$approval.update_tool('life', '{"risk":"low"}')$$), ($$approval.update_tool('life', '{}')$$), ($$approval.set_rules('life', '[{"condition":"$.a == 1","mode":"review","approvals_needed":3,"reviewer_group":"board","position":4,"reason":"r"},{"mode":"auto"}]')$$),
	($$approval.update_tool('life', '{"expects":{"a":"number"},"budgets":[{"name":"d","limit":5.50,"within":"1 day"}],"key_paths":["$.a"],"lease":"PT90S","roles":[]}')$$), ($$approval.set_rules('life', '[]')$$),
	($$approval.review_tool('life', approval.tool_digest('{"name":"life","inputSchema":{"a":[1,{"b":"c"}]}}'), definition => '{"name":"life","inputSchema":{"a":[1,{"b":"c"}]}}', note => 'read')$$),
	($$approval.update_tool('life', '{"definition":null,"annotations":{"readOnlyHint":true}}')$$), ($$approval.update_tool('life', '{"expects":null,"budgets":null,"key_paths":null,"lease":null,"roles":null,"annotations":null,"risk":"high"}')$$),
	($$approval.set_rules('life', '[{"mode":"review"}]')$$), ($$approval.update_tool('life', '{"rules":[{"mode":"deny"}]}')$$);
CREATE TABLE t.lived (i int, call text, answer jsonb, events bigint, version int, asked int);
DO $$
DECLARE
	l record;
	known bigint;
	answer jsonb;
BEGIN
	FOR l IN SELECT * FROM t.life ORDER BY i LOOP
		known := (SELECT count(*) FROM approval.policy_events);
		answer := t.row('admin', l.call);
		INSERT INTO t.lived VALUES (l.i, l.call, answer, (SELECT count(*) FROM approval.policy_events) - known, (SELECT policy_version FROM approval.tools WHERE tool = 'life'),
			(t.row('agent', format('approval.propose(%L, ''life'', ''{"a":2}'')', 'life_' || l.i)) ->> 'policy_version')::int);
	END LOOP;
END
$$;
SELECT is(events, 1::bigint, 'one event: ' || call) FROM t.lived ORDER BY i;
SELECT is(asked, version, 'the request keeps the version: ' || call) FROM t.lived ORDER BY i;
SELECT is((answer ->> 'policy_version')::int, version, 'so does the answer: ' || call) FROM t.lived ORDER BY i;
SELECT is((SELECT to_jsonb(e) - '{actor,login,role,client,note,previous,hash}'::text[] FROM approval.policy_events e WHERE tenant = '' AND chain = 'policy' AND n = (answer ->> 'n')::int), answer, 'the answer is the event: ' || call) FROM t.lived ORDER BY i;
SELECT is(answer -> 'before', last, 'before is what was: ' || call) FROM (SELECT *, lag(answer -> 'after') OVER (ORDER BY i) AS last FROM t.lived) l WHERE i > 1 ORDER BY i;
SELECT is_empty('SELECT i FROM (SELECT i, version, lag(version) OVER (ORDER BY i) AS last FROM t.lived) l WHERE version <= last', 'versions increase');
SELECT is((SELECT answer -> 'after' FROM t.lived ORDER BY i DESC LIMIT 1) - 'rules', (SELECT answer -> 'before' FROM t.lived ORDER BY i LIMIT 1) - 'rules' || '{"default_mode":"auto"}', 'what is taken away again leaves nothing');
SELECT is((SELECT answer #> '{after,rules,0}' FROM t.lived WHERE i = 3), '{"mode":"review","condition":"$.a == 1","approvals_needed":3,"reviewer_group":"board","position":4,"reason":"r"}', 'rules are told as they were written');
SELECT is((SELECT answer #> '{after,rules,1}' FROM t.lived WHERE i = 3), '{"mode":"auto","position":5}', 'with positions');
SELECT is((SELECT string_agg(concat_ws(' ', r.mode, r.gate_reason), ', ' ORDER BY r.policy_version) FROM approval.requests r WHERE r.tool = 'life'),
	'auto default, auto default, auto rule, auto rule, auto default, review definition_missing, auto default, auto default, review rule, deny rule', 'and each change held at once');
SELECT is((SELECT count(DISTINCT r.policy_version) FROM approval.requests r WHERE r.tool = 'life'), 10::bigint, 'under ten versions');

-- a change that is rolled back is none
SELECT t.everything() AS before \gset
SAVEPOINT s;
SELECT t.row('admin', $$approval.update_tool('life', '{"risk":"low"}')$$) ->> 'n' AS lost \gset
ROLLBACK TO s;
SELECT is(t.everything(), :'before', 'rolled back: nothing is left');
SELECT is(t.row('admin', $$approval.update_tool('life', '{"risk":"critical"}')$$) ->> 'n', :'lost'::text, 'and the next event takes its number');

-- groups, freezes and grants: again, and when there is nothing to undo
CREATE FUNCTION t.step(who text, call text) RETURNS text LANGUAGE sql
RETURN (SELECT CASE WHEN a.code = '00000' THEN (SELECT concat_ws(' ', CASE WHEN r -> 'before' <> 'null' THEN 'before' END, CASE WHEN r -> 'after' <> 'null' THEN 'after' END, CASE WHEN r -> 'before' = r -> 'after' THEN 'same' END) FROM (SELECT a.rows -> 0 AS r) x)
				ELSE concat_ws(' ', a.code, a.detail::json ->> 'reason') END FROM t.as(who, call) AS a);
SELECT is(t.step(who, call), answer, format('%s: %s', n, call)) FROM (VALUES
	(1, 'admin', $$approval.add_member('crew', 'user:amy')$$, 'after'), (2, 'admin', $$approval.add_member('crew', 'user:amy')$$, 'before after same'), (3, 'admin', $$approval.remove_member('crew', 'user:amy')$$, 'before'), (4, 'admin', $$approval.remove_member('crew', 'user:amy')$$, 'PT404 not_found'),
	(5, 'alice', $$approval.freeze_tool('life', 'one')$$, 'after'), (6, 'bob', $$approval.freeze_tool('life', 'two')$$, 'before after same'), (7, 'admin', $$approval.unfreeze_tool('life')$$, 'before'), (8, 'admin', $$approval.unfreeze_tool('life')$$, 'PT404 not_found'),
	(9, 'alice', $$approval.freeze_tenant('one')$$, 'after'), (10, 'admin', $$approval.freeze_tenant('two')$$, 'before after same'), (11, 'admin', $$approval.unfreeze_tenant()$$, 'before'), (12, 'admin', $$approval.unfreeze_tenant()$$, 'PT404 not_found'),
	(13, 'alice', $$approval.freeze_tool('nobody knows it')$$, 'after'), (14, 'alice', $$approval.freeze_tool('life', server => 'mcp')$$, 'after'), (15, 'admin', $$approval.unfreeze_tool('life', server => 'mcp')$$, 'before'), (16, 'admin', $$approval.unfreeze_tool('nobody knows it')$$, 'before'),
	(17, 'admin', $$approval.retire_tool('life')$$, 'before'), (18, 'admin', $$approval.retire_tool('life')$$, 'PT403 tool_retired'), (19, 'admin', $$approval.update_tool('life', '{}')$$, 'PT403 tool_retired'), (20, 'admin', $$approval.set_rules('life', '[]')$$, 'PT403 tool_retired')) AS v(n, who, call, answer);
SELECT t.row('admin', format('approval.allow(''sim'', %L, now() + interval ''1 hour'', 1)', t.login('agent'))) AS g \gset
SELECT t.row('alice', format('approval.disallow(%L, ''no more'')', (:'g')::jsonb #>> '{after,id}')) AS d \gset
SELECT is((:'d')::jsonb -> 'before', (:'g')::jsonb -> 'after', 'a grant that an approver ends was what was granted');
SELECT is((:'d')::jsonb #>> '{after,void_reason}', 'disallowed', 'and is over');
SELECT is((SELECT concat_ws(' ', chain, actor, note) FROM approval.policy_events WHERE verb = 'disallow'), (:'d')::jsonb ->> 'chain' || ' user:alice no more', 'by whom, and why');

-- tenants have chains of their own
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin, approval_approver TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('acmeadmin'));
	EXECUTE format('GRANT approval_admin TO %I', t.login('acmeadmin'));
	PERFORM approval.register_login(t.login('acmeadmin'), 'person', 'user:acme', '{acme}');
END
$$;
SELECT is(t.row('acmeadmin', $$approval.register_tool('pay', 'action')$$) ->> 'n', '1', 'the first event of a tenant');
SELECT is(t.row('root', $$approval.update_tool('pay', '{"risk":"low"}', tenant => 'acme')$$) ->> 'n', '2', 'the second, by somebody else');
SELECT is(t.row('root', $$approval.freeze_tool('pay', tenant => 'acme')$$) ->> 'n', '1', 'the first of its freezes');
SELECT is(t.row('root', $$approval.register_tool('shared', 'action', tenant => '*')$$) ->> 'tenant', '*', 'one for every tenant');
SELECT is((SELECT count(*) FROM jsonb_array_elements((t.as('acmeadmin', '(SELECT DISTINCT tenant FROM approval.policy_audit)')).rows) AS r WHERE r ->> 'tenant' NOT IN ('acme', '*')), 0::bigint, 'a tenant sees its own events, and those for all');
SELECT is((SELECT bool_and((t.row('root', format('approval.verify_policy(%L, %L)', chain, tenant)) ->> 'ok')::boolean) FROM unnest(ARRAY['policy', 'freeze']) chain, unnest(ARRAY['', 'acme', '*']) tenant), true, 'all chains are whole');
SELECT is(t.says('acmeadmin', call), '42501', call) FROM (VALUES ($$approval.explain('pay', '{}', tenant => '')$$), ($$approval.simulate('{"tool":"pay"}', tenant => '')$$), ($$approval.update_tool('pay', '{}', tenant => '')$$), ($$approval.update_tool('shared', '{}', tenant => '*')$$), ($$approval.verify_policy(tenant => '')$$)) AS v(call);

-- simulate, counted by hand: 10 auto, 10 review, 5 denied
SELECT t.row('admin', $$approval.register_tool('book', 'action', '{"rules":[{"condition":"$.a >= 0 && $.a <= 10","mode":"auto"},{"condition":"$.a > 90","mode":"deny"},{"mode":"review"}]}')$$) ->> 'n' AS n \gset
SELECT count(t.row('agent', format('approval.propose(%L, ''book'', %L)', 'b' || i, json_build_object('a', i)))) AS n FROM generate_series(1, 20) i \gset
SELECT pg_sleep(0.01) AS n \gset
SELECT clock_timestamp() AS middle, pg_sleep(0.01) AS n \gset
SELECT count(t.row('agent', format('approval.propose(%L, ''book'', %L)', 'b' || i, json_build_object('a', i)))) AS n FROM generate_series(91, 95) i \gset
CREATE FUNCTION t.simulated(draft text, more text DEFAULT '', who text DEFAULT 'admin') RETURNS text LANGUAGE sql
RETURN (SELECT concat_ws(' ', r ->> 'considered', r ->> 'changed', r ->> 'stricter', r ->> 'looser', jsonb_array_length(r -> 'changes'),
			(SELECT string_agg(concat_ws(':', x ->> 'mode', x ->> 'draft_mode', x ->> 'requests'), ' ' ORDER BY i) FROM jsonb_array_elements(r -> 'totals') WITH ORDINALITY AS t(x, i)))
		FROM t.row(who, format('approval.simulate(%L%s)', draft, more)) AS r);
SELECT t.everything() AS before \gset
SELECT is(t.simulated(draft, more, who), answer, concat_ws(' ', who, draft, more)) FROM (VALUES
	('{"tool":"book"}', '', 'admin', '25 0 0 0 0 auto:auto:10 review:review:10 deny:deny:5'),
	('{"tool":"book"}', '', 'auditor', '25 0 0 0 0 auto:auto:10 review:review:10 deny:deny:5'),
	('{"tool":"book","risk":"low","description":"x"}', '', 'admin', '25 0 0 0 0 auto:auto:10 review:review:10 deny:deny:5'),
	('{"tool":"book","rules":[{"condition":"$.a >= 0 && $.a <= 5","mode":"auto"},{"condition":"$.a > 18","mode":"deny"},{"mode":"review","approvals_needed":2}]}', '', 'admin', '25 15 15 0 15 auto:auto:5 auto:review:5 review:review:8 review:deny:2 deny:deny:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', '', 'admin', '25 15 0 15 15 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"deny"}]}', '', 'admin', '25 20 20 0 20 auto:deny:10 review:deny:10 deny:deny:5'),
	('{"tool":"book","rules":[{"condition":"$.a >= 0 && $.a <= 5","mode":"deny"},{"condition":"$.a >= 0 && $.a <= 20","mode":"auto"},{"condition":"$.a > 90","mode":"deny"}]}', '', 'admin', '25 15 5 10 15 auto:auto:5 auto:deny:5 review:auto:10 deny:deny:5'),
	('{"tool":"book","approvals_needed":2}', '', 'admin', '25 10 10 0 10 auto:auto:10 review:review:10 deny:deny:5'),
	('{"tool":"book","rules":[]}', '', 'admin', '25 15 10 5 15 auto:review:10 review:review:10 deny:review:5'),
	('{"tool":"book","rules":[],"default_mode":"auto"}', '', 'admin', '25 15 0 15 15 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","expects":{"a":"string"}}', '', 'admin', '25 10 10 0 10 auto:review:10 review:review:10 deny:deny:5'),
	('{"tool":"book","expects":{"b":"string"},"rules":[{"mode":"auto"}]}', '', 'admin', '25 15 10 5 15 auto:review:10 review:review:10 deny:review:5'),
	('{"tool":"book","rules":[{"condition":"$.b == 1","mode":"auto"}]}', '', 'admin', '25 15 10 5 15 auto:review:10 review:review:10 deny:review:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', max_rows => 0', 'admin', '25 15 0 15 0 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', max_rows => 1', 'admin', '25 15 0 15 1 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', max_rows => 15', 'admin', '25 15 0 15 15 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', max_rows => 10000', 'admin', '25 15 0 15 15 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', format(', since => %L', :'middle'), 'admin', '5 5 0 5 5 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', since => NULL', 'admin', '25 15 0 15 15 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', since => ''2000-01-01''', 'admin', '25 15 0 15 15 auto:auto:10 review:auto:10 deny:auto:5'),
	('{"tool":"book","rules":[{"mode":"auto"}]}', ', since => ''2100-01-01''', 'admin', '0 0 0 0 0'),
	('{"tool":"Book","class":"action"}', '', 'admin', '0 0 0 0 0'), ('{"tool":"book","server":"mcp","class":"action"}', '', 'admin', '0 0 0 0 0'),
	('{"tool":"book","class":"action"}', ', tenant => ''acme''', 'root', '0 0 0 0 0'), ('{"tool":"book","rules":[{"mode":"deny"}]}', ', tenant => ''''', 'root', '25 20 20 0 20 auto:deny:10 review:deny:10 deny:deny:5')) AS v(draft, more, who, answer);
SELECT is(t.says('admin', format('approval.simulate(%s)', a)), answer, format('simulate(%s)', a)) FROM (VALUES ($$'{"tool":"book"}', max_rows => 10001$$, '22023'), ($$'{"tool":"book"}', max_rows => NULL$$, '22004'), ('NULL', '22004'), ($$'{"tool":"book"}', tenant => 'acme'$$, '42501'),
	($$'{"tool":"book","approvals_needed":0}'$$, 'PT422 bad_policy'), ($$'{"tool":"book","rules":[{"condition":"$.a <= 5","mode":"auto"}]}'$$, 'PT422 bad_policy'), ($$'{"tool":"book","options":{}}'$$, 'PT422 bad_policy'), ($$'"book"'$$, 'PT422 bad_policy'), ($$'{"tool":""}'$$, 'PT422 bad_policy')) AS v(a, answer);
SELECT t.row('admin', $$approval.simulate('{"tool":"book","rules":[{"condition":"$.a == 20","mode":"deny"},{"condition":"$.a > 90","mode":"deny"},{"condition":"$.a == 19","mode":"review","approvals_needed":4},{"condition":"$.a >= 0 && $.a <= 10","mode":"auto"},{"mode":"review"}]}')$$) -> 'changes' AS changes \gset
SELECT is((SELECT jsonb_agg(c - 'id' ORDER BY i) FROM jsonb_array_elements((:'changes')::jsonb) WITH ORDINALITY AS x(c, i)),
	'[{"mode":"review","rule":3,"approvals_needed":1,"draft_mode":"review","draft_rule":3,"draft_approvals_needed":4,"gate_reason":"rule"},
	  {"mode":"review","rule":3,"approvals_needed":1,"draft_mode":"deny","draft_rule":1,"draft_approvals_needed":1,"gate_reason":"rule"}]', 'what would differ, and how');
SELECT is((SELECT string_agg((t.stored((c ->> 'id')::approval.ulid)).arguments::text, ' ' ORDER BY i) FROM jsonb_array_elements((:'changes')::jsonb) WITH ORDINALITY AS x(c, i)), '{"a":19} {"a":20}', 'with the ids of the requests, in order');

-- explain, of everything there is to explain, stores nothing either
SELECT is(t.row(who, format('approval.explain(%s)', a)) ->> 'mode' || ' ' || (t.row(who, format('approval.explain(%s)', a)) ->> 'gate_reason'), answer, format('%s: explain(%s)', who, a)) FROM (VALUES
	('admin', $$'book', '{"a":5}'$$, 'auto rule'), ('auditor', $$'book', '{"a":50}'$$, 'review rule'), ('admin', $$'book', '{"a":95}'$$, 'deny rule'), ('admin', $$'nowhere', '{}'$$, 'review unknown_tool'), ('admin', $$'life', '{}'$$, 'retired rule'),
	('root', $$'pay', '{}', tenant => 'acme'$$, 'frozen no_rule'), ('admin', $$'book', '{"a":5}', definition => '{"name":"other"}'$$, 'review tool_renamed'), ('admin', $$'book', '{"a":5}', definition => '{"name":"book"}'$$, 'auto rule'), ('admin', $$'book', '{"a":5}', at_least => 'deny'$$, 'deny at_least'),
	('admin', $$'book', '{"a":5}', requester => 'polevents_agent', requested_by => 'user:x', on_behalf_of => 'user:y', resource => 'r'$$, 'auto rule'), ('admin', $$'book', '{"a":5}', requester => 'a login that is none'$$, 'auto rule')) AS v(who, a, answer);
SELECT is(t.says('admin', format('approval.explain(%s)', a)), answer, format('explain(%s)', a)) FROM (VALUES ($$NULL, '{}'$$, '22004'), ($$'book', NULL$$, '22004'), ($$'book', '[1]'$$, 'PT422 bad_arguments'), ($$'book', '{"a":1,"a":2}'$$, 'PT422 not_canonical'), ($$'book', '{}', at_least => 'ask'$$, '22023'),
	($$'book', '{}', definition => '[]'$$, 'PT422 bad_arguments'), ($$'book', '{}', tenant => 'acme'$$, '42501'), ($$'book', format('{"a":"%s"}', repeat('x', 2000000))::json$$, 'PT422 too_large')) AS v(a, answer);
SELECT is(t.row('admin', $$approval.explain('book', '{"a":50}')$$) -> 'rules',
	'[{"tenant":"","position":1,"condition":"$.a >= 0 && $.a <= 10","mode":"auto","matches":false},{"tenant":"","position":2,"condition":"$.a > 90","mode":"deny","matches":false},{"tenant":"","position":3,"condition":null,"mode":"review","matches":true}]', 'the rules that were looked at');
SELECT is(t.row('admin', $$approval.explain('book', '{}')$$) -> 'rules',
	'[{"tenant":"","position":1,"condition":"$.a >= 0 && $.a <= 10","mode":"auto","matches":null},{"tenant":"","position":2,"condition":"$.a > 90","mode":"deny","matches":null}]', 'after one that cannot be told, only denials');
SELECT is(t.everything(), :'before', 'all of that has stored nothing');
SELECT * FROM finish();
ROLLBACK;
