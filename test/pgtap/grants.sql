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
SELECT * FROM finish();
ROLLBACK;
