/*
 * What is wrong with the installation, in words.
 */
CREATE FUNCTION approval.oldest_transaction(
	OUT pid pg_catalog.int4,
	OUT login pg_catalog.text,
	OUT database pg_catalog.text,
	OUT state pg_catalog.text,
	OUT since pg_catalog.timestamptz)
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_oldest_transaction';
REVOKE ALL ON FUNCTION approval.oldest_transaction FROM PUBLIC;
COMMENT ON FUNCTION approval.oldest_transaction IS 'The client whose transaction has been open longest, in any database: NULLs if there is no other than the caller''s. See the view health. state: active, idle in transaction, idle in transaction (aborted), fastpath function call, or NULL.';

CREATE VIEW approval.health WITH (security_barrier) AS
SELECT h.*
  FROM (
/* the worker */
SELECT s.severity, 'worker' AS kind, NULL::pg_catalog.text AS subject, s.problem, s.since, s.what_to_do
  FROM approval.worker_state() w
 CROSS JOIN LATERAL (VALUES
	(NOT w.preloaded AND w.notify OPERATOR(pg_catalog.=) 'worker', 'error',
	 'the worker is not running, and nobody else rings: approval.notify is worker, but the library is not preloaded', NULL,
	 'add approval to shared_preload_libraries and restart, or set approval.notify to auto'),
	(NOT w.preloaded AND w.notify OPERATOR(pg_catalog.<>) 'worker', 'warning',
	 'the worker is not running: the library is not preloaded', NULL,
	 'add approval to shared_preload_libraries and restart; until then call expire_due() from a scheduler'),
	(w.preloaded AND w.launcher_pid IS NULL AND NOT pg_catalog.pg_is_in_recovery(), 'error',
	 'the launcher is not running, so that no worker can be started', NULL,
	 'see the server''s log, and whether max_worker_processes leaves room for it'),
	(w.failures OPERATOR(pg_catalog.>) 0 AND w.worker_pid IS NULL, 'error',
	 'the worker cannot be started, or ends at once' OPERATOR(pg_catalog.||) COALESCE(': ' OPERATOR(pg_catalog.||) w.error, ''), COALESCE(w.error_at, w.started_at),
	 'see the server''s log; max_worker_processes must leave room for one worker a database, and the database must allow connections'),
	(w.failures OPERATOR(pg_catalog.>) 0 AND w.worker_pid IS NOT NULL, 'error',
	 'the worker fails' OPERATOR(pg_catalog.||) COALESCE(': ' OPERATOR(pg_catalog.||) w.error, ''), w.error_at, 'see the server''s log'),
	(w.notify OPERATOR(pg_catalog.=) 'off', 'warning', 'nobody rings: approval.notify is off', NULL, 'ask the feed at intervals, or set approval.notify to auto'))
	AS s (holds, severity, problem, since, what_to_do)
 WHERE s.holds
 UNION ALL
/* what is due, and is not done */
SELECT 'error', 'backlog', NULL, pg_catalog.format('%s request(s) are overdue by more than a minute', pg_catalog.count(*)), pg_catalog.min(r.due_at),
	   'see worker_stats and stuck, or call expire_due()'
  FROM approval.requests r
 WHERE r.due_at OPERATOR(pg_catalog.<) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) '1 minute'::pg_catalog.interval)
   AND r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND NOT EXISTS (SELECT FROM approval.set_aside a WHERE a.tenant OPERATOR(pg_catalog.=) r.tenant AND a.request_id OPERATOR(pg_catalog.=) r.id)
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0
 UNION ALL
SELECT 'error', 'backlog', NULL, pg_catalog.format('%s request(s) could not be put away and were set aside', pg_catalog.count(*)), pg_catalog.min(a.since), 'see stuck'
  FROM approval.set_aside a
  JOIN approval.requests r ON r.tenant OPERATOR(pg_catalog.=) a.tenant AND r.id OPERATOR(pg_catalog.=) a.request_id AND r.due_at OPERATOR(pg_catalog.<=) a.retry_at
 WHERE a.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0
 UNION ALL
/* a listener that does not read holds all notifications of the cluster */
SELECT CASE WHEN q.usage OPERATOR(pg_catalog.>=) 0.5 THEN 'error' ELSE 'warning' END, 'queue', 'pid ' OPERATOR(pg_catalog.||) o.pid::pg_catalog.text,
	   pg_catalog.format('the notification queue is %s %% full; when it is full, commits that notify fail%s', pg_catalog.round((q.usage OPERATOR(pg_catalog.*) 100)::pg_catalog.numeric, 1),
		CASE WHEN o.pid IS NULL THEN ''
			 ELSE pg_catalog.format('. The oldest transaction is of %s in %s (%s)', o.login, o.database, COALESCE(o.state, 'unknown')) END),
	   o.since, 'a listener reads only between transactions: end that one (pg_terminate_backend), and see the server''s log for the process it names'
  FROM (SELECT pg_catalog.pg_notification_queue_usage() AS usage) q
 CROSS JOIN approval.oldest_transaction() o
 WHERE q.usage OPERATOR(pg_catalog.>=) 0.01
 UNION ALL
/* one login for both sides */
SELECT 'error', 'roles', l.rolname::pg_catalog.text, 'the login is a member of approval_requester and of approval_approver: who proposes must not decide', NULL,
	   'give the agent and the reviewers logins of their own'
  FROM pg_catalog.pg_roles l
 WHERE l.rolcanlogin AND NOT l.rolsuper
   AND pg_catalog.pg_has_role(l.oid, 'approval_requester', 'MEMBER') AND pg_catalog.pg_has_role(l.oid, 'approval_approver', 'MEMBER')
 UNION ALL
SELECT 'error', 'settings', 'approval.separate_logins', 'a login may decide on what it has proposed: approval.separate_logins is off', NULL,
	   'give the agent and the reviewers logins of their own, and set it to on'
 WHERE pg_catalog.current_setting('approval.separate_logins') OPERATOR(pg_catalog.=) 'off'
 UNION ALL
/* agents that cannot be told apart */
SELECT 'warning', 'logins', l.login,
	   CASE WHEN '*' OPERATOR(pg_catalog.=) ANY (l.tenants) THEN 'agents share the login: it proposes in every tenant'
			ELSE pg_catalog.format('agents share the login: it proposes in %s tenants', pg_catalog.cardinality(l.tenants)) END,
	   l.registered_at, 'register a login for the agents of each tenant; only a delegate, whose SQL no agent can write, may have several'
  FROM approval.logins l
  JOIN pg_catalog.pg_roles p ON p.rolname OPERATOR(pg_catalog.=) l.login::pg_catalog.name
 WHERE l.kind OPERATOR(pg_catalog.<>) 'delegate' AND p.rolcanlogin AND NOT p.rolsuper
   AND ('*' OPERATOR(pg_catalog.=) ANY (l.tenants) OR pg_catalog.cardinality(l.tenants) OPERATOR(pg_catalog.>) 1)
   AND pg_catalog.pg_has_role(p.oid, 'approval_requester', 'MEMBER')
   AND l.tenants OPERATOR(pg_catalog.&&) (SELECT approval.caller_tenants())::pg_catalog.text[]
 UNION ALL
SELECT 'warning', 'logins', p.rolname::pg_catalog.text, 'agents share the login: it is not registered, so that whoever uses it is the same actor, in the tenant ''''', NULL,
	   'register_login()'
  FROM pg_catalog.pg_roles p
 WHERE p.rolcanlogin AND NOT p.rolsuper AND pg_catalog.pg_has_role(p.oid, 'approval_requester', 'MEMBER')
   AND NOT EXISTS (SELECT FROM approval.logins l WHERE l.login::pg_catalog.name OPERATOR(pg_catalog.=) p.rolname)
   AND '' OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
 UNION ALL
/* powers that go past the gate */
SELECT s.severity, 'powers', l.rolname::pg_catalog.text, s.problem, NULL, s.what_to_do
  FROM pg_catalog.pg_roles l
 CROSS JOIN LATERAL (VALUES
	(l.rolsuper AND EXISTS (SELECT FROM approval.logins g WHERE g.login::pg_catalog.name OPERATOR(pg_catalog.=) l.rolname
							   AND g.tenants OPERATOR(pg_catalog.&&) (SELECT approval.caller_tenants())::pg_catalog.text[]),
	 'error', 'a registered login is a superuser: no rule binds it', 'ALTER ROLE ... NOSUPERUSER'),
	(NOT l.rolsuper AND pg_catalog.pg_has_role(l.oid, 'approval_owner', 'MEMBER'),
	 'error', 'the login is a member of approval_owner, to whom the tables belong', 'REVOKE approval_owner'),
	(NOT l.rolsuper AND pg_catalog.pg_has_role(l.oid, 'pg_write_all_data', 'MEMBER'),
	 'error', 'the login is a member of pg_write_all_data: it can write to the tables without the verbs', 'REVOKE pg_write_all_data'),
	(NOT l.rolsuper AND (pg_catalog.pg_has_role(l.oid, 'pg_execute_server_program', 'MEMBER') OR pg_catalog.pg_has_role(l.oid, 'pg_write_server_files', 'MEMBER')),
	 'error', 'the login runs programs or writes files on the server, as its superuser could', 'REVOKE pg_execute_server_program, pg_write_server_files'),
	(NOT l.rolsuper AND l.rolbypassrls, 'warning', 'the login bypasses row security (BYPASSRLS)', 'ALTER ROLE ... NOBYPASSRLS'),
	(NOT l.rolsuper AND l.rolcreaterole AND pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.<) 160000,
	 'warning', 'the login makes itself whatever it wants, an approver too (CREATEROLE)', 'ALTER ROLE ... NOCREATEROLE'),
	(NOT l.rolsuper AND l.rolcreaterole AND pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 160000,
	 'warning', 'the login makes and grants roles (CREATEROLE)', 'ALTER ROLE ... NOCREATEROLE'),
	(NOT l.rolsuper AND EXISTS (SELECT FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) m.roleid
								 WHERE m.member OPERATOR(pg_catalog.=) l.oid AND m.admin_option AND r.rolname OPERATOR(pg_catalog.~) '^approval_(owner|requester|approver|executor|admin)$'),
	 'warning', 'the login can grant roles of the gate to itself and others (ADMIN OPTION)', 'REVOKE ADMIN OPTION FOR ...'))
	AS s (holds, severity, problem, what_to_do)
 WHERE l.rolcanlogin AND s.holds
 UNION ALL
/* what keeps rows as they were written */
SELECT 'error', 'guard', t.tgrelid::pg_catalog.regclass::pg_catalog.text, pg_catalog.format('the trigger %s is disabled: rows can be changed without the verbs', t.tgname), NULL,
	   pg_catalog.format('ALTER TABLE %s ENABLE%s TRIGGER %s, then verify_request()', t.tgrelid::pg_catalog.regclass,
		CASE WHEN t.tgname OPERATOR(pg_catalog.~~) 'guard%' THEN '' ELSE ' ALWAYS' END, t.tgname)
  FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace AND n.nspname OPERATOR(pg_catalog.=) 'approval'
 WHERE NOT t.tgisinternal
   AND (t.tgname OPERATOR(pg_catalog.~~) 'guard%' AND t.tgenabled OPERATOR(pg_catalog.<>) ALL ('{O,A}'::pg_catalog."char"[])
		OR t.tgname OPERATOR(pg_catalog.=) ANY ('{changed,changed_all,loaded}'::pg_catalog.name[]) AND t.tgenabled OPERATOR(pg_catalog.<>) 'A')
) h;
COMMENT ON VIEW approval.health IS 'What is wrong with the installation, one row each; none: nothing is known to be wrong. severity: error or warning. kind: worker, backlog, queue, roles, settings, logins, powers, guard. subject: the login, process, setting or table that it is about. problem and what_to_do are for people, and may be worded otherwise in a later version. since: NULL where it is not known. Backlog and registered logins are those of the caller''s tenants; roles are of the whole cluster.';

ALTER VIEW approval.health OWNER TO approval_owner;
REVOKE ALL ON TABLE approval.health FROM PUBLIC;
