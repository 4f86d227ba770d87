-- Who may call and read what.  The list is written out here once more, so that
-- a grant too many is a failure; all else comes from the catalogue.
\set ns privileges
\ir include/gate.psql
SELECT no_plan();

CREATE TABLE t.members AS
SELECT d.classid::regclass AS class, d.objid, d.objsubid, pg_describe_object(d.classid, d.objid, d.objsubid) AS what
  FROM pg_depend d WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'approval');
CREATE TABLE t.plumbing AS
SELECT p.oid FROM pg_proc p WHERE p.oid IN (SELECT objid FROM t.members WHERE class = 'pg_proc'::regclass)
   AND (p.proisstrict AND p.proname <> 'new_ulid');

-- What each role may call (design, section 5).
CREATE TABLE t.grants (role text, functions text[]);
INSERT INTO t.grants VALUES
	('requester', '{propose,cancel,comment,wait,wait_conversation,start_run,claim_run,release_run,next_iteration,complete_run,fail_run,cancel_run,attach_handle,record_step,callback,validate_result}'),
	('approver', '{freeze_tool,freeze_tenant,disallow,comment,wait,wait_conversation,claim,release,assign,extend,decide_all,try_decide_all,decide_many,try_decide_many,inbox_page,decide,try_decide,approve,reject,edit,revoke,revoke_by,reconcile,verify_request,verify_policy,cancel_run}'),
	('executor', '{record_step,callback,validate_result,wait,wait_conversation,consume,try_consume,resume,heartbeat,complete,try_complete,verify_request}'),
	('auditor', '{worker_state,oldest_transaction,verify_request,verify_policy,explain,simulate,inbox_page}'),
	('admin', '{set_run_limits,register_login,register_tool,update_tool,set_rules,review_tool,retire_tool,freeze_tool,unfreeze_tool,freeze_tenant,unfreeze_tenant,add_member,remove_member,allow,disallow,expire_due,wake_worker,worker_state,oldest_transaction,explain,simulate,verify_request,verify_policy,inbox_page}');
-- and what all of them may
UPDATE t.grants SET functions = functions || '{request_of,request_for,pending,outcomes,channel,caller_tenants,caller_reads,errors,transitions,jcs,canonical,hash_action,hash_review,tool_digest,new_ulid,ulid_from,gate_reasons,diff,preview_diff,feed,caller_roles,tool_words,tools_for,find_tools,run_of,trace,timeline,trace_otlp,run_transitions,diagram_text,plain_text,timeline_format,otlp_attributes,unix_nano}';

SELECT set_eq(format($$SELECT p.proname::text FROM pg_proc p WHERE p.oid IN (SELECT objid FROM t.members WHERE class = 'pg_proc'::regclass)
	AND p.oid NOT IN (SELECT oid FROM t.plumbing) AND has_function_privilege('approval_%s', p.oid, 'EXECUTE')$$, role),
	functions, format('approval_%s may call this and no more', role)) FROM t.grants;
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc p, LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
	WHERE p.oid IN (SELECT objid FROM t.members WHERE class = 'pg_proc'::regclass) AND p.oid NOT IN (SELECT oid FROM t.plumbing) AND a.grantee = 0$$,
	'no function is granted to PUBLIC but those of types, operators and casts');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc p JOIN t.plumbing USING (oid) WHERE NOT EXISTS
	(SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)$$, 'and those are');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc p JOIN t.plumbing USING (oid) WHERE p.provolatile <> 'i'$$, 'and touch nothing');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc p WHERE p.oid IN (SELECT objid FROM t.members WHERE class = 'pg_proc'::regclass) AND p.prosecdef$$,
	'no function is SECURITY DEFINER: C switches to the owner itself');
SELECT is_empty($$SELECT a.privilege_type FROM pg_namespace n, LATERAL aclexplode(n.nspacl) a WHERE nspname = 'approval' AND a.grantee = 0$$,
	'nothing in the schema is PUBLIC''s');

-- What each role may read.
SELECT set_eq(format($$SELECT c.relname::text || ' ' || p FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
	WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'v', 'm', 'p', 'f') AND has_table_privilege('approval_%s', c.oid, p)$$, role),
	CASE WHEN role IN ('approver', 'auditor', 'admin') THEN ARRAY['history SELECT', 'refusals SELECT', 'inbox SELECT', 'audit SELECT', 'votes SELECT', 'tool_list SELECT',
			'registry SELECT', 'tool_changes SELECT', 'standing_grants SELECT', 'frozen SELECT', 'group_members SELECT', 'policy_audit SELECT', 'tool_health SELECT', 'reviewer_stats SELECT', 'review_times SELECT', 'stuck SELECT', 'run_list SELECT', 'handle_list SELECT', 'run_budgets SELECT', 'capabilities SELECT'] ||
			CASE WHEN role <> 'approver' THEN ARRAY['worker_stats SELECT', 'health SELECT'] ELSE '{}' END
		 ELSE ARRAY['history SELECT', 'refusals SELECT', 'tool_list SELECT', 'run_list SELECT', 'handle_list SELECT'] END, format('approval_%s may read this and no more', role)) FROM t.grants;
SELECT is_empty(format($$SELECT c.relname FROM pg_class c WHERE relnamespace = 'approval'::regnamespace AND
	CASE relkind WHEN 'S' THEN has_sequence_privilege('approval_%s', c.oid, 'USAGE,SELECT,UPDATE') END$$, role), format('approval_%s has no sequence', role)) FROM t.grants;
SELECT is_empty(format($$SELECT c.relname FROM pg_class c WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'v')
	AND has_any_column_privilege('approval_%s', c.oid, 'INSERT,UPDATE,REFERENCES')$$, role), format('approval_%s has no column', role)) FROM t.grants;
SELECT is_empty($$SELECT c.relname FROM pg_class c, LATERAL aclexplode(c.relacl) a WHERE relnamespace = 'approval'::regnamespace
	AND relkind = 'r' AND a.grantee <> c.relowner$$, 'tables are granted to nobody');
SELECT is((SELECT string_agg(DISTINCT relowner::regrole::text, ',') FROM pg_class WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'v')), 'approval_owner',
	'tables and views belong to approval_owner');
SELECT is_empty($$SELECT relname FROM pg_class WHERE relnamespace = 'approval'::regnamespace AND relkind = 'v'
	AND NOT coalesce('security_barrier=true' = ANY (reloptions), false)$$, 'every view is a security barrier');
SELECT is_empty($$SELECT rolname FROM pg_roles WHERE rolname IN ('approval_owner', 'approval_requester', 'approval_approver', 'approval_executor', 'approval_auditor', 'approval_admin')
	AND (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)$$, 'our roles have no powers');
SELECT is_empty($$SELECT roleid::regrole, member::regrole FROM pg_auth_members WHERE roleid = 'approval_owner'::regrole
	OR member IN (SELECT oid FROM pg_roles WHERE rolname LIKE 'approval\_%')$$, 'nobody is the owner, and our roles are in no other');

-- Somebody without grants gets nowhere: by calling everything, not by asking
-- the catalogue.
CREATE FUNCTION t.blind_call(f oid) RETURNS text LANGUAGE sql STABLE
RETURN (SELECT format('%s(%s)', f::regproc, (SELECT string_agg(format('NULL::%s', format_type(x.type, NULL)), ', ' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY AS x(type, n)
		WHERE n <= p.pronargs)) FROM pg_proc p WHERE p.oid = f);
SELECT is(t.says('nobody', t.blind_call(p.oid)), '42501', format('nobody: %s', p.oid::regproc))
  FROM pg_proc p WHERE p.oid IN (SELECT objid FROM t.members WHERE class = 'pg_proc'::regclass) AND p.oid NOT IN (SELECT oid FROM t.plumbing)
   AND p.prorettype <> 'trigger'::regtype ORDER BY p.proname;
SELECT is(t.says('nobody', format('(SELECT * FROM approval.%I)', relname)), '42501', format('nobody: %s', relname))
  FROM pg_class WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'v', 'S') ORDER BY relname;
-- ... nor with the schema opened by mistake
GRANT USAGE ON SCHEMA approval TO privileges_nobody;
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc p WHERE p.oid IN (SELECT objid FROM t.members WHERE class = 'pg_proc'::regclass)
	AND p.oid NOT IN (SELECT oid FROM t.plumbing) AND p.prorettype <> 'trigger'::regtype AND t.says('nobody', t.blind_call(p.oid)) <> '42501'$$, 'nobody, with USAGE: no function');
SELECT is_empty($$SELECT relname FROM pg_class WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'v', 'S')
	AND t.says('nobody', format('(SELECT * FROM approval.%I)', relname)) <> '42501'$$, 'nobody, with USAGE: no table, view or sequence');
SELECT is_empty($$SELECT v.who, relname FROM pg_class, unnest(ARRAY['agent', 'alice', 'runner', 'auditor', 'admin']) AS v(who)
	WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'S') AND t.says(v.who, format('(SELECT * FROM approval.%I)', relname)) <> '42501'$$,
	'nor do the logins of any role read a table');
-- a trigger function cannot be had by way of a trigger of one's own
CREATE FUNCTION t.trigger_attempt(f text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	me text := session_user;
	state text := 'ok';
BEGIN
	BEGIN
		PERFORM set_config('session_authorization', t.login('nobody'), true);
		CREATE TEMP TABLE mine (a int);
		EXECUTE format('CREATE TRIGGER x BEFORE UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION approval.%I()', f);
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	PERFORM set_config('session_authorization', me, true);
	DROP TABLE IF EXISTS mine;
	RETURN state;
END
$$;
SELECT is(t.trigger_attempt(proname), '42501', format('nobody: a trigger with %s', proname))
  FROM pg_proc p WHERE pronamespace = 'approval'::regnamespace AND prorettype = 'trigger'::regtype;

-- Everything that is there for people says what it is.
SELECT is_empty($$SELECT what FROM t.members m WHERE class IN ('pg_class'::regclass, 'pg_type'::regclass, 'pg_namespace'::regclass, 'pg_proc'::regclass,
		'pg_cast'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, 'pg_opfamily'::regclass)
	AND obj_description(objid, class::text) IS NULL
	AND NOT (class = 'pg_class'::regclass AND (SELECT relkind FROM pg_class WHERE oid = objid) NOT IN ('r', 'v'))
	AND NOT (class = 'pg_type'::regclass AND (SELECT typtype = 'b' AND typelem <> 0 OR typtype = 'c' AND relkind <> 'c'
			 FROM pg_type t LEFT JOIN pg_class c ON c.oid = typrelid WHERE t.oid = objid))$$, 'every public object has a comment');
SELECT is_empty($$SELECT what FROM t.members m JOIN pg_proc p ON p.oid = m.objid WHERE class = 'pg_proc'::regclass AND p.pronargs > p.pronargdefaults AND p.proname NOT IN ('caller_reads', 'diff', 'preview_diff', 'tool_words', 'find_tools', 'diagram_text', 'plain_text', 'otlp_attributes', 'unix_nano')
	AND p.oid NOT IN (SELECT oid FROM t.plumbing) AND p.proname NOT LIKE 'try\_%'
	AND p.oid NOT IN (SELECT refobjid FROM pg_depend WHERE classid = 'pg_constraint'::regclass AND refclassid = 'pg_proc'::regclass) AND obj_description(p.oid) !~ '22004'$$, 'and what a NULL does');
SELECT is_empty($$SELECT n, r FROM (SELECT (regexp_matches(obj_description(p.oid), 'PT(\d{3}) ([a-z_]+)', 'g')) FROM pg_proc p WHERE pronamespace = 'approval'::regnamespace) AS x(m),
	LATERAL (VALUES (m[1]::int, m[2])) AS y(n, r) WHERE (n, r) NOT IN (SELECT http_status, reason FROM approval.errors())$$, 'and names reasons that there are');

SELECT * FROM finish();
ROLLBACK;
