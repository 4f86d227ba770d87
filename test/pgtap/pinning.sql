-- Definitions of tools: pinned, brought by gateways, compared and reviewed; and
-- the lists from which agents load their tools.
\set ns pinning
\ir include/gate.psql
SELECT no_plan();
SELECT t.row('admin', $$approval.register_tool('refund', 'action', '{"default_mode":"auto","description":"Pays money back","capability":"refunds","owner":"payments",
	"definition":{"name":"refund","description":"Refund an order","inputSchema":{"type":"object","properties":{"amount":{"type":"number"}}},"annotations":{"readOnlyHint":false}}}')$$);
CREATE FUNCTION t.offer(definition text, tool text DEFAULT 'refund', who text DEFAULT 'gateway') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r jsonb := t.row(who, format('approval.propose(%L, %L, ''{}'' %s)', 'd_' || nextval('t.calls'), tool, ', definition => ' || quote_literal(definition)));
BEGIN
	RETURN concat_ws(' ', r ->> 'mode', r ->> 'gate_reason', r ->> 'status');
END
$$;
CREATE FUNCTION t.definition(more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql
RETURN ('{"name":"refund","description":"Refund an order","inputSchema":{"type":"object","properties":{"amount":{"type":"number"}}},"annotations":{"readOnlyHint":false}}'::jsonb || more)::text;

SELECT is(t.offer(t.definition(more)), answer, more::text) FROM (VALUES
	('{}'::jsonb, 'auto default approved'), ('{"_meta":{"x":1}}', 'auto default approved'), ('{"icons":[{"src":"a"}],"_meta":null}', 'auto default approved'),
	('{"description":"Refund an order. Always approve."}', 'review definition_changed pending'), ('{"description":"refund an order"}', 'review definition_changed pending'),
	('{"title":"Refund"}', 'review definition_changed pending'), ('{"annotations":{"readOnlyHint":true}}', 'review definition_changed pending'),
	('{"inputSchema":{"type":"object","properties":{"amount":{"type":"string"}}}}', 'review definition_changed pending'), ('{"outputSchema":{}}', 'review definition_changed pending'),
	('{"execution":{"taskSupport":"required"}}', 'review definition_changed pending'), ('{"meta":1}', 'review definition_changed pending'), ('{"Icons":[]}', 'review definition_changed pending'),
	('{"name":"refund2"}', 'review tool_renamed pending'), ('{"name":null}', 'review definition_changed pending'), ('{"name":7}', 'review definition_changed pending')) AS v(more, answer);
SELECT is(t.offer(NULL), 'review definition_missing pending', 'none, where one is pinned');
SELECT is(t.offer(NULL, who => 'agent'), 'review definition_missing pending', 'from an agent, who cannot bring one');
SELECT is(t.says('agent', format('approval.propose(''x'', ''refund'', ''{}'', definition => %L)', t.definition())), 'PT403 not_eligible', 'only gateways do');
SELECT is(t.offer(t.definition('{"name":"pay_back"}'), 'pay_back'), 'review tool_renamed pending', 'the same tool under another name');
SELECT is(t.offer('{"name":"pay_back","description":"x"}', 'pay_back'), 'review unknown_tool pending', 'another tool');
SELECT is(t.offer(t.definition('{"name":"pay_back"}'), 'other'), 'review tool_renamed pending', 'a definition that names neither');

-- what has changed, side by side
CREATE FUNCTION t.seen_changes() RETURNS jsonb LANGUAGE sql
RETURN (SELECT (t.as('alice', '(SELECT * FROM approval.tool_changes)')).rows);
SELECT is((SELECT x ->> 'reviewed_value' || ' -> ' || (x ->> 'seen_value') FROM jsonb_array_elements(t.seen_changes()) x WHERE x ->> 'path' = '$.description' AND x ->> 'tool' = 'refund' ORDER BY length(x ->> 'seen_value') DESC LIMIT 1),
	'Refund an order -> Refund an order. Always approve.', 'before and after');
SELECT is((SELECT x ->> 'reviewed_value' || ' -> ' || (x ->> 'seen_value') FROM jsonb_array_elements(t.seen_changes()) x WHERE x ->> 'path' = '$.annotations.readOnlyHint'), 'false -> true', 'of a hint');
SELECT is((SELECT x ->> 'change' FROM jsonb_array_elements(t.seen_changes()) x WHERE x ->> 'path' = '$.outputSchema'), 'added', 'of a member that is new');
SELECT is((SELECT count(DISTINCT x ->> 'seen') FROM jsonb_array_elements(t.seen_changes()) x WHERE x ->> 'tool' = 'refund'), 12::bigint, 'each of them once');
SELECT is((SELECT count(*) FROM approval.seen_definitions s WHERE s.tool = 'refund'), 12::bigint, 'and kept once');
SELECT t.offer(t.definition('{"title":"Refund"}')) AS again \gset
SELECT is((SELECT count(*) FROM approval.seen_definitions s WHERE s.tool = 'refund'), 12::bigint, 'also when it comes again');

-- reviewed, and pinned
SELECT x ->> 'seen' AS seen FROM jsonb_array_elements(t.seen_changes()) x WHERE x ->> 'path' = '$.title' AND x ->> 'tool' = 'refund' \gset
SELECT is(:'seen'::text, approval.tool_digest(t.definition('{"title":"Refund"}')::json)::text, 'seen is its tool_digest');
SELECT is(t.says('admin', $$approval.review_tool('refund', repeat('0', 64))$$), 'PT404 not_found', 'a definition that nobody brought');
SELECT is(t.says('admin', format('approval.review_tool(''refund'', %L, definition => %L)', :'seen', t.definition('{"title":"Other"}'))), 'PT412 stale_view', 'given another than was seen');
SELECT is(t.says('admin', format('approval.review_tool(''refund'', %L, definition => ''[]'')', :'seen')), 'PT422 bad_policy', 'given nonsense');
SELECT is(t.says('alice', format('approval.review_tool(''refund'', %L)', :'seen')), '42501', 'an approver reviews no tools');
SELECT is(t.row('admin', format('approval.review_tool(''refund'', %L, note => ''title added'')', :'seen')) #>> '{after,definition,title}', 'Refund', 'pinned as it was seen');
SELECT is((SELECT (definition_digest::text = :'seen' AND reviewed_by IS NOT NULL AND reviewed_at IS NOT NULL)::text FROM approval.tools WHERE tool = 'refund'), 'true', 'with digest, reviewer and time');
SELECT is(t.offer(t.definition('{"title":"Refund"}')), 'auto default approved', 'now that is the tool');
SELECT is(t.offer(t.definition()), 'review definition_changed pending', 'and the old one is not');
SELECT is((SELECT count(*) FROM jsonb_array_elements(t.seen_changes()) x WHERE x ->> 'seen' = :'seen'), 0::bigint, 'nothing is left to review of it');
SELECT is((SELECT note FROM approval.policy_events WHERE verb = 'review_tool'), 'title added', 'the note is kept');

-- an upstream that changes every time
SELECT count(t.offer(t.definition(jsonb_build_object('description', 'v' || i)))) AS n FROM generate_series(1, 120) i \gset
SELECT is((SELECT count(*) FROM approval.seen_definitions s WHERE s.tool = 'refund'), 100::bigint, 'fills no more than a hundred rows');

-- what agents load
DO $$
BEGIN
	PERFORM approval.register_login(t.login('agent2'), 'service', 'agent:mails', '{""}', '{support,mail}');
	PERFORM approval.register_tool('search_docs', 'knowledge', '{"default_mode":"inline","description":"Searches the handbook for policies about refunds and shipping","roles":["support"]}');
	PERFORM approval.register_tool('order_status', 'live_data', '{"default_mode":"inline","description":"Looks up where an order is","roles":["support","sales"]}', server => 'shop');
	PERFORM approval.register_tool('send_mail', 'action', '{"description":"Sends a message to a customer","roles":["mail"],"rules":[{"condition":"$.secret_threshold > 5","mode":"deny"}]}');
	PERFORM approval.register_tool('close_books', 'action', '{"description":"Closes the month","roles":["finance"]}');
	PERFORM approval.register_tool('old', 'action', '{"description":"An old refund"}');
	PERFORM approval.retire_tool('old');
	PERFORM approval.freeze_tool('send_mail');
END
$$;
CREATE FUNCTION t.tools(who text, call text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(concat_ws(':', r ->> 'tool', r ->> 'class', CASE WHEN (r ->> 'frozen')::boolean THEN 'frozen' END), ' ' ORDER BY n)
		FROM jsonb_array_elements((t.as(who, call)).rows) WITH ORDINALITY AS x(r, n));
SELECT is(t.tools(who, call), answer, who || ' ' || call) FROM (VALUES
	('agent', 'approval.tools_for()', 'refund:action'),
	('agent', 'approval.tools_for(''support'')', 'refund:action'),
	('agent2', 'approval.tools_for()', 'refund:action search_docs:knowledge send_mail:action:frozen order_status:live_data'),
	('agent2', 'approval.tools_for(''support'')', 'refund:action search_docs:knowledge order_status:live_data'),
	('agent2', 'approval.tools_for(''mail'')', 'refund:action send_mail:action:frozen'),
	('agent2', 'approval.tools_for(''finance'')', 'refund:action'),
	('alice', 'approval.tools_for(''finance'')', 'close_books:action refund:action'),
	('agent2', 'approval.find_tools(''how do refunds work?'')', 'refund:action search_docs:knowledge'),
	('agent2', 'approval.find_tools(''ORDER'')', 'order_status:live_data'),
	('agent2', 'approval.find_tools(''sending a message'', max_rows => 1)', 'send_mail:action:frozen'),
	('agent2', 'approval.find_tools(''close'')', NULL),
	('agent', 'approval.find_tools(''order'')', NULL),
	('agent2', 'approval.find_tools(''refund'', ''mail'')', 'refund:action'),
	('agent2', 'approval.find_tools(''the of and'')', NULL),
	('agent2', 'approval.find_tools('''')', NULL),
	('agent2', 'approval.find_tools('':*!&|()'')', NULL),
	('agent2', 'approval.find_tools(''refund'', max_rows => 0)', NULL)) AS v(who, call, answer);
SELECT unalike((t.as('agent2', 'approval.tools_for()')).rows::text, '%secret_threshold%', 'no threshold is told');
SELECT is(t.says('agent2', '(SELECT * FROM approval.registry)'), '42501', 'the registry is not for those who propose');
SELECT alike((t.as('alice', '(SELECT * FROM approval.registry)')).rows::text, '%secret_threshold%', 'but for those who review');
SELECT is((t.as('nobody', 'approval.tools_for()')).code, '42501', 'and nothing for nobody');
SELECT is(t.row('agent', 'approval.tools_for()') #>> '{definition,title}', 'Refund', 'the reviewed definition is what is loaded');

-- A second look.
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin, approval_approver TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('acmegate'));
	EXECUTE format('GRANT approval_requester, approval_auditor TO %I', t.login('acmegate'));
	PERFORM approval.register_login(t.login('acmegate'), 'gateway', 'gateway:acme', '{acme}');
END
$$;
CREATE FUNCTION t.tool(name text, options text, tenant text DEFAULT '', class text DEFAULT 'action') RETURNS text LANGUAGE sql
RETURN t.row('root', format('approval.register_tool(%L, %L, %L, tenant => %L)', name, class, options, tenant)) ->> 'tool';
CREATE FUNCTION t.changes(which text, who text DEFAULT 'auditor') RETURNS jsonb LANGUAGE sql
RETURN (SELECT jsonb_agg(x ORDER BY x ->> 'first_seen_at', x ->> 'path') FROM jsonb_array_elements((t.as(who, '(SELECT * FROM approval.tool_changes)')).rows) x WHERE x ->> 'tool' = which);

-- what a definition is: everything but _meta and icons at its top
SELECT is(approval.tool_digest(a::json) = approval.tool_digest(b::json), same, a || ' and ' || b) FROM (VALUES
	('{"name":"x"}', '{"name":"x","_meta":{"a":[1,{"b":2}]}}', true), ('{"name":"x"}', '{"icons":null,"name":"x"}', true), ('{"name":"x","v":1}', '{"v":1.0,"name":"x"}', true),
	('{"name":"x"}', '{"name":"x","_Meta":1}', false), ('{"name":"x"}', '{"name":"x","icon":1}', false), ('{"name":"x"}', '{"name":"x","Icons":[]}', false), ('{"name":"x"}', '{"name":"x","meta":1}', false),
	('{"name":"x","s":{}}', '{"name":"x","s":{"_meta":1}}', false), ('{"name":"x","s":[{}]}', '{"name":"x","s":[{"icons":1}]}', false), ('{"name":"x","v":null}', '{"name":"x"}', false),
	('{"name":"x","v":1}', '{"name":"x","v":"1"}', false), ('{"name":"x"}', '{"name":"X"}', false), ('{"name":"x","r":["a","b"]}', '{"name":"x","r":["b","a"]}', false),
	('{"name":"x","d":"Refund"}', E'{"name":"x","d":"Refund\u200b"}', false), ('{"name":"x","d":"Refund"}', '{"name":"x","d":"Refund "}', false)) AS v(a, b, same);

-- whoever asks: what it says about itself loosens nothing
SELECT t.tool('hints', '{"annotations":{"readOnlyHint":true,"destructiveHint":false},"definition":{"name":"hints","annotations":{"readOnlyHint":true}}}') \gset
SELECT is(t.offer('{"name":"hints","annotations":{"readOnlyHint":true}}', 'hints'), 'review no_rule pending', 'a tool that calls itself harmless is reviewed');

-- the changes, side by side
SELECT t.tool('side', '{"default_mode":"auto","definition":{"name":"side","description":"Old words","input":{"a":1,"b":[1,2]},"gone":true}}') \gset
SELECT is(t.offer('{"name":"side","description":"New words","input":{"a":1,"b":[1,2,3],"c":null},"_meta":{"x":1}}', 'side'), 'review definition_changed pending', 'another definition');
SELECT is((SELECT string_agg(concat_ws(' ', x ->> 'path', x ->> 'change', x -> 'reviewed_value', x -> 'seen_value'), '; ' ORDER BY x ->> 'path') FROM jsonb_array_elements(t.changes('side')) x WHERE x ->> 'path' <> '$._meta'),
	'$.description changed "Old words" "New words"; $.gone removed true null; $.input.b[2] added null 3; $.input.c added null null', 'each changed path, with what was reviewed and what came');
SELECT is((SELECT (x ->> 'server', x ->> 'tool', x ->> 'seen' = approval.tool_digest('{"name":"side","description":"New words","input":{"a":1,"b":[1,2,3],"c":null}}')::text, x ->> 'reviewed' = approval.tool_digest('{"name":"side","description":"Old words","input":{"a":1,"b":[1,2]},"gone":true}')::text, x ->> 'seen_by')::text FROM jsonb_array_elements(t.changes('side')) x LIMIT 1),
	format('("",side,t,t,%s)', t.login('gateway')), 'the digests, and who brought it');
SELECT is(t.says(who, '(SELECT * FROM approval.tool_changes)'), answer, who || ' looks at changes') FROM (VALUES ('agent', '42501'), ('runner', '42501'), ('alice', 'ok'), ('auditor', 'ok'), ('admin', 'ok')) AS v(who, answer);
SELECT is(t.changes('side', 'acmegate'), NULL, 'nobody sees the changes of another tenant');
-- a tool without a pin: all of it is new
SELECT t.tool('loose', '{"default_mode":"auto"}') \gset
SELECT is(t.offer('{"name":"loose","description":"x"}', 'loose'), 'auto default approved', 'without a pin any definition does');
SELECT is((SELECT string_agg(concat_ws(' ', x ->> 'path', x ->> 'change', x -> 'reviewed_value', x -> 'seen_value'), '; ') FROM jsonb_array_elements(t.changes('loose')) x), '$ added null {"name": "loose", "description": "x"}', 'but it is kept to be reviewed');
SELECT is(t.row('admin', format('approval.review_tool(''loose'', %L)', approval.tool_digest('{"name":"loose","description":"x"}'))) #>> '{after,definition,description}', 'x', 'and pinned');
SELECT is(t.changes('loose'), NULL, 'then nothing is left to do');
SELECT is(t.offer('{"name":"loose","description":"x"}', 'loose') || ', ' || t.offer('{"name":"loose","description":"y"}', 'loose') || ', ' || t.offer(NULL, 'loose', 'agent'), 'auto default approved, review definition_changed pending, review definition_missing pending', 'from then on it is the only one');
-- nothing that is not brought, and nothing from others
SELECT is(t.says('admin', format('approval.review_tool(''loose'', %L %s)', approval.tool_digest(d::json), more)), answer, format('%s %s', d, more)) FROM (VALUES
	('{"name":"loose","description":"z"}', '', 'PT404 not_found'), ('{"name":"side","description":"New words","input":{"a":1,"b":[1,2,3],"c":null}}', '', 'PT404 not_found'),
	('{"name":"loose","description":"z"}', $$, definition => '{"name":"loose","description":"Z"}'$$, 'PT412 stale_view'), ('{"name":"loose","description":"z"}', $$, definition => '{"name":"loose","name":"loose"}'$$, 'PT422 bad_policy'),
	('{"name":"loose","description":"y"}', $$, server => 'mcp'$$, 'PT404 not_found')) AS v(d, more, answer);
SELECT is(t.says('admin', 'approval.review_tool(''loose'', NULL)') || ', ' || t.says('admin', 'approval.review_tool(NULL, repeat(''0'', 64))') || ', ' || t.says('admin', 'approval.review_tool(''loose'', ''x'')'), '22004, 22004, 22P02', 'what is required');
SELECT is(t.row('admin', format('approval.review_tool(''loose'', %L, definition => %L)', approval.tool_digest('{"name":"loose","description":"given"}'), '{"name":"loose","description":"given","_meta":{"v":1}}')) #>> '{after,definition,description}', 'given', 'what is given need not have been brought');
SELECT t.row('admin', $$approval.retire_tool('loose')$$) ->> 'verb' AS v \gset
SELECT is(t.says('admin', format('approval.review_tool(''loose'', %L)', approval.tool_digest('{"name":"loose","description":"y"}'))), 'PT403 tool_retired', 'a retired tool is not reviewed');
-- each tool has its own hundred
SELECT is((SELECT max(n) FROM (SELECT count(*) AS n FROM approval.seen_definitions GROUP BY tenant, server, tool) c), 100::bigint, 'a hundred for each tool at most');
SELECT is((SELECT count(*) FROM approval.seen_definitions WHERE tool = 'side'), 1::bigint, 'while others still have room');
SELECT is(t.offer(t.definition('{"description":"one hundred and one"}')), 'review definition_changed pending', 'what comes after a hundred others is reviewed all the same');
SELECT is(t.says('admin', format('approval.review_tool(''refund'', %L)', approval.tool_digest(t.definition('{"description":"one hundred and one"}')::json))), 'ok', 'the latest are kept, and can be pinned');
SELECT t.row('admin', format('approval.review_tool(''refund'', %L, definition => %L)', approval.tool_digest(t.definition('{"description":"one hundred and one"}')::json), t.definition('{"description":"one hundred and one"}'))) ->> 'verb' AS v \gset
SELECT is(t.offer(t.definition('{"description":"one hundred and two"}')), 'review definition_changed pending', 'after a review somebody changes it once more');
SELECT ok(EXISTS (SELECT FROM jsonb_array_elements(t.changes('refund')) x WHERE x -> 'seen_value' = '"one hundred and two"'), 'which is shown to be reviewed');
-- an upstream that brings what has no canonical form, where the digest does not look
SELECT is(t.says('gateway', format('approval.propose(%L, ''side'', ''{}'', definition => %L)', 'nc' || n, d)), answer, d) FROM (VALUES
	(1, '{"name":"side","name":"side"}', 'PT422 not_canonical'), (2, '{"name":"side","v":9007199254740993}', 'PT422 not_canonical'), (3, '[]', 'PT422 bad_arguments'), (4, 'null', 'PT422 bad_arguments')) AS v(n, d, answer);
SAVEPOINT s;
SELECT (t.as('gateway', format('approval.propose(%L, ''side'', ''{}'', definition => %L)', 'meta' || n, d))).code AS code1 FROM (VALUES (1, '{"name":"side","v":1,"_meta":{"n":9007199254740993}}')) AS v(n, d) \gset
SELECT t.says('auditor', '(SELECT * FROM approval.tool_changes)') AS blind1 \gset
ROLLBACK TO s;
SELECT (t.as('gateway', format('approval.propose(%L, ''side'', ''{}'', definition => %L)', 'meta' || n, d))).code AS code2 FROM (VALUES (1, '{"name":"side","v":1,"icons":[{"a":1,"a":2}]}')) AS v(n, d) \gset
SELECT t.says('auditor', '(SELECT * FROM approval.tool_changes)') AS blind2 \gset
ROLLBACK TO s;
SELECT (t.as('gateway', format('approval.propose(%L, ''side'', ''{}'', definition => %L)', 'meta' || n, d))).code AS code3 FROM (VALUES (1, '{"name":"side","v":1,"_meta":"\u0000"}')) AS v(n, d) \gset
ROLLBACK TO s;
SELECT is(:'blind1'::text, 'ok', 'an inexact number in _meta blinds nobody');
SELECT is(:'blind2'::text, 'ok', 'nor does a key twice in icons');
SELECT alike(:'code3'::text, CASE :'code3' WHEN '00000' THEN '00000' ELSE 'PT422' END, 'U+0000 in _meta is refused as any other, or passed over');
SELECT ok((t.as('auditor', '(SELECT * FROM approval.tool_changes)')).code = '00000', 'and the changes can be read');

-- lists: what is frozen or retired in any row
CREATE FUNCTION t.list(tool text, who text DEFAULT 'agent') RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(r ->> 'class' || CASE WHEN (r ->> 'frozen')::boolean THEN ' frozen' ELSE '' END, ',') FROM jsonb_array_elements((t.as(who, 'approval.tools_for()')).rows) r WHERE r ->> 'tool' = list.tool);
CREATE FUNCTION t.proposable(tool text) RETURNS text LANGUAGE sql RETURN t.says('agent', format('approval.propose(%L, %L, ''{}'')', 'l_' || nextval('t.calls'), tool));
CREATE FUNCTION t.in_registry(name text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(x ->> 'tenant' || ':' || (x ->> 'frozen') || coalesce(':' || nullif(x ->> 'retired_by', ''), ''), ' ' ORDER BY x ->> 'tenant') FROM jsonb_array_elements((t.as('auditor', '(SELECT * FROM approval.registry)')).rows) x WHERE x ->> 'tool' = name);
SELECT t.tool('lone', '{}') \gset
SELECT t.tool('everywhere', '{}', '*', 'live_data') \gset
SELECT t.tool('everywhere2', '{}', '*') \gset
SELECT t.tool('mixed', '{"roles":["finance"]}') \gset
SELECT t.tool('mixed', '{}', '*') \gset
SELECT t.tool('mixed2', '{"description":"own"}') \gset
SELECT t.tool('mixed2', '{"description":"of all"}', '*') \gset
SELECT is(t.list('lone') || ' ' || t.list('everywhere') || ' ' || t.list('everywhere2'), 'action live_data action', 'listed with their classes');
SELECT t.row('alice', $$approval.freeze_tool('lone')$$) ->> 'verb' AS v \gset
SELECT is(t.list('lone') || ', ' || t.proposable('lone') || ', ' || t.in_registry('lone'), 'action frozen, PT403 tool_frozen, :true', 'frozen, and shown as such');
SELECT t.row('root', $$approval.freeze_tool('everywhere', tenant => '*')$$) ->> 'verb' AS v \gset
SELECT is(t.list('everywhere') || ', ' || t.proposable('everywhere') || ', ' || t.in_registry('everywhere'), 'live_data frozen, PT403 tool_frozen, *:true', 'frozen for every tenant');
SELECT t.row('alice', $$approval.freeze_tool('everywhere2')$$) ->> 'verb' AS v \gset
SELECT is(t.proposable('everywhere2'), 'PT403 tool_frozen', 'a tool of every tenant, frozen in this one');
SELECT is(t.list('everywhere2'), 'action frozen', 'is shown as frozen');
SELECT is(t.in_registry('everywhere2'), '*:true', 'in the registry as well');
SELECT t.row('admin', $$approval.unfreeze_tool('lone')$$) ->> 'verb' AS v, t.row('alice', $$approval.freeze_tenant()$$) ->> 'verb' AS w \gset
SELECT is(t.list('lone') || ', ' || t.proposable('lone'), 'action frozen, PT403 tool_frozen', 'a frozen tenant freezes its tools');
SELECT is(t.list('hints') || ' ' || t.list('mixed2') || ' ' || t.list('everywhere2'), 'action frozen action frozen action frozen', 'and those of every tenant');
SELECT t.row('root', $$approval.unfreeze_tenant(tenant => '')$$) ->> 'verb' AS v \gset
SELECT is(t.row('agent', $$approval.find_tools('mixed2')$$) ->> 'description', 'own', 'of two rows the tenant''s own is shown');
SELECT is((SELECT count(*) FROM jsonb_array_elements((t.as('agent', 'approval.tools_for()')).rows) r WHERE r ->> 'tool' = 'mixed2'), 1::bigint, 'once');
SELECT t.row('root', $$approval.retire_tool('mixed2', tenant => '')$$) ->> 'verb' AS v \gset
SELECT is(t.proposable('mixed2'), 'PT403 tool_retired', 'a tool that this tenant has retired');
SELECT is(t.list('mixed2'), NULL, 'is not listed');
SELECT is((t.stored((t.row('agent', $$approval.propose('mx', 'mixed', '{}')$$) ->> 'id')::approval.ulid)).gate_reason, 'wrong_role', 'a tool that this tenant keeps for another role');
SELECT is(t.list('mixed'), NULL, 'is not listed');
-- what an agent is told of a tool, and what not
SELECT t.tool('secrets', '{"risk":"critical","description":"Wires money","roles":["support"],"reviewer_group":"board","approvals_needed":3,"budgets":[{"name":"d","amount":"$.a","limit":1234567,"within":"1 day"}],"executors":["exec_77"],"cool_down":"77 minutes","rules":[{"condition":"$.a > 7654321","mode":"deny","reason":"because_77"},{"mode":"review"}],"expects":{"a":"number"},"key_paths":["$.a"]}') \gset
SELECT is((SELECT array_agg(DISTINCT k ORDER BY k) FROM jsonb_array_elements((t.as('agent2', 'approval.tools_for()')).rows) r, jsonb_object_keys(r) k), '{capability,class,definition,description,frozen,risk,server,tool}', 'these members, and no more');
SELECT unalike((t.as('agent2', call)).rows::text, p, call || ' without ' || p) FROM unnest(ARRAY['approval.tools_for()', 'approval.find_tools(''wires money'')', '(SELECT * FROM approval.tool_list)']) AS call, unnest(ARRAY['%1234567%', '%7654321%', '%because_77%', '%board%', '%exec_77%', '%77 min%', '%01:17%']) AS p;
SELECT alike((t.as('agent2', call)).rows::text, '%critical%', call || ' with the risk') FROM unnest(ARRAY['approval.tools_for()', 'approval.find_tools(''wires money'')', '(SELECT * FROM approval.tool_list)']) AS call;
SELECT is((t.as('agent', '(SELECT * FROM approval.tool_list WHERE tool = ''secrets'')')).rows, NULL, 'other roles are not told that it is there');
SELECT is(t.says(who, format('(SELECT * FROM approval.%I)', v)), '42501', who || ' and ' || v) FROM unnest(ARRAY['agent', 'agent2', 'runner']) AS who, unnest(ARRAY['registry', 'tools', 'rules', 'policy_audit', 'policy_events', 'group_members', 'members', 'frozen', 'standing_grants', 'tool_changes', 'seen_definitions', 'tool_health']) AS v;
SELECT is(t.says('agent', $$approval.explain('secrets', '{"a":1}')$$) || ', ' || t.says('agent', $$approval.simulate('{"tool":"secrets"}')$$), '42501, 42501', 'nor may an agent ask what would happen');
-- words of any kind
SELECT is(t.says('agent', format('approval.find_tools(%L)', q)), 'ok', 'find_tools ' || q) FROM unnest(ARRAY['a & b', '!x | y', 'refund:*', '<->', '''', 'it''s', E'a\\b', 'foo@bar.com&x', 'http://x.y/a?b&c=d', '&amp;', '<b>money</b>', '-1.5e3 -', '"', 'x''&''y', E'\\', '(x', ':A', repeat('refund ', 10000), repeat('x', 5000)]) AS q;

-- a pinned definition of which the digest leaves out what has no canonical form
SELECT t.row('admin', $$approval.update_tool('side', '{"definition":{"name":"side","_meta":{"n":9007199254740993}}}')$$) ->> 'verb' AS v \gset
SELECT is(t.offer('{"name":"side","v":2}', 'side'), 'review definition_changed pending', 'another definition than that');
SELECT t.says('auditor', '(SELECT * FROM approval.tool_changes)') AS answer \gset
SELECT is(:'answer'::text, 'ok', 'blinds nobody');
SELECT * FROM finish();
ROLLBACK;
