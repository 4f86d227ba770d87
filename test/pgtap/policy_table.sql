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
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('acme2'));
	EXECUTE format('GRANT approval_requester TO %I', t.login('acme2'));
	PERFORM approval.register_login(t.login('acme2'), 'service', 'agent:acme2', '{acme}', '{support}');
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
-- ... in the other direction
SELECT t.register_for('acme', 'both_f', 'action', '{"default_mode":"review","approvals_needed":3,"reviewer_group":"few"}');
SELECT t.register_for('*', 'both_f', 'action', '{"default_mode":"review","approvals_needed":1,"reviewer_group":"many"}');
SELECT t.register_for('acme', 'both_g', 'action', $${"rules":[{"condition":"$.x == 9","mode":"deny"},{"mode":"auto"}]}$$);
SELECT t.register_for('*', 'both_g', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('acme', 'both_h', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('*', 'both_h', 'action', '{}');
SELECT t.register_for('acme', 'both_i', 'knowledge', '{"default_mode":"inline"}');
SELECT t.register_for('*', 'both_i', 'knowledge', '{"default_mode":"auto"}');
SELECT t.register_for('acme', 'both_j', 'knowledge', '{"default_mode":"auto"}');
SELECT t.register_for('*', 'both_j', 'knowledge', '{"default_mode":"inline"}');
SELECT t.register_for('acme', 'both_k', 'action', '{"default_mode":"review","approvals_needed":2}');
SELECT t.register_for('*', 'both_k', 'action', '{"default_mode":"review","approvals_needed":2,"reviewer_group":"many"}');
SELECT t.register_for('acme', 'both_l', 'action', $${"rules":[{"condition":"$.x == 1","mode":"auto"}]}$$);
SELECT t.register_for('*', 'both_l', 'action', $${"rules":[{"condition":"$.y == 1","mode":"deny"},{"mode":"auto"}]}$$);
SELECT t.register_for('acme', 'both_m', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('*', 'both_m', 'action', '{"default_mode":"auto","roles":["support"]}');
SELECT t.register_for('acme', 'both_n', 'action', '{"default_mode":"auto","expects":{"x":"number"}}');
SELECT t.register_for('*', 'both_n', 'action', '{"default_mode":"review","approvals_needed":4,"reviewer_group":"many"}');
SELECT t.register_for('acme', 'both_o', 'action', '{"default_mode":"auto"}');
SELECT t.register_for('*', 'both_o', 'action', '{"default_mode":"auto","approvals_needed":2,"reviewer_group":"many","definition":{"name":"both_o"}}');
SELECT t.register_for('*', 'only_mcp', 'action', '{"default_mode":"deny"}', $$, server => 'mcp'$$);
SELECT t.register_for('acme', 'only_mcp', 'action', '{"default_mode":"auto"}');

SELECT t.register('sum', 'action', $${"rules":[{"condition":"$.a + $.b == 0.3","mode":"auto"},{"condition":"$.a + $.b > 0.3","mode":"deny"},{"mode":"review"}]}$$);
SELECT t.register('early_deny', 'action', $${"rules":[{"condition":"$.c == 1","mode":"deny"},{"condition":"$.a == 1","mode":"auto"}]}$$);
SELECT t.register('two_denies', 'action', $${"default_mode":"auto","rules":[{"condition":"$.a == 1","mode":"deny","reason":"a"},{"condition":"$.b == 1","mode":"deny","reason":"b"}]}$$);
SELECT t.register('dear', 'action', $${"rules":[{"condition":"$.amount > 100","mode":"deny"},{"mode":"auto"}]}$$);
SELECT t.register('dear_typed', 'action', $${"expects":{"amount":"number"},"rules":[{"condition":"$.amount > 100","mode":"deny"},{"mode":"auto"}]}$$);
SELECT t.register('steps', 'action', $${"approvals_needed":2,"reviewer_group":"first","rules":[{"condition":"$.n == 1","mode":"review","approvals_needed":1,"reviewer_group":"low"},
	{"condition":"$.n == 2","mode":"review"},{"condition":"$.n == 3","mode":"review","approvals_needed":5,"reviewer_group":"high"},
	{"condition":"$.n == 4","mode":"review","approvals_needed":5,"reviewer_group":"later"},{"condition":"$.n == 5","mode":"auto"}]}$$);
SELECT t.register('any_role', 'action', '{"default_mode":"auto","roles":["billing","mail"]}');
SELECT t.register('no_role', 'action', '{"default_mode":"auto","roles":[]}');
SELECT t.register('Role', 'action', '{"default_mode":"auto","roles":["Support"]}');
SELECT t.register('roled_deny', 'action', $${"roles":["billing"],"approvals_needed":3,"reviewer_group":"payers","rules":[{"condition":"$.x == 9","mode":"deny"},{"mode":"auto"}]}$$);
SELECT t.register(E'caf\u00e9', 'action', '{"default_mode":"auto"}');
SELECT t.register('pinned', 'action', $${"definition":{"name":"pinned","description":"Pays","inputSchema":{"type":"object","properties":{"amount":{"type":"number","maximum":100}},"_meta":1},"annotations":{"readOnlyHint":false}},
	"expects":{"amount":"number"},"rules":[{"condition":"$.amount >= 0 && $.amount <= 200","mode":"auto"},{"condition":"$.amount > 5000","mode":"deny"},
	{"mode":"review","approvals_needed":2,"reviewer_group":"board"}]}$$);

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

-- next to the thresholds: the double before and the double after
ALTER TABLE t.cases ADD COLUMN why text;
INSERT INTO t.cases (tool, arguments, outcome, why)
SELECT 'refund', format('{"amount":%s}', amount), outcome, why FROM (VALUES
	('199.99999999999997', 'auto 1 rule 1 -', 'the number before 200'), ('200.00000000000003', 'review 2 rule 1 -', 'the number after 200'),
	('2000.0000000000002', 'review 4 rule 2 managers', 'the number after 2000'), ('1999.9999999999998', 'review 2 rule 1 -', 'the number before 2000'),
	('49999.99999999999', 'review 4 rule 2 managers', 'the number before 50000'), ('50000.00000000001', 'deny 3 rule 1 -', 'the number after 50000'),
	('5e-324', 'auto 1 rule 1 -', 'the smallest number'), ('-5e-324', 'review - unexpected_arguments 2 managers', 'the greatest negative number'),
	('1.7976931348623157e308', 'deny 3 rule 1 -', 'the greatest number'), ('-1.7976931348623157e308', 'review - unexpected_arguments 2 managers', 'the smallest of all'),
	('0.30000000000000004', 'auto 1 rule 1 -', '0.1 + 0.2 of whoever computes in doubles'), ('2E+2', 'auto 1 rule 1 -', 'written with an exponent'),
	('0.2e3', 'auto 1 rule 1 -', 'written with another'), ('{"$numberDecimal":"1"}', 'review - unexpected_arguments 2 managers', 'a number in an object')) AS v(amount, outcome, why);
INSERT INTO t.cases (tool, arguments, outcome, why) VALUES
	('sum', '{"a":0.1,"b":0.2}', 'auto 1 rule 1 -', 'decimals are added, not doubles'), ('sum', '{"a":0.15,"b":0.15}', 'auto 1 rule 1 -', 'others with the same sum'),
	('sum', '{"a":0.3,"b":-0}', 'auto 1 rule 1 -', 'and negative zero'), ('sum', '{"a":0.1,"b":0.20000000000000004}', 'deny 2 rule 1 -', 'a little more'),
	('sum', '{"a":0.1,"b":0.19999999999999998}', 'review 3 rule 1 -', 'a little less'), ('sum', '{"a":1e308,"b":1e308}', 'deny 2 rule 1 -', 'more than a double can hold'),
	('sum', '{"a":-1e308,"b":1e308}', 'review 3 rule 1 -', 'what cancels out'), ('sum', '{"a":"0.1","b":0.2}', 'review - condition_unknown 1 -', 'a string is not added'),
	('sum', '{"a":[0.1],"b":0.2}', 'review - condition_unknown 1 -', 'nor an array of one'), ('sum', '{"a":null,"b":0.3}', 'review - condition_unknown 1 -', 'nor null'),
	('sum', '{"b":0.3}', 'review - condition_unknown 1 -', 'nor nothing'),
	-- a denial whose condition cannot be evaluated lets nothing through
	('early_deny', '{"a":1,"c":2}', 'auto 2 rule 1 -', 'denial not met'), ('early_deny', '{"a":1}', 'review - condition_unknown 1 -', 'denial without its member'),
	('early_deny', '{"a":1,"c":"1"}', 'review - condition_unknown 1 -', 'denial of another type'), ('early_deny', '{"a":1,"c":[1]}', 'review - condition_unknown 1 -', 'denial of an array'),
	('early_deny', '{"c":1}', 'deny 1 rule 1 -', 'denial met'), ('early_deny', '{"a":1,"c":1}', 'deny 1 rule 1 -', 'denial before approval'),
	('early_deny', '{"a":1,"c":1.0}', 'deny 1 rule 1 -', 'of a number written otherwise'), ('early_deny', '{"a":2,"c":2}', 'review - no_rule 1 -', 'neither'),
	('two_denies', '{"b":1}', 'deny 2 rule 1 -', 'the second denial, the first unknown'), ('two_denies', '{"a":1}', 'deny 1 rule 1 -', 'the first denial, the second unknown'),
	('two_denies', '{"a":1,"b":1}', 'deny 1 rule 1 -', 'both'), ('two_denies', '{"a":2}', 'review - condition_unknown 1 -', 'one unknown, no default'),
	('two_denies', '{"a":2,"b":2}', 'auto - default 1 -', 'neither, and the default'), ('two_denies', '{"a":true,"b":1}', 'deny 2 rule 1 -', 'a boolean is not 1'),
	('dear', '{"amount":101}', 'deny 1 rule 1 -', 'above'), ('dear', '{"amount":100}', 'auto 2 rule 1 -', 'exactly at'), ('dear', '{"amount":"101"}', 'review - condition_unknown 1 -', 'as a string'),
	('dear', '{}', 'review - condition_unknown 1 -', 'absent'), ('dear', '[]', 'review - condition_unknown 1 -', 'PHP''s empty array'),
	('dear_typed', '{"amount":null}', 'review - unexpected_arguments 1 -', 'null is of no type'), ('dear_typed', '{"amount":100}', 'auto 2 rule 1 -', 'a number is'),
	('dear_typed', '{"amount":101}', 'deny 1 rule 1 -', 'and denied'), ('dear_typed', '{"amount":"x"}', 'review - unexpected_arguments 1 -', 'a string is not'),
	-- who looks at what cannot be told: the strictest rule's reviewers, the first of them
	('steps', '{"n":1}', 'review 1 rule 1 low', 'fewer than the tool''s'), ('steps', '{"n":2}', 'review 2 rule 2 first', 'the tool''s'), ('steps', '{"n":3}', 'review 3 rule 5 high', 'more'),
	('steps', '{"n":4}', 'review 4 rule 5 later', 'as many'), ('steps', '{"n":5}', 'auto 5 rule 2 first', 'none'), ('steps', '{"n":6}', 'review - no_rule 5 high', 'no rule'),
	('steps', '{"n":"1"}', 'review - condition_unknown 5 high', 'a string'), ('steps', '{}', 'review - condition_unknown 5 high', 'nothing'),
	('steps', '{"n":1,"N":1}', 'review - lookalike_keys 5 high', 'look-alike keys'), ('steps', '{"n":5,"x":{"a":1,"A":1}}', 'review - lookalike_keys 5 high', 'and deeper'),
	-- PHP's empty array is an empty object, at the top only
	('free', '[]', 'auto - default 1 -', 'PHP''s empty array'), ('search', '[]', 'inline - default 1 -', 'for a search too'), ('closed', '[]', 'deny - default 1 -', 'or a tool that is shut'),
	('nested', '{"order":[]}', 'review - condition_unknown 1 -', 'not below the top'), ('typed', '[]', 'review - unexpected_arguments 1 -', 'and without members'),
	-- names that are not the name
	(E'\u043erders', '{"id":"A-1"}', 'review - unknown_tool 1 -', 'a Cyrillic o'), (E'\u03bfrders', '{"id":"A-1"}', 'review - unknown_tool 1 -', 'a Greek o'),
	(E'o\u200drders', '{"id":"A-1"}', 'review - unknown_tool 1 -', 'a joiner within'), (E'ord\u00aders', '{"id":"A-1"}', 'review - unknown_tool 1 -', 'a soft hyphen within'),
	(E'\ufeffsearch', '{}', 'review - unknown_tool 1 -', 'a byte order mark before'), (E'search\u00a0', '{}', 'review - unknown_tool 1 -', 'a blank after'),
	(E'\u202esearch', '{}', 'review - unknown_tool 1 -', 'turned around'), ('Search', '{}', 'review - unknown_tool 1 -', 'a capital'), ('search.', '{}', 'review - unknown_tool 1 -', 'a dot'),
	('mcp/search', '{}', 'review - unknown_tool 1 -', 'with a server before it'), (E'\uff53\uff45\uff41\uff52\uff43\uff48', '{}', 'review - unknown_tool 1 -', 'full width'),
	(E'caf\u00e9', '{}', 'auto - default 1 -', 'an accent'), (E'cafe\u0301', '{}', 'review - unknown_tool 1 -', 'the accent beside its letter'), ('cafe', '{}', 'review - unknown_tool 1 -', 'no accent'),
	('only_mcp', '{}', 'review - unknown_tool 1 -', 'known on a server, and in a tenant'),
	-- keys that look alike: case, normalization, what cannot be seen, at every depth
	('free', E'{"\u212b":1,"\u00e5":2}', 'review - lookalike_keys 1 -', 'the sign of Angstrom'), ('free', E'{"\u2126":1,"\u03c9":2}', 'review - lookalike_keys 1 -', 'the sign of Ohm'),
	('free', E'{"\u1e9e":1,"ss":2}', 'review - lookalike_keys 1 -', 'the capital sharp s'), ('free', E'{"\u1e9e":1,"\u00df":2}', 'review - lookalike_keys 1 -', 'both sharp s'),
	('free', E'{"\u03c2":1,"\u03c3":2}', 'review - lookalike_keys 1 -', 'sigma at the end of a word'), ('free', E'{"\u01c4":1,"\u01c6":2}', 'review - lookalike_keys 1 -', 'a letter of three cases'),
	('free', E'{"\u01c5":1,"\u01c6":2}', 'review - lookalike_keys 1 -', 'its title case'), ('free', E'{"a\u00ad":1,"a":2}', 'review - lookalike_keys 1 -', 'a soft hyphen'),
	('free', E'{"a\u2060":1,"a":2}', 'review - lookalike_keys 1 -', 'a word joiner'), ('free', E'{"a\u200d":1,"a":2}', 'review - lookalike_keys 1 -', 'a zero width joiner'),
	('free', E'{"a\ufe0f":1,"a":2}', 'review - lookalike_keys 1 -', 'a variation selector'), ('free', E'{"\u202ea":1,"a":2}', 'review - lookalike_keys 1 -', 'a direction'),
	('free', E'{"":1,"\u200b":2}', 'review - lookalike_keys 1 -', 'nothing, and a blank of no width'),
	('free', E'{"\u1ea5":1,"\u00e2\u0301":2}', 'review - lookalike_keys 1 -', 'composed by halves'), ('free', E'{"x":{"\u1ea5":1,"a\u0302\u0301":2}}', 'review - lookalike_keys 1 -', 'not at all, in an object'),
	('free', '{"x":[0,[{"y":[{"STREET":1,"street":2}]}]]}', 'review - lookalike_keys 1 -', 'in arrays of arrays'),
	('free', '{"x":[{"a":1},{"A":2}]}', 'auto - default 1 -', 'keys of two objects'), ('free', '{"a":{"A":{"a":1}}}', 'auto - default 1 -', 'keys of one within the other'),
	('free', '{"x":["a","A","a"]}', 'auto - default 1 -', 'values are no keys'), ('free', E'{"a":1,"\u0430":2}', 'auto - default 1 -', 'a Cyrillic a is a letter of its own'),
	('closed', '{"a":1,"A":2}', 'deny - default 1 -', 'a denial is not softened'), ('search', '{"q":1,"Q":2}', 'review - lookalike_keys 1 -', 'a search is asked about too');
INSERT INTO t.cases (tool, arguments, outcome, why)
SELECT 'free', repeat('{"x":[', depth) || keys || repeat(']}', depth), outcome, format('%s deep: %s', depth, keys)
  FROM unnest(ARRAY[1, 10, 50]) AS depth, (VALUES ('{"k":1,"K":2}', 'review - lookalike_keys 1 -'), (E'{"k":1,"\u212a":2}', 'review - lookalike_keys 1 -'), ('{"k":1,"l":2}', 'auto - default 1 -')) AS v(keys, outcome);

-- each word of at_least over each mode
INSERT INTO t.cases (tool, arguments, more, outcome, why)
SELECT tool, '{}', format('at_least => %L', word), CASE WHEN i > own THEN concat_ws(' ', word, '- at_least', reviewers) ELSE concat_ws(' ', words[own], '- default', reviewers) END,
	   format('at_least %s over %s', word, words[own])
  FROM (VALUES (1, 'search', '1 -'), (2, 'free', '1 -'), (3, 'ask', '2 owners'), (4, 'closed', '1 -')) AS v(own, tool, reviewers),
	   (VALUES (ARRAY['inline', 'auto', 'review', 'deny'])) AS w(words), unnest(words) WITH ORDINALITY AS x(word, i);

-- more of types
INSERT INTO t.cases (tool, arguments, outcome, why)
SELECT 'typed', (good || jsonb_build_object(member, value))::text, CASE WHEN fits THEN 'auto - default 1 -' ELSE 'review - unexpected_arguments 1 -' END, format('%s as %s', value, member)
  FROM (VALUES ('{"n":1.5,"i":2,"s":"x","b":true,"o":{},"a":[],"p":0}'::jsonb)) AS g(good), (VALUES
	('n', '{}'::jsonb, false), ('n', 'true', false), ('n', '5e-324', true), ('i', '-0', true), ('i', '1e308', true), ('i', '9007199254740992', true),
	('i', '1.0000000000000002', false), ('i', '0.5', false), ('i', 'null', false), ('i', '[3]', false), ('s', 'true', false), ('s', '{"toString":"x"}', false), ('b', '"on"', false), ('b', '[true]', false),
	('o', '1', false), ('o', 'true', false), ('a', '1', false), ('a', '[[]]', true), ('a', '{"length":1}', false), ('p', '-0', true), ('p', '5e-324', true), ('p', '-5e-324', false),
	('p', '"0"', false), ('p', '[0]', false), ('p', 'true', false), ('p', '-1e308', false)) AS v(member, value, fits);

-- definitions, as the gateway brings them
CREATE FUNCTION t.pinned(more jsonb DEFAULT '{}', less text DEFAULT '') RETURNS text LANGUAGE sql IMMUTABLE
RETURN format('definition => %L', ('{"annotations":{"readOnlyHint":false},"inputSchema":{"_meta":1,"properties":{"amount":{"maximum":100.0,"type":"number"}},"type":"object"},"description":"Pays","name":"pinned"}'::jsonb || more) - less);
INSERT INTO t.cases (who, tool, arguments, more, outcome, why) VALUES
	('gateway', 'pinned', '{"amount":1}', t.pinned(), 'auto 1 rule 1 -', 'the same'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"_meta":{"version":2}}'), 'auto 1 rule 1 -', 'other _meta'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"icons":[{"src":"https://a/b.png"}]}'), 'auto 1 rule 1 -', 'other icons'),
	('gateway', 'pinned', '{"amount":201}', t.pinned(), 'review 3 rule 2 board', 'the same, and much'),
	('gateway', 'pinned', '{"amount":"1"}', t.pinned(), 'review - unexpected_arguments 2 board', 'the same, and a string'),
	('gateway', 'pinned', '{"amount":1,"x":1,"X":1}', t.pinned(), 'review - lookalike_keys 2 board', 'the same, and look-alike keys'),
	('gateway', 'pinned', '{"amount":1}', t.pinned() || $$, at_least => 'review'$$, 'review - at_least 1 -', 'the same, and at least review'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"description":"Pays."}'), 'review - definition_changed 2 board', 'another description'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"description":"pays"}'), 'review - definition_changed 2 board', 'a description in another case'),
	('gateway', 'pinned', '{"amount":1}', t.pinned(jsonb_build_object('description', E'Pays\u200b')), 'review - definition_changed 2 board', 'a description with what cannot be seen'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"title":"Pays"}'), 'review - definition_changed 2 board', 'a title'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"annotations":{"readOnlyHint":true}}'), 'review - definition_changed 2 board', 'a hint flipped'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"annotations":{"readOnlyHint":false,"openWorldHint":false}}'), 'review - definition_changed 2 board', 'a hint more'),
	('gateway', 'pinned', '{"amount":1}', t.pinned(less => 'annotations'), 'review - definition_changed 2 board', 'no hints'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"inputSchema":{"_meta":1,"type":"object","properties":{"amount":{"type":"number","maximum":101}}}}'), 'review - definition_changed 2 board', 'another maximum'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"inputSchema":{"_meta":2,"type":"object","properties":{"amount":{"type":"number","maximum":100}}}}'), 'review - definition_changed 2 board', 'other _meta within'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"inputSchema":{"_meta":1,"type":"object","properties":{"amount":{"type":"number","maximum":100}},"required":["amount"]}}'), 'review - definition_changed 2 board', 'a member required'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"outputSchema":{}}'), 'review - definition_changed 2 board', 'a schema of the output'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"Description":"Pays"}'), 'review - definition_changed 2 board', 'a member in another case'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"name":"Pinned"}'), 'review - tool_renamed 2 board', 'a name in another case'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"name":"refund"}'), 'review - tool_renamed 2 board', 'the name of another tool'),
	('gateway', 'pinned', '{"amount":1}', t.pinned(less => 'name'), 'review - definition_changed 2 board', 'no name'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"name":["pinned"]}'), 'review - definition_changed 2 board', 'a name that is none'),
	('gateway', 'pinned', '{"amount":1}', 'definition => ''{}''', 'review - definition_changed 2 board', 'nothing in it'),
	('gateway', 'pinned', '{"amount":1}', '', 'review - definition_missing 2 board', 'missing'),
	('agent', 'pinned', '{"amount":1}', '', 'review - definition_missing 2 board', 'from a login that cannot bring one'),
	('agent', 'pinned', '{"amount":5001}', '', 'deny 2 rule 1 -', 'missing, and denied'),
	('gateway', 'pinned', '{"amount":5001}', t.pinned('{"description":"x"}'), 'deny 2 rule 1 -', 'changed, and denied'),
	('gateway', 'pinned', '{"amount":5001}', t.pinned('{"name":"x"}'), 'deny 2 rule 1 -', 'renamed, and denied'),
	('gateway', 'pinned', '{"amount":"x"}', t.pinned('{"description":"x"}'), 'review - definition_changed 2 board', 'changed, and a string'),
	('gateway', 'pinned', '{"amount":1}', t.pinned('{"description":"x"}') || $$, at_least => 'deny'$$, 'deny - at_least 2 board', 'changed, and at least deny'),
	('gateway', 'free', '{}', t.pinned('{"name":"free"}'), 'auto - default 1 -', 'of a tool without a pin'),
	('gateway', 'free', '{}', t.pinned(less => 'name'), 'auto - default 1 -', 'of a tool without a pin, without a name'),
	('gateway', 'free', '{}', t.pinned(), 'review - tool_renamed 1 -', 'of a tool without a pin, with another''s name'),
	('gateway', 'closed', '{}', t.pinned(), 'deny - default 1 -', 'of a tool that is shut'),
	('gateway', 'pay', '{"amount":1}', t.pinned('{"name":"pay"}'), 'review - tool_renamed 1 -', 'the pinned one under a name that nobody knows'),
	('gateway', 'pay', '{"amount":1}', t.pinned(), 'review - tool_renamed 1 -', 'under its own'),
	('gateway', 'pay', '{"amount":1}', t.pinned(less => 'name'), 'review - tool_renamed 1 -', 'under none'),
	('gateway', 'pay', '{"amount":1}', t.pinned('{"name":"pay","icons":[],"_meta":{}}'), 'review - tool_renamed 1 -', 'with other icons'),
	('gateway', E'pinne\u0501', '{"amount":1}', t.pinned(jsonb_build_object('name', E'pinne\u0501')), 'review - tool_renamed 1 -', 'under a name that looks like it'),
	('gateway', 'pay', '{"amount":1}', t.pinned('{"name":"pay","description":"Pays!"}'), 'review - unknown_tool 1 -', 'and changed'),
	('gateway', 'pinned', '{"amount":1}', t.pinned() || $$, server => 'mcp'$$, 'review - unknown_tool 1 -', 'from another server'),
	('gateway', 'pay', '{"amount":1}', t.pinned('{"name":"pay"}') || $$, at_least => 'deny'$$, 'deny - at_least 1 -', 'renamed, and at least deny'),
	-- roles
	('agent2', 'any_role', '{}', '', 'auto - default 1 -', 'one of its roles'), ('agent', 'any_role', '{}', '', 'review - wrong_role 1 -', 'no role at all'),
	('agent2', 'no_role', '{}', '', 'auto - default 1 -', 'a tool for all'), ('agent', 'no_role', '{}', '', 'auto - default 1 -', 'a tool for all, no role'),
	('agent2', 'Role', '{}', '', 'review - wrong_role 1 -', 'the role in another case'), ('gateway', 'roled', '{}', '', 'review - wrong_role 1 -', 'a gateway without roles'),
	('agent2', 'roled_deny', '{"x":1}', '', 'review - wrong_role 3 payers', 'another role: the tool''s reviewers'), ('agent2', 'roled_deny', '{"x":9}', '', 'deny 1 rule 3 payers', 'another role, and denied'),
	('agent2', 'roled_deny', '{}', '', 'review - wrong_role 3 payers', 'another role, and unknown'), ('agent2', 'roled_deny', '{"x":1}', $$at_least => 'deny'$$, 'deny - at_least 3 payers', 'another role, and at least deny'),
	-- two rows
	('acme', 'both_f', '{}', '', 'review - default 3 few', 'the tenant asks for more'), ('acme', 'both_g', '{"x":9}', '', 'deny 1 rule 1 -', 'the tenant denies'),
	('acme', 'both_g', '{"x":1}', '', 'auto 2 rule 1 -', 'neither denies'), ('acme', 'both_g', '{}', '', 'review - condition_unknown 1 -', 'the tenant''s denial unknown'),
	('acme', 'both_h', '{}', '', 'review - no_rule 1 -', 'for all there is no default'), ('acme', 'both_i', '{}', '', 'auto - default 1 -', 'inline and auto'),
	('acme', 'both_j', '{}', '', 'auto - default 1 -', 'auto and inline'), ('acme', 'both_k', '{}', '', 'review - default 2 many', 'any approver, and a group'),
	('acme', 'both_l', '{"x":1,"y":2}', '', 'auto 1 rule 1 -', 'both let it through'), ('acme', 'both_l', '{"x":1,"y":1}', '', 'deny 1 rule 1 -', 'one lets it through'),
	('acme', 'both_l', '{"y":1}', '', 'deny 1 rule 1 -', 'one denies, one is unknown'), ('acme', 'both_l', '{"y":2}', '', 'review - condition_unknown 1 -', 'one lets it through, one is unknown'),
	('acme', 'both_l', '{"x":1}', '', 'review - condition_unknown 1 -', 'and the other way'), ('acme', 'both_m', '{}', '', 'review - wrong_role 1 -', 'a role for all tenants'),
	('acme2', 'both_m', '{}', '', 'auto - default 1 -', 'and a login that has it'), ('agent2', 'both_m', '{}', '', 'auto - default 1 -', 'in another tenant'),
	('acme', 'both_n', '{"x":1}', '', 'review - default 4 many', 'types met'), ('acme', 'both_n', '{"x":"1"}', '', 'review - unexpected_arguments 4 many', 'types not met: the stricter reviewers'),
	('acme', 'both_n', '{"x":1,"X":2}', '', 'review - lookalike_keys 4 many', 'look-alike keys'), ('acme', 'both_o', '{}', '', 'review - definition_missing 2 many', 'pinned for all tenants'),
	('acme', 'only_mcp', '{}', '', 'auto - default 1 -', 'the rows of two servers'), ('acme', 'only_mcp', '{}', $$server => 'mcp'$$, 'deny - default 1 -', 'each for its own'),
	('acme', 'both_d', '{"a":1,"A":2}', '', 'deny - default 1 -', 'a denial is not softened'), ('acme', 'both_e', '{}', $$at_least => 'deny'$$, 'deny - at_least 3 many', 'at least deny'),
	('acme', 'both_i', '{}', $$at_least => 'review'$$, 'review - at_least 1 -', 'at least review'), ('agent', 'both_b', '{}', '', 'auto - default 1 -', 'the row for all alone'),
	('agent', 'both_d', '{}', '', 'auto - default 1 -', 'another tenant''s denial is its own'), ('acme', 'acme_only', '{}', $$server => 'mcp'$$, 'review - unknown_tool 1 -', 'the tenant''s, on another server');

-- what is refused by both
INSERT INTO t.cases (tool, arguments, outcome, why)
SELECT 'free', arguments, outcome, why FROM (VALUES ('[1]', 'PT422 bad_arguments', 'an array'), ('[[]]', 'PT422 bad_arguments', 'an array of an array'), ('"x"', 'PT422 bad_arguments', 'a string'), ('1', 'PT422 bad_arguments', 'a number'),
	('null', 'PT422 bad_arguments', 'null'), ('true', 'PT422 bad_arguments', 'a boolean'), ('{"a":1,"a":1}', 'PT422 not_canonical', 'one key twice'), (E'{"a":1,"\\u0061":1}', 'PT422 not_canonical', 'one key twice, escaped'),
	('{"a":9007199254740993}', 'PT422 not_canonical', 'a number that doubles do not have'), ('{"a":1e309}', 'PT422 not_canonical', 'a number beyond'), ('{"a":1e-400}', 'PT422 not_canonical', 'a number below'),
	('{"a":200.00000000000001}', 'PT422 not_canonical', 'a number between two'), ('{"a":"\ud800"}', 'PT422 not_canonical', 'half a pair'), ('{"a\u0000b":1}', 'PT422 not_canonical', 'a NUL')) AS v(arguments, outcome, why);

-- what the row says, in one line: mode, rule, gate_reason, approvals_needed, reviewer_group
CREATE FUNCTION t.outcome(r jsonb) RETURNS text LANGUAGE sql IMMUTABLE
RETURN concat_ws(' ', r ->> 'mode', coalesce(r ->> 'rule', '-'), r ->> 'gate_reason', r ->> 'approvals_needed', coalesce(r ->> 'reviewer_group', '-'));

CREATE FUNCTION t.tenant_of(who text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN who LIKE 'acme%' THEN 'acme' ELSE '' END;

-- that, or the refusal
CREATE FUNCTION t.answer(who text, call text, OUT outcome text, OUT r jsonb) LANGUAGE plpgsql AS $$
DECLARE
	a t.answer := t.as(who, call);
BEGIN
	r := a.rows -> 0;
	outcome := CASE WHEN a.code = '00000' THEN t.outcome(r) ELSE concat_ws(' ', a.code, (a.detail::json) ->> 'reason') END;
END
$$;

SELECT cmp_ok((SELECT count(*) FROM t.cases), '>=', 400::bigint, 'so many cases');
CREATE TABLE t.answers AS
SELECT c.n, c.outcome AS wanted, concat_ws(' ', c.who || ':', c.tool, left(c.arguments, 100), c.more, '-- ' || c.why) AS name, p.outcome AS proposed, p.r AS request, e.outcome AS explained, e.r AS explanation
  FROM t.cases c,
	   LATERAL t.answer(who, format('approval.propose(%L, %L, %L %s)', 'case_' || n, tool, arguments, ', ' || nullif(more, ''))) AS p,
	   LATERAL t.answer('root', format('approval.explain(%L, %L, requester => %L, tenant => %L %s)', tool, arguments, t.login(who), t.tenant_of(who), ', ' || nullif(more, ''))) AS e;
SELECT is(proposed, wanted, name) FROM t.answers ORDER BY n;
SELECT is(explained, wanted, 'explained: ' || name) FROM t.answers ORDER BY n;
SELECT is_empty($$SELECT name, key, request -> key, explanation -> key FROM t.answers, unnest(ARRAY['mode', 'rule', 'gate_reason', 'rule_reason', 'policy_version', 'class', 'risk', 'effect', 'reviewer_group', 'approvals_needed', 'denial', 'grant_id', 'summary']) AS key
	WHERE request -> key IS DISTINCT FROM explanation -> key$$, 'and in every other respect they say the same');

-- and what becomes of the row
SELECT is_empty($$SELECT id, mode, status, outcome, cause, decided_by FROM approval.requests WHERE (mode, status, coalesce(outcome, '-'), coalesce(cause, '-'), coalesce(decided_by, '-')) NOT IN
	(('inline', 'consumed', 'untracked', 'policy', 'policy'), ('auto', 'approved', '-', 'policy', 'policy'), ('review', 'pending', '-', '-', '-'), ('deny', 'rejected', '-', 'policy', 'policy'))$$,
	'each mode leads where it should');
SELECT is_empty($$SELECT id FROM approval.requests r WHERE (class IS NULL) <> (policy_version IS NULL) OR (gate_reason = 'unknown_tool' AND class IS NOT NULL)$$, 'what is registered keeps its version');
SELECT is_empty($$SELECT id FROM approval.requests r WHERE NOT (approval.verify_request(id, tenant)).ok AND tenant = ''$$, 'and every chain is whole');
SELECT is(t.row('agent', $$approval.propose('why', 'refund', '{"amount":60000}')$$) ->> 'denial', 'never', 'the reason of the rule is what the model reads');
SELECT is(t.row('agent', $$approval.propose('why2', 'refund', '{"amount":1}')$$) ->> 'rule_reason', 'small', 'and is kept beside an approval');
SELECT * FROM finish();
ROLLBACK;
