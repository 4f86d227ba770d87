-- Policy that is refused when it is written, with the place; what is refused
-- changes nothing.  And hints that a tool gives about itself are never read.
\set ns refusedpol
\ir include/gate.psql
SELECT no_plan();

SELECT t.row('admin', $$approval.register_tool('refund', 'action', '{"capability":"refunds","owner":"payments","rules":[{"mode":"review"}]}')$$);
SELECT t.row('admin', $$approval.register_tool('search', 'knowledge', '{"default_mode":"inline"}')$$);

-- all that makes up policy: rows, their versions, and the events
CREATE FUNCTION t.policy() RETURNS text LANGUAGE sql
RETURN (SELECT md5(string_agg(x, '|' ORDER BY x)) FROM (
	SELECT t::text AS x FROM approval.tools t UNION ALL SELECT r::text FROM approval.rules r
	UNION ALL SELECT n::text FROM approval.policy_events n UNION ALL SELECT f::text FROM approval.freezes f
	UNION ALL SELECT m::text FROM approval.members m UNION ALL SELECT g::text FROM approval.grants g
	UNION ALL SELECT l::text FROM approval.logins l) AS y);

-- The place of a refusal, or what else came; and whether anything has changed.
CREATE FUNCTION t.place(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := t.policy();
	a t.answer := t.as('admin', call);
BEGIN
	IF t.policy() <> before THEN
		RETURN 'changed';
	END IF;
	IF a.code = 'PT422' AND a.detail::json ->> 'reason' = 'bad_policy' THEN
		RETURN a.detail::json ->> 'place';
	END IF;
	RETURN a.code || ' ' || CASE WHEN a.detail LIKE '{%' THEN a.detail::json ->> 'reason' ELSE a.message END;
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

-- more rules
INSERT INTO t.bad (call, place)
SELECT format('approval.set_rules(''refund'', %L)', rules), place FROM (VALUES
	('true', '$.rules'), ('{"rules":[]}', '$.rules'), ('[null]', '$.rules[0]'), ('[{"mode":"deny"},null]', '$.rules[1]'), ('[[{"mode":"deny"}]]', '$.rules[0]'),
	('[{"condition":"$.a == 1","mode":"deny"},{"mode":"maybe"}]', '$.rules[1].mode'), ('[{"condition":"$.a == 1","mode":"deny"},{"condition":"$.a","mode":"deny"}]', '$.rules[1].condition'),
	('[{"mode":" auto"}]', '$.rules[0].mode'), ('[{"mode":"auto review"}]', '$.rules[0].mode'), ('[{"mode":""}]', '$.rules[0].mode'), ('[{"mode":{"auto":1}}]', '$.rules[0].mode'), ('[{"mode":"frozen"}]', '$.rules[0].mode'),
	('[{"condition":1,"mode":"auto"}]', '$.rules[0].condition'), ('[{"condition":true,"mode":"auto"}]', '$.rules[0].condition'), ('[{"condition":["$.a == 1"],"mode":"auto"}]', '$.rules[0].condition'),
	('[{"condition":{},"mode":"auto"}]', '$.rules[0].condition'), ('[{"Condition":"$.a == 1","mode":"auto"}]', '$.rules[0].Condition'), ('[{"conditions":["$.a == 1"],"mode":"auto"}]', '$.rules[0].conditions'),
	('[{"when":"$.a == 1","mode":"auto"}]', '$.rules[0].when'), ('[{"mode":"review","approvals_needed ":2}]', '$.rules[0].approvals_needed '), ('[{"mode":"review","tool":"x"}]', '$.rules[0].tool'),
	('[{"mode":"review","approvals_needed":true}]', '$.rules[0].approvals_needed'), ('[{"mode":"review","approvals_needed":[2]}]', '$.rules[0].approvals_needed'), ('[{"mode":"review","approvals_needed":1e9}]', '$.rules[0].approvals_needed'),
	('[{"mode":"review","approvals_needed":2.5}]', '$.rules[0].approvals_needed'), ('[{"mode":"auto","approvals_needed":0}]', '$.rules[0].approvals_needed'), ('[{"mode":"auto","approvals_needed":1}]', '$.rules[0]'),
	('[{"mode":"deny","approvals_needed":1}]', '$.rules[0]'), ('[{"mode":"auto","reviewer_group":"*"}]', '$.rules[0]'), ('[{"mode":"auto","reviewer_group":null}]', '$.rules[0].reviewer_group'),
	('[{"mode":"review","reviewer_group":5}]', '$.rules[0].reviewer_group'), ('[{"mode":"review","reason":["x"]}]', '$.rules[0].reason'), ('[{"mode":"review","costly":1}]', '$.rules[0].costly'), ('[{"mode":"review","costly":"true"}]', '$.rules[0].costly'),
	('[{"mode":"review","position":1.5}]', '$.rules[0].position'), ('[{"mode":"review","position":1000001}]', '$.rules[0].position'), ('[{"mode":"review","position":true}]', '$.rules[0].position'), ('[{"mode":"review","position":[1]}]', '$.rules[0].position'),
	('[{"condition":"$.a == 1","mode":"review","position":1000000},{"mode":"review"}]', '$.rules[1].position'),
	('[{"condition":"$.a == 1","mode":"deny"},{"mode":"review"},{"condition":"$.b == 1","mode":"deny"}]', '$.rules[2]'), ('[{"mode":"deny"},{"mode":"deny"}]', '$.rules[1]'), ('[{"condition":null,"mode":"auto"},{"condition":"$.b == 1","mode":"deny"}]', '$.rules[1]')) AS v(rules, place)
UNION ALL SELECT format('approval.set_rules(''refund'', %L)', json_build_array(json_build_object('mode', 'review', member, repeat('x', n)))), '$.rules[0].' || member
  FROM (VALUES ('reason', 1001), ('reviewer_group', 256)) AS v(member, n)
UNION ALL SELECT format('approval.set_rules(''refund'', (SELECT jsonb_agg(''{"condition":"$.a == 1","mode":"deny"}''::jsonb) FROM generate_series(1, %s)))', n), '$.rules' FROM unnest(ARRAY[1001, 5000]) AS n;
-- more conditions
INSERT INTO t.bad (call, place)
SELECT format('approval.set_rules(%L, %L)', CASE mode WHEN 'inline' THEN 'search' ELSE 'refund' END, json_build_array(json_build_object('condition', condition, 'mode', mode, 'costly', costly))), '$.rules[0].condition' FROM (VALUES
	('inline', false, '$.n <= 10'), ('inline', false, '$.q like_regex "^a"'), ('inline', true, '$.** == 1'), ('inline', true, 'exists($.q)'), ('inline', false, '!($.q == "x")'), ('inline', false, '$.a[*] == 1'),
	('auto', true, '$.** == 1'), ('auto', true, 'exists($.** ? (@.x == 1))'), ('auto', true, 'exists($.a)'), ('auto', true, '$.a[*] like_regex "x"'), ('auto', true, '$.* like_regex "x"'),
	('auto', false, '$.a[*] == 1'), ('auto', false, '$.a.* == 1'), ('auto', false, '$.a[0,1] == 1'), ('auto', false, '$.a[$.i] == 1'), ('auto', false, '$.a.keyvalue().value == 1'), ('auto', false, '$.a.double() == 1'),
	('auto', false, '$.a != 1 && !($.b == 1)'), ('auto', false, '$.a == 1 || $.b <= 5'), ('auto', false, '($.a >= 0 || $.b == 1) && $.a <= 5'), ('auto', false, '$.a >= 0 && $.A <= 5'), ('auto', false, '$.a.b >= 0 && $.a."b.c" <= 5'),
	('auto', false, '$.a + $.b >= 0 && $.b + $.a <= 5'), ('auto', false, '$.a - $.b <= 5'), ('auto', false, '$.a <= 5 && $.a >= $.b'), ('auto', false, '-$.a > -200 && $.a > 0'), ('auto', false, '$.a.floor() <= 5'), ('auto', false, '$.a <= 5 && 1 == 1'),
	('review', false, '!($.amount > 2000)'), ('review', false, '$.a == 1 || $.b < 5'), ('review', false, 'exists($.items[*] ? (@.price < 100))'), ('review', false, '$.a.datetime() < "2020-01-01".datetime()'), ('review', false, '$.a.** like_regex "x"'),
	('review', true, '$.a like_regex "("'), ('review', true, '$.a like_regex "a" flag "z"'), ('review', true, '$.a like_regex'), ('deny', true, 'lax exists($.a)'), ('deny', true, '$.** ? (@ == 1)'), ('deny', true, '"x" like_regex "x"'),
	('deny', false, '$.a like_regex "x"'), ('deny', false, '$.** == 1'), ('deny', false, '@.a == 1'), ('deny', false, '$.a == $b'), ('deny', false, '$.a == '), ('deny', false, '== 1'), ('deny', false, '$.a = 1'), ('deny', false, '$.a == 1 AND $.b == 1'),
	('deny', false, '$a.b == 1'), ('deny', false, 'exists(1)'), ('deny', false, '"a" starts with "a"'), ('deny', false, '1 < 2'), ('deny', false, 'true == true'), ('deny', false, '$.a ? (@ == 1)'), ('deny', false, '$.a.type()'), ('deny', false, '$.a == last'),
	('deny', false, '($.a == 1) == true'), ('deny', false, '$.a == 1; drop table x'), ('deny', false, E'$.a == "\\u0000"'), ('deny', false, 'strict'), ('deny', false, ' '), ('deny', false, '/* nothing */'),
	('deny', false, repeat('(', 2000) || '$.a == 1' || repeat(')', 2000) || ' && '), ('deny', false, repeat('!(', 1100) || '$.a == 1' || repeat(')', 1100)), ('deny', false, '$.' || repeat('a', 10000) || ' == 1')) AS v(mode, costly, condition);
-- what is no value of an option, for every option
INSERT INTO t.bad (call, place)
SELECT format('approval.%s', CASE new WHEN true THEN format('register_tool(''new'', ''action'', %L)', options) ELSE format('update_tool(''refund'', %L)', options) END),
	   '$.' || option || CASE WHEN wrong LIKE '[_%]' AND kind = 'names' THEN '[0]' ELSE '' END
  FROM (VALUES
	('word', ARRAY['risk', 'default_mode', 'effect', 'edits'], ARRAY['1', 'true', '{}', '["high"]', '""', '"HIGH"', '"high "']),
	('text', ARRAY['description', 'capability', 'owner', 'summary_template', 'reviewer_group'], ARRAY['1', 'true', '{}', '["x"]', '""']),
	('int', ARRAY['max_attempts', 'approvals_needed'], ARRAY['0', '-1', '1.5', '101', '"2"', 'true', '{}', '[1]']),
	('bool', ARRAY['idempotent', 'owner_may_confirm'], ARRAY['0', '1', '"true"', '{}', '[true]', '""']),
	('span', ARRAY['retry_within', 'lease', 'decide_within', 'use_within', 'cool_down'], ARRAY['0', '-1', '"soon"', '""', '"-1 second"', '"1 day ago"', '"now"', '"tomorrow"', '"infinity"', '"11 years"', '1e12', '1e-9', 'true', '{}', '["1 day"]', '"1 day 1 day"', '"PT"', '"P-1D"']),
	('names', ARRAY['roles', 'executors', 'key_paths'], ARRAY['1', 'true', '{}', '"x"', '[1]', '[null]', '[""]', '[["x"]]', '[{}]']),
	('object', ARRAY['expects', 'definition', 'annotations'], ARRAY['1', 'true', '[]', '[{}]', '"{}"']),
	('array', ARRAY['budgets', 'rules'], ARRAY['1', 'true', '{}', '"[]"'])) AS v(kind, names, wrongs), unnest(names) AS option, unnest(wrongs) AS wrong, unnest(ARRAY[true, false]) AS new,
	   LATERAL (SELECT format('{%s:%s}', to_json(option), wrong) AS options) AS o;
INSERT INTO t.bad (call, place)
SELECT format('approval.register_tool(''new'', ''action'', %L)', options), place FROM (VALUES
	-- what is no option
	('{"Rules":[]}', '$.Rules'), ('{"rule":[]}', '$.rule'), ('{"tool":"x"}', '$.tool'), ('{"server":"x"}', '$.server'), ('{"shape":"x"}', '$.shape'), ('{"reviewed_by":"x"}', '$.reviewed_by'), ('{"reviewed_at":"now"}', '$.reviewed_at'),
	('{"retired_by":"x"}', '$.retired_by'), ('{"replaced_by":"x"}', '$.replaced_by'), ('{"replaces":"x"}', '$.replaces'), ('{"policy_version":1}', '$.policy_version'), ('{"":1}', '$.'), ('{"risk ":"low"}', '$.risk '),
	('{"readOnlyHint":true}', '$.readOnlyHint'), ('{"nonsense":null}', '$.nonsense'), ('{"quorum":2}', '$.quorum'), ('{"reviewers":["a"]}', '$.reviewers'), ('{"mode":"auto"}', '$.mode'), ('{"default":"auto"}', '$.default'),
	-- members of members
	('{"expects":{"a":"Number"}}', '$.expects.a'), ('{"expects":{"a":""}}', '$.expects.a'), ('{"expects":{"a":{"type":"number"}}}', '$.expects.a'), ('{"expects":{"a":"number","b":1}}', '$.expects.b'), ('{"expects":{"a":"null"}}', '$.expects.a'),
	('{"budgets":[null]}', '$.budgets[0]'), ('{"budgets":[[]]}', '$.budgets[0]'), ('{"budgets":[{}]}', '$.budgets[0].limit'), ('{"budgets":[{"name":1,"limit":1,"within":"1 day"}]}', '$.budgets[0].name'),
	('{"budgets":[{"name":"","limit":1,"within":"1 day"}]}', '$.budgets[0].name'), ('{"budgets":[{"name":"d","limit":null,"within":"1 day"}]}', '$.budgets[0].limit'), ('{"budgets":[{"name":"d","limit":-0.01,"within":"1 day"}]}', '$.budgets[0].limit'),
	('{"budgets":[{"name":"d","limit":true,"within":"1 day"}]}', '$.budgets[0].limit'), ('{"budgets":[{"name":"d","limit":1,"within":null}]}', '$.budgets[0].within'), ('{"budgets":[{"name":"d","limit":1,"within":0}]}', '$.budgets[0].within'),
	('{"budgets":[{"name":"d","limit":1,"within":"59 seconds"}]}', '$.budgets[0].within'), ('{"budgets":[{"name":"d","limit":1,"within":"367 days"}]}', '$.budgets[0].within'), ('{"budgets":[{"name":"d","limit":1,"within":"-1 day"}]}', '$.budgets[0].within'),
	('{"budgets":[{"name":"d","limit":1,"within":"daily"}]}', '$.budgets[0].within'), ('{"budgets":[{"name":"d","limit":1,"within":"1 day","key":"$.a","ceiling":-1}]}', '$.budgets[0].ceiling'),
	('{"budgets":[{"name":"d","limit":1,"within":"1 day","key":"$.a","ceiling":null}]}', '$.budgets[0].ceiling'), ('{"budgets":[{"name":"d","limit":1,"within":"1 day","key":"$.a","ceiling":"5"}]}', '$.budgets[0].ceiling'),
	('{"budgets":[{"name":"d","limit":1,"within":"1 day","key":"$.a[*]","ceiling":5}]}', '$.budgets[0].key'), ('{"budgets":[{"name":"d","limit":1,"within":"1 day","key":1,"ceiling":5}]}', '$.budgets[0].key'),
	('{"budgets":[{"name":"d","limit":1,"within":"1 day","key":"$.a == 1","ceiling":5}]}', '$.budgets[0].key'), ('{"budgets":[{"name":"d","limit":1,"within":"1 day","amount":"lax $.a"}]}', '$.budgets[0].amount'),
	('{"budgets":[{"name":"d","limit":1,"within":"1 day","amount":"$.a * 2"}]}', '$.budgets[0].amount'), ('{"budgets":[{"name":"d","limit":1,"within":"1 day","amount":"-$.a"}]}', '$.budgets[0].amount'), ('{"budgets":[{"name":"d","limit":1,"within":"1 day","amount":""}]}', '$.budgets[0].amount'),
	('{"budgets":[{"name":"d","limit":1,"within":"1 day"},{"name":"e","limit":1}]}', '$.budgets[1].within'), ('{"budgets":[{"name":"d","Limit":1,"limit":1,"within":"1 day"}]}', '$.budgets[0].Limit'),
	-- templates
	('{"summary_template":"{"}', '$.summary_template'), ('{"summary_template":"}"}', '$.summary_template'), ('{"summary_template":"{a b}"}', '$.summary_template'), ('{"summary_template":"{$.a}"}', '$.summary_template'),
	('{"summary_template":"{a.}"}', '$.summary_template'), ('{"summary_template":"{.a}"}', '$.summary_template'), ('{"summary_template":"{a[-1]}"}', '$.summary_template'), ('{"summary_template":"{a[01]}"}', '$.summary_template'),
	('{"summary_template":"{a[1234567890]}"}', '$.summary_template'), ('{"summary_template":"{a[0}"}', '$.summary_template'), ('{"summary_template":"{\"a}"}', '$.summary_template'), ('{"summary_template":"{{a}"}', '$.summary_template'), ('{"summary_template":"{a}}"}', '$.summary_template'),
	-- what goes together
	('{"owner":null,"capability":"x"}', '$.owner'), ('{"idempotent":false,"max_attempts":5}', '$.max_attempts'), ('{"edits":"none","edit_paths":["$.a"]}', '$.edit_paths'), ('{"edits":"free","edit_paths":["$.a"]}', '$.edit_paths'),
	('{"edits":"tighten","edit_paths":["$.a[*]"]}', '$.edit_paths[0]'), ('{"edits":"tighten","edit_paths":["$.a","lax $.b"]}', '$.edit_paths[1]'), ('{"edits":"tighten","edit_paths":["$.**"]}', '$.edit_paths[0]'), ('{"edits":"tighten","edit_paths":["$.a ? (@ > 1)"]}', '$.edit_paths[0]'),
	('{"edits":"tighten","edit_paths":[1]}', '$.edit_paths[0]'), ('{"edits":"tighten","edit_paths":"$.a"}', '$.edit_paths'), ('{"key_paths":["$.a == 1"]}', '$.key_paths[0]'), ('{"key_paths":["$.a","$.b","$.c.*"]}', '$.key_paths[2]'), ('{"owner_may_confirm":true,"approvals_needed":3}', '$.owner_may_confirm'),
	('{"expects":{"amount":"number"},"rules":[{"condition":"$.amount <= 5","mode":"auto"}]}', '$.rules[0].condition'), ('{"expects":{"Amount":"nonnegative"},"rules":[{"condition":"$.amount <= 5","mode":"auto"}]}', '$.rules[0].condition'),
	('{"expects":{"amount":"nonnegative"},"rules":[{"condition":"$.x.amount <= 5","mode":"auto"}]}', '$.rules[0].condition'), ('{"definition":{"x":1e309}}', '$.definition'), ('{"definition":{"x":1e-400}}', '$.definition')) AS v(options, place)
UNION ALL SELECT format('approval.register_tool(''new'', ''action'', %L)', json_build_object(option, repeat('x', n))), '$.' || option
  FROM (VALUES ('description', 65537), ('capability', 256), ('owner', 256), ('reviewer_group', 256), ('summary_template', 4001)) AS v(option, n)
UNION ALL SELECT format('approval.register_tool(''new'', ''action'', (SELECT jsonb_build_object(%L, jsonb_agg(%s)) FROM generate_series(1, %s) i))', option, element, n), '$.' || option
  FROM (VALUES ('roles', 'i::text', 201), ('executors', 'i::text', 201), ('key_paths', '''$.a''::text', 201), ('budgets', 'jsonb_build_object(''name'', i::text, ''limit'', 1, ''within'', ''1 day'')', 11)) AS v(option, element, n)
UNION ALL SELECT 'approval.register_tool(''new'', ''action'', (SELECT jsonb_build_object(''expects'', jsonb_object_agg(i::text, ''string'')) FROM generate_series(1, 201) i))', '$.expects'
UNION ALL SELECT format('approval.register_tool(''new'', ''action'', %L)', json_build_object('summary_template', repeat('{a}', 101))), '$.summary_template';
-- an option changed is checked with those that stay
SELECT t.row('admin', $$approval.register_tool('kept', 'knowledge', '{"capability":"keeping","owner":"keepers","idempotent":true,"max_attempts":3,"owner_may_confirm":true,"edits":"tighten","edit_paths":["$.a"],
	"expects":{"amount":"nonnegative"},"rules":[{"condition":"$.amount <= 5","mode":"inline"},{"mode":"review"}]}')$$);
INSERT INTO t.bad (call, place)
SELECT format('approval.update_tool(''kept'', %L)', options), place FROM (VALUES
	('{"class":"action"}', '$.rules[0].mode'), ('{"expects":null}', '$.rules[0].condition'), ('{"expects":{}}', '$.rules[0].condition'), ('{"expects":{"amount":"number"}}', '$.rules[0].condition'), ('{"idempotent":false}', '$.max_attempts'), ('{"idempotent":null}', '$.idempotent'),
	('{"approvals_needed":2}', '$.owner_may_confirm'), ('{"edits":"free"}', '$.edit_paths'), ('{"edits":null}', '$.edits'), ('{"owner":null}', '$.owner'), ('{"capability":"refunds"}', '$.capability'), ('{"default_mode":"ask"}', '$.default_mode'),
	('{"max_attempts":null}', '$.max_attempts'), ('{"owner_may_confirm":null}', '$.owner_may_confirm'), ('{"risk":null}', '$.risk'), ('{"class":"live"}', '$.class'), ('{"rules":[{"mode":"auto"},{"mode":"deny"}]}', '$.rules[1]')) AS v(options, place);
INSERT INTO t.bad (call, place) VALUES
	($$approval.register_tool('new', '')$$, '$.class'), ($$approval.register_tool('new', 'Action')$$, '$.class'), ($$approval.register_tool('new', 'knowledge live_data')$$, '$.class'),
	($$approval.register_tool('new', 'action', '[{}]')$$, '$'), ($$approval.register_tool('new', 'action', 'null')$$, '$'), ($$approval.update_tool('refund', '[]')$$, '$'), ($$approval.update_tool('refund', 'null')$$, '$'), ($$approval.update_tool('refund', '1')$$, '$'),
	($$approval.register_tool('new', NULL)$$, '22004 null_argument'), ($$approval.register_tool(NULL, 'action')$$, '22004 null_argument'), ($$approval.register_tool('new', 'action', NULL)$$, '22004 null_argument'),
	($$approval.update_tool('refund', NULL)$$, '22004 null_argument'), ($$approval.set_rules('refund', NULL)$$, '22004 null_argument'), ($$approval.set_rules(NULL, '[]')$$, '22004 null_argument'),
	-- a capability has one tool
	($$approval.register_tool('new', 'action', '{"capability":"refunds","owner":"payments"}')$$, '$.capability'), ($$approval.register_tool('new', 'action', '{"capability":"refunds","owner":"payments"}', server => 'mcp')$$, '$.capability'),
	($$approval.register_tool('refund', 'action', '{"capability":"refunds","owner":"payments"}', server => 'mcp')$$, '$.capability'), ($$approval.update_tool('search', '{"capability":"refunds","owner":"payments"}')$$, '$.capability'),
	($$approval.register_tool('new', 'action', '{"capability":"refunds","owner":"payments"}', replaces => 'search')$$, '$.capability'), ($$approval.register_tool('new', 'action', '{"capability":"refunds","owner":"payments"}', replaces => 'refund', replaces_server => 'mcp')$$, '$.capability'),
	($$approval.register_tool('new', 'action', '{"capability":"refunds","owner":"payments"}', replaces => 'Refund')$$, '$.capability'), ($$approval.register_tool('new', 'action', '{"capability":"refunds"}', replaces => 'refund')$$, '$.owner'),
	($$approval.register_tool('new', 'action', replaces => 'refund', replaces_server => 'mcp')$$, '$.replaces'), ($$approval.register_tool('new', 'action', replaces => 'new')$$, '$.replaces'), ($$approval.register_tool('new', 'action', '{"risk":"x"}', replaces => 'refund')$$, '$.risk'),
	-- grants and drafts are held to the same
	($$approval.allow('search', 'refusedpol_agent', now() + '1 hour', 1, condition => '$.n <= 5')$$, '$.condition'),
	($$approval.simulate('{"tool":"refund","rules":[{"mode":"inline"}]}')$$, '$.rules[0].mode'), ($$approval.simulate('{"tool":"refund","rules":[{"condition":"$.a <= 5","mode":"auto"}]}')$$, '$.rules[0].condition'), ($$approval.simulate('{"tool":"refund","nonsense":1}')$$, '$.nonsense'),
	($$approval.simulate('{"tool":"new"}')$$, '$.class'), ($$approval.simulate('{"tool":1}')$$, '$.tool'), ($$approval.simulate('{"tool":"refund","server":1}')$$, '$.server'), ($$approval.simulate('{"Tool":"refund"}')$$, '$.tool'), ($$approval.simulate('[]')$$, '$');
-- another tenant's, or everybody's
INSERT INTO t.bad (call, place)
SELECT format('approval.%s, tenant => %L)', call, tenant), '42501 tenant_not_allowed' FROM (VALUES ('update_tool(''refund'', ''{}'''), ('set_rules(''refund'', ''[]'''), ('retire_tool(''refund'''), ('review_tool(''refund'', repeat(''0'', 64)'),
	('freeze_tool(''refund'''), ('unfreeze_tool(''refund'''), ('add_member(''g'', ''user:x'''), ('remove_member(''g'', ''user:x''')) AS v(call), unnest(ARRAY['*', 'acme']) AS tenant;

SELECT t.policy() AS before \gset
SELECT cmp_ok((SELECT count(*) FROM t.bad), '>=', 600::bigint, 'so many cases');
SELECT is(t.place(call), place, left(call, 150)) FROM t.bad ORDER BY n;
SELECT is(t.policy(), :'before', 'and nothing has changed');

-- What is near to that, and acceptable.
SELECT is(t.says('admin', format('approval.set_rules(''refund'', %L)', rules)), 'ok', left(rules, 120)) FROM (VALUES
	('[]'), ('[{"mode":"deny"}]'), ('[{"condition":"$.a == 1","mode":"review","position":5},{"mode":"review"}]'),
	('[{"condition":"$.amount >= 0 && $.amount <= 200","mode":"auto"}]'), ('[{"condition":"$.amount > 50000","mode":"deny"}]'),
	('[{"condition":"$.amount < 0","mode":"deny"}]'), ('[{"condition":"strict $.amount == 5","mode":"auto"}]'),
	('[{"condition":"$.** == 1","mode":"review","costly":true}]'), ('[{"condition":"$.a like_regex \"x\"","mode":"auto","costly":true}]'),
	('[{"condition":"exists($.items[*] ? (@.price > 100))","mode":"deny"}]'), ('[{"mode":"review","approvals_needed":2,"reviewer_group":"*"}]'),
	('[{"mode":"review","approvals_needed":100,"position":1000000}]'), ('[{"mode":"review","position":null,"reason":null,"costly":null}]'), ('[{"condition":"$.a == 1","mode":"deny","position":3},{"condition":"$.b == 1","mode":"deny"},{"mode":"review","position":7}]'),
	('[{"condition":"exists($.** ? (@.x == 1))","mode":"deny","costly":true}]'), ('[{"condition":"$.a like_regex \"^x\" flag \"i\"","mode":"review","costly":true}]'), ('[{"condition":"$.a like_regex \"x\"","mode":"deny","costly":true}]'),
	('[{"condition":"200 >= $.amount && 0 <= $.amount","mode":"auto"}]'), ('[{"condition":"$.a >= 0 && ($.a <= 5 || $.b == 1)","mode":"auto"}]'), ('[{"condition":"$.amount.abs() <= 200","mode":"auto"}]'), ('[{"condition":"$.items.size() <= 3","mode":"auto"}]'),
	('[{"condition":"$.items[0].price == 5","mode":"auto"}]'), ('[{"condition":"$.to starts with \"a\"","mode":"auto"}]'), ('[{"condition":"!($.a == 1)","mode":"review"}]'), ('[{"condition":"!exists($.a)","mode":"deny"}]'), ('[{"condition":"($.a == 1) is unknown","mode":"deny"}]')) AS v(rules);
SELECT is(t.says('admin', $$approval.set_rules('refund', (SELECT jsonb_agg('{"condition":"$.a == 1","mode":"deny"}'::jsonb) FROM generate_series(1, 1000)))$$), 'ok', 'a thousand rules');
SELECT is(t.says('admin', format('approval.register_tool(%L, ''action'', %L)', 'near_' || n, options)), 'ok', left(options, 120)) FROM unnest(ARRAY[
	'{"lease":"PT15M","decide_within":0.5,"use_within":"10 years","cool_down":"1 month","retry_within":"1 day 2 hours"}', '{"budgets":[{"name":"d","limit":0,"within":"1 minute","key":"$.a[0].b","ceiling":0,"amount":"$.\"b c\""}]}',
	'{"expects":{"amount":"nonnegative"},"rules":[{"condition":"$.amount <= 5","mode":"auto"}]}', '{"summary_template":"{{x}} {a} {a[0].b} {\"a b\"}"}', '{"idempotent":true,"max_attempts":100}', '{"edits":"tighten","edit_paths":["$.a","$.b[0]"]}',
	'{"roles":[],"executors":[],"key_paths":[],"edit_paths":[],"budgets":[],"rules":[],"expects":{}}', '{"owner":"x"}', '{"default_mode":null,"rules":null,"expects":null,"budgets":null,"definition":null,"annotations":null}', '{"reviewer_group":"*"}',
	'{"class":"knowledge","default_mode":"deny"}']) WITH ORDINALITY AS v(options, n);

-- A capability is taken over by the tool that replaces its owner.
SELECT is(t.row('admin', $$approval.register_tool('refund2', 'action', '{"capability":"refunds","owner":"payments"}', replaces => 'refund')$$) #>> '{after,capability}', 'refunds', 'a tool replaces another');
SELECT is((SELECT (replaced_by, retired_at IS NOT NULL)::text FROM approval.tools WHERE tool = 'refund'), '(refund2,t)', 'which is retired');
SELECT is(t.says('agent', $$approval.propose('r', 'refund', '{}')$$), 'PT403 tool_retired', 'and refused');
SELECT is(t.says('admin', $$approval.update_tool('refund', '{}')$$), 'PT403 tool_retired', 'for the administrator too');
SELECT is(t.place($$approval.register_tool('refund', 'action', '{"capability":"refunds","owner":"payments"}')$$), '$.capability', 'it does not get the capability back');
SELECT is(t.says('admin', $$approval.register_tool('refund', 'action')$$), 'ok', 'but can be registered again without');
SELECT is(t.says('agent', $$approval.propose('r', 'refund', '{}')$$), 'ok', 'and proposed');

-- Hints of a tool about itself: every combination of them, in the registry (when
-- a tool is registered, and later) and in the definition that a gateway brings,
-- and nothing changes.
CREATE TABLE t.hints AS
SELECT json_build_object('readOnlyHint', a, 'destructiveHint', b, 'idempotentHint', c, 'openWorldHint', d, 'title', title)::text AS hints
  FROM unnest(ARRAY[true, false]) a, unnest(ARRAY[true, false]) b, unnest(ARRAY[true, false]) c, unnest(ARRAY[true, false]) d, unnest(ARRAY['Only reads', 'Deletes everything']) title
UNION ALL VALUES ('{}'), ('{"readOnlyHint":"true"}'), ('{"destructiveHint":null}'), ('{"mode":"auto","risk":"low","class":"knowledge"}');
CREATE FUNCTION t.said(who text, call text) RETURNS text LANGUAGE sql
RETURN (SELECT concat_ws(' ', r ->> 'mode', r ->> 'rule', r ->> 'gate_reason', r ->> 'class', r ->> 'risk', r ->> 'effect', r ->> 'approvals_needed', r ->> 'reviewer_group') FROM t.row(who, call) AS r);
-- What becomes of three calls, proposed and explained, with and without a definition.
CREATE FUNCTION t.with_hints(tool text, hints text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answers text[];
	definition text := json_build_object('name', tool, 'title', hints::json ->> 'title', 'annotations', hints::json);
	more text;
	i int;
BEGIN
	FOR i IN 1 .. 3 LOOP
		FOREACH more IN ARRAY ARRAY['', format(', definition => %L', definition)] LOOP
			answers := answers || t.said('gateway', format('approval.propose(%L, %L, %L%s)', 'h' || nextval('t.calls'), tool, json_build_object('a', i), more))
							   || t.said('admin', format('approval.explain(%L, %L%s)', tool, json_build_object('a', i), more));
		END LOOP;
	END LOOP;
	RETURN (SELECT string_agg(DISTINCT a, ', ' ORDER BY a) || ' ' || count(*) FROM unnest(answers) AS a);
END
$$;
CREATE FUNCTION t.hinted(tool text, hints text) RETURNS text LANGUAGE sql
BEGIN ATOMIC
	SELECT t.row('admin', format('approval.register_tool(%L, ''action'', %L)', tool, json_build_object('annotations', hints::json,
		'rules', '[{"condition":"$.a >= 0 && $.a <= 1","mode":"auto"},{"condition":"$.a == 3","mode":"deny"},{"mode":"review","approvals_needed":2}]'::json)));
	SELECT t.with_hints(tool, hints);
END;
SELECT 'auto 1 rule action high external 1, deny 2 rule action high external 1, review 3 rule action high external 2 12' AS same \gset
SELECT is(t.hinted('hinted_' || n, hints), :'same', 'registered with ' || hints) FROM (SELECT row_number() OVER () AS n, hints FROM t.hints) h;
SELECT t.hinted('hinted', '{}') AS h \gset
SELECT is((SELECT t.with_hints('hinted', hints) FROM t.row('admin', format('approval.update_tool(''hinted'', %L)', json_build_object('annotations', hints::json))) AS r WHERE r IS NOT NULL), :'same', 'updated with ' || hints) FROM t.hints;
SELECT is(t.with_hints('hinted', hints), :'same', 'brought with ' || hints) FROM t.hints;
-- what a tool claims is kept, and makes no difference to what is stored beside it
SELECT is((SELECT annotations::jsonb FROM approval.tools WHERE tool = 'hinted_' || n), hints::jsonb, 'kept: ' || hints) FROM (SELECT row_number() OVER () AS n, hints FROM t.hints) h WHERE hints NOT LIKE '%null%';
SELECT is((SELECT count(DISTINCT to_jsonb(t) - 'annotations' - 'tool' - 'policy_version') FROM approval.tools t WHERE tool LIKE 'hinted%'), 1::bigint, 'all else is the same');
-- nor do they where no definition and no rule is there: unknown tools
SELECT is((SELECT count(DISTINCT t.said('gateway', format('approval.propose(%L, ''nowhere'', ''{}'', definition => %L)', 'h' || nextval('t.calls'), json_build_object('name', 'nowhere', 'annotations', hints::json)))) FROM t.hints), 1::bigint, 'nor for a tool that nobody knows');
SELECT * FROM finish();
ROLLBACK;
