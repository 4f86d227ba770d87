-- Standing grants: what a person allows in advance, and what ends it.
\set ns grants
\ir include/gate.psql
SELECT no_plan();
SET approval.turn_wait = 0;

DO $$
DECLARE
	p record;
BEGIN
	-- people who administer, and a delegate who names them
	FOR p IN SELECT * FROM (VALUES ('ann', 'person', 'user:ann'), ('ben', 'person', 'user:ben'), ('eve', 'service', 'service:eve'), ('desk', 'delegate', NULL)) AS v(who, kind, actor) LOOP
		EXECUTE format('CREATE ROLE %I LOGIN', t.login(p.who));
		EXECUTE format('GRANT approval_admin TO %I', t.login(p.who));
		PERFORM approval.register_login(t.login(p.who), p.kind, p.actor);
	END LOOP;
	EXECUTE format('GRANT approval_admin TO %I', t.login('agent2'));
END
$$;
SELECT t.row('admin', $$approval.register_tool('refund', 'action', '{"expects":{"amount":"nonnegative"},"rules":[
	{"condition":"$.amount > 1000","mode":"deny"},
	{"condition":"$.amount > 100","mode":"review","approvals_needed":2,"reviewer_group":"managers"},
	{"mode":"review","reviewer_group":"desk"}]}')$$);
SELECT t.row('admin', format('approval.add_member(%L, %L)', g, a)) IS NOT NULL FROM (VALUES ('desk', 'user:ann'), ('desk', 'user:ben'), ('managers', 'user:ann'), ('managers', 'user:ben')) AS v(g, a);

-- the id of a grant to the agent
CREATE FUNCTION t.allow(who text, more text DEFAULT '', uses int DEFAULT 3, condition text DEFAULT '$.amount <= 50', tool text DEFAULT 'refund') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.allow(%L, %L, %L, %s, %L %s)', tool, t.login('agent'), '2100-01-01'::timestamptz, uses, condition, ', ' || nullif(more, ''))) #>> '{after,id}')::approval.ulid;
SET approval.max_grant = '366d';
CREATE OR REPLACE FUNCTION t.allow(who text, more text DEFAULT '', uses int DEFAULT 3, condition text DEFAULT '$.amount <= 50', tool text DEFAULT 'refund') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.allow(%L, %L, %L, %s, %L %s)', tool, t.login('agent'), date_trunc('day', now()) + interval '30 days', uses, condition, ', ' || nullif(more, ''))) #>> '{after,id}')::approval.ulid;
CREATE FUNCTION t.try(amount text, who text DEFAULT 'agent', more text DEFAULT '', tool text DEFAULT 'refund') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r jsonb := t.row(who, format('approval.propose(%L, %L, %L %s)', 'g_' || nextval('t.calls'), tool, format('{"amount":%s}', amount), ', ' || nullif(more, '')));
BEGIN
	RETURN concat_ws(' ', r ->> 'mode', r ->> 'gate_reason');
END
$$;
CREATE FUNCTION t.void(i approval.ulid) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce((SELECT g.void_reason FROM approval.standing_grants g WHERE g.id = i), 'holds');
END
$$;

-- who may allow what
SELECT is(t.says(who, call), answer, title) FROM (VALUES
	('agent', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1)$$, '42501', 'a requester allows nothing'),
	('alice', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1)$$, '42501', 'nor an approver who is no administrator'),
	('eve', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1)$$, 'PT403 not_eligible', 'nor a service'),
	('admin', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1)$$, 'PT403 not_eligible', 'nor an administrator outside the group'),
	('agent2', $$approval.allow('refund', 'grants_agent2', now() + '1 day', 1)$$, 'PT403 not_eligible', 'a service, for itself'),
	('ann', $$approval.allow('refund', 'grants_ann', now() + '1 day', 1)$$, 'PT403 self_approval', 'nobody allows himself'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1, requested_by => 'user:ann')$$, 'PT403 self_approval', 'in no guise'),
	('desk', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1)$$, '22004', 'a delegate names somebody'),
	('desk', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1, actor => 'user:zoe')$$, 'PT403 not_eligible', 'who is in the group'),
	('desk', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1, actor => 'user:ann')$$, 'ok', 'then it may'),
	('ann', $$approval.allow('refund', 'nosuchrole', now() + '1 day', 1)$$, '42704', 'the login exists'),
	('ann', $$approval.allow('nothing', 'grants_agent', now() + '1 day', 1)$$, 'PT404 not_found', 'and the tool'),
	('ann', $$approval.allow('refund', 'grants_agent', now() - '1 second'::interval, 1)$$, '22023', 'not in the past'),
	('ann', $$approval.allow('refund', 'grants_agent', 'infinity', 1)$$, '22023', 'not for ever'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '367 days', 1)$$, '22023', 'not longer than approval.max_grant'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '1 day', 0)$$, '22023', 'at least once'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1001)$$, '22023', 'at most 1000 times'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1, '$.amount')$$, 'PT422 bad_policy', 'a condition is a predicate'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1, '$.other <= 50')$$, 'PT422 bad_policy', 'with a lower bound'),
	('ann', $$approval.allow('refund', 'grants_agent', now() + '1 day', 1, 'exists($.a)')$$, 'PT422 bad_policy', 'over single members')) AS v(who, call, answer, title);
SELECT t.row('ann', format('approval.disallow(%L)', id)) IS NOT NULL FROM approval.grants;

-- scope and uses
SELECT t.allow('ann', 'note => ''for the fair''') AS g \gset
SELECT is(t.try('50'), 'auto grant', 'a call in its scope');
SELECT is(t.try('51'), 'review rule', 'beyond the condition');
SELECT is(t.try('5', 'agent2'), 'review rule', 'of another login');
SELECT is(t.try('5', more => $$at_least => 'review'$$), 'review rule', 'the proposer wants a person');
SELECT is(t.try('"5"'), 'review unexpected_arguments', 'of another type');
SELECT is(t.row('agent', $$approval.propose('like', 'refund', '{"amount":5,"Amount":5}')$$) ->> 'gate_reason', 'lookalike_keys', 'with look-alikes');
SELECT is(t.try('5', more => $$server => 'mcp'$$), 'review unknown_tool', 'on another server');
SELECT is(t.try('1001'), 'deny rule', 'a denial always wins');
SELECT is((SELECT uses FROM approval.standing_grants WHERE id = :'g'), 1, 'one use so far');
SELECT is(t.row('agent', format('approval.cancel(%L)', (SELECT id FROM approval.requests WHERE grant_id = :'g'))) ->> 'status', 'cancelled', 'cancelled');
SELECT is(t.try('1'), 'auto grant', 'the second use');
SELECT is(t.row('admin', format('approval.explain(''refund'', ''{"amount":1}'', requester => %L)', t.login('agent'))) ->> 'gate_reason', 'grant', 'explain knows of it');
SELECT is(t.try('1'), 'auto grant', 'the third, since looking is no use, and none is given back');
SELECT is(t.try('1'), 'review rule', 'and no fourth');
SELECT is(t.void(:'g'), 'used_up', 'used up');
SELECT is((SELECT (decided_by, cause, status, policy_version IS NOT NULL, rule)::text FROM approval.requests WHERE grant_id = :'g' AND status = 'approved' LIMIT 1), '(policy,policy,approved,t,3)', 'policy decides, and the rule it replaces is kept');
SELECT is((SELECT count(*) FROM approval.policy_audit WHERE verb = 'allow' AND after ->> 'id' = :'g' AND note = 'for the fair'), 1::bigint, 'the grant is in the audit');
SELECT is(t.says('runner', (SELECT format('approval.consume(%L, ''refund'', %L, ''run-1'')', id, arguments) FROM approval.requests WHERE grant_id = :'g' AND status = 'approved' LIMIT 1)), 'ok', 'it can be consumed');

-- for one requester of a login
SELECT t.row('admin', format('approval.register_login(%L, ''delegate'')', t.login('agent')));
SELECT t.allow('ann', $$requested_by => 'user:kim'$$) AS g \gset
SELECT is(t.try('1', more => $$requested_by => 'user:kim'$$), 'auto grant', 'for kim');
SELECT is(t.try('1', more => $$requested_by => 'user:leo'$$), 'review rule', 'not for leo');
SELECT t.row('ann', format('approval.disallow(%L, ''enough'')', :'g'));
SELECT is(t.try('1', more => $$requested_by => 'user:kim'$$), 'review rule', 'until it is taken back');
SELECT is(t.void(:'g'), 'disallowed', 'and says so');
-- a grantor who asks does not count for the own call
SELECT t.allow('ann') AS g \gset
SELECT is(t.try('1', more => $$requested_by => 'user:ann'$$), 'review rule', 'not for the grantor');
SELECT is(t.try('1', more => $$requested_by => 'user:kim', on_behalf_of => 'user:ann'$$), 'review rule', 'in whosever name');
SELECT is(t.try('1', more => $$requested_by => 'user:kim'$$), 'auto grant', 'but for others');
SELECT t.row('alice', format('approval.disallow(%L)', :'g')) ->> 'verb' AS v \gset
SELECT is(t.void(:'g'), 'disallowed', 'an approver may end it');

-- as many grantors as the rule wants approvals
SELECT t.allow('ann', condition => '$.amount <= 500') AS g \gset
SELECT is(t.try('500', more => $$requested_by => 'user:kim'$$), 'review rule', 'one grantor is not enough for a rule that wants two');
SELECT is(t.try('100', more => $$requested_by => 'user:kim'$$), 'auto grant', 'but for one that wants one');
SELECT is(t.says('ben', format('approval.allow(''refund'', %L, %L, 3, ''$.amount <= 501'', endorses => %L)', t.login('agent'), date_trunc('day', now()) + interval '30 days', :'g')), 'PT422 bad_policy', 'another condition is no endorsement');
SELECT is(t.says('ben', format('approval.allow(''refund'', %L, %L, 4, ''$.amount <= 500'', endorses => %L)', t.login('agent'), date_trunc('day', now()) + interval '30 days', :'g')), 'PT422 bad_policy', 'nor other uses');
SELECT is(t.says('ann', format('approval.allow(''refund'', %L, %L, 3, ''$.amount <= 500'', endorses => %L)', t.login('agent'), date_trunc('day', now()) + interval '30 days', :'g')), 'PT422 bad_policy', 'nor the same person again');
SELECT is(t.says('desk', format('approval.allow(''refund'', %L, %L, 3, ''$.amount <= 500'', endorses => %L, actor => ''user:ann'')', t.login('agent'), date_trunc('day', now()) + interval '30 days', :'g')), 'PT422 bad_policy', 'over whatever login');
SELECT is(t.says('ben', format('approval.allow(''refund'', %L, %L, 3, ''$.amount <= 500'', endorses => %L)', t.login('agent'), date_trunc('day', now()) + interval '30 days', approval.new_ulid())), 'PT404 not_found', 'nor a grant that is not there');
SELECT is(t.allow('ben', format('endorses => %L', :'g'), condition => '$.amount <= 500'), :'g'::approval.ulid, 'the second grantor');
SELECT is(t.try('500', more => $$requested_by => 'user:kim'$$), 'auto grant', 'two are enough');
SELECT t.row('admin', $$approval.remove_member('managers', 'user:ben')$$);
SELECT is(t.try('500', more => $$requested_by => 'user:kim'$$), 'review rule', 'one of whom leaves the group');
SELECT t.row('admin', $$approval.add_member('managers', 'user:ben')$$);
SELECT is(t.try('500', more => $$requested_by => 'user:kim'$$), 'auto grant', 'and comes back');
SELECT t.row('ann', format('approval.disallow(%L)', :'g'));

-- what ends all of them
CREATE FUNCTION t.ended(what text, statements text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.allow('ann', uses => 100);
	s text;
	answer text;
BEGIN
	answer := t.try('1', more => $q$requested_by => 'user:kim'$q$);
	FOREACH s IN ARRAY statements LOOP
		PERFORM t.row(split_part(s, ' ', 1), substr(s, strpos(s, ' ') + 1));
	END LOOP;
	RETURN answer || ', then ' || t.try('1', more => $q$requested_by => 'user:kim'$q$) || ', ' || t.void(i);
END
$$;
SELECT is(t.ended(what, statements), 'auto grant, then review rule, ' || why, what) FROM (VALUES
	('rules', ARRAY[$$admin approval.set_rules('refund', '[{"condition":"$.amount > 1000","mode":"deny"},{"condition":"$.amount > 100","mode":"review","approvals_needed":2,"reviewer_group":"managers"},{"mode":"review","reviewer_group":"desk"}]')$$], 'policy_changed'),
	('options', ARRAY[$$admin approval.update_tool('refund', '{"description":"x"}')$$], 'policy_changed'),
	('definition', ARRAY[$$admin approval.update_tool('refund', '{"definition":{"name":"refund"}}')$$, $$admin approval.update_tool('refund', '{"definition":null}')$$], 'policy_changed'),
	('freeze of the tool', ARRAY[$$alice approval.freeze_tool('refund')$$, $$admin approval.unfreeze_tool('refund')$$], 'freeze'),
	('freeze of the tenant', ARRAY[$$alice approval.freeze_tenant()$$, $$admin approval.unfreeze_tenant()$$], 'freeze'),
	('revoke_by', ARRAY[$$alice approval.revoke_by('user:ann')$$], 'revoked')) AS v(what, statements, why);
SELECT t.row('admin', $$approval.freeze_tool('other')$$) ->> 'verb' AS v \gset
SELECT t.allow('ann', uses => 100) AS g \gset
SELECT is(t.void(:'g'), 'holds', 'the freeze of another tool is none of its business');

-- a rejection in its scope, and one outside
CREATE FUNCTION t.reject(amount text, who text DEFAULT 'agent', more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := (t.row(who, format('approval.propose(%L, ''refund'', %L, at_least => ''review'' %s)', 'r_' || nextval('t.calls'), format('{"amount":%s}', amount), ', ' || nullif(more, ''))) ->> 'id');
BEGIN
	RETURN t.row('web', format('approval.reject(%L, %L, actor => ''user:ann'')', i, t.seen(i))) ->> 'status';
END
$$;
SELECT is(t.reject('60'), 'rejected', 'rejected, beyond the condition');
SELECT is(t.void(:'g'), 'holds', 'it holds');
SELECT is(t.reject('10', 'agent2'), 'rejected', 'rejected, of another login');
SELECT is(t.void(:'g'), 'holds', 'it holds');
SELECT is(t.reject('10'), 'rejected', 'rejected in its scope');
SELECT is(t.void(:'g'), 'rejection', 'one is enough');
SELECT is((SELECT voided_by FROM approval.grants WHERE id = :'g'), 'user:ann', 'by whom');

-- until
SELECT t.allow('ann', uses => 100) AS g \gset
UPDATE approval.grants SET until = clock_timestamp() - interval '1 second' WHERE id = :'g';
SELECT is(t.try('1', more => $$requested_by => 'user:kim'$$), 'review rule', 'the time is over');
SELECT is(t.void(:'g'), 'until', 'until');

-- not against a budget, and not for what is approved anyhow
SELECT t.row('admin', $$approval.register_tool('paid', 'action', '{"default_mode":"auto","expects":{"amount":"nonnegative"},"budgets":[{"name":"d","amount":"$.amount","limit":10,"within":"1 day"}]}')$$);
SELECT t.allow('ann', tool => 'paid') AS g \gset
SELECT is(t.try('10', tool => 'paid'), 'auto default', 'what policy approves needs no grant');
SELECT is(t.try('1', tool => 'paid'), 'review budget_exceeded', 'and a grant is no budget');
SELECT is((SELECT uses FROM approval.standing_grants WHERE id = :'g'), 0, 'not used');

-- policy at use
SELECT t.allow('ann', uses => 1) AS g \gset
SELECT t.row('agent', $$approval.propose('once', 'refund', '{"amount":1}', requested_by => 'user:kim')$$) ->> 'id' AS i \gset
SELECT is((t.stored(:'i')).gate_reason, 'grant', 'approved by a grant');
SELECT t.row('admin', $$approval.update_tool('refund', '{"description":"y"}')$$) ->> 'verb' AS v \gset
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"amount":1}'', ''run-1'')', :'i')), 'PT412 policy_changed', 'which does not outlive the policy that it was for');

-- A second look, with a tool of its own for each question.
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin, approval_approver TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('twin'));
	EXECUTE format('GRANT approval_requester TO %I', t.login('twin'));
	PERFORM approval.register_login(t.login('twin'), 'service', 'agent:refunds');
	PERFORM approval.register_login(t.login('agent'), 'service', 'agent:refunds');
END
$$;
CREATE FUNCTION t.tool(name text, options text, tenant text DEFAULT '') RETURNS text LANGUAGE sql
RETURN t.row('root', format('approval.register_tool(%L, ''action'', %L, tenant => %L)', name, options, tenant)) ->> 'tool';
CREATE FUNCTION t.ask(tool text, arguments text DEFAULT '{"amount":1}', more text DEFAULT '', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.propose(%L, %L, %L %s)', 'h_' || nextval('t.calls'), tool, arguments, ', ' || nullif(more, ''))) ->> 'id')::approval.ulid;
CREATE FUNCTION t.how(i approval.ulid) RETURNS text LANGUAGE sql RETURN (t.stored(i)).mode || ' ' || (t.stored(i)).gate_reason;

-- required, named by a person who may, and nothing else
SELECT t.tool('plain', '{}') \gset
SELECT is(t.says(who, format('approval.allow(''plain'', %L, %L %s)', t.login('agent'), date_trunc('day', now()) + interval '2 days', more)), answer, format('%s: %s', who, more)) FROM (VALUES
	('ann', ', NULL', '22004'), ('ann', ', 1, NULL', 'ok'), ('ann', ', 1000', 'ok'), ('ann', ', -1', '22023'), ('ann', $$, 1, requested_by => ''$$, '22023'),
	('ann', $$, 1, actor => 'user:ben'$$, 'PT403 actor_not_allowed'), ('ann', $$, 1, actor => 'policy'$$, 'PT403 actor_not_allowed'), ('desk', $$, 1, actor => 'policy'$$, 'PT403 actor_not_allowed'),
	('ann', $$, 1, endorses => '01ARZ3NDEKTSV4RRFFQ69G5FAV'$$, 'PT404 not_found'), ('ann', $$, 1, '$'$$, 'PT422 bad_policy'), ('ann', $$, 1, ''$$, 'PT422 bad_policy'),
	('ann', $$, 1, '$.a like_regex "x"'$$, 'PT422 bad_policy'), ('ann', $$, 1, '!($.a > 1)'$$, 'PT422 bad_policy'), ('ann', $$, 1, 'lax $.a == 1'$$, 'PT422 bad_policy'),
	('ann', $$, 1, server => 'elsewhere'$$, 'PT404 not_found'), ('ann', $$, 1, tenant => 'acme'$$, '42501'), ('ann', $$, 1, tenant => '*'$$, '42501')) AS v(who, more, answer);
SELECT count(t.row('ann', format('approval.disallow(%L)', id))) AS n FROM approval.grants WHERE voided_at IS NULL \gset
SELECT is(t.says('ann', 'approval.disallow(' || id || ')'), answer, 'disallow ' || id) FROM (VALUES ('NULL', '22004'), ('''01ARZ3NDEKTSV4RRFFQ69G5FAV''', 'PT404 not_found'), ('''x''', '22P02')) AS v(id, answer);
SELECT is(t.says(who, format('approval.disallow(%L)', (SELECT id FROM approval.grants LIMIT 1))), answer, who || ' disallows') FROM (VALUES ('agent', '42501'), ('runner', '42501'), ('auditor', '42501'), ('alice', 'ok'), ('admin', 'ok')) AS v(who, answer);
SELECT is((SELECT void_reason FROM approval.grants LIMIT 1), 'disallowed', 'what is void stays void for the first reason');

-- what it is for: this login, not its actor; and not what policy doubts
SELECT t.tool('doubts', '{"expects":{"amount":"nonnegative"},"roles":["refunds"],"rules":[{"condition":"$.vip == true","mode":"review"},{"condition":"$.amount > 900","mode":"deny","reason":"never"},{"mode":"review"}]}') \gset
DO $$ BEGIN PERFORM approval.register_login(t.login('agent'), 'service', 'agent:refunds', '{""}', '{refunds}'); END $$;
SELECT t.allow('ann', tool => 'doubts', uses => 100, condition => '$.amount <= 1000') AS g \gset
SELECT is(t.how(t.ask('doubts', arguments, more, who)), answer, what) FROM (VALUES
	('agent', '{"amount":50,"vip":true}', '', 'auto grant', 'a call in scope'),
	('agent', '{"amount":50}', '', 'review condition_unknown', 'a rule that cannot be evaluated: somebody looks'),
	('agent', '{"amount":950,"vip":false}', '', 'deny rule', 'a denial wins, though the grant would cover it'),
	('agent', '{"amount":950}', '', 'deny rule', 'also behind a rule that cannot be evaluated'),
	('agent', '{"vip":true}', '', 'review unexpected_arguments', 'without the amount'),
	('agent', '{"amount":-1,"vip":true}', '', 'review unexpected_arguments', 'with a negative one'),
	('agent', '{"amount":[1],"vip":true}', '', 'review unexpected_arguments', 'with a list of them'),
	('agent', '{"amount":1,"vip":true,"Vip":1}', '', 'review lookalike_keys', 'with keys that look alike'),
	('agent', '{"amount":1,"vip":true}', $$at_least => 'review'$$, 'review rule', 'when the proposer wants a person'),
	('agent', '{"amount":1,"vip":true}', $$at_least => 'auto'$$, 'auto grant', 'not when it asks for less than that'),
	('agent', '{"amount":1,"vip":true}', $$resource => 'r'$$, 'auto grant', 'whatever the resource'),
	('twin', '{"amount":1,"vip":true}', '', 'review wrong_role', 'another login with the same actor'),
	('gateway', '{"amount":1,"vip":true}', '', 'review wrong_role', 'or with none of the roles')) AS v(who, arguments, more, answer, what);
DO $$ BEGIN PERFORM approval.register_login(t.login('agent'), 'service', 'agent:refunds', '{""}', '{mails}'); END $$;
SELECT is(t.how(t.ask('doubts', '{"amount":50,"vip":true}')), 'review wrong_role', 'nor does a grant make up for a role that was taken away');
DO $$ BEGIN PERFORM approval.register_login(t.login('agent'), 'service', 'agent:refunds', '{""}', '{refunds}'); END $$;
SELECT is(t.how(t.ask('doubts', '{"amount":50,"vip":true}')), 'auto grant', 'which holds again when it is given back');

-- pinned definitions
SELECT t.tool('pinned', '{"definition":{"name":"pinned"}}') \gset
SELECT t.row('ann', format('approval.allow(''pinned'', %L, %L, 100)', t.login('gateway'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT is(t.how(t.ask('pinned', '{}', coalesce('definition => ' || quote_literal(d), ''), 'gateway')), answer, coalesce(d, 'no definition')) FROM (VALUES
	('{"name":"pinned"}', 'auto grant'), ('{"name":"pinned","icons":[],"_meta":{}}', 'auto grant'), ('{"name":"pinned","description":"approved by ann"}', 'review definition_changed'),
	('{"name":"other"}', 'review tool_renamed'), (NULL, 'review definition_missing')) AS v(d, answer);
SELECT t.row('admin', format('approval.review_tool(''pinned'', %L)', approval.tool_digest('{"name":"pinned","description":"approved by ann"}'))) ->> 'verb' AS v \gset
SELECT is(t.void(:'g'), 'policy_changed', 'a definition that is reviewed ends what was granted for the one before');
SELECT is(t.how(t.ask('pinned', '{}', $$definition => '{"name":"pinned","description":"approved by ann"}'$$, 'gateway')), 'review no_rule', 'so that somebody looks');
-- the same, with a row for every tenant beside it
SELECT t.tool('doubly', '{"definition":{"name":"doubly"},"expects":{"amount":"number"}}') \gset
SELECT t.tool('doubly', '{"approvals_needed":2}', '*') \gset
SELECT t.row('ann', format('approval.allow(''doubly'', %L, %L, 100)', t.login('gateway'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT t.row('ben', format('approval.allow(''doubly'', %L, %L, 100, endorses => %L)', t.login('gateway'), date_trunc('day', now()) + interval '2 days', :'g')) #>> '{after,id}' AS g \gset
SELECT is(t.how(t.ask('doubly', '{"amount":1}', $$definition => '{"name":"doubly"}'$$, 'gateway')), 'auto grant', 'two rows, two grantors');
SELECT is(t.how(t.ask('doubly', '{"amount":1}', $$definition => '{"name":"doubly","description":"evil"}'$$, 'gateway')), 'review definition_changed', 'not for a changed definition');
SELECT is(t.how(t.ask('doubly', '{"amount":1}', '', 'gateway')), 'review definition_missing', 'nor without one');
SELECT is(t.how(t.ask('doubly', '{"amount":"1"}', $$definition => '{"name":"doubly"}'$$, 'gateway')), 'review unexpected_arguments', 'nor for unexpected arguments');

-- uses: counted by request, over several grants
SELECT t.tool('uses', '{}') \gset
SELECT t.row('ann', format('approval.allow(''uses'', %L, %L, 2)', t.login('agent'), date_trunc('day', now()) + interval '3 days')) #>> '{after,id}' AS later \gset
SELECT t.row('ann', format('approval.allow(''uses'', %L, %L, 1)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS sooner \gset
SELECT is(t.row('agent', $$approval.propose('u1', 'uses', '{}')$$) ->> 'grant_id', :'sooner', 'the one that ends first is used first');
SELECT is(t.row('agent', $$approval.propose('u1', 'uses', '{}')$$) ->> 'grant_id', :'sooner', 'the same call again is the same request');
SELECT is(t.says('agent', $$approval.propose('u1', 'uses', '{"other":1}')$$), 'PT409 tool_call_conflict', 'and a conflict uses nothing');
SELECT is((SELECT array_agg(uses ORDER BY until) FROM approval.standing_grants WHERE tool = 'uses'), '{1,0}', 'one use in all');
SAVEPOINT s;
SELECT t.row('agent', $$approval.propose('u2', 'uses', '{}')$$) ->> 'grant_id' AS used \gset
ROLLBACK TO s;
SELECT is(:'used'::text, :'later'::text, 'then the other one');
SELECT is((SELECT array_agg(uses ORDER BY until) FROM approval.standing_grants WHERE tool = 'uses'), '{1,0}', 'a proposal that is rolled back uses nothing');
SELECT t.ask('uses') AS a \gset
SELECT t.row('agent', format('approval.cancel(%L)', :'a')) ->> 'status' AS s \gset
SELECT t.ask('uses') AS b \gset
SELECT t.row('alice', format('approval.revoke(%L)', :'b')) ->> 'status' AS s \gset
SELECT is(t.how(t.ask('uses')), 'review no_rule', 'what is cancelled or revoked is used all the same');
SELECT is((SELECT string_agg(void_reason || ' ' || uses || '/' || max_uses, ', ' ORDER BY until) FROM approval.standing_grants WHERE tool = 'uses'), 'used_up 1/1, used_up 2/2', 'as the view says');

-- the request that it made
SELECT t.tool('made', '{"use_within":"5 minutes","rules":[{"mode":"review","reason":"always","approvals_needed":1}]}') \gset
SELECT t.row('ann', format('approval.allow(''made'', %L, %L, 5)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT t.ask('made') AS i \gset
SELECT is(t.row('agent', format('approval.request_of(%L)', :'i')) ->> key, value, key) FROM (VALUES ('status', 'approved'), ('mode', 'auto'), ('cause', 'policy'), ('gate_reason', 'grant'), ('decided_by', 'policy'), ('grant_id', :'g'),
	('rule', '1'), ('rule_reason', 'always'), ('approvals', '0')) AS v(key, value);
SELECT is((t.stored(:'i')).use_by - (t.stored(:'i')).decided_at, interval '5 minutes', 'to be used in the time of the tool');
SELECT is((SELECT count(*) FROM approval.decisions WHERE request_id = :'i'), 0::bigint, 'nobody''s decision is made up');
SELECT is(t.says('runner', format('approval.consume(%L, ''made'', ''{"amount":2}'', ''r'')', :'i')), 'PT412 hash_mismatch', 'for these arguments');
SELECT is(t.says('runner', format('approval.consume(%L, ''made'', ''{"amount":1}'', ''r'')', :'i')), 'ok', 'once');
SELECT is(t.says('runner', format('approval.consume(%L, ''made'', ''{"amount":1}'', ''r'')', :'i')), 'PT409 already_consumed', 'and no more');
SELECT ok((approval.verify_request(:'i')).ok, 'the chain is whole');
SELECT t.ask('made') AS i \gset
SELECT t.row('ann', format('approval.disallow(%L)', :'g')) ->> 'verb' AS v \gset
SELECT is(t.says('runner', format('approval.consume(%L, ''made'', ''{"amount":1}'', ''r'')', :'i')), 'ok', 'what was approved before the grant was taken back stays approved');
SELECT is(t.how(t.ask('made')), 'review rule', 'nothing after that');

-- who sees it
SELECT is(t.says(who, '(SELECT * FROM approval.standing_grants)'), answer, who || ' looks at the grants') FROM (VALUES ('agent', '42501'), ('runner', '42501'), ('alice', 'ok'), ('auditor', 'ok'), ('admin', 'ok')) AS v(who, answer);
SELECT is((SELECT string_agg(verb || ' ' || actor || ' ' || coalesce(subject, tool, '-'), ', ' ORDER BY n) FROM approval.policy_audit WHERE coalesce(after, before) ->> 'id' = :'g'), 'allow user:ann made, disallow user:ann -', 'granting and taking back are in the audit');
SELECT ok((approval.verify_policy()).ok, 'whose chain is whole');
SELECT is((SELECT after ->> 'voided_by' || ' ' || (before ->> 'voided_by' IS NULL) FROM approval.policy_audit WHERE verb = 'disallow' AND after ->> 'id' = :'g'), 'user:ann true', 'with before and after');

-- endorsements: every word of it
SELECT t.tool('words', '{"approvals_needed":2}') \gset
SELECT t.tool('words2', '{"approvals_needed":2}') \gset
SELECT t.row('ann', format('approval.allow(''words'', %L, %L, 5, ''$.amount == 1'', requested_by => ''user:kim'')', t.login('desk'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT is(t.says('ben', format('approval.allow(%L, %L, %L, %s, %L, requested_by => %L, endorses => %L)', tool, t.login(login), date_trunc('day', now()) + days, uses, condition, requested_by, :'g')), answer, 'endorsing ' || what) FROM (VALUES
	('words2', 'desk', interval '2 days', 5, '$.amount == 1', 'user:kim', 'PT422 bad_policy', 'another tool'),
	('words', 'agent', interval '2 days', 5, '$.amount == 1', 'user:kim', 'PT422 bad_policy', 'another login'),
	('words', 'desk', interval '2 days 1 microsecond', 5, '$.amount == 1', 'user:kim', 'PT422 bad_policy', 'another time'),
	('words', 'desk', interval '2 days', 6, '$.amount == 1', 'user:kim', 'PT422 bad_policy', 'more uses'),
	('words', 'desk', interval '2 days', 4, '$.amount == 1', 'user:kim', 'PT422 bad_policy', 'fewer uses'),
	('words', 'desk', interval '2 days', 5, '$.amount == 2', 'user:kim', 'PT422 bad_policy', 'another condition'),
	('words', 'desk', interval '2 days', 5, NULL, 'user:kim', 'PT422 bad_policy', 'no condition'),
	('words', 'desk', interval '2 days', 5, '$.amount == 1', NULL, 'PT422 bad_policy', 'whoever asks'),
	('words', 'desk', interval '2 days', 5, '$.amount == 1', 'user:ben', 'PT403 self_approval', 'oneself'),
	('words', 'desk', interval '2 days', 5, 'strict $.amount==1.0', 'user:kim', 'PT422 bad_policy', 'another number, be it as great'),
	('words', 'desk', interval '2 days', 5, ' $ . amount==1 ', 'user:kim', 'ok', 'the same in another spelling'),
	('words', 'desk', interval '2 days', 5, '$.amount == 1', 'user:kim', 'PT422 bad_policy', 'twice')) AS v(tool, login, days, uses, condition, requested_by, answer, what);
SELECT is((SELECT grantors::text FROM approval.standing_grants WHERE id = :'g'), '{user:ann,user:ben}', 'two grantors');
SELECT is((SELECT count(*) FROM approval.policy_audit WHERE verb = 'allow' AND after ->> 'id' = :'g'), 2::bigint, 'two events');
SELECT t.row('ann', format('approval.disallow(%L)', :'g')) ->> 'verb' AS v \gset
SELECT is(t.says('admin', format('approval.allow(''words'', %L, %L, 5, ''$.amount == 1'', requested_by => ''user:kim'', endorses => %L)', t.login('desk'), date_trunc('day', now()) + interval '2 days', :'g')), 'PT422 bad_policy', 'what is void is endorsed no more');
SELECT t.row('ann', format('approval.allow(''words'', %L, %L, 5)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT t.row('ben', format('approval.allow(''words'', %L, %L, 5, endorses => %L)', t.login('agent'), date_trunc('day', now()) + interval '2 days', :'g')) ->> 'verb' AS v \gset
SELECT is(t.how(t.ask('words')), 'auto grant', 'two for two');
SELECT is(t.how(t.ask('words', more => $$on_behalf_of => 'user:ann'$$)), 'review no_rule', 'one of whom the agent acts for: one is left');
SELECT t.row('admin', $$approval.update_tool('words', '{"approvals_needed":3}')$$) ->> 'verb' AS v \gset
SELECT is(t.void(:'g'), 'policy_changed', 'when three are wanted it is void');

-- rejections: by a person, in scope
SELECT t.tool('scope', '{"cool_down":"1 hour","key_paths":["$.order"],"rules":[{"condition":"$.order == \"never\"","mode":"deny"},{"condition":"$.two == true","mode":"review","approvals_needed":2},{"mode":"review"}]}') \gset
CREATE FUNCTION t.after(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g approval.ulid := t.row('ann', format('approval.allow(''scope'', %L, %L, 5, ''$.amount == 1'')', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}';
	i approval.ulid;
	n text := nextval('t.calls');
	arguments text := format('{"amount":%s,"two":%s,"order":"%s"}', CASE what WHEN 'out of scope' THEN 2 ELSE 1 END, CASE what WHEN 'a veto' THEN 'true' ELSE 'false' END, CASE what WHEN 'a rule' THEN 'never' ELSE n END);
BEGIN
	i := t.ask('scope', arguments, CASE WHEN what IN ('a rule', 'a veto', 'out of scope') THEN '' ELSE 'at_least => ''review''' END);
	IF what = 'cancel' THEN
		PERFORM t.row('agent', format('approval.cancel(%L)', i));
	ELSIF what = 'expiry' THEN
		PERFORM set_config('session_replication_role', 'replica', true);
		UPDATE approval.requests SET expires_at = clock_timestamp() - interval '1 second' WHERE id = i;
		PERFORM set_config('session_replication_role', 'origin', true);
	ELSIF what IN ('approve', 'revoke') THEN
		PERFORM t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i)));
		IF what = 'revoke' THEN
			PERFORM t.row('bob', format('approval.revoke(%L)', i));
		END IF;
	ELSIF what <> 'a rule' THEN
		IF what = 'a veto' THEN
			PERFORM t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i)));
		END IF;
		PERFORM t.row('alice', format('approval.reject(%L, %L)', i, t.seen(i)));
	END IF;
	what := t.void(g) || ', ' || t.how(t.ask('scope', format('{"amount":1,"two":false,"order":"%s"}', n))) || ', ' || t.how(t.ask('scope', format('{"amount":1,"two":false,"order":"%s"}', n || '!')));
	PERFORM t.row('ann', format('approval.disallow(%L)', g));
	RETURN what;
END
$$;
SELECT is(t.after(what), answer, 'after ' || what) FROM (VALUES
	('approve', 'holds, auto grant, auto grant'), ('revoke', 'holds, auto grant, auto grant'), ('cancel', 'holds, auto grant, auto grant'), ('expiry', 'holds, auto grant, auto grant'),
	('a rule', 'holds, auto grant, auto grant'), ('out of scope', 'holds, deny cool_down, auto grant'), ('a rejection', 'rejection, deny cool_down, review rule')) AS v(what, answer);
SELECT is((SELECT voided_by || ' ' || (voided_at > granted_at) FROM approval.standing_grants WHERE void_reason = 'rejection' AND tool = 'scope'), 'user:alice true', 'the view says by whom and when');
SELECT t.tool('veto', '{"approvals_needed":2}') \gset
SELECT t.row('ann', format('approval.allow(''veto'', %L, %L, 5)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT t.ask('veto') AS i \gset
SELECT t.row('bob', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))) ->> 'status' AS s, t.row('alice', format('approval.reject(%L, %L)', :'i', t.seen(:'i'))) ->> 'cause' AS c \gset
SELECT is(:'c' || ' ' || t.void(:'g'), 'veto rejection', 'a veto is a rejection');

-- what ends it, and what does not
SELECT t.tool('ends', '{"reviewer_group":"night"}') \gset
SELECT t.tool('ends', '{}', '*') \gset
SELECT t.row('admin', $$approval.add_member('night', 'user:ann')$$) ->> 'verb' AS v \gset
CREATE FUNCTION t.ends(who text, statements text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g approval.ulid := t.row('ann', format('approval.allow(''ends'', %L, %L, 5)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}';
	s text;
	answer text := t.how(t.ask('ends'));
BEGIN
	FOREACH s IN ARRAY statements LOOP
		PERFORM t.row(who, 'approval.' || s);
	END LOOP;
	answer := answer || ', ' || t.how(t.ask('ends')) || ', ' || t.void(g);
	PERFORM t.row('ann', format('approval.disallow(%L)', g));
	RETURN answer;
END
$$;
SELECT is(t.ends(who, statements), answer, array_to_string(statements, ', ')) FROM (VALUES
	('root', ARRAY[$$update_tool('ends', '{"description":"x"}', tenant => '*')$$], 'auto grant, review no_rule, policy_changed'),
	('root', ARRAY[$$set_rules('ends', '[]', tenant => '*')$$], 'auto grant, review no_rule, policy_changed'),
	('root', ARRAY[$$freeze_tool('ends', tenant => '*')$$, $$unfreeze_tool('ends', tenant => '*')$$], 'auto grant, review no_rule, freeze'),
	('root', ARRAY[$$freeze_tenant(tenant => '*')$$, $$unfreeze_tenant(tenant => '*')$$], 'auto grant, review no_rule, freeze'),
	('root', ARRAY[$$retire_tool('ends', tenant => '')$$, $$register_tool('ends', 'action', '{"reviewer_group":"night"}', tenant => '')$$], 'auto grant, review no_rule, policy_changed'),
	('admin', ARRAY[$$add_member('night', 'user:ann')$$, $$remove_member('night', 'user:ann')$$, $$add_member('night', 'user:ann')$$], 'auto grant, auto grant, holds'),
	('admin', ARRAY[$$freeze_tool('ends', server => 'mcp')$$], 'auto grant, auto grant, holds'),
	('admin', ARRAY[$$update_tool('plain', '{"description":"x"}')$$], 'auto grant, auto grant, holds'),
	('admin', ARRAY[$$add_member('night', 'user:zoe')$$], 'auto grant, auto grant, holds')) AS v(who, statements, answer);
SELECT is(t.says('ann', format('approval.allow(''ends'', %L, %L, 1)', t.login('agent'), date_trunc('day', now()) + interval '2 days')), 'ok', 'a member of the group grants');
SELECT t.row('admin', $$approval.remove_member('night', 'user:ann')$$) ->> 'verb' AS v \gset
SELECT is(t.how(t.ask('ends')), 'review no_rule', 'who has left it: the grant is worth nothing');
SELECT is(t.says('ann', format('approval.allow(''ends'', %L, %L, 1)', t.login('agent'), date_trunc('day', now()) + interval '2 days')), 'PT403 not_eligible', 'and no other is made');
SELECT t.row('admin', $$approval.add_member('night', 'user:ann')$$) ->> 'verb' AS v \gset
SELECT is(t.how(t.ask('ends')), 'auto grant', 'who is back: it holds again');
SELECT is(t.says('ann', format('approval.allow(''other'', %L, %L, 1)', t.login('agent'), date_trunc('day', now()) + interval '2 days')), 'PT404 not_found', 'a tool that nobody registered is not granted');
SELECT t.row('alice', $$approval.freeze_tool('plain')$$) ->> 'verb' AS v \gset
SELECT is(t.says('ann', format('approval.allow(''plain'', %L, %L, 1)', t.login('agent'), date_trunc('day', now()) + interval '2 days')), 'PT403 tool_frozen', 'nor a frozen one');
SELECT t.row('admin', $$approval.unfreeze_tool('plain')$$) ->> 'verb' AS v, t.row('admin', $$approval.retire_tool('plain')$$) ->> 'verb' AS w \gset
SELECT is(t.says('ann', format('approval.allow(''plain'', %L, %L, 1)', t.login('agent'), date_trunc('day', now()) + interval '2 days')), 'PT403 tool_retired', 'nor a retired one');

-- a grantor whose session was stolen
SELECT t.tool('stolen', '{}') \gset
SELECT t.row('ann', format('approval.allow(''stolen'', %L, %L, 5)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT t.ask('stolen') AS i \gset
SELECT is(t.says('bob', $$approval.revoke_by('user:ann', 'phished')$$), 'ok', 'what ann approved is taken back');
SELECT is(t.void(:'g'), 'revoked', 'and what she granted');
SELECT is(t.says('runner', format('approval.consume(%L, ''stolen'', ''{"amount":1}'', ''r'')', :'i')), 'PT409 not_approved', 'and what was approved under it');

-- a grant for every tenant
SELECT t.tool('world', '{}', '*') \gset
SELECT t.as('root', format('approval.allow(''world'', %L, %L, 5, tenant => ''*'')', t.login('agent'), date_trunc('day', now()) + interval '2 days')) AS a \gset
SELECT ok((:'a'::t.answer).code <> '00000' OR t.how(t.ask('world')) = 'auto grant', 'is refused, or covers something');

-- somebody else whose session was stolen
SELECT t.tool('honest', '{}') \gset
SELECT t.row('ann', format('approval.allow(''honest'', %L, %L, 5)', t.login('agent'), date_trunc('day', now()) + interval '2 days')) #>> '{after,id}' AS g \gset
SELECT is(t.how(t.ask('honest')), 'auto grant', 'a grant of ann');
SELECT is(t.says('alice', $$approval.revoke_by('user:mallory')$$), 'ok', 'what mallory approved is taken back');
SELECT is(t.void(:'g'), 'holds', 'the view says that the grant of ann holds');
SELECT is(t.how(t.ask('honest')), 'auto grant', 'and it does');
SELECT * FROM finish();
ROLLBACK;
