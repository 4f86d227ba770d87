-- What policy makes of a proposal: a table of cases, each proposed for real and
-- explained, which must agree.
\set ns policytab
\ir include/gate.psql
SELECT no_plan();

-- the administrator of all tenants, and agents of two of them
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('acme'));
	EXECUTE format('GRANT approval_requester TO %I', t.login('acme'));
	PERFORM approval.register_login(t.login('acme'), 'service', 'agent:acme', '{acme}');
	PERFORM approval.register_login(t.login('agent2'), 'service', 'agent:mails', '{""}', '{support,mail}');
END
$$;

CREATE FUNCTION t.register(tool text, class text, options text, more text DEFAULT '') RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT t.row('root', format('approval.register_tool(%L, %L, %L, tenant => '''' %s)', tool, class, options, more));
END;
CREATE FUNCTION t.register_for(tenant text, tool text, class text, options text, more text DEFAULT '') RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT t.row('root', format('approval.register_tool(%L, %L, %L, tenant => %L %s)', tool, class, options, tenant, more));
END;

SELECT t.register('refund', 'action', $${"expects":{"amount":"nonnegative"}, "rules":[
	{"condition":"$.amount <= 200","mode":"auto","reason":"small"},
	{"condition":"$.amount <= 2000","mode":"review"},
	{"condition":"$.amount > 50000","mode":"deny","reason":"never"},
	{"mode":"review","approvals_needed":2,"reviewer_group":"managers"}]}$$);
SELECT t.register('bare', 'action', $${"rules":[
	{"condition":"$.amount >= 0 && $.amount <= 200","mode":"auto"},
	{"condition":"$.amount > 50000","mode":"deny"},
	{"condition":"$.who == \"root\"","mode":"deny"}]}$$);
SELECT t.register('late_deny', 'action', $${"default_mode":"auto","rules":[
	{"condition":"$.a == 1","mode":"auto"},
	{"condition":"$.b == 1","mode":"review","approvals_needed":3,"reviewer_group":"board"},
	{"condition":"$.c == 1","mode":"deny"}]}$$);
SELECT t.register('free', 'action', '{"default_mode":"auto"}');
SELECT t.register('none', 'action', '{}');
SELECT t.register('closed', 'action', '{"default_mode":"deny"}');
SELECT t.register('ask', 'action', '{"default_mode":"review","approvals_needed":2,"reviewer_group":"owners"}');
SELECT t.register('search', 'knowledge', '{"default_mode":"inline"}');
SELECT t.register('orders', 'live_data', $${"rules":[{"condition":"$.id starts with \"A\"","mode":"inline"},{"mode":"review"}]}$$);
SELECT t.register('typed', 'action', $${"default_mode":"auto","expects":{"n":"number","i":"integer","s":"string","b":"boolean","o":"object","a":"array","p":"nonnegative"}}$$);
SELECT t.register('nested', 'action', $${"rules":[
	{"condition":"$.order.total >= 0 && $.order.total <= 10","mode":"auto"},
	{"condition":"$.order.lines[0].sku == \"X\"","mode":"deny"},
	{"condition":"exists($.order.lines[*] ? (@.price > 100))","mode":"deny","reason":"one line is dear"}]}$$);
SELECT t.register('regex', 'action', $${"rules":[
	{"condition":"$.to like_regex \"@example[.]com$\"","costly":true,"mode":"review"},
	{"condition":"$.** ? (@.secret == true) == 1 || exists($.** ? (@.secret == true))","costly":true,"mode":"deny"}]}$$);
SELECT t.register('roled', 'action', '{"default_mode":"auto","roles":["support"]}');
SELECT t.register('other_role', 'action', '{"default_mode":"auto","roles":["billing"]}');
SELECT t.register('elsewhere', 'action', '{"default_mode":"auto"}', $$, server => 'mcp'$$);
SELECT t.register('neq', 'action', $${"rules":[{"condition":"$.currency != \"USD\"","mode":"review"},{"mode":"deny"}]}$$);
SELECT t.register('noquorum', 'action', $${"approvals_needed":2,"rules":[{"condition":"$.x == 1","mode":"review","approvals_needed":1},{"mode":"auto"}]}$$);
SELECT t.register('anyone', 'action', $${"reviewer_group":"owners","rules":[{"condition":"$.x == 1","mode":"review","reviewer_group":"*"},{"mode":"review"}]}$$);
SELECT t.register_for('acme', 'acme_only', 'action', '{"default_mode":"auto"}');
-- one row for the tenant and one for every tenant: in every respect the stricter wins
SELECT t.register_for('acme', 'both_a', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('*', 'both_a', 'action', '{"default_mode":"review","approvals_needed":2}');
SELECT t.register_for('acme', 'both_b', 'action', '{"default_mode":"review","reviewer_group":"acme_leads"}');
SELECT t.register_for('*', 'both_b', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('acme', 'both_c', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('*', 'both_c', 'action', $${"default_mode":"auto","rules":[{"condition":"$.x == 9","mode":"deny","reason":"everywhere"}]}$$);
SELECT t.register_for('acme', 'both_d', 'action', '{"default_mode":"deny"}');
SELECT t.register_for('*', 'both_d', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('acme', 'both_e', 'action', '{"default_mode":"review","approvals_needed":1,"reviewer_group":"few"}');
SELECT t.register_for('*', 'both_e', 'action', '{"default_mode":"review","approvals_needed":3,"reviewer_group":"many"}');
SELECT t.register_for('*', 'shared', 'action', '{"default_mode":"auto"}');

CREATE TABLE t.cases (n serial, who text DEFAULT 'agent', tool text, arguments text, more text DEFAULT '', outcome text);

INSERT INTO t.cases (tool, arguments, outcome)
SELECT 'refund', format('{"amount":%s}', amount), outcome FROM (VALUES
	('0', 'auto 1 rule 1 -'), ('-0', 'auto 1 rule 1 -'), ('-0.0', 'auto 1 rule 1 -'), ('0e5', 'auto 1 rule 1 -'),
	('0.01', 'auto 1 rule 1 -'), ('1e-300', 'auto 1 rule 1 -'), ('199.99', 'auto 1 rule 1 -'), ('200', 'auto 1 rule 1 -'),
	('2e2', 'auto 1 rule 1 -'), ('200.0', 'auto 1 rule 1 -'), ('200.00000001', 'review 2 rule 1 -'), ('200.01', 'review 2 rule 1 -'),
	('201', 'review 2 rule 1 -'), ('1999.999', 'review 2 rule 1 -'), ('2000', 'review 2 rule 1 -'), ('2000.01', 'review 4 rule 2 managers'),
	('2001', 'review 4 rule 2 managers'), ('49999.99', 'review 4 rule 2 managers'), ('50000', 'review 4 rule 2 managers'),
	('50000.01', 'deny 3 rule 1 -'), ('50001', 'deny 3 rule 1 -'), ('1e9', 'deny 3 rule 1 -'), ('1e308', 'deny 3 rule 1 -'),
	('9007199254740992', 'deny 3 rule 1 -'),
	-- what is no amount: the strictest reviewers of the tool
	('-1', 'review - unexpected_arguments 2 managers'), ('-0.01', 'review - unexpected_arguments 2 managers'),
	('-1e308', 'review - unexpected_arguments 2 managers'), ('null', 'review - unexpected_arguments 2 managers'),
	('"100"', 'review - unexpected_arguments 2 managers'), ('"1e2"', 'review - unexpected_arguments 2 managers'),
	('""', 'review - unexpected_arguments 2 managers'), ('[100]', 'review - unexpected_arguments 2 managers'),
	('[1,999999]', 'review - unexpected_arguments 2 managers'), ('[]', 'review - unexpected_arguments 2 managers'),
	('{}', 'review - unexpected_arguments 2 managers'), ('{"amount":1}', 'review - unexpected_arguments 2 managers'),
	('true', 'review - unexpected_arguments 2 managers'), ('false', 'review - unexpected_arguments 2 managers')) AS v(amount, outcome);
INSERT INTO t.cases (tool, arguments, outcome) VALUES
	('refund', '{}', 'review - unexpected_arguments 2 managers'),
	('refund', '[]', 'review - unexpected_arguments 2 managers'),
	('refund', '{"Amount":100}', 'review - unexpected_arguments 2 managers'),
	('refund', '{"amounts":100}', 'review - unexpected_arguments 2 managers'),
	('refund', '{"amount ":100}', 'review - unexpected_arguments 2 managers'),
	('refund', '{"x":{"amount":100}}', 'review - unexpected_arguments 2 managers'),
	('refund', '{"amount":100,"note":"x"}', 'auto 1 rule 1 -'),
	('refund', '{"note":"x","amount":1.0e2}', 'auto 1 rule 1 -'),
	-- a denial counts whatever else there is to say
	('refund', '{"amount":60000,"Amount":1}', 'deny 3 rule 1 -'),
	-- keys that look alike
	('refund', '{"amount":100,"Amount":100}', 'review - lookalike_keys 2 managers'),
	('refund', '{"amount":100,"AMOUNT":1}', 'review - lookalike_keys 2 managers'),
	('refund', E'{"amount":100,"amo\u200bunt":1}', 'review - lookalike_keys 2 managers'),
	('refund', E'{"amount":100,"amount\ufeff":1}', 'review - lookalike_keys 2 managers'),
	('refund', '{"amount":100,"x":{"a":1,"A":2}}', 'review - lookalike_keys 2 managers'),
	('refund', '{"amount":100,"x":[[{"q":{"k":1,"K":2}}]]}', 'review - lookalike_keys 2 managers'),
	('refund', '{"amount":100,"x":{"a":1},"y":{"A":2}}', 'auto 1 rule 1 -'),
	('free', E'{"\u00e9":1,"e\u0301":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"\u212a":1,"k":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"stra\u00dfe":1,"STRASSE":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"\ufb01":1,"fi":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"\u017f":1,"s":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"\u03c3":1,"\u03a3":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"\u00e9":1,"\u00c9":2}', 'review - lookalike_keys 1 -'),
	('free', E'{"\u00e9":1,"e":2,"f":3}', 'auto - default 1 -'),
	('free', E'{"\u03b1":1,"\u03b2":2,"a":3}', 'auto - default 1 -'),
	('free', '{"a":1,"b":2,"ab":3,"aB_":4}', 'auto - default 1 -'),
	('free', '{"":1,"a":2}', 'auto - default 1 -'),
	-- conditions without types before them: strict, so that nothing is unwrapped
	('bare', '{"amount":100,"who":"x"}', 'auto 1 rule 1 -'), ('bare', '{"amount":0}', 'auto 1 rule 1 -'),
	('bare', '{"amount":200}', 'auto 1 rule 1 -'),
	('bare', '{"amount":-5,"who":"x"}', 'review - no_rule 1 -'),
	('bare', '{"amount":201,"who":"x"}', 'review - no_rule 1 -'),
	('bare', '{"amount":201}', 'review - condition_unknown 1 -'),
	('bare', '{"amount":50001}', 'deny 2 rule 1 -'), ('bare', '{"amount":1e308}', 'deny 2 rule 1 -'),
	('bare', '{}', 'review - condition_unknown 1 -'), ('bare', '[]', 'review - condition_unknown 1 -'),
	('bare', '{"amount":null,"who":"x"}', 'review - no_rule 1 -'), ('bare', '{"amount":"100","who":"x"}', 'review - condition_unknown 1 -'),
	('bare', '{"amount":[100],"who":"x"}', 'review - condition_unknown 1 -'), ('bare', '{"amount":[1,999999],"who":"x"}', 'review - condition_unknown 1 -'),
	('bare', '{"amount":{},"who":"x"}', 'review - condition_unknown 1 -'), ('bare', '{"amount":true,"who":"x"}', 'review - condition_unknown 1 -'),
	('bare', '{"amount":"100","who":"root"}', 'deny 3 rule 1 -'), ('bare', '{"who":"root"}', 'deny 3 rule 1 -'),
	('bare', '{"amount":100,"who":"root"}', 'auto 1 rule 1 -'),
	-- after a condition that cannot be evaluated only a denial counts
	('late_deny', '{"a":1}', 'auto 1 rule 1 -'), ('late_deny', '{"a":2,"b":1}', 'review 2 rule 3 board'),
	('late_deny', '{"a":2,"b":2,"c":1}', 'deny 3 rule 1 -'), ('late_deny', '{"a":2,"b":2,"c":2}', 'auto - default 1 -'),
	('late_deny', '{"b":1,"c":2}', 'review - condition_unknown 3 board'), ('late_deny', '{"b":1,"c":1}', 'deny 3 rule 1 -'),
	('late_deny', '{"a":2,"c":1}', 'deny 3 rule 1 -'), ('late_deny', '{"a":2,"b":2}', 'review - condition_unknown 3 board'),
	('late_deny', '{"a":2}', 'review - condition_unknown 3 board'), ('late_deny', '{"c":1}', 'deny 3 rule 1 -'),
	('late_deny', '{"a":"1","b":2,"c":2}', 'review - condition_unknown 3 board'), ('late_deny', '{"a":[1],"b":2,"c":2}', 'review - condition_unknown 3 board'),
	-- defaults
	('free', '{}', 'auto - default 1 -'), ('free', '{"x":1}', 'auto - default 1 -'), ('none', '{}', 'review - no_rule 1 -'),
	('none', '{"x":1}', 'review - no_rule 1 -'), ('closed', '{}', 'deny - default 1 -'), ('ask', '{}', 'review - default 2 owners'),
	('search', '{"q":"policy"}', 'inline - default 1 -'), ('search', '{}', 'inline - default 1 -'),
	('orders', '{"id":"A-1"}', 'inline 1 rule 1 -'), ('orders', '{"id":"B-1"}', 'review 2 rule 1 -'),
	('orders', '{"id":1}', 'review - condition_unknown 1 -'), ('orders', '{}', 'review - condition_unknown 1 -'),
	-- quorum and group of rule and tool
	('noquorum', '{"x":1}', 'review 1 rule 1 -'), ('noquorum', '{"x":2}', 'auto 2 rule 2 -'), ('noquorum', '{}', 'review - condition_unknown 2 -'),
	('anyone', '{"x":1}', 'review 1 rule 1 -'), ('anyone', '{"x":2}', 'review 2 rule 1 owners'),
	('neq', '{"currency":"EUR"}', 'review 1 rule 1 -'), ('neq', '{"currency":"USD"}', 'deny 2 rule 1 -'),
	('neq', '{"currency":null}', 'review 1 rule 1 -'), ('neq', '{}', 'deny 2 rule 1 -'), ('neq', '{"currency":["USD"]}', 'deny 2 rule 1 -'),
	-- nested paths
	('nested', '{"order":{"total":5,"lines":[]}}', 'auto 1 rule 1 -'), ('nested', '{"order":{"total":10}}', 'auto 1 rule 1 -'),
	('nested', '{"order":{"total":11,"lines":[{"sku":"Y","price":1}]}}', 'review - no_rule 1 -'),
	('nested', '{"order":{"total":11,"lines":[{"sku":"X","price":1}]}}', 'deny 2 rule 1 -'),
	('nested', '{"order":{"total":11,"lines":[{"sku":"Y","price":1},{"price":101}]}}', 'deny 3 rule 1 -'),
	('nested', '{"order":{"total":11,"lines":[]}}', 'review - condition_unknown 1 -'),
	('nested', '{"order":{"total":[5]}}', 'review - condition_unknown 1 -'), ('nested', '{"order":[{"total":5}]}', 'review - condition_unknown 1 -'),
	('nested', '{"order":5}', 'review - condition_unknown 1 -'), ('nested', '{"Order":{"total":5}}', 'review - condition_unknown 1 -'),
	('nested', '{"order.total":5}', 'review - condition_unknown 1 -'),
	-- costly ones
	('regex', '{"to":"ann@example.com"}', 'review 1 rule 1 -'), ('regex', '{"to":"ann@example.org"}', 'review - no_rule 1 -'),
	('regex', '{"to":"ann@example.org","x":[{"y":{"secret":true}}]}', 'deny 2 rule 1 -'),
	-- names are names
	('Refund', '{"amount":1}', 'review - unknown_tool 1 -'), ('REFUND', '{"amount":1}', 'review - unknown_tool 1 -'),
	('refund ', '{"amount":1}', 'review - unknown_tool 1 -'), (' refund', '{"amount":1}', 'review - unknown_tool 1 -'),
	('issue_refund', '{"amount":1}', 'review - unknown_tool 1 -'), (E'r\u0435fund', '{"amount":1}', 'review - unknown_tool 1 -'),
	(E'refund\u200b', '{"amount":1}', 'review - unknown_tool 1 -'), (E'\uff52efund', '{"amount":1}', 'review - unknown_tool 1 -'),
	('acme_only', '{}', 'review - unknown_tool 1 -'), ('elsewhere', '{}', 'review - unknown_tool 1 -'), ('*', '{}', 'review - unknown_tool 1 -'),
	('shared', '{}', 'auto - default 1 -'), ('both_a', '{}', 'review - default 2 -');

-- expected types, each of them right and wrong
INSERT INTO t.cases (tool, arguments, outcome)
SELECT 'typed', (good || jsonb_build_object(member, value))::text, CASE WHEN fits THEN 'auto - default 1 -' ELSE 'review - unexpected_arguments 1 -' END
  FROM (VALUES ('{"n":1.5,"i":2,"s":"x","b":true,"o":{},"a":[],"p":0}'::jsonb)) AS g(good), (VALUES
	('n', '0'::jsonb, true), ('n', '-1e308', true), ('n', '"1"', false), ('n', 'null', false), ('n', '[1]', false),
	('i', '-3', true), ('i', '3.0', true), ('i', '1e3', true), ('i', '3.5', false), ('i', '"3"', false), ('i', 'true', false),
	('s', '""', true), ('s', '"null"', true), ('s', '1', false), ('s', 'null', false), ('s', '["x"]', false),
	('b', 'false', true), ('b', '"true"', false), ('b', '0', false), ('b', 'null', false),
	('o', '{"x":1}', true), ('o', '[]', false), ('o', 'null', false), ('o', '"{}"', false),
	('a', '[1]', true), ('a', '{}', false), ('a', 'null', false), ('a', '"[]"', false),
	('p', '0', true), ('p', '1e308', true), ('p', '-0.001', false), ('p', 'null', false)) AS v(member, value, fits);
INSERT INTO t.cases (tool, arguments, outcome)
SELECT 'typed', ('{"n":1.5,"i":2,"s":"x","b":true,"o":{},"a":[],"p":0}'::jsonb - member)::text, 'review - unexpected_arguments 1 -'
  FROM unnest(ARRAY['n', 'i', 's', 'b', 'o', 'a', 'p']) AS member;

INSERT INTO t.cases (who, tool, arguments, more, outcome) VALUES
	-- at_least: stricter, never looser
	('agent', 'refund', '{"amount":1}', $$at_least => 'inline'$$, 'auto 1 rule 1 -'),
	('agent', 'refund', '{"amount":1}', $$at_least => 'auto'$$, 'auto 1 rule 1 -'),
	('agent', 'refund', '{"amount":1}', $$at_least => 'review'$$, 'review - at_least 1 -'),
	('agent', 'refund', '{"amount":1}', $$at_least => 'deny'$$, 'deny - at_least 1 -'),
	('agent', 'refund', '{"amount":5000}', $$at_least => 'auto'$$, 'review 4 rule 2 managers'),
	('agent', 'refund', '{"amount":5000}', $$at_least => 'deny'$$, 'deny - at_least 2 managers'),
	('agent', 'refund', '{"amount":60000}', $$at_least => 'inline'$$, 'deny 3 rule 1 -'),
	('agent', 'search', '{}', $$at_least => 'auto'$$, 'auto - at_least 1 -'),
	('agent', 'search', '{}', $$at_least => 'review'$$, 'review - at_least 1 -'),
	('agent', 'nowhere', '{}', $$at_least => 'inline'$$, 'review - unknown_tool 1 -'),
	('agent', 'nowhere', '{}', $$at_least => 'deny'$$, 'deny - at_least 1 -'),
	-- servers
	('agent', 'refund', '{"amount":1}', $$server => 'mcp'$$, 'review - unknown_tool 1 -'),
	('agent', 'elsewhere', '{}', $$server => 'mcp'$$, 'auto - default 1 -'),
	('agent', 'elsewhere', '{}', $$server => 'MCP'$$, 'review - unknown_tool 1 -'),
	('agent', 'elsewhere', '{}', $$server => 'mcp '$$, 'review - unknown_tool 1 -'),
	('agent', 'elsewhere', '{}', $$server => 'mcp', resource => 'x'$$, 'auto - default 1 -'),
	-- roles come from the login
	('agent2', 'roled', '{}', '', 'auto - default 1 -'), ('agent', 'roled', '{}', '', 'review - wrong_role 1 -'),
	('agent2', 'other_role', '{}', '', 'review - wrong_role 1 -'), ('agent2', 'free', '{}', '', 'auto - default 1 -'),
	-- tenants
	('acme', 'acme_only', '{}', '', 'auto - default 1 -'), ('acme', 'refund', '{"amount":1}', '', 'review - unknown_tool 1 -'),
	('acme', 'shared', '{}', '', 'auto - default 1 -'), ('acme', 'both_a', '{}', '', 'review - default 2 -'),
	('acme', 'both_b', '{}', '', 'review - default 1 acme_leads'), ('acme', 'both_c', '{"x":1}', '', 'auto - default 1 -'),
	('acme', 'both_c', '{"x":9}', '', 'deny 1 rule 1 -'), ('acme', 'both_c', '{}', '', 'review - condition_unknown 1 -'),
	('acme', 'both_d', '{}', '', 'deny - default 1 -'), ('acme', 'both_e', '{}', '', 'review - default 3 many');

-- what the row says, in one line: mode, rule, gate_reason, approvals_needed, reviewer_group
CREATE FUNCTION t.outcome(r jsonb) RETURNS text LANGUAGE sql IMMUTABLE
RETURN concat_ws(' ', r ->> 'mode', coalesce(r ->> 'rule', '-'), r ->> 'gate_reason', r ->> 'approvals_needed', coalesce(r ->> 'reviewer_group', '-'));

CREATE FUNCTION t.tenant_of(who text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE who WHEN 'acme' THEN 'acme' ELSE '' END;

SELECT cmp_ok((SELECT count(*) FROM t.cases), '>=', 190::bigint, 'so many cases');
SELECT is(t.outcome(t.row(who, format('approval.propose(%L, %L, %L %s)', 'case_' || n, tool, arguments, ', ' || nullif(more, '')))), outcome,
		  format('%s: %s %s %s', who, tool, arguments, more)) FROM t.cases ORDER BY n;
SELECT is(t.outcome(t.row('root', format('approval.explain(%L, %L, requester => %L, tenant => %L %s)', tool, arguments, t.login(who), t.tenant_of(who), ', ' || nullif(more, '')))), outcome,
		  format('explained: %s: %s %s %s', who, tool, arguments, more)) FROM t.cases ORDER BY n;

-- and what becomes of the row
SELECT is_empty($$SELECT id, mode, status, outcome, cause, decided_by FROM approval.requests WHERE (mode, status, coalesce(outcome, '-'), coalesce(cause, '-'), coalesce(decided_by, '-')) NOT IN
	(('inline', 'consumed', 'untracked', 'policy', 'policy'), ('auto', 'approved', '-', 'policy', 'policy'), ('review', 'pending', '-', '-', '-'), ('deny', 'rejected', '-', 'policy', 'policy'))$$,
	'each mode leads where it should');
SELECT is_empty($$SELECT id FROM approval.requests r WHERE gate_reason <> 'at_least' AND (gate_reason = 'unknown_tool') <> (policy_version IS NULL)$$, 'what is registered keeps its version');
SELECT is_empty($$SELECT id FROM approval.requests r WHERE NOT (approval.verify_request(id, tenant)).ok AND tenant = ''$$, 'and every chain is whole');
SELECT is(t.row('agent', $$approval.propose('why', 'refund', '{"amount":60000}')$$) ->> 'denial', 'never', 'the reason of the rule is what the model reads');
SELECT is(t.row('agent', $$approval.propose('why2', 'refund', '{"amount":1}')$$) ->> 'rule_reason', 'small', 'and is kept beside an approval');
SELECT * FROM finish();
ROLLBACK;
