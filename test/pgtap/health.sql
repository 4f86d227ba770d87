-- The view health: each thing that is wrong is named while it is wrong, and
-- not before and after.  (The notification queue: test/t/018_health.pl.)
\set ns health
\ir include/gate.psql
SELECT no_plan();

-- what health says of a subject, to an administrator
CREATE FUNCTION t.problems(about text, who text DEFAULT 'admin') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	me text := session_user;
	said text;
BEGIN
	PERFORM set_config('session_authorization', t.login(who), true);
	SELECT string_agg(h.severity || ' ' || h.kind, ', ' ORDER BY h.kind, h.severity) INTO said FROM approval.health h
	 WHERE h.subject = about OR (about = '' AND h.subject IS NULL);
	PERFORM set_config('session_authorization', me, true);
	RETURN coalesce(said, 'nothing');
END
$$;
CREATE FUNCTION t.of_login(who text) RETURNS text LANGUAGE sql RETURN t.problems(t.login(who));

SELECT set_eq('SELECT column_name::text FROM information_schema.columns WHERE table_schema = ''approval'' AND table_name = ''health''',
	'{severity,kind,subject,problem,since,what_to_do}'::text[], 'its columns');

-- Logins that do one thing each.
SELECT is(t.of_login(who), 'nothing', who || ' does one thing')
  FROM unnest('{agent,alice,bob,carol,web,runner,auditor,admin,nobody}'::text[]) AS who;

-- Both sides in one login, also by way of a group, and not of use yet (NOINHERIT).
SELECT is(t.of_login('gateway'), 'error roles', 'requester and approver');
CREATE ROLE health_both NOLOGIN;
GRANT approval_approver TO health_both;
GRANT health_both TO health_agent;
ALTER ROLE health_agent NOINHERIT;
SELECT is(t.of_login('agent'), 'error roles', 'requester and, by a group, approver');
REVOKE health_both FROM health_agent;
ALTER ROLE health_agent INHERIT;
SELECT is(t.of_login('agent'), 'nothing', 'and not any more');

-- Powers.
CREATE FUNCTION t.with(given text, taken text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	EXECUTE given;
	said := t.of_login('nobody');
	EXECUTE taken;
	RETURN said || ', then ' || t.of_login('nobody');
END
$$;
SELECT is(t.with(given, taken), said || ', then nothing', given) FROM (VALUES
	('GRANT pg_write_all_data TO health_nobody', 'REVOKE pg_write_all_data FROM health_nobody', 'error powers'),
	('GRANT pg_execute_server_program TO health_nobody', 'REVOKE pg_execute_server_program FROM health_nobody', 'error powers'),
	('GRANT pg_write_server_files TO health_nobody', 'REVOKE pg_write_server_files FROM health_nobody', 'error powers'),
	('GRANT approval_owner TO health_nobody', 'REVOKE approval_owner FROM health_nobody', 'error powers'),
	('ALTER ROLE health_nobody BYPASSRLS', 'ALTER ROLE health_nobody NOBYPASSRLS', 'warning powers'),
	('ALTER ROLE health_nobody CREATEROLE', 'ALTER ROLE health_nobody NOCREATEROLE', 'warning powers'),
	('GRANT approval_approver TO health_nobody WITH ADMIN OPTION', 'REVOKE approval_approver FROM health_nobody', 'warning powers'),
	('ALTER ROLE health_nobody SUPERUSER', 'ALTER ROLE health_nobody NOSUPERUSER', 'nothing')) AS v(given, taken, said);
ALTER ROLE health_alice SUPERUSER;
SELECT is(t.of_login('alice'), 'error powers', 'a registered login that is a superuser');
ALTER ROLE health_alice NOSUPERUSER;
GRANT pg_write_all_data TO health_both;
SELECT is(t.of_login('both'), 'nothing', 'a role that cannot log in');

-- Logins that several agents share.
CREATE ROLE health_shared LOGIN;
GRANT approval_requester TO health_shared;
SELECT is(t.of_login('shared'), 'warning logins', 'a requester that is not registered');
SELECT approval.register_login('health_shared', 'service', 'agent:all', '{*}') \g /dev/null
CREATE ROLE health_everywhere LOGIN;
GRANT approval_admin TO health_everywhere;
SELECT approval.register_login('health_everywhere', 'person', 'user:root', '{*}') \g /dev/null
SELECT is(t.problems('health_shared', 'everywhere'), 'warning logins', 'a requester of every tenant');
SELECT approval.register_login('health_shared', 'service', 'agent:all', '{acme,globex}') \g /dev/null
SELECT is(t.problems('health_shared', 'everywhere'), 'warning logins', 'a requester of two tenants');
SELECT is(t.problems('health_shared'), 'nothing', 'which are not those of the other administrator');
SELECT approval.register_login('health_shared', 'delegate', NULL, '{acme,globex}') \g /dev/null
SELECT is(t.problems('health_shared', 'everywhere'), 'nothing', 'an application names who acts');
SELECT approval.register_login('health_shared', 'service', 'agent:all', '{acme}') \g /dev/null
SELECT is(t.problems('health_shared', 'everywhere'), 'nothing', 'a requester of one tenant');

-- Settings.
SELECT is(t.problems('approval.separate_logins'), 'nothing', 'separate_logins is on');
SET LOCAL approval.separate_logins = off;
SELECT is(t.problems('approval.separate_logins'), 'error settings', 'separate_logins is off');
SET LOCAL approval.separate_logins = on;

-- The worker (also with the library preloaded: PRELOAD=1).
SELECT is(t.problems(''), CASE WHEN preloaded THEN 'nothing' ELSE 'warning worker' END, 'the worker') FROM approval.worker_state();
SET LOCAL approval.notify = off;
SELECT is(t.problems(''), CASE WHEN preloaded THEN 'warning worker' ELSE 'warning worker, warning worker' END, 'nobody rings') FROM approval.worker_state();
SET LOCAL approval.notify = worker;
SELECT is(t.problems(''), CASE WHEN preloaded THEN 'nothing' ELSE 'error worker' END, 'nobody rings, though somebody should') FROM approval.worker_state();
SET LOCAL approval.notify = transaction;
CREATE FUNCTION t.but_worker() RETURNS text LANGUAGE sql
RETURN trim(both ', ' from replace(replace(t.problems(''), 'warning worker', ''), 'nothing', ''));

-- What is due, and is not done: in this transaction, where no worker sees it.
SELECT t.proposed() AS i \gset
SELECT t.proposed() AS j \gset
SELECT is(t.but_worker(), '', 'pending is no problem');
ALTER TABLE approval.requests DISABLE TRIGGER guard;
SELECT is(t.problems('approval.requests'), 'error guard', 'a trigger of the guard that is disabled');
UPDATE approval.requests SET expires_at = clock_timestamp() - interval '20 seconds', due_at = clock_timestamp() - interval '20 seconds' WHERE id = :'i';
SELECT is(t.but_worker(), '', 'a moment is no problem');
UPDATE approval.requests SET expires_at = now() - interval '2 minutes', due_at = now() - interval '2 minutes' WHERE id IN (:'i', :'j');
SELECT is(t.but_worker(), 'error backlog', 'overdue');
SELECT is((SELECT problem || ' ' || (since = now() - interval '2 minutes') FROM approval.health WHERE kind = 'backlog'), '2 request(s) are overdue by more than a minute true', 'how many, since when');
SELECT is(t.problems('', 'everywhere'), t.problems(''), 'somebody with every tenant sees it too');
ALTER TABLE approval.requests ENABLE TRIGGER guard;
SELECT is(t.problems('approval.requests'), 'nothing', 'and enabled again');
-- Somebody has tampered with them: they are set aside, and named as such.
SELECT t.row('admin', 'approval.expire_due(1000)') AS n \g /dev/null
SELECT is(t.but_worker(), 'error backlog', 'set aside');
SELECT is((SELECT problem FROM approval.health WHERE kind = 'backlog'), '2 request(s) could not be put away and were set aside', 'and in words');
ALTER TABLE approval.events DISABLE TRIGGER loaded;
SELECT is(t.problems('approval.events'), 'error guard', 'what tells of loaded events');
ALTER TABLE approval.events ENABLE TRIGGER loaded;
SELECT is(t.problems('approval.events'), 'error guard', 'has to be ALWAYS');
ALTER TABLE approval.events ENABLE ALWAYS TRIGGER loaded;
SELECT is(t.problems('approval.events'), 'nothing', 'as it is made');

-- Who may look.
SELECT is(t.says('auditor', 'approval.health'), 'ok', 'auditors may');
SELECT is(t.says(who, 'approval.health'), '42501', who || ' may not') FROM unnest('{agent,alice,runner,nobody}'::text[]) AS who;
SELECT is(t.says(who, 'approval.oldest_transaction()'), '42501', who || ' may not ask for the oldest transaction') FROM unnest('{agent,alice,runner,nobody}'::text[]) AS who;

SELECT * FROM finish();
ROLLBACK;
