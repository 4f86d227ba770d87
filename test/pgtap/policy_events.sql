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
SELECT is(t.says(who, call) = '42501', NOT (approver AND who = 'alice'), format('%s by %s', verb, who))
  FROM t.verbs, unnest(ARRAY['agent', 'alice', 'runner', 'auditor', 'nobody', 'gateway']) AS who
 WHERE NOT (who = 'gateway' AND approver) ORDER BY verb, who;
SELECT is(t.says(who, call) = '42501', who NOT IN ('admin', 'auditor'), format('%s by %s', left(call, 20), who))
  FROM (VALUES ($$approval.explain('pay', '{}')$$), ($$approval.simulate('{"tool":"pay"}')$$)) AS v(call), unnest(ARRAY['agent', 'alice', 'runner', 'auditor', 'admin', 'nobody']) AS who;
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
SELECT * FROM finish();
ROLLBACK;
