-- Policy at the moment of use: consume and resume after policy has changed.
\set ns recheck
\ir include/gate.psql
SELECT no_plan();

DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	PERFORM approval.add_member('managers', 'user:alice');
	PERFORM approval.add_member('managers', 'user:bob');
END
$$;
CREATE FUNCTION t.admin(call text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT t.row('root', 'approval.' || regexp_replace(call, '\)$', ', tenant => '''')'));
END;
SELECT t.admin($$register_tool('pay', 'action', '{"rules":[{"condition":"$.amount >= 0 && $.amount <= 10","mode":"auto"},{"mode":"review"}]}')$$);

-- a request of the tool, approved by policy or by a person
CREATE FUNCTION t.approved(amount text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.row(who, format('approval.propose(%L, ''pay'', %L %s)', 'p_' || nextval('t.calls'), format('{"amount":%s}', amount), ', ' || nullif(more, ''))) ->> 'id';
BEGIN
	IF (t.stored(i)).status = 'pending' THEN
		PERFORM t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	IF (t.stored(i)).status = 'pending' THEN
		PERFORM t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	RETURN i;
END
$$;
CREATE FUNCTION t.use(i approval.ulid, who text DEFAULT 'runner', more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN t.says(who, format('approval.consume(%L, ''pay'', %L, ''run-1'' %s)', i, (t.stored(i)).arguments, ', ' || nullif(more, '')));
END
$$;
-- approved, then a change of policy, then used
CREATE FUNCTION t.after(amount text, rules text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid;
	answer text;
BEGIN
	PERFORM t.admin($q$set_rules('pay', '[{"condition":"$.amount >= 0 && $.amount <= 10","mode":"auto"},{"condition":"$.amount > 5000","mode":"review","approvals_needed":2,"reviewer_group":"managers"},{"mode":"review"}]')$q$);
	i := t.approved(amount);
	PERFORM t.admin(format('set_rules(''pay'', %L)', rules));
	RETURN t.use(i);
END
$$;
SELECT is(t.after(amount, rules), answer, format('%s, then %s', amount, rules)) FROM (VALUES
	-- approved by policy
	('5', '[{"mode":"auto"}]', 'ok'), ('5', '[{"condition":"$.amount >= 0 && $.amount <= 5","mode":"auto"},{"mode":"review"}]', 'ok'),
	('5', '[{"condition":"$.amount >= 0 && $.amount < 5","mode":"auto"},{"mode":"review"}]', 'PT412 policy_changed'),
	('5', '[{"mode":"review"}]', 'PT412 policy_changed'), ('5', '[{"mode":"deny"}]', 'PT412 policy_changed'), ('5', '[]', 'PT412 policy_changed'),
	('5', '[{"condition":"$.other == 1","mode":"auto"},{"mode":"auto"}]', 'PT412 policy_changed'),
	-- approved by one person
	('50', '[{"mode":"auto"}]', 'ok'), ('50', '[{"mode":"review"}]', 'ok'), ('50', '[]', 'ok'), ('50', '[{"mode":"deny"}]', 'PT412 policy_changed'),
	('50', '[{"mode":"review","approvals_needed":2}]', 'PT412 policy_changed'), ('50', '[{"mode":"review","reviewer_group":"managers"}]', 'PT412 policy_changed'),
	('50', '[{"condition":"$.other == 1","mode":"auto"},{"mode":"auto"}]', 'ok'),
	-- approved by two of a group
	('6000', '[{"mode":"review"}]', 'ok'), ('6000', '[{"mode":"review","approvals_needed":2,"reviewer_group":"managers"}]', 'ok'),
	('6000', '[{"mode":"review","approvals_needed":2}]', 'ok'), ('6000', '[{"mode":"review","approvals_needed":3,"reviewer_group":"managers"}]', 'PT412 policy_changed'),
	('6000', '[{"mode":"review","approvals_needed":2,"reviewer_group":"board"}]', 'PT412 policy_changed'), ('6000', '[{"mode":"deny"}]', 'PT412 policy_changed')) AS v(amount, rules, answer);

-- a tool that nobody registered is not tried twice
SELECT t.request('lost') AS i \gset
SELECT is(t.detail('runner', format('approval.resume(%L, ''run-1'', %L)', :'i', t.token(:'i'))) ->> 'problem', 'not_registered', 'only what is registered is resumed');

-- what was approved when nobody knew the tool
SELECT t.proposed() AS i \gset
SELECT t.row('alice', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))) ->> 'status' AS s \gset
CREATE FUNCTION t.use_refund(i approval.ulid) RETURNS text LANGUAGE sql RETURN t.says('runner', format('approval.consume(%L, ''refund'', %L, ''run-1'')', i, (t.stored(i)).arguments));
SAVEPOINT s;
SELECT t.admin($$register_tool('refund', 'action', '{"default_mode":"deny"}')$$);
SELECT t.use_refund(:'i') AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'PT412 policy_changed', 'registered since, and denied');
SELECT t.admin($$register_tool('refund', 'action', '{"approvals_needed":2}')$$);
SELECT t.use_refund(:'i') AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'PT412 policy_changed', 'registered since, for two people');
SELECT t.admin($$register_tool('refund', 'action', '{"default_mode":"auto"}')$$);
SELECT is(t.use_refund(:'i'), 'ok', 'registered since, and harmless');

-- frozen, at once, and thawed
SELECT t.admin($$set_rules('pay', '[{"mode":"auto"}]')$$);
CREATE FUNCTION t.frozen(shut text, thaw text, who text DEFAULT 'alice') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.approved('1');
	answer text;
BEGIN
	PERFORM t.row(who, 'approval.' || shut);
	answer := t.use(i) || ', ' || t.says('agent', format('approval.propose(%L, ''pay'', ''{}'')', 'f_' || nextval('t.calls')));
	PERFORM t.row('root', 'approval.' || thaw);
	RETURN answer || ', ' || t.use(i);
END
$$;
SELECT is(t.frozen(shut, thaw, who), 'PT403 tool_frozen, PT403 tool_frozen, ok', shut) FROM (VALUES
	('freeze_tool(''pay'')', 'unfreeze_tool(''pay'', tenant => '''')', 'alice'), ('freeze_tenant()', 'unfreeze_tenant(tenant => '''')', 'alice'),
	('freeze_tool(''pay'', tenant => ''*'')', 'unfreeze_tool(''pay'', tenant => ''*'')', 'root'), ('freeze_tenant(tenant => ''*'')', 'unfreeze_tenant(tenant => ''*'')', 'root')) AS v(shut, thaw, who);
SELECT t.row('alice', $$approval.freeze_tool('pay', server => 'mcp')$$) ->> 'verb' AS v \gset
SELECT is(t.use(t.approved('1')), 'ok', 'frozen on another server');
SELECT t.row('alice', $$approval.freeze_tool('nobody_knows')$$) ->> 'verb' AS v \gset
SELECT is(t.says('agent', $$approval.propose('nk', 'nobody_knows', '{}')$$), 'PT403 tool_frozen', 'a tool that is not registered can be frozen too');
SELECT t.row('alice', $$approval.freeze_tool('pay', 'first')$$) ->> 'verb' AS v \gset
SELECT is(t.row('bob', $$approval.freeze_tool('pay', 'second')$$) #>> '{after,reason}', 'first', 'frozen twice is frozen once');
SELECT is(t.says('alice', $$approval.unfreeze_tool('pay')$$), '42501', 'who may freeze may not thaw');
SELECT t.admin($$unfreeze_tool('pay')$$);
-- what is under way is recorded all the same
SELECT t.approved('1') AS i \gset
SELECT t.row('runner', format('approval.consume(%L, ''pay'', ''{"amount":1}'', ''run-1'')', :'i')) ->> 'token' AS token \gset
SELECT t.row('alice', $$approval.freeze_tool('pay')$$) ->> 'verb' AS v \gset
SELECT is(t.row('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'')', :'i', :'token')) ->> 'outcome', 'succeeded', 'complete always records');
SELECT t.admin($$unfreeze_tool('pay')$$);

-- retired
SELECT t.approved('1') AS i \gset
SELECT t.admin($$retire_tool('pay', 'replaced')$$);
SELECT is(t.use(:'i'), 'PT403 tool_retired', 'retired: not consumed');
SELECT is(t.says('agent', $$approval.propose('ret', 'pay', '{}')$$), 'PT403 tool_retired', 'nor proposed');
SELECT t.admin($$register_tool('pay', 'action', '{"default_mode":"auto"}')$$);
SELECT is(t.use(:'i'), 'ok', 'registered again');

-- executors
SELECT t.admin(format('update_tool(''pay'', %L)', json_build_object('executors', json_build_array(t.login('runner')))));
SELECT t.approved('1') AS i \gset
SELECT is(t.use(:'i', 'runner2'), 'PT403 not_executor', 'another executor');
SELECT is(t.detail('runner2', format('approval.consume(%L, ''pay'', ''{"amount":2}'', ''run-1'')', :'i')) -> 'differs', NULL, 'who is not told what differs');
SELECT ok(t.detail('runner', format('approval.consume(%L, ''pay'', ''{"amount":2}'', ''run-1'')', :'i')) -> 'differs' IS NOT NULL, 'as a listed one is');
SELECT is(t.use(:'i'), 'ok', 'the listed one');
SELECT t.admin($$update_tool('pay', '{"executors":null}')$$);

-- the pinned definition
CREATE FUNCTION t.pin(definition text) RETURNS void LANGUAGE sql BEGIN ATOMIC SELECT t.admin(format('update_tool(''pay'', %L)', format('{"definition":%s}', definition))); END;
CREATE FUNCTION t.pinned(before text, proposed text, after text, presented text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid;
BEGIN
	PERFORM t.pin(before);
	i := t.approved('1', coalesce('definition => ' || quote_literal(proposed), ''), 'gateway');
	PERFORM t.pin(after);
	RETURN (t.stored(i)).gate_reason || ', ' || t.use(i, more => coalesce('definition => ' || quote_literal(presented), ''));
END
$$;
SELECT is(t.pinned(before, proposed, after, presented), answer, title) FROM (VALUES
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay"}', NULL, 'default, ok', 'the pin is as it was'),
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay"}', '{"name":"pay"}', 'default, ok', 'and what the gateway fetches now'),
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay"}', '{"name":"pay","_meta":{"v":2},"icons":[1]}', 'default, ok', 'but for _meta and icons'),
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay"}', '{"name":"pay","description":"Pays twice"}', 'default, PT412 tool_changed', 're-described between approval and use'),
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay","description":"new"}', NULL, 'default, PT412 tool_changed', 'the pin has changed'),
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay","description":"new"}', '{"name":"pay"}', 'default, PT412 tool_changed', 'and the old definition is shown'),
	('{"name":"pay"}', '{"name":"pay"}', '{"name":"pay","description":"new"}', '{"name":"pay","description":"new"}', 'default, PT412 tool_changed', 'or the new one'),
	('{"name":"pay"}', '{"name":"pay"}', 'null', NULL, 'default, ok', 'the pin is taken away: not stricter'),
	('null', NULL, '{"name":"pay"}', NULL, 'default, PT412 tool_changed', 'pinned since'),
	('null', '{"name":"pay"}', '{"name":"pay"}', NULL, 'default, ok', 'pinned since, to what was approved'),
	('{"name":"pay"}', '{"name":"pay","description":"odd"}', '{"name":"pay"}', NULL, 'definition_changed, ok', 'a person approved another definition, knowingly'),
	('{"name":"pay"}', '{"name":"pay","description":"odd"}', '{"name":"pay"}', '{"name":"pay","description":"odd"}', 'definition_changed, ok', 'and that one is run'),
	('{"name":"pay"}', '{"name":"pay","description":"odd"}', '{"name":"pay"}', '{"name":"pay"}', 'definition_changed, PT412 tool_changed', 'not the pinned one'),
	('{"name":"pay"}', NULL, '{"name":"pay"}', NULL, 'definition_missing, ok', 'a person approved without one'),
	('{"name":"pay"}', NULL, '{"name":"pay"}', '{"name":"pay"}', 'definition_missing, PT412 tool_changed', 'so that none is shown')) AS v(before, proposed, after, presented, answer, title);
SELECT t.pin('null');

-- lease and effect of the tool
SELECT t.admin($$update_tool('pay', '{"lease":"17 minutes","use_within":"3 hours"}')$$);
SELECT t.approved('1') AS i \gset
SELECT is((t.stored(:'i')).use_by - (t.stored(:'i')).decided_at, interval '3 hours', 'use_within of the tool');
SELECT is((SELECT (r ->> 'lease_until')::timestamptz - (t.stored(:'i')).consumed_at FROM t.row('runner', format('approval.consume(%L, ''pay'', ''{"amount":1}'', ''run-1'')', :'i')) r), interval '17 minutes', 'lease of the tool');
SELECT t.admin($$update_tool('pay', '{"decide_within":"2 hours","effect":"database","default_mode":"review"}')$$);
SELECT is((SELECT (r ->> 'expires_at')::timestamptz - (r ->> 'proposed_at')::timestamptz FROM t.row('agent', $$approval.propose('dw', 'pay', '{}')$$) r), interval '2 hours', 'decide_within of the tool');
SELECT t.approved('1') AS i \gset
SET approval.commit_first = on;
SELECT is(t.use(:'i'), 'ok', 'an effect inside the database is consumed inside the transaction');
SELECT t.admin($$update_tool('pay', '{"effect":"external"}')$$);
SELECT is(t.use(t.approved('1')), 'PT422 commit_first', 'one outside is not');
SET approval.commit_first = off;

-- attempts
SELECT t.admin($$update_tool('pay', '{"idempotent":true,"max_attempts":3,"retry_within":"1 hour","lease":null,"default_mode":"auto"}')$$);
SELECT t.approved('1') AS i \gset
SELECT r ->> 'token' AS token, r ->> 'idempotency_key' AS key FROM t.row('runner', format('approval.consume(%L, ''pay'', ''{"amount":1}'', ''run-1'')', :'i')) r \gset
CREATE FUNCTION t.resume(i approval.ulid, token text, who text DEFAULT 'runner') RETURNS text LANGUAGE sql RETURN t.says(who, format('approval.resume(%L, ''run-1'', %L)', i, token));
CREATE FUNCTION t.lose(i approval.ulid, since interval DEFAULT '0') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL session_replication_role = replica;
	UPDATE approval.requests SET lease_until = clock_timestamp() - interval '1 second' WHERE id = i;
	SET LOCAL session_replication_role = origin;
END
$$;
SELECT is(t.resume(:'i', :'token'), 'PT412 stale_state', 'not while it is under way');
SELECT t.lose(:'i');
SELECT is(t.resume(:'i', repeat('0', 64)), 'PT409 execution_mismatch', 'not with another token');
SELECT r ->> 'attempt' AS attempt, r ->> 'token' AS token2, r ->> 'idempotency_key' AS key2 FROM t.row('runner', format('approval.resume(%L, ''run-1'', %L)', :'i', :'token')) r \gset
SELECT is(:'attempt'::text, '2', 'the second attempt');
SELECT isnt(:'token2'::text, :'token'::text, 'has a new token');
SELECT is(:'key2'::text, :'key'::text, 'and the same idempotency key');
SELECT is(t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'')', :'i', :'token')), 'PT409 execution_mismatch', 'the old token reports nothing');
SELECT is(t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''unknown'')', :'i', :'token2')), 'ok', 'the second attempt does not know');
SELECT t.row('runner', format('approval.resume(%L, ''run-1'', %L)', :'i', :'token2')) ->> 'token' AS token3 \gset
SELECT is((SELECT count(*) FROM approval.events WHERE request_id = :'i' AND kind = 'resumed'), 2::bigint, 'each attempt is an event');
SELECT t.lose(:'i');
SELECT is(t.resume(:'i', :'token3'), 'PT409 not_idempotent', 'no fourth');
SELECT is(t.detail('runner', format('approval.resume(%L, ''run-1'', %L)', :'i', :'token3')) ->> 'problem', 'attempts_used_up', 'and why');
SELECT is(t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'')', :'i', :'token3')), 'ok', 'but a late report');
SELECT ok((approval.verify_request(:'i')).ok, 'the chain is whole');
CREATE FUNCTION t.lost(change text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.approved('1');
	token text := t.row('runner', format('approval.consume(%L, ''pay'', ''{"amount":1}'', ''run-1'')', i)) ->> 'token';
	a t.answer;
BEGIN
	PERFORM t.lose(i);
	IF change IS NOT NULL THEN
		PERFORM t.admin(change);
	END IF;
	a := t.as('runner', format('approval.resume(%L, ''run-1'', %L)', i, token));
	RETURN CASE a.code WHEN '00000' THEN 'ok' ELSE concat_ws(' ', a.detail::json ->> 'reason', replace(a.detail::json ->> 'problem', '_', '_')) END;
END
$$;
SELECT is(t.lost(), 'ok', 'lost, and resumed');
SAVEPOINT s;
SELECT t.lost($$freeze_tool('pay')$$) AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'tool_frozen', 'not when frozen');
SELECT t.lost($$update_tool('pay', '{"default_mode":"review"}')$$) AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'policy_changed', 'not under a stricter policy');
SELECT t.lost($$update_tool('pay', '{"idempotent":false,"max_attempts":1}')$$) AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'not_idempotent not_idempotent', 'not when it is not idempotent any more');
SELECT t.lost($$update_tool('pay', '{"executors":["somebody"]}')$$) AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'not_executor', 'not by somebody else');
SELECT t.lost($$update_tool('pay', '{"retry_within":"1 microsecond"}')$$) AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer'::text, 'not_idempotent too_late', 'not later than retry_within');

-- A second look: whatever a person or policy approved, then any change, then use.
CREATE FUNCTION t.tool(name text, options text, tenant text DEFAULT '') RETURNS text LANGUAGE sql
RETURN t.row('root', format('approval.register_tool(%L, ''action'', %L, tenant => %L)', name, options, tenant)) ->> 'tool';
CREATE FUNCTION t.ask(tool text, arguments text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.row(who, format('approval.propose(%L, %L, %L %s)', 's_' || nextval('t.calls'), tool, arguments, ', ' || nullif(more, ''))) ->> 'id';
BEGIN
	IF (t.stored(i)).status = 'pending' THEN
		PERFORM t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	IF (t.stored(i)).status = 'pending' THEN
		PERFORM t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	RETURN i;
END
$$;
CREATE FUNCTION t.run(i approval.ulid, more text DEFAULT '', who text DEFAULT 'runner', arguments text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN t.says(who, format('approval.consume(%L, %L, %L, ''run-1'' %s)', i, (t.stored(i)).tool, coalesce(arguments, (t.stored(i)).arguments::text), ', ' || nullif(more, '')));
END
$$;
-- a tool, a request, changes, then "why it was approved, what consume says"
CREATE FUNCTION t.changed(options text, arguments text, more text, changes text[], who text DEFAULT 'agent') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	tool text := t.tool('t' || nextval('t.calls'), options);
	i approval.ulid := t.ask(tool, arguments, more, who);
	c text;
BEGIN
	FOREACH c IN ARRAY changes LOOP
		PERFORM t.row('root', 'approval.' || replace(c, 'TOOL', tool));
	END LOOP;
	RETURN (t.stored(i)).gate_reason || ', ' || t.run(i);
END
$$;
SELECT is(t.changed(options, arguments, more, changes, who), answer, format('%s %s %s, then %s', options, arguments, more, changes)) FROM (VALUES
	-- what has nothing to do with it
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$update_tool('TOOL', '{"description":"x","risk":"low","annotations":{"readOnlyHint":true}}', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$update_tool('pay', '{"default_mode":"deny"}', tenant => '')$$, $$update_tool('pay', '{"default_mode":"auto"}', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$update_tool('TOOL', '{"default_mode":"deny"}', tenant => '')$$, $$update_tool('TOOL', '{"default_mode":"auto"}', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"default_mode":"deny"}', server => 'mcp', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"default_mode":"deny"}', tenant => 'acme')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{"x":1}', '', ARRAY[$$set_rules('TOOL', '[{"condition":"$.x == 2","mode":"deny"}]', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{"x":2}', '', ARRAY[$$set_rules('TOOL', '[{"condition":"$.x == 2","mode":"deny"}]', tenant => '')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$set_rules('TOOL', '[{"condition":"$.x == 2","mode":"review"}]', tenant => '')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$set_rules('TOOL', '[{"condition":"$.x == 2","mode":"review"},{"condition":"$.y == 2","mode":"deny"}]', tenant => '')$$], 'agent', 'default, PT412 policy_changed'),
	-- what only counts at the proposal
	('{"default_mode":"auto"}', '{"amount":5}', '', ARRAY[$$update_tool('TOOL', '{"budgets":[{"name":"d","amount":"$.amount","limit":0,"within":"1 day"}]}', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$update_tool('TOOL', '{"roles":["nobody"]}', tenant => '')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$update_tool('TOOL', '{"cool_down":"1 day"}', tenant => '')$$], 'agent', 'default, ok'),
	-- what it expects
	('{"default_mode":"auto"}', '{"amount":-5}', '', ARRAY[$$update_tool('TOOL', '{"expects":{"amount":"number"}}', tenant => '')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{"amount":-5}', '', ARRAY[$$update_tool('TOOL', '{"expects":{"amount":"nonnegative"}}', tenant => '')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"review"}', '{"amount":-5}', '', ARRAY[$$update_tool('TOOL', '{"expects":{"amount":"nonnegative"}}', tenant => '')$$], 'agent', 'default, ok'),
	-- approved by a person although policy had its doubts, which do not grow
	('{"default_mode":"auto","expects":{"a":"string"}}', '{}', '', ARRAY[$$update_tool('TOOL', '{"description":"x"}', tenant => '')$$], 'agent', 'unexpected_arguments, ok'),
	('{"default_mode":"auto"}', '{"a":1,"A":1}', '', ARRAY[$$update_tool('TOOL', '{"description":"x"}', tenant => '')$$], 'agent', 'lookalike_keys, ok'),
	('{"default_mode":"auto","roles":["x"]}', '{}', '', ARRAY[$$update_tool('TOOL', '{"description":"x"}', tenant => '')$$], 'agent', 'wrong_role, ok'),
	('{"default_mode":"auto"}', '{}', $$at_least => 'review'$$, ARRAY[$$update_tool('TOOL', '{"description":"x"}', tenant => '')$$], 'agent', 'at_least, ok'),
	('{"default_mode":"auto","budgets":[{"name":"d","limit":0,"within":"1 day"}]}', '{}', '', ARRAY[$$update_tool('TOOL', '{"description":"x"}', tenant => '')$$], 'agent', 'budget_exceeded, ok'),
	('{"rules":[{"condition":"$.x == 1","mode":"auto"}]}', '{}', '', ARRAY[$$update_tool('TOOL', '{"description":"x"}', tenant => '')$$], 'agent', 'condition_unknown, ok'),
	('{"default_mode":"auto","expects":{"a":"string"}}', '{}', '', ARRAY[$$update_tool('TOOL', '{"approvals_needed":2}', tenant => '')$$], 'agent', 'unexpected_arguments, PT412 policy_changed'),
	('{"default_mode":"auto"}', '{"a":1,"A":1}', '', ARRAY[$$set_rules('TOOL', '[{"condition":"$.a == 7","mode":"review","approvals_needed":2},{"mode":"auto"}]', tenant => '')$$], 'agent', 'lookalike_keys, PT412 policy_changed'),
	-- a row for every tenant comes in
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"default_mode":"auto"}', tenant => '*')$$], 'agent', 'default, ok'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{}', tenant => '*')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"default_mode":"deny"}', tenant => '*')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"auto"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"default_mode":"auto","definition":{"name":"x"}}', tenant => '*')$$], 'agent', 'default, PT412 tool_changed'),
	('{"default_mode":"review"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"approvals_needed":2}', tenant => '*')$$], 'agent', 'default, PT412 policy_changed'),
	('{"default_mode":"review"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"executors":["somebody"],"default_mode":"auto"}', tenant => '*')$$], 'agent', 'default, PT403 not_executor'),
	('{"default_mode":"review"}', '{}', '', ARRAY[$$register_tool('TOOL', 'action', '{"default_mode":"auto"}', tenant => '*')$$, $$retire_tool('TOOL', tenant => '*')$$], 'agent', 'default, PT403 tool_retired')) AS v(options, arguments, more, changes, who, answer);

-- in the order of the contract
SELECT t.tool('order', '{"default_mode":"auto"}') \gset
SELECT t.ask('order', '{"x":1}') AS i \gset
SELECT t.row('alice', $$approval.freeze_tool('order')$$) ->> 'verb' AS v \gset
SELECT is(t.run(:'i', arguments => '{"x":2}'), 'PT412 hash_mismatch', 'another action is told so, frozen or not');
SELECT is(t.run(:'i'), 'PT403 tool_frozen', 'this one is frozen');
SELECT is(t.row('runner', format('approval.try_consume(%L, ''order'', ''{"x":1}'', ''run-1'')', :'i')) ->> key, value, 'try_consume: ' || key) FROM (VALUES ('ok', 'false'), ('reason', 'tool_frozen'), ('http_status', '403'), ('permit', NULL)) AS v(key, value);
SELECT is((t.stored(:'i')).status || ' ' || t.events(:'i'), 'approved 1', 'a refusal changes nothing');
SELECT t.admin($$unfreeze_tool('order')$$);
SELECT t.row('agent', format('approval.cancel(%L)', :'i')) ->> 'status' AS s \gset
SELECT t.row('alice', $$approval.freeze_tool('order')$$) ->> 'verb' AS v \gset
SELECT is(t.run(:'i'), 'PT409 not_approved', 'what is cancelled is cancelled, frozen or not');
SELECT is(t.says('agent', format('approval.propose(%L, ''order'', ''{"x":1}'')', (t.stored(:'i')).tool_call_id)), 'ok', 'a call that is there is answered');
SELECT t.admin($$unfreeze_tool('order')$$);
-- each freeze by itself
SELECT t.ask('order', '{}') AS i \gset
SELECT t.row('alice', $$approval.freeze_tool('order')$$) ->> 'verb' AS a, t.row('alice', $$approval.freeze_tenant()$$) ->> 'verb' AS b, t.row('root', $$approval.freeze_tenant(tenant => '*')$$) ->> 'verb' AS c \gset
SELECT is((SELECT string_agg(t.says('root', call) || ' ' || t.run(:'i'), ', ' ORDER BY n) FROM (VALUES (1, $$approval.unfreeze_tenant(tenant => '*')$$), (2, $$approval.unfreeze_tool('order', tenant => '')$$), (3, $$approval.unfreeze_tool('order', tenant => '')$$), (4, $$approval.unfreeze_tenant(tenant => '')$$)) AS v(n, call)),
	'ok PT403 tool_frozen, ok PT403 tool_frozen, PT404 not_found PT403 tool_frozen, ok ok', 'of three freezes each one has to go');
SELECT is(t.says('admin', $$approval.freeze_tenant(tenant => '*')$$), '42501', 'an administrator of one tenant shuts no other');

-- executors
SELECT t.tool('listed', format('{"default_mode":"auto","executors":["somebody","%s"]}', t.login('runner'))) \gset
SELECT t.ask('listed', '{"x":1}') AS i \gset
SELECT is(t.row('runner2', format('approval.try_consume(%L, ''listed'', ''{"x":2}'', ''run-1'')', :'i')) #>> '{detail,reason}', 'not_executor', 'try_consume by another one');
SELECT is(t.row('runner2', format('approval.try_consume(%L, ''listed'', ''{"x":2}'', ''run-1'')', :'i')) #> '{detail,differs}', NULL, 'tells no paths');
SELECT is((SELECT reason || (detail ->> 'differs' IS NULL) FROM approval.refusals WHERE request_id = :'i' ORDER BY id DESC LIMIT 1), 'not_executortrue', 'and the refusal is kept');
SELECT is(t.says('runner2', format('approval.consume(%L, ''listed'', ''{"x":1}'', ''run-1'')', approval.new_ulid())), 'PT404 not_found', 'of what is not there nothing else is said');
SELECT t.row('runner', format('approval.consume(%L, ''listed'', ''{"x":1}'', ''run-1'')', :'i')) ->> 'token' AS token \gset
SELECT t.admin($$update_tool('listed', '{"executors":["somebody"]}')$$);
SELECT is(t.says('runner', format('approval.heartbeat(%L, ''run-1'', %L)', :'i', :'token')) || ', ' || t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'')', :'i', :'token')), 'ok, ok', 'who runs already reports, listed or not');
SELECT is(t.run(t.ask('listed', '{}')), 'PT403 not_executor', 'and runs no other');
SELECT is(t.run(t.ask('listed', '{}'), who => 'agent'), '42501', 'whoever proposes runs nothing');

-- definitions of what nobody registered
SELECT is(t.run(t.ask('free_tool', '{}', coalesce('definition => ' || quote_literal(d), ''), 'gateway'), coalesce('definition => ' || quote_literal(p), '')), answer, format('proposed with %s, run with %s', coalesce(d, 'none'), coalesce(p, 'none'))) FROM (VALUES
	('{"name":"free_tool"}', '{"name":"free_tool"}', 'ok'), ('{"name":"free_tool"}', '{"name":"free_tool","icons":[]}', 'ok'), ('{"name":"free_tool"}', '{"name":"free_tool","title":"x"}', 'PT412 tool_changed'),
	('{"name":"free_tool"}', NULL, 'ok'), (NULL, '{"name":"free_tool"}', 'PT412 tool_changed'), (NULL, NULL, 'ok')) AS v(d, p, answer);
SELECT is(t.run(t.ask('free_tool', '{}'), $$definition => '[]'$$), 'PT422 bad_arguments', 'a definition is an object');
-- a pin that changes beneath what was approved knowingly
SELECT t.tool('knowing', '{"default_mode":"auto","definition":{"name":"knowing"}}') \gset
SELECT t.ask('knowing', '{}', $$definition => '{"name":"knowing","v":2}'$$, 'gateway') AS i \gset
SELECT t.admin($$update_tool('knowing', '{"default_mode":"review","approvals_needed":2}')$$);
SELECT is(t.run(:'i', $$definition => '{"name":"knowing","v":2}'$$), 'PT412 policy_changed', 'approved knowingly by one, where two are wanted by now');

-- the effect of the tool
SELECT t.tool('effect', '{"default_mode":"auto","effect":"database","idempotent":true,"max_attempts":5}') \gset
SELECT t.ask('effect', '{}') AS i \gset
SELECT t.ask('effect', '{}') AS j \gset
SET approval.commit_first = on;
SELECT t.row('runner', format('approval.consume(%L, ''effect'', ''{}'', ''run-1'', lease => ''1 us'')', :'i')) ->> 'token' AS token \gset
SELECT is(t.resume(:'i', :'token'), 'ok', 'inside the database it is resumed inside the transaction, too');
SELECT t.admin($$update_tool('effect', '{"effect":"external"}')$$);
SELECT is(t.run(:'j'), 'PT422 commit_first', 'a tool whose effect is known to be outside by now is consumed alone');
SET approval.commit_first = off;

-- attempts: what cannot be resumed, and what an attempt keeps
SELECT t.tool('again', '{"default_mode":"auto","idempotent":true,"max_attempts":4,"budgets":[{"name":"d","limit":1000,"within":"1 day"}]}') \gset
CREATE FUNCTION t.attempts(steps text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.ask('again', '{}');
	token text := t.row('runner', format('approval.consume(%L, ''again'', ''{}'', ''run-1'')', i)) ->> 'token';
	s text;
	a t.answer;
	answer text := '';
BEGIN
	FOREACH s IN ARRAY steps LOOP
		IF s = 'lose' THEN
			PERFORM t.lose(i);
		ELSIF s = 'put away' THEN
			PERFORM t.row('admin', 'approval.expire_due()');
		ELSIF s = 'resume' THEN
			a := t.as('runner', format('approval.resume(%L, ''run-1'', %L)', i, token));
			token := coalesce(a.rows -> 0 ->> 'token', token);
			answer := answer || coalesce(a.rows -> 0 ->> 'attempt', concat_ws(' ', a.detail::json ->> 'reason', a.detail::json ->> 'problem')) || ', ';
		ELSIF s = 'heartbeat' THEN
			answer := answer || t.says('runner', format('approval.heartbeat(%L, ''run-1'', %L)', i, token)) || ', ';
		ELSIF s LIKE 'person %' THEN
			PERFORM t.row('alice', format('approval.reconcile(%L, %L)', i, split_part(s, ' ', 2)));
		ELSE
			answer := answer || t.says('runner', format('approval.complete(%L, ''run-1'', %L, %L)', i, token, s)) || ', ';
		END IF;
	END LOOP;
	RETURN answer || (t.stored(i)).outcome || ' ' || (t.stored(i)).attempt || ' ' || (approval.verify_request(i)).ok;
END
$$;
SELECT is(t.attempts(steps), answer, array_to_string(steps, ', ')) FROM (VALUES
	(ARRAY['resume'], 'stale_state, in_flight 1 true'),
	(ARRAY['unknown', 'resume', 'succeeded'], 'ok, 2, ok, succeeded 2 true'),
	(ARRAY['succeeded', 'resume'], 'ok, stale_state, succeeded 1 true'),
	(ARRAY['failed', 'resume'], 'ok, stale_state, failed 1 true'),
	(ARRAY['unknown', 'succeeded', 'resume'], 'ok, ok, stale_state, succeeded 1 true'),
	(ARRAY['unknown', 'person failed', 'resume'], 'ok, stale_state, failed 1 true'),
	(ARRAY['unknown', 'person succeeded', 'resume'], 'ok, stale_state, succeeded 1 true'),
	(ARRAY['unknown', 'resume', 'heartbeat', 'resume', 'unknown', 'resume'], 'ok, 2, ok, stale_state, ok, 3, in_flight 3 true'),
	(ARRAY['unknown', 'resume', 'unknown', 'resume', 'unknown', 'resume', 'unknown', 'resume', 'person failed'], 'ok, 2, ok, 3, ok, 4, ok, not_idempotent attempts_used_up, failed 4 true')) AS v(steps, answer);
SELECT is((SELECT count(*) FROM approval.budget_entries b JOIN approval.requests r ON r.id = b.request_id WHERE r.tool = 'again'), 9::bigint, 'attempts take nothing from a budget again');
SELECT t.ask('again', '{"x":1}') AS i \gset
SELECT t.row('runner', format('approval.consume(%L, ''again'', ''{"x":1}'', ''run-1'')', :'i')) AS p1 \gset
SELECT t.lose(:'i');
SELECT is(t.row('admin', 'approval.expire_due()') IS NOT NULL, true, 'a lost one that was put away');
SELECT t.row('runner', format('approval.resume(%L, ''run-1'', %L)', :'i', :'p1'::jsonb ->> 'token')) AS p2 \gset
SELECT is(:'p2'::jsonb - '{token,attempt,lease_until}'::text[], :'p1'::jsonb - '{token,attempt,lease_until}'::text[], 'the permit of the second attempt is that of the first, but for token, number and lease');
SELECT is(:'p2'::jsonb ->> 'idempotency_key', :'i', 'its idempotency key is the request');
SELECT is(t.says('runner', format('approval.heartbeat(%L, ''run-1'', %L)', :'i', :'p1'::jsonb ->> 'token')) || ', ' || t.resume(:'i', :'p1'::jsonb ->> 'token') || ', ' || t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''failed'')', :'i', :'p1'::jsonb ->> 'token')),
	'PT409 execution_mismatch, PT409 execution_mismatch, PT409 execution_mismatch', 'whoever holds the old token can do nothing any more');
SELECT is(t.says('runner', format('approval.resume(%L, ''run-2'', %L)', :'i', :'p2'::jsonb ->> 'token')), 'PT409 execution_mismatch', 'nor does the token fit another execution');
SELECT t.lose(:'i');
SELECT is(t.resume(:'i', :'p2'::jsonb ->> 'token', 'agent') || ', ' || t.resume(:'i', :'p2'::jsonb ->> 'token', 'alice'), '42501, 42501', 'nor who is no executor');
SELECT t.tool('twice', '{"default_mode":"auto","idempotent":true,"max_attempts":5}') \gset
SELECT t.tool('twice', '{"default_mode":"auto","idempotent":true,"max_attempts":2,"retry_within":"1 microsecond"}', '*') \gset
SELECT t.ask('twice', '{}') AS i \gset
SELECT t.row('runner', format('approval.consume(%L, ''twice'', ''{}'', ''run-1'')', :'i')) ->> 'token' AS token \gset
SELECT t.lose(:'i');
SELECT is(t.resume(:'i', :'token'), 'PT409 not_idempotent', 'of two rows the stricter retry_within counts');
SELECT t.row('root', $$approval.update_tool('twice', '{"idempotent":false,"max_attempts":1,"retry_within":null}', tenant => '*')$$) ->> 'verb' AS v \gset
SELECT t.ask('twice', '{}') AS i \gset
SELECT t.row('runner', format('approval.consume(%L, ''twice'', ''{}'', ''run-1'')', :'i')) ->> 'token' AS token \gset
SELECT t.lose(:'i');
SELECT is(t.resume(:'i', :'token'), 'PT409 not_idempotent', 'of two rows both have to be idempotent');
-- the pin at the second attempt
SELECT t.tool('repinned', '{"default_mode":"auto","idempotent":true,"max_attempts":5,"definition":{"name":"repinned"}}') \gset
CREATE FUNCTION t.repinned(definition text, change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.ask('repinned', '{}', 'definition => ' || quote_literal(definition), 'gateway');
	token text := t.row('runner', format('approval.consume(%L, ''repinned'', ''{}'', ''run-1'')', i)) ->> 'token';
BEGIN
	PERFORM t.lose(i);
	PERFORM t.admin(change);
	RETURN (t.stored(i)).gate_reason || ', ' || t.resume(i, token);
END
$$;
SELECT is(t.repinned('{"name":"repinned"}', $$update_tool('repinned', '{"description":"x"}')$$), 'default, ok', 'resumed under the same pin');
SELECT is(t.repinned('{"name":"repinned","v":2}', $$update_tool('repinned', '{"description":"y"}')$$), 'definition_changed, ok', 'or as it was approved knowingly');
SELECT is(t.repinned('{"name":"repinned"}', $$update_tool('repinned', '{"definition":{"name":"repinned","v":2}}')$$), 'default, PT412 tool_changed', 'not under another one');
SELECT is(t.repinned('{"name":"repinned","v":2}', $$retire_tool('repinned')$$), 'default, PT403 tool_retired', 'nor when it is retired');
SELECT * FROM finish();
ROLLBACK;
