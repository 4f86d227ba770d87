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
SELECT * FROM finish();
ROLLBACK;
