-- Capabilities: one owner, one tool, and whoever goes around it stands out.
\set ns caps
\ir include/gate.psql
SELECT no_plan();

SELECT t.row('admin', $$approval.register_tool('refund', 'action', '{"default_mode":"auto","capability":"payments.refund","owner":"team payments"}', server => 'billing')$$) IS NOT NULL AS done \g /dev/null
SELECT t.row('admin', $$approval.register_tool('search', 'knowledge', '{"default_mode":"inline","capability":"docs.search","owner":"team docs"}')$$) IS NOT NULL AS done \g /dev/null
SELECT is(capability || '|' || owner || '|' || tool || '|' || class || '|' || coalesce(via, '-') || '|' || calls, 'docs.search|team docs|search|knowledge|-|0', 'one that nobody calls has a row') FROM approval.capabilities WHERE capability = 'docs.search';

-- Through the owner's tool.
CREATE FUNCTION t.call(tool text, server text, who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.propose(%L, %L, ''{}'', server => %L)', 'call_' || nextval('t.calls'), tool, server)) ->> 'id')::approval.ulid;
SELECT t.call('refund', 'billing') AS i, t.call('refund', 'billing') AS j, t.call('refund', 'billing', 'agent2') AS k \gset
SELECT t.row('runner', format('approval.consume(%L, ''refund'', ''{}'', ''x'', server => ''billing'')', :'i')) IS NOT NULL AS done \g /dev/null
SELECT set_eq($$SELECT concat_ws(' ', called_server, called_tool, replace(called_by, 'caps_', ''), coalesce(replace(executed_by, 'caps_', ''), '-'), calls, executed, coalesce(bypass, '-')) FROM approval.capabilities WHERE capability = 'payments.refund'$$,
	ARRAY['billing refund agent runner 1 1 -', 'billing refund agent - 1 0 -', 'billing refund agent2 - 1 0 -'], 'paths by who proposed and who executed');

-- Around it.
SELECT t.call('refund', 'shadow') AS done \g /dev/null
SELECT t.row('agent', $$approval.start_run('conv', 'r')$$) IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', $$approval.claim_run('r')$$) ->> 'token' AS token \gset
SELECT t.row('agent', format('approval.record_step(''r'', %L, %L, ''tool_call'', name => %L)', :'token', system, name)) IS NOT NULL AS done FROM (VALUES ('billing', 'refund'), ('billing', 'refund'), ('n8n', 'refund'), ('billing', 'other')) AS v(system, name) \g /dev/null
SELECT t.proposed(format('conversation_id => ''conv'', run_id => ''r'', run_token => %L, server => ''billing''', :'token')) AS gated \gset
SELECT t.row('runner', format('approval.consume(%L, ''refund'', %L, ''y'', server => ''billing'')', :'gated', (t.stored(:'gated')).arguments)) IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', format('approval.record_step(''r'', %L, ''billing'', ''tool_call'', name => ''refund'', request_id => %L)', :'token', :'gated')) IS NOT NULL AS done \g /dev/null
SELECT t.proposed(format('at_least => ''deny'', conversation_id => ''conv'', run_id => ''r'', run_token => %L, server => ''billing''', :'token')) AS denied \gset
SELECT t.row('agent', format('approval.record_step(''r'', %L, ''lambda'', ''tool_call'', request_id => %L)', :'token', :'denied')) IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', format('approval.record_step(''r'', %L, %L, ''tool_call'', request_id => %L)', :'token', system, :'gated')) IS NOT NULL AS done FROM unnest(ARRAY['billing', 'pipe']) AS system \g /dev/null
SELECT t.row('agent', format('approval.record_step(''r'', %L, %L, %L, name => %L)', :'token', system, kind, name)) IS NOT NULL AS done FROM (VALUES ('airflow', 'workflow', 'refund'), ('x', 'tool_call', 'Refund'), ('x', 'note', 'refund')) AS v(system, kind, name) \g /dev/null
SELECT set_eq($$SELECT concat_ws(' ', via, called_server, called_tool, calls, bypass) FROM approval.capabilities WHERE capability = 'payments.refund' AND bypass IS NOT NULL$$,
	ARRAY['step pipe refund 1 no gate', 'step airflow refund 1 no gate', 'step x Refund 1 no gate', 'request shadow refund 1 another server', 'step billing refund 3 no gate', 'step n8n refund 1 no gate', 'step lambda refund 1 no gate'], 'what bypassed the owner stands out');

-- A tool that took over: the calls of the old one are still calls of the capability.
SELECT t.row('admin', $$approval.register_tool('refund_v2', 'action', '{"default_mode":"auto","capability":"payments.refund","owner":"team payments"}', server => 'billing', replaces => 'refund', replaces_server => 'billing')$$) IS NOT NULL AS done \g /dev/null
SELECT t.call('refund_v2', 'billing') AS done \g /dev/null
SELECT set_eq($$SELECT DISTINCT concat_ws(' ', tool, called_tool, coalesce(bypass, '-')) FROM approval.capabilities WHERE capability = 'payments.refund' AND via = 'request' AND called_server = 'billing'$$,
	ARRAY['refund_v2 refund another tool', 'refund_v2 refund_v2 -'], 'after it was replaced');

SELECT is((SELECT count(*) FROM approval.capabilities WHERE capability = 'payments.refund' AND via = 'step' AND called_tool = 'refund' AND bypass = 'no gate'), 5::bigint, 'a call of the tool before that no gate has seen still stands out');

SELECT t.row('admin', $$approval.retire_tool('refund_v2', server => 'billing')$$) IS NOT NULL AS done \g /dev/null
SELECT is((SELECT string_agg(DISTINCT tool || ' ' || (retired_at IS NOT NULL), ', ') FROM approval.capabilities WHERE capability = 'payments.refund'), 'refund_v2 true', 'what was retired without a successor is still there');

-- How far back.
SET LOCAL approval.capability_days = 1;
SELECT ok(count(*) > 0, 'within the last day') FROM approval.capabilities WHERE calls > 0;
SELECT is((t.as('agent', '(SELECT * FROM approval.capabilities)')).code, '42501', 'not for requesters');
SELECT is((t.as('auditor', '(SELECT * FROM approval.capabilities)')).code, '00000', 'but for auditors');

-- Another tenant's calls are not shown.
SELECT approval.register_login(t.login('agent2'), 'service', 'agent:mails', '{acme}') IS NOT NULL AS done \g /dev/null
SELECT t.call('refund_v2', 'billing', 'agent2') AS done \g /dev/null
SELECT is((SELECT count(*) FROM jsonb_array_elements((t.as('auditor', '(SELECT * FROM approval.capabilities)')).rows) r WHERE r ->> 'called_in' = 'acme'), 0::bigint, 'of one''s tenants only');

SELECT * FROM finish();
ROLLBACK;
