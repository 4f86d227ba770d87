-- Policy that is refused when it is written, with the place; what is refused
-- changes nothing.  And hints that a tool gives about itself are never read.
\set ns refusedpol
\ir include/gate.psql
SELECT no_plan();

SELECT t.row('admin', $$approval.register_tool('refund', 'action', '{"capability":"refunds","owner":"payments","rules":[{"mode":"review"}]}')$$);
SELECT t.row('admin', $$approval.register_tool('search', 'knowledge', '{"default_mode":"inline"}')$$);

CREATE FUNCTION t.policy() RETURNS text LANGUAGE sql
RETURN (SELECT md5(string_agg(x, '|' ORDER BY x)) FROM (
	SELECT t::text AS x FROM approval.tools t UNION ALL SELECT r::text FROM approval.rules r
	UNION ALL SELECT n::text FROM approval.policy_events n) AS y);

-- "place: problem" of a refusal, or what else came
CREATE FUNCTION t.place(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a t.answer := t.as('admin', call);
BEGIN
	IF a.code = 'PT422' AND a.detail::json ->> 'reason' = 'bad_policy' THEN
		RETURN a.detail::json ->> 'place';
	END IF;
	RETURN a.code || coalesce(' ' || (a.detail::json ->> 'reason'), '');
END
$$;

CREATE TABLE t.bad (n serial, call text, place text);
-- rules
INSERT INTO t.bad (call, place)
SELECT format('approval.set_rules(''refund'', %L)', rules), place FROM (VALUES
	('{}', '$.rules'), ('"x"', '$.rules'), ('1', '$.rules'), ('null', '$.rules'), ('[1]', '$.rules[0]'), ('[[]]', '$.rules[0]'), ('["x"]', '$.rules[0]'),
	('[{}]', '$.rules[0].mode'), ('[{"mode":null}]', '$.rules[0].mode'), ('[{"mode":"allow"}]', '$.rules[0].mode'), ('[{"mode":"AUTO"}]', '$.rules[0].mode'),
	('[{"mode":["auto"]}]', '$.rules[0].mode'), ('[{"mode":true}]', '$.rules[0].mode'),
	('[{"mode":"inline"}]', '$.rules[0].mode'), ('[{"condition":"$.a == 1","mode":"inline"},{"mode":"review"}]', '$.rules[0].mode'),
	('[{"mode":"review","approvals_needed":0}]', '$.rules[0].approvals_needed'), ('[{"mode":"review","approvals_needed":-1}]', '$.rules[0].approvals_needed'),
	('[{"mode":"review","approvals_needed":1.5}]', '$.rules[0].approvals_needed'), ('[{"mode":"review","approvals_needed":101}]', '$.rules[0].approvals_needed'),
	('[{"mode":"review","approvals_needed":"2"}]', '$.rules[0].approvals_needed'), ('[{"mode":"review","approvals_needed":null}]', '$.rules[0].approvals_needed'),
	('[{"mode":"review","reviewer_group":null}]', '$.rules[0].reviewer_group'), ('[{"mode":"review","reviewer_group":""}]', '$.rules[0].reviewer_group'),
	('[{"mode":"review","reviewer_group":["a"]}]', '$.rules[0].reviewer_group'),
	('[{"mode":"auto","approvals_needed":2}]', '$.rules[0]'), ('[{"mode":"deny","reviewer_group":"x"}]', '$.rules[0]'),
	('[{"mode":"review","quorum":2}]', '$.rules[0].quorum'), ('[{"mode":"review","Mode":"deny"}]', '$.rules[0].Mode'),
	('[{"mode":"review","reviewers":["a"]}]', '$.rules[0].reviewers'), ('[{"mode":"review","costly":"yes"}]', '$.rules[0].costly'),
	('[{"mode":"review","reason":1}]', '$.rules[0].reason'), ('[{"mode":"review","reason":""}]', '$.rules[0].reason'),
	('[{"mode":"review"},{"mode":"review"}]', '$.rules[1]'), ('[{"mode":"auto"},{"condition":"$.a == 1","mode":"deny"}]', '$.rules[1]'),
	('[{"condition":"$.a == 1","mode":"review","position":1},{"mode":"review","position":1}]', '$.rules[1].position'),
	('[{"condition":"$.a == 1","mode":"review","position":2},{"mode":"review","position":1}]', '$.rules[1].position'),
	('[{"condition":"$.a == 1","mode":"review"},{"mode":"review","position":1}]', '$.rules[1].position'),
	('[{"mode":"review","position":0}]', '$.rules[0].position'), ('[{"mode":"review","position":-1}]', '$.rules[0].position'),
	('[{"mode":"review","position":"1"}]', '$.rules[0].position')) AS v(rules, place);
-- conditions
INSERT INTO t.bad (call, place)
SELECT format('approval.set_rules(''refund'', %L)', json_build_array(json_build_object('condition', condition, 'mode', mode))), '$.rules[0].condition' FROM (VALUES
	('auto', ''), ('auto', '$.amount <= '), ('auto', '$.amount <== 1'), ('auto', 'amount <= 1'), ('auto', '$'), ('auto', '$.amount'), ('auto', 'true'), ('auto', '1 == 1'),
	('deny', '$.a'), ('review', '$.a + 1'), ('deny', 'lax $.a == 1'), ('deny', '/* x */ lax $.a == 1'), ('deny', '$x == 1'),
	('auto', '!($.amount > 200) && !($.amount < 0)'), ('auto', '!($.currency == "USD")'), ('auto', '$.amount <= 200'), ('auto', '$.amount < 200'), ('auto', '200 >= $.amount'), ('auto', '200 > $.amount'), ('auto', '!($.amount > 200)'),
	('review', '$.amount <= 2000'), ('auto', '$.amount <= 200 && $.other >= 0'), ('auto', '$.amount <= 200 || $.amount >= 0'),
	('auto', '-$.amount >= -200'), ('auto', '0 - $.amount >= -200'), ('auto', '$.amount * 2 <= 400'), ('auto', '$.amount <= $.limit'),
	('auto', '$.amount.double() >= 0 && $.amount.double() <= 200'),
	('auto', '$.items[*].price >= 0 && $.items[*].price <= 5'), ('auto', '$.* == 1'), ('auto', '$.a ? (@ == 1) == 1'), ('auto', 'exists($.a)'),
	('auto', '($.a == 1) is unknown'), ('auto', '$.items[last] == 1'), ('auto', '$.items[0 to 2] == 1'), ('auto', '!exists($.items[*] ? (@.price > 100))'),
	('auto', '$.** == 1'), ('review', '$.** == 1'), ('deny', 'exists($.** ? (@.x == 1))'), ('review', '$.a like_regex "x"'), ('auto', '$.a like_regex "x"'),
	('deny', '$.t.datetime() > "2020-01-01".datetime()'), ('review', repeat('$.a == 1 && ', 2000) || '$.a == 1')) AS v(mode, condition);
-- options
INSERT INTO t.bad (call, place)
SELECT format('approval.%s', CASE verb WHEN 'r' THEN format('register_tool(''new'', ''action'', %L)', options) WHEN 'k' THEN format('register_tool(''new'', ''knowledge'', %L)', options)
			  ELSE format('update_tool(''refund'', %L)', options) END), place FROM (VALUES
	('r', '[]', '$'), ('r', '1', '$'), ('u', '"x"', '$'), ('r', '{"nonsense":1}', '$.nonsense'), ('u', '{"policy_version":1}', '$.policy_version'),
	('u', '{"tenant":"x"}', '$.tenant'), ('u', '{"definition_digest":"x"}', '$.definition_digest'), ('u', '{"retired_at":"now"}', '$.retired_at'), ('u', '{"frozen":true}', '$.frozen'),
	('u', '{"class":"act"}', '$.class'), ('u', '{"class":null}', '$.class'), ('r', '{"risk":"huge"}', '$.risk'), ('u', '{"risk":null}', '$.risk'), ('r', '{"risk":1}', '$.risk'),
	('r', '{"default_mode":"inline"}', '$.default_mode'), ('r', '{"default_mode":"ask"}', '$.default_mode'), ('k', '{"default_mode":["inline"]}', '$.default_mode'),
	('r', '{"approvals_needed":0}', '$.approvals_needed'), ('u', '{"approvals_needed":null}', '$.approvals_needed'), ('r', '{"approvals_needed":"1"}', '$.approvals_needed'),
	('u', '{"reviewer_group":null}', '$.reviewer_group'), ('r', '{"reviewer_group":""}', '$.reviewer_group'), ('r', '{"reviewer_group":7}', '$.reviewer_group'),
	('r', '{"effect":"none"}', '$.effect'), ('u', '{"effect":null}', '$.effect'), ('r', '{"idempotent":"yes"}', '$.idempotent'), ('r', '{"idempotent":1}', '$.idempotent'),
	('r', '{"max_attempts":2}', '$.max_attempts'), ('r', '{"idempotent":true,"max_attempts":0}', '$.max_attempts'),
	('r', '{"lease":"soon"}', '$.lease'), ('r', '{"lease":"-1 minute"}', '$.lease'), ('r', '{"lease":0}', '$.lease'), ('r', '{"lease":true}', '$.lease'), ('r', '{"lease":"infinity"}', '$.lease'),
	('r', '{"decide_within":"100 years"}', '$.decide_within'), ('r', '{"use_within":"0 s"}', '$.use_within'), ('r', '{"cool_down":[]}', '$.cool_down'), ('r', '{"retry_within":"x"}', '$.retry_within'),
	('r', '{"edits":"some"}', '$.edits'), ('r', '{"edit_paths":["$.a"]}', '$.edit_paths'), ('r', '{"edits":"tighten","edit_paths":["a"]}', '$.edit_paths[0]'), ('r', '{"owner_may_confirm":true,"approvals_needed":2}', '$.owner_may_confirm'),
	('r', '{"roles":"support"}', '$.roles'), ('r', '{"roles":[1]}', '$.roles[0]'), ('r', '{"roles":["a",""]}', '$.roles[1]'), ('r', '{"executors":{}}', '$.executors'), ('r', '{"executors":[null]}', '$.executors[0]'),
	('r', '{"key_paths":["order"]}', '$.key_paths[0]'), ('r', '{"key_paths":["$.a","$.b[*]"]}', '$.key_paths[1]'),
	('r', '{"summary_template":"{a"}', '$.summary_template'), ('r', '{"summary_template":"a}"}', '$.summary_template'), ('r', '{"summary_template":"{}"}', '$.summary_template'),
	('r', '{"summary_template":"{a[x]}"}', '$.summary_template'), ('r', '{"summary_template":5}', '$.summary_template'),
	('r', '{"expects":[]}', '$.expects'), ('r', '{"expects":{"a":"money"}}', '$.expects.a'), ('r', '{"expects":{"a":null}}', '$.expects.a'), ('r', '{"expects":{"a":["number"]}}', '$.expects.a'),
	('r', '{"capability":"x"}', '$.owner'), ('r', '{"capability":"refunds","owner":"x"}', '$.capability'), ('k', '{"capability":"refunds","owner":"payments"}', '$.capability'),
	('r', '{"definition":[]}', '$.definition'), ('r', '{"definition":{"x":9007199254740993}}', '$.definition'), ('r', '{"annotations":"readOnly"}', '$.annotations'),
	('r', '{"rules":{}}', '$.rules'), ('r', '{"rules":[{"mode":"inline"}]}', '$.rules[0].mode'),
	('u', '{"class":"knowledge","owner":null}', '$.owner'), ('r', '{"description":""}', '$.description'),
	('r', '{"budgets":{}}', '$.budgets'), ('r', '{"budgets":[1]}', '$.budgets[0]'), ('r', '{"budgets":[{"name":"d","limit":1}]}', '$.budgets[0].within'),
	('r', '{"budgets":[{"limit":1,"within":"1 day"}]}', '$.budgets[0].name'), ('r', '{"budgets":[{"name":"d","within":"1 day"}]}', '$.budgets[0].limit'),
	('r', '{"budgets":[{"name":"d","limit":-1,"within":"1 day"}]}', '$.budgets[0].limit'), ('r', '{"budgets":[{"name":"d","limit":"1","within":"1 day"}]}', '$.budgets[0].limit'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 second"}]}', '$.budgets[0].within'), ('r', '{"budgets":[{"name":"d","limit":1,"within":"2 years"}]}', '$.budgets[0].within'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 day","key":"$.customer"}]}', '$.budgets[0].ceiling'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 day","ceiling":5}]}', '$.budgets[0].ceiling'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 day","amount":"$.a[*]"}]}', '$.budgets[0].amount'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 day","amount":"amount"}]}', '$.budgets[0].amount'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 day","per":"x"}]}', '$.budgets[0].per'),
	('r', '{"budgets":[{"name":"d","limit":1,"within":"1 day"},{"name":"d","limit":1,"within":"1 day"}]}', '$.budgets[1].name')) AS v(verb, options, place);
INSERT INTO t.bad (call, place) VALUES
	($$approval.register_tool('new', 'tool')$$, '$.class'),
	($$approval.register_tool('refund', 'action')$$, '$'),
	($$approval.register_tool('new', 'action', replaces => 'nothing')$$, '$.replaces'),
	($$approval.update_tool('search', '{"class":"action"}')$$, '$.default_mode'),
	($$approval.update_tool('nothing', '{}')$$, 'PT404 not_found'),
	($$approval.set_rules('nothing', '[]')$$, 'PT404 not_found'),
	($$approval.retire_tool('nothing')$$, 'PT404 not_found'),
	($$approval.review_tool('nothing', repeat('0', 64))$$, 'PT404 not_found'),
	($$approval.unfreeze_tool('refund')$$, 'PT404 not_found'),
	($$approval.unfreeze_tenant()$$, 'PT404 not_found'),
	($$approval.remove_member('g', 'user:x')$$, 'PT404 not_found'),
	($$approval.disallow(approval.new_ulid())$$, 'PT404 not_found'),
	($$approval.register_tool('new', 'action', tenant => '*')$$, '42501 tenant_not_allowed'),
	($$approval.register_tool('new', 'action', tenant => 'acme')$$, '42501 tenant_not_allowed'),
	($$approval.freeze_tenant(tenant => '*')$$, '42501 tenant_not_allowed'),
	($$approval.add_member('*', 'user:x')$$, '22023 invalid_argument'),
	($$approval.register_tool('', 'action')$$, '22023 empty'),
	($$approval.register_tool(repeat('x', 256), 'action')$$, '22023 too_long');

SELECT t.policy() AS before \gset
SELECT cmp_ok((SELECT count(*) FROM t.bad), '>=', 150::bigint, 'so many cases');
SELECT is(t.place(call), place, left(call, 150)) FROM t.bad ORDER BY n;
SELECT is(t.policy(), :'before', 'and nothing has changed');

-- What is near to that, and acceptable.
SELECT is(t.says('admin', format('approval.set_rules(''refund'', %L)', rules)), 'ok', left(rules, 120)) FROM (VALUES
	('[]'), ('[{"mode":"deny"}]'), ('[{"condition":"$.a == 1","mode":"review","position":5},{"mode":"review"}]'),
	('[{"condition":"$.amount >= 0 && $.amount <= 200","mode":"auto"}]'), ('[{"condition":"$.amount > 50000","mode":"deny"}]'),
	('[{"condition":"$.amount < 0","mode":"deny"}]'), ('[{"condition":"strict $.amount == 5","mode":"auto"}]'),
	('[{"condition":"$.** == 1","mode":"review","costly":true}]'), ('[{"condition":"$.a like_regex \"x\"","mode":"auto","costly":true}]'),
	('[{"condition":"exists($.items[*] ? (@.price > 100))","mode":"deny"}]'), ('[{"mode":"review","approvals_needed":2,"reviewer_group":"*"}]')) AS v(rules);

-- A capability is taken over by the tool that replaces its owner.
SELECT is(t.row('admin', $$approval.register_tool('refund2', 'action', '{"capability":"refunds","owner":"payments"}', replaces => 'refund')$$) #>> '{after,capability}', 'refunds', 'a tool replaces another');
SELECT is((SELECT (replaced_by, retired_at IS NOT NULL)::text FROM approval.tools WHERE tool = 'refund'), '(refund2,t)', 'which is retired');
SELECT is(t.says('agent', $$approval.propose('r', 'refund', '{}')$$), 'PT403 tool_retired', 'and refused');
SELECT is(t.says('admin', $$approval.update_tool('refund', '{}')$$), 'PT403 tool_retired', 'for the administrator too');
SELECT is(t.place($$approval.register_tool('refund', 'action', '{"capability":"refunds","owner":"payments"}')$$), '$.capability', 'it does not get the capability back');
SELECT is(t.says('admin', $$approval.register_tool('refund', 'action')$$), 'ok', 'but can be registered again without');
SELECT is(t.says('agent', $$approval.propose('r', 'refund', '{}')$$), 'ok', 'and proposed');

-- Hints of a tool about itself: every one of them either way, in the registry
-- and in the definition that a gateway brings, and nothing changes.
CREATE TABLE t.hints AS
SELECT json_build_object('readOnlyHint', a, 'destructiveHint', b, 'idempotentHint', c, 'openWorldHint', d, 'title', 'Harmless')::text AS hints
  FROM unnest(ARRAY[true, false]) a, unnest(ARRAY[true, false]) b, unnest(ARRAY[true, false]) c, unnest(ARRAY[true, false]) d;
SELECT t.row('admin', $$approval.register_tool('hinted', 'action', '{"rules":[{"condition":"$.a >= 0 && $.a <= 1","mode":"auto"},{"mode":"review"}]}')$$);
CREATE FUNCTION t.with_hints(hints text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answers text[];
	i int;
BEGIN
	PERFORM t.row('admin', format('approval.update_tool(''hinted'', %L)', json_build_object('annotations', hints::json)));
	FOR i IN 1 .. 2 LOOP
		answers := answers || (SELECT r ->> 'mode' || ' ' || (r ->> 'class') || ' ' || (r ->> 'risk') || ' ' || (r ->> 'effect') || ' ' || (r ->> 'approvals_needed')
			FROM t.row('gateway', format('approval.propose(%L, ''hinted'', %L, definition => %L)', 'h' || nextval('t.calls'), json_build_object('a', i),
				json_build_object('name', 'hinted', 'annotations', hints::json))) AS r);
	END LOOP;
	RETURN array_to_string(answers, ', ');
END
$$;
SELECT is(t.with_hints(hints), 'auto action high external 1, review action high external 1', hints) FROM t.hints ORDER BY hints;
SELECT is(t.with_hints('{}'), 'auto action high external 1, review action high external 1', 'no hints at all');
SELECT isnt((SELECT annotations::text FROM approval.tools WHERE tool = 'hinted'), NULL, 'they are kept');
SELECT * FROM finish();
ROLLBACK;
