-- Who is calling: the login and nothing else decides whom one speaks for.
\set ns callers
\ir include/gate.psql
SELECT no_plan();

-- An agent cannot ask in another's name.
SELECT is(t.says(who, format('approval.propose(%L, ''refund'', ''{}'', requested_by => %L)', 'c' || row_number() OVER (), actor)), answer, format('%s proposes as %L', who, actor))
  FROM (VALUES ('agent', 'agent:refunds', 'ok'), ('agent', 'agent:mails', 'PT403 actor_not_allowed'), ('agent', 'user:alice', 'PT403 actor_not_allowed'),
			   ('agent', 'policy', 'PT403 actor_not_allowed'), ('agent', '', '22023'), ('agent', repeat('x', 256), '22023'),
			   ('gateway', 'gateway:mcp', 'ok'), ('gateway', 'user:x', 'PT403 actor_not_allowed')) AS v(who, actor, answer);
GRANT approval_requester TO callers_web, callers_portal, callers_carol;
SELECT is(t.row(who, format('approval.propose(%L, ''refund'', ''{}'', requested_by => %L)', 'd' || row_number() OVER (), actor)) ->> 'requested_by', stored, format('%s as %L', who, actor))
  FROM (VALUES ('web', 'user:x', 'user:x'), ('web', NULL, 'login:callers_web'), ('portal', NULL, 'app:portal'), ('carol', NULL, 'login:callers_carol')) AS v(who, actor, stored);
SELECT is(t.says('web', format('approval.propose(''e'', ''refund'', ''{}'', requested_by => %L)', actor)), 'PT403 actor_not_allowed', format('not even a delegate is %s', actor))
  FROM unnest(ARRAY['policy', 'login:callers_agent', 'login:']) AS actor;

-- A requester sees and touches what its own login proposed.
SELECT t.proposed('conversation_id => ''conv''') AS id \gset
SELECT (t.stored(:'id')).tool_call_id AS call \gset
SELECT is(t.says(who, c), answer, format('%s: %s', who, left(c, 30)))
  FROM (VALUES ('agent', 'ok'), ('agent2', 'PT404 not_found')) AS v(who, answer),
	   unnest(ARRAY[format('approval.request_of(%L)', :'id'), format('approval.request_for(''conv'', %L)', :'call')]) AS c;
SELECT is(t.says('agent2', format('approval.cancel(%L)', :'id')), 'PT404 not_found', 'another login cannot cancel it');
SELECT is(t.detail('agent2', format('approval.%s(%L)', f, :'id')), t.detail('agent2', format('approval.%s(%L)', f, fake)) || jsonb_build_object('id', :'id'),
	f || ': as if it were not there')
  FROM (VALUES ('cancel'), ('request_of')) AS v(f), approval.new_ulid() AS fake;
SELECT is(jsonb_array_length(coalesce((t.as(who, c)).rows, '[]')), rows, format('%s: %s', who, left(c, 40)))
  FROM (VALUES ('agent', 1), ('agent2', 0), ('alice', 1), ('runner', 1), ('auditor', 1), ('admin', 1)) AS v(who, rows),
	   unnest(ARRAY['approval.pending(''conv'')', 'approval.outcomes(''conv'')', '(SELECT * FROM approval.history WHERE conversation_id = ''conv'')']) AS c;
SELECT is((t.as('auditor', format('(SELECT * FROM approval.%s WHERE id = %L)', v, :'id'))).rows -> 0 ->> 'id', :'id', 'an auditor reads ' || v) FROM unnest(ARRAY['inbox', 'history']) AS v;

-- reply_to is for the requester and for executors.
SELECT t.proposed('reply_to => ''https://n8n/resume/1''') AS id \gset
SELECT is(t.row(who, format('approval.request_of(%L)', :'id')) ->> 'reply_to', shown, 'reply_to: ' || who)
  FROM (VALUES ('agent', 'https://n8n/resume/1'), ('runner', 'https://n8n/resume/1'), ('alice', NULL), ('auditor', NULL), ('admin', NULL)) AS v(who, shown);
SELECT is(t.row('alice', format('approval.approve(%L, %L)', :'id', t.seen(:'id'))) ->> 'reply_to', NULL, 'reply_to: not in the answer to a decision');
SELECT is_empty($$SELECT table_name FROM information_schema.columns WHERE table_schema = 'approval' AND column_name IN ('reply_to', 'token_hash')
	AND table_name IN ('inbox', 'history', 'audit', 'votes', 'refusals')$$, 'and in no view');

-- The login counts, not the role it takes on or a function it goes through.
CREATE FUNCTION t.through_definer(request approval.ulid, seen approval.digest) RETURNS approval.request LANGUAGE plpgsql SECURITY DEFINER AS
'BEGIN RETURN approval.approve(request, seen); END';
GRANT approval_approver TO callers_bob;
ALTER FUNCTION t.through_definer OWNER TO callers_bob;
SELECT t.proposed() AS id \gset
SELECT is(t.row('carol', format('t.through_definer(%L, %L)', :'id', t.seen(:'id'))) ->> 'decided_by', 'login:callers_carol', 'through a SECURITY DEFINER function of bob carol is carol');
SELECT is((SELECT (login, role)::text FROM approval.events WHERE request_id = :'id' AND n = 2), '(callers_carol,callers_bob)', 'the event knows both');
SELECT t.row('admin', $$approval.register_login('callers_agent', 'person', 'user:agent')$$) AS r \gset
SELECT t.proposed() AS id \gset
SELECT is(t.says('agent', format('t.through_definer(%L, %L)', :'id', t.seen(:'id'))), 'PT403 self_approval', 'and an agent that proposed is the one that proposed');

-- register_login.
SELECT is(t.says('admin', format('approval.register_login(%s)', args)), answer, 'register_login(' || args || ')')
  FROM (VALUES ('''callers_carol'', ''person'', ''user:carol''', 'ok'), ('''callers_carol'', ''service''', 'ok'),
			   ('''callers_carol'', ''person'', ''login:callers_carol''', 'ok'), ('''callers_carol'', ''person'', ''login:callers_bob''', '22023'),
			   ('''callers_carol'', ''person'', ''policy''', '22023'), ('''callers_carol'', ''admin''', '22023'), ('''callers_carol'', ''''', '22023'),
			   ('''callers_carol'', ''person'', ''''', '22023'), ('''callers_none'', ''person''', '42704'), (''''', ''person''', '22023'),
			   ('''callers_carol'', ''person'', NULL, ''{}''', '22023'), ('''callers_carol'', ''person'', NULL, ''{a,b}''', 'ok'),
			   ('''callers_carol'', ''person'', NULL, ''{*}''', 'ok')) AS v(args, answer);
SELECT is((SELECT (kind, actor, tenants, registered_by)::text FROM approval.logins WHERE login = 'callers_carol'), '(person,,{*},callers_admin)', 'the last registration stands');
SELECT is(t.says(who, $$approval.register_login('callers_agent', 'delegate')$$), '42501', who || ' registers nobody')
  FROM unnest(ARRAY['agent', 'alice', 'web', 'runner', 'auditor', 'nobody']) AS who;
-- a change is heard at once by a session that has read the old row
SELECT is(t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'decided_by', 'user:bob', 'bob was user:bob') FROM t.proposed() AS i;
SELECT t.row('admin', $$approval.register_login('callers_bob', 'person', 'user:robert')$$) AS r \gset
SELECT is(t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'decided_by', 'user:robert', 'and is user:robert now') FROM t.proposed() AS i;
UPDATE approval.logins SET actor = 'user:bob' WHERE login = 'callers_bob';
SELECT is(t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'decided_by', 'user:bob', 'also if an owner wrote it') FROM t.proposed() AS i;
DELETE FROM approval.logins WHERE login = 'callers_bob';
SELECT is(t.row('bob', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'decided_by', 'login:callers_bob', 'or removed it') FROM t.proposed() AS i;
ALTER ROLE callers_bob RENAME TO callers_rob;
SELECT is(t.row('rob', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'decided_by', 'login:callers_rob', 'a renamed role is heard, too') FROM t.proposed() AS i;

SELECT * FROM finish();
ROLLBACK;
