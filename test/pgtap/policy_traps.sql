-- Policies that looked sound and were not.
\set ns traps
\ir include/gate.psql
SELECT no_plan();
SELECT is(t.says('admin', $$approval.register_tool('dots', 'action', '{"expects":{"a.b":"nonnegative"},"rules":[{"condition":"$.a.b <= 200","mode":"auto"}]}')$$), 'PT422 bad_policy', 'a member named a.b does not speak for the member b of a');
SELECT t.row('admin', $$approval.register_tool('nul', 'action', '{"definition":{"name":"nul","inputSchema":{"default":null}},"annotations":{"x":null}}')$$) #>> '{after,definition}' AS after \gset
SELECT is((:'after')::jsonb, '{"name":"nul","inputSchema":{"default":null}}', 'null in a definition stays in the event');
SELECT t.row('admin', $$approval.update_tool('nul', '{"risk":"low"}')$$) ->> 'n' AS n \gset
SELECT is((SELECT approval.tool_digest(definition)::text FROM approval.tools WHERE tool = 'nul'), (SELECT definition_digest::text FROM approval.tools WHERE tool = 'nul'), 'and in the registry, so that it is still what its digest says');
SELECT t.row('admin', $$approval.register_tool('owned', 'action', '{"reviewer_group":"owners","rules":[{"condition":"$.x == 1","mode":"review","approvals_needed":2,"reviewer_group":"*"},{"mode":"review"}]}')$$) ->> 'n' AS n \gset
SELECT is((SELECT concat_ws(' ', r ->> 'approvals_needed', r ->> 'reviewer_group') FROM t.row('agent', format('approval.propose(%L, ''owned'', %L)', 'o' || a, a)) r), answer, a) FROM (VALUES
	('{"x":2}', '1 owners'), ('{"x":1}', '2'), ('{"x":2,"X":1}', '2 owners'), ('{"x":"1"}', '2 owners'), ('{"x":"1","X":1}', '2 owners')) AS v(a, answer);
SELECT t.row('admin', $$approval.register_tool('roled', 'action', '{"default_mode":"auto"}')$$) ->> 'n' AS n \gset
SELECT t.row('agent', $$approval.propose('r', 'roled', '{}')$$) ->> 'id' AS i \gset
SELECT t.row('admin', $$approval.update_tool('roled', '{"roles":["billing"]}')$$) ->> 'n' AS n \gset
SELECT is(t.says('runner', format('approval.consume(%L, ''roled'', ''{}'', ''r'')', :'i')), 'PT412 policy_changed', 'roles given to a tool since hold at use');
SELECT * FROM finish();
ROLLBACK;
