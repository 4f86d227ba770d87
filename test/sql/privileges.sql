-- Who may do what.
\pset format unaligned
\pset fieldsep ' | '
SELECT p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' AS "function",
	   coalesce((SELECT string_agg(replace(a.grantee::regrole::text, 'approval_', ''), ', ' ORDER BY a.grantee::regrole::text COLLATE "C")
				   FROM aclexplode(p.proacl) a WHERE a.grantee <> p.proowner), '-') AS "may be called by"
  FROM pg_proc p
 WHERE p.pronamespace = 'approval'::regnamespace AND NOT (p.proisstrict AND p.pronargs > 0)
 ORDER BY p.proname COLLATE "C";
SELECT c.relname AS relation, c.relkind AS kind, c.relowner::regrole AS owner,
	   coalesce((SELECT string_agg(DISTINCT replace(a.grantee::regrole::text, 'approval_', '') || ' ' || a.privilege_type, ', ')
				   FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner), '-') AS "may be used by"
  FROM pg_class c
 WHERE c.relnamespace = 'approval'::regnamespace AND c.relkind IN ('r', 'v', 'S')
 ORDER BY c.relkind, c.relname COLLATE "C";

-- Somebody with no grant.  What guards anything is not theirs to set.
CREATE ROLE regress_stranger LOGIN;
SELECT count(*) > 0 AS "library loaded" FROM approval.errors();
SET SESSION AUTHORIZATION regress_stranger;
SELECT * FROM approval.propose('call', 'refund', '{}');
SELECT * FROM approval.inbox;
SELECT * FROM approval.requests;
SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV'::approval.ulid;
SET approval.commit_first = off;
SET approval.separate_logins = off;
SET approval.tenant = 'globex';
SHOW approval.commit_first;

-- A role that is granted is not the login that was connected.
SET SESSION AUTHORIZATION regress_alice;
SELECT * FROM approval.propose('call', 'refund', '{}');
SELECT * FROM approval.consume('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'refund', '{}', 'run-1');
SELECT approval.register_login('regress_alice', 'delegate');
SELECT * FROM approval.events;
RESET SESSION AUTHORIZATION;

-- The end of these tests.
SET client_min_messages = warning;
DROP EXTENSION approval CASCADE;
DROP ROLE regress_agent, regress_alice, regress_bob, regress_runner, regress_stranger;
