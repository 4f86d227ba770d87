-- Tenants: another tenant's request is no different from one that is missing,
-- and nothing but approval.logins opens a tenant.
\set ns tenants
\ir include/gate.psql
SELECT no_plan();

DO $$
DECLARE
	r record;
BEGIN
	-- acme's and globex's people, and one of each kind who has both or all
	FOR r IN SELECT 'acme_' || role AS who, role, ARRAY['acme'] AS tenants FROM unnest(ARRAY['requester', 'approver', 'executor', 'auditor', 'admin']) AS role
			 UNION ALL SELECT 'globex_' || role, role, ARRAY['globex'] FROM unnest(ARRAY['requester', 'approver', 'executor', 'auditor', 'admin']) AS role
			 UNION ALL SELECT 'both_' || role, role, ARRAY['acme', 'globex'] FROM unnest(ARRAY['approver', 'auditor']) AS role
			 UNION ALL SELECT 'all_' || role, role, ARRAY['*'] FROM unnest(ARRAY['requester', 'approver', 'executor', 'auditor']) AS role
	LOOP
		EXECUTE format('CREATE ROLE %I LOGIN', t.login(r.who));
		EXECUTE format('GRANT %I TO %I', 'approval_' || r.role, t.login(r.who));
		PERFORM approval.register_login(t.login(r.who), 'person', 'user:' || r.who, r.tenants);
	END LOOP;
END
$$;

CREATE FUNCTION t.of(who text, state text) RETURNS approval.ulid LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.proposed('conversation_id => ''conv''', who || '_requester');
BEGIN
	IF state <> 'pending' THEN
		PERFORM t.row(who || '_approver', format('approval.approve(%L, %L)', i, t.seen(i)));
	END IF;
	IF state = 'in_flight' THEN
		PERFORM t.consumed(i, who => who || '_executor');
	END IF;
	RETURN i;
END
$$;

SELECT is(t.row('acme_requester', $$approval.propose('one', 'refund', '{}')$$) ->> 'tenant', 'acme', 'the only tenant of a login needs no naming');
SELECT is(t.row('agent', $$approval.propose('one', 'refund', '{}')$$) ->> 'tenant', '', 'a login without tenants has the empty one');
SELECT is(t.says('globex_requester', $$approval.propose('one', 'refund', '{"another":1}')$$), 'ok', 'tool call ids are a tenant''s own');
SELECT isnt(approval.hash_action('refund', '{}', tenant => 'acme'), approval.hash_action('refund', '{}', tenant => 'globex'), 'the tenant is hashed');

-- Every verb, every state: not found, in the same words.
CREATE TABLE t.verb AS SELECT * FROM (VALUES
	('approver', 'approval.decide(%1$L, ''approve'', %2$L)'), ('approver', 'approval.decide(%1$L, ''reject'', %2$L)'),
	('approver', 'approval.try_decide(%1$L, ''approve'', %2$L)'), ('approver', 'approval.approve(%1$L, %2$L)'), ('approver', 'approval.reject(%1$L, %2$L)'),
	('approver', 'approval.edit(%1$L, %2$L, ''{}'')'), ('approver', 'approval.revoke(%1$L)'), ('approver', 'approval.reconcile(%1$L, ''succeeded'')'),
	('approver', 'approval.disallow(%1$L)'), ('approver', 'approval.claim(%1$L)'), ('approver', 'approval.release(%1$L)'),
	('approver', 'approval.assign(%1$L, ''user:x'')'), ('approver', 'approval.extend(%1$L, ''1 hour'')'), ('approver', 'approval.comment(%1$L, ''x'')'),
	('requester', 'approval.comment(%1$L, ''x'')'),
	('approver', 'approval.request_of(%1$L)'), ('approver', 'approval.verify_request(%1$L)'), ('approver', 'approval.request_for(''conv'', %4$L)'),
	('requester', 'approval.cancel(%1$L)'), ('requester', 'approval.request_of(%1$L)'), ('requester', 'approval.request_for(''conv'', %4$L)'),
	('requester', 'approval.propose(''retry'', ''refund'', ''{}'', retry_of => %1$L)'),
	('executor', 'approval.consume(%1$L, ''refund'', ''{"order":"A-1","amount":50}'', ''run-1'')'),
	('executor', 'approval.try_consume(%1$L, ''refund'', ''{"order":"A-1","amount":50}'', ''run-1'')'),
	('executor', 'approval.consume(%1$L, ''x'', ''{}'', ''run-1'')'),
	('executor', 'approval.heartbeat(%1$L, ''run-1'', %3$L)'), ('executor', 'approval.resume(%1$L, ''run-1'', %3$L)'),
	('executor', 'approval.complete(%1$L, ''run-1'', %3$L, ''succeeded'')'), ('executor', 'approval.try_complete(%1$L, ''run-1'', %3$L, ''succeeded'')'),
	('executor', 'approval.request_of(%1$L)'), ('approver', 'approval.wait(%1$L, ''0'')'), ('requester', 'approval.wait(%1$L, ''0'')'), ('auditor', 'approval.request_of(%1$L)'), ('auditor', 'approval.verify_request(%1$L)'),
	('admin', 'approval.request_of(%1$L)'), ('admin', 'approval.verify_request(%1$L)')) AS v(role, call);
SELECT is_empty($$SELECT proname FROM pg_proc p WHERE pronamespace = 'approval'::regnamespace AND pronargs > 0 AND 'approval.ulid'::regtype = proargtypes[0]
	AND NOT proisstrict AND NOT EXISTS (SELECT FROM t.verb WHERE call LIKE 'approval.' || proname || '(%')$$, 'no verb that takes an id is left out');

CREATE TABLE t.theirs AS SELECT state, t.of('globex', state) AS id FROM unnest(ARRAY['pending', 'approved', 'in_flight']) AS state;
CREATE TABLE t.said AS
SELECT v.role, v.call, x.state, x.id, a.* FROM t.verb v, t.theirs x,
	LATERAL t.as('acme_' || v.role, format(v.call, x.id, t.seen(x.id), t.token(x.id), (t.stored(x.id)).tool_call_id)) AS a;
-- ids of nothing, one each
CREATE TABLE t.missing AS
SELECT v.role, v.call, n.id, a.* FROM t.verb v, LATERAL (SELECT approval.new_ulid() AS id WHERE v.call IS NOT NULL) AS n,
	LATERAL t.as('acme_' || v.role, format(v.call, n.id, repeat('0', 64), repeat('0', 64), 'no-call')) AS a;
SELECT is(replace(concat_ws(E'\n', s.code, s.message, s.hint, s.detail, s.rows #- '{0,server_now}'), s.id::text, 'ID'),
		  replace(concat_ws(E'\n', m.code, m.message, m.hint, m.detail, m.rows #- '{0,server_now}'), m.id::text, 'ID'),
		  format('%s, %s: %s', s.role, s.state, s.call))
  FROM t.said s JOIN t.missing m USING (role, call) ORDER BY s.call, s.role, s.state;
SELECT is_empty($$SELECT * FROM t.said WHERE coalesce(detail::json ->> 'reason', rows #>> '{0,reason}') <> 'not_found'$$, 'and that is not_found');
SELECT is_empty($$SELECT id FROM t.theirs WHERE t.events(id) <> CASE state WHEN 'pending' THEN 1 WHEN 'approved' THEN 2 ELSE 3 END$$, 'nothing has happened to them');
SELECT is((SELECT count(*) FROM approval.events WHERE actor LIKE 'user:acme%' AND tenant <> 'acme'), 0::bigint, 'nobody from acme is in another tenant''s trail');
SELECT is((SELECT count(*) FROM approval.refusal_log WHERE login LIKE 'tenants_acme%' AND tenant <> 'acme'), 0::bigint, 'nor in its refusals');
SELECT is((t.as('acme_approver', 'approval.revoke_by(''user:globex_approver'')')).rows, NULL, 'revoke_by stays in its tenant');

-- Naming a tenant only chooses; the answer to a foreign one does not say whether it exists.
CREATE FUNCTION t.whole(who text, call text) RETURNS text LANGUAGE sql RETURN (t.as(who, call))::text;
SELECT is(t.says('acme_' || role, format(regexp_replace(call, '\)$', ', tenant => ''globex'')'), id, t.seen(id), t.token(id), (t.stored(id)).tool_call_id)), '42501', format('%s names globex: %s', role, call))
  FROM t.verb, t.theirs WHERE state = 'in_flight';
SELECT is(t.whole('acme_approver', format('approval.request_of(%L, ''globex'')', id)), t.whole('acme_approver', format('approval.request_of(%L, ''nothing'')', id)),
	'a tenant that does not exist answers the same') FROM t.theirs WHERE state = 'pending';
SELECT is(t.says('acme_approver', format('approval.request_of(%L, %L)', id, tenant)), '42501', format('acme names %L', tenant))
  FROM t.theirs, unnest(ARRAY['', '*', 'ACME', 'acme ', 'globex']) AS tenant WHERE state = 'pending';
SELECT is(t.says(who, format('%s, tenant => ''globex'')', call)), '42501', call)
  FROM (VALUES ('acme_requester', 'approval.propose(''p'', ''refund'', ''{}'''), ('acme_requester', 'approval.pending(''conv'''), ('acme_requester', 'approval.outcomes(''conv'''),
	('acme_requester', 'approval.channel(''tenant'''), ('acme_requester', 'approval.channel(''conversation'', ''conv'''), ('acme_approver', 'approval.revoke_by(''x''')) AS v(who, call);

-- The setting opens nothing either.
SELECT t.of('acme', 'pending') AS mine \gset
SELECT id AS theirs FROM t.theirs WHERE state = 'pending' \gset
CREATE FUNCTION t.with_setting(who text, tenant text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	PERFORM set_config('approval.tenant', tenant, true);
	said := t.says(who, call);
	PERFORM set_config('approval.tenant', '', true);
	RETURN said;
END
$$;
SELECT is(t.with_setting(who, tenant, format('approval.request_of(%L)', id)), answer, format('%s with approval.tenant = %L', who, tenant))
  FROM (VALUES ('acme_approver', 'globex', :'theirs', '42501'), ('acme_approver', '*', :'theirs', '42501'), ('acme_approver', 'acme', :'mine', 'ok'),
			   ('acme_approver', 'acme', :'theirs', 'PT404 not_found'), ('both_approver', 'acme', :'mine', 'ok'), ('both_approver', 'globex', :'theirs', 'ok'),
			   ('both_approver', 'globex', :'mine', 'PT404 not_found'), ('both_approver', '', :'mine', '22004'), ('all_approver', 'globex', :'theirs', 'ok'),
			   ('all_approver', '', :'theirs', 'PT404 not_found'), ('alice', 'globex', :'theirs', '42501')) AS v(who, tenant, id, answer);
SELECT is(t.with_setting('acme_auditor', 'globex', format('(SELECT count(*) OVER () FROM approval.history WHERE tenant = ''globex'')')), 'ok', 'a view takes no notice of the setting');
SELECT is((t.as('acme_auditor', '(SELECT count(*) FROM approval.history WHERE tenant <> ''acme'')')).rows #>> '{0,count}', '0', 'and shows nothing more');
SELECT is(t.row('both_approver', format('approval.request_of(%L, ''globex'')', :'theirs')) ->> 'tenant', 'globex', 'who has both names one');
SELECT is(t.row('all_approver', format('approval.request_of(%L, ''acme'')', :'mine')) ->> 'tenant', 'acme', 'and who has all');
SELECT is(t.row('all_requester', $$approval.propose('new', 'refund', '{}', tenant => 'initech')$$) ->> 'tenant', 'initech', 'also a new one');
SELECT is(t.says('all_requester', $$approval.propose('new', 'refund', '{}', tenant => '*')$$), '42501', 'but * is none');

-- Views show one's tenants.
CREATE FUNCTION t.shown(who text, view text) RETURNS text[] LANGUAGE sql
RETURN (SELECT array_agg(x ->> 'tenant' ORDER BY x ->> 'tenant') FROM jsonb_array_elements((t.as(who, format('(SELECT DISTINCT tenant FROM approval.%I)', view))).rows) x);
SELECT t.row(who || '_executor', $$approval.try_consume('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'refund', '{}', 'x')$$) ->> 'ok' AS refused FROM (VALUES ('acme'), ('globex')) AS v(who) \g /dev/null
SELECT t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'status' AS s FROM t.proposed() AS i \gset
SELECT t.proposed() AS i \gset
SELECT t.row('runner', $$approval.try_consume('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'refund', '{}', 'x')$$) ->> 'ok' AS refused \gset
SELECT is(t.row('all_approver', format('approval.approve(%L, %L, tenant => ''acme'')', :'mine', t.seen(:'mine'))) ->> 'decided_by', 'user:all_approver', 'a decision in acme');
SELECT t.of('acme', 'pending') AS mine \gset
SELECT is(t.shown(who, view), CASE WHEN who LIKE 'acme%' THEN '{acme}' WHEN who LIKE 'globex%' THEN '{globex}' WHEN who LIKE 'both%' THEN '{acme,globex}'
		WHEN who LIKE 'all%' AND view IN ('votes', 'refusals') THEN '{"",acme,globex}' WHEN who LIKE 'all%' THEN '{"",acme,globex,initech}'
		ELSE '{""}' END::text[], format('%s shows %s', view, who))
  FROM unnest(ARRAY['acme_auditor', 'globex_auditor', 'both_auditor', 'all_auditor', 'acme_approver', 'auditor']) AS who,
	   unnest(ARRAY['inbox', 'history', 'audit', 'votes', 'refusals']) AS view;
SELECT is(t.shown(who, 'history'), shown::text[], format('history shows %s its own', who))
  FROM (VALUES ('acme_requester', '{acme}'), ('agent', '{""}'), ('agent2', NULL), ('all_requester', '{initech}')) AS v(who, shown);
SELECT is((t.as('acme_auditor', $$(SELECT count(*) FROM approval.audit a JOIN approval.history h ON h.id = a.request_id WHERE a.tenant <> h.tenant OR a.tenant <> 'acme')$$)).rows #>> '{0,count}', '0',
	'an audit trail is of one tenant');
-- Nothing gets in before the filter.
CREATE FUNCTION t.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$BEGIN IF $1 LIKE '%globex%' THEN RAISE EXCEPTION 'leaked'; END IF; RETURN true; END$$;
SELECT is(t.says('acme_auditor', format('(SELECT 1 FROM approval.%I WHERE t.leak(tenant))', view)), 'ok', view || ' filters by tenant first')
  FROM unnest(ARRAY['inbox', 'history', 'audit', 'votes', 'refusals']) AS view;

SELECT * FROM finish();
ROLLBACK;
