-- CREATE EXTENSION adopts nothing that somebody else made.
BEGIN;
SET client_min_messages = warning;
SELECT no_plan();
DROP EXTENSION approval CASCADE;
SAVEPOINT s;
CREATE SCHEMA approval;
SELECT throws_ok('CREATE EXTENSION approval', '42P06', NULL, 'a schema of its name stops it');
ROLLBACK TO s;
SELECT throws_ok(format('ALTER ROLE approval_auditor %s; CREATE EXTENSION approval', power), '42710', NULL, 'and so does a role of its that is ' || power)
  FROM unnest(ARRAY['LOGIN', 'SUPERUSER', 'CREATEROLE', 'CREATEDB', 'BYPASSRLS', 'REPLICATION']) AS power;
CREATE ROLE installation_powerful;
SELECT throws_ok('GRANT installation_powerful TO approval_auditor; CREATE EXTENSION approval', '42710', NULL, 'or a member of another role');
CREATE OPERATOR CLASS public.planted FOR TYPE int4 USING btree AS FUNCTION 1 btint4cmp(int4, int4);
CREATE FUNCTION public.digest_in(cstring) RETURNS text LANGUAGE internal IMMUTABLE STRICT AS 'textin';
SET search_path = public, pg_catalog;
SELECT lives_ok('CREATE EXTENSION approval', 'else it works, whatever the search_path');
SELECT is((SELECT count(*) FROM pg_depend WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'approval')
	AND classid = 'pg_proc'::regclass AND objid NOT IN (SELECT oid FROM pg_proc WHERE pronamespace = 'approval'::regnamespace)), 0::bigint, 'and every function is in its schema');
SELECT throws_ok('ALTER EXTENSION approval SET SCHEMA public', '0A000', NULL, 'where it stays');
SELECT lives_ok('DROP EXTENSION approval', 'it can be dropped');
SELECT hasnt_schema('approval', 'with all that it brought');
SELECT lives_ok('CREATE EXTENSION approval', 'and made again in the same session');
SELECT is((approval.propose('again', 'refund', '{}')).status, 'pending', 'and works');

SELECT * FROM finish();
ROLLBACK;
