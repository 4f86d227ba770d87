-- What a caller plants in its session or its database changes nothing: every
-- name in the gate's own SQL is qualified, operators included.
\set ns objects
\ir include/gate.psql
SELECT no_plan();
-- The tests themselves must not be misled.
SET search_path = pg_catalog, public, pg_temp;

-- Called with the caller's search_path, while the tests keep theirs.
CREATE OR REPLACE FUNCTION t.as(who text, call text) RETURNS t.answer LANGUAGE plpgsql AS $$
DECLARE
	me text := session_user;
	path text := current_setting('search_path');
	statement text := 'SELECT pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r)) FROM ' || call || ' r';
	a t.answer;
BEGIN
	BEGIN
		PERFORM set_config('session_authorization', t.login(who), true);
		PERFORM pg_catalog.set_config('search_path', pg_catalog.current_setting('t.path'), true);
		EXECUTE statement INTO a.rows;
		PERFORM pg_catalog.set_config('search_path', path, true);
		PERFORM set_config('session_authorization', me, true);
		a.code := '00000';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS a.code = RETURNED_SQLSTATE, a.message = MESSAGE_TEXT,
			a.detail = PG_EXCEPTION_DETAIL, a.hint = PG_EXCEPTION_HINT;
	END;
	RETURN a;
END
$$;

-- A life, by way of everything there is.
CREATE FUNCTION t.seen_by(who text, view text) RETURNS int LANGUAGE sql
RETURN ((t.as(who, format('(SELECT pg_catalog.count(*) FROM approval.%s)', view))).rows #>> '{0,count}')::int;
CREATE FUNCTION t.life(path text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid;
	j approval.ulid;
	said text[];
	history int;
BEGIN
	PERFORM set_config('t.path', path, true);
	history := t.seen_by('agent', 'history');
	i := t.proposed('conversation_id => ''conv''');
	j := t.proposed('conversation_id => ''conv''');
	said := ARRAY[
		t.says('agent', format('approval.propose(%L, ''refund'', ''{"amount":2}'', ''conv'')', (t.stored(i)).tool_call_id)),
		t.says('alice', format('approval.approve(%L, %L)', i, t.seen(i))),
		t.says('alice', format('approval.approve(%L, %L)', i, t.seen(i))),
		t.says('bob', format('approval.reject(%L, %L)', i, t.seen(i))),
		t.says('bob', format('approval.edit(%L, %L, ''{"amount":1}'')', j, t.seen(j))),
		t.says('runner', format('approval.consume(%L, ''refund'', ''{"amount":2}'', ''x'')', j)),
		t.says('runner', format('approval.try_consume(%L, ''refund'', ''{"amount":2}'', ''x'')', j)),
		t.says('agent2', format('approval.request_of(%L)', i)),
		t.says('agent', format('approval.request_of(%L)', i))];
	PERFORM t.consumed(i, '1 us');
	RETURN said || ARRAY[
		t.says('runner', format('approval.heartbeat(%L, ''run-1'', %L)', i, t.token(i))),
		t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''unknown'')', i, t.token(i))),
		t.says('bob', format('approval.reconcile(%L, ''failed'')', i)),
		t.says('bob', 'approval.revoke_by(''user:alice'')'),
		t.says('agent', format('approval.cancel(%L)', j)),
		t.says('admin', 'approval.register_login(''objects_nobody'', ''person'')'),
		t.row('auditor', format('approval.verify_request(%L)', i)) ->> 'ok', t.row('auditor', format('approval.verify_request(%L)', j)) ->> 'ok',
		t.says('agent', 'approval.pending(''conv'')'), t.says('agent', 'approval.outcomes(''conv'')'),
		(t.seen_by('agent', 'history') - history)::text, t.seen_by('agent2', 'history')::text, t.seen_by('alice', 'inbox')::text,
		(t.seen_by('alice', 'audit') > 0 AND t.seen_by('alice', 'votes') > 0 AND t.seen_by('runner', 'refusals') > 0)::text,
		t.row('alice', 'approval.channel(''conversation'', ''conv'')') #>> '{}'];
END
$$;
CREATE TABLE t.plain AS SELECT t.life('public') AS said;
SELECT is(said[:23], '{PT409 tool_call_conflict,ok,ok,PT409 already_decided,ok,PT412 hash_mismatch,ok,PT404 not_found,ok,PT410 lease_expired,ok,ok,ok,ok,ok,true,true,ok,ok,2,0,0,true}'::text[], 'a life')
  FROM t.plain;

-- Everything of ours, and of what our SQL uses, once more: tables that swallow
-- what is written, functions and operators that raise when they are called,
-- types that take nothing.
CREATE FUNCTION t.plant(place text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	r record;
	op text;
	planted bigint := 0;
BEGIN
	FOR r IN SELECT relname FROM pg_class WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'v', 'S') LOOP
		EXECUTE format('CREATE TABLE %s.%I (tenant text, login text, id text)', place, r.relname);
		planted := planted + 1;
	END LOOP;
	FOR r IN SELECT proname, oidvectortypes(proargtypes) AS args FROM pg_proc WHERE pronamespace = 'approval'::regnamespace AND NOT proisstrict AND prorettype <> 'trigger'::regtype
		UNION ALL VALUES ('now', ''), ('statement_timestamp', ''), ('clock_timestamp', ''), ('sha256', 'bytea'), ('array_position', 'text[], text'), ('nextval', 'regclass'),
			('pg_current_xact_id', ''), ('cardinality', 'text[]'), ('isfinite', 'timestamptz'), ('texteq', 'text, text'), ('lower', 'text'), ('text', 'approval.ulid'), ('bytea', 'approval.digest') LOOP
		EXECUTE format('CREATE FUNCTION %s.%I(%s) RETURNS text LANGUAGE plpgsql AS $f$BEGIN RAISE EXCEPTION ''planted''; END$f$', place, r.proname, r.args);
		planted := planted + 1;
	END LOOP;
	FOR r IN SELECT type FROM unnest(ARRAY['text', 'uuid', 'bytea', 'timestamptz', 'int4', 'int8', 'bool', 'text[]', 'approval.ulid', 'approval.digest', 'name']) AS type LOOP
		EXECUTE format('CREATE FUNCTION %s.planted(%s, %s) RETURNS boolean LANGUAGE plpgsql AS $f$BEGIN RAISE EXCEPTION ''planted''; END$f$', place, r.type, r.type);
		FOREACH op IN ARRAY ARRAY['=', '<>', '<', '<=', '>', '>=', '||'] LOOP
			EXECUTE format('CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s.planted)', place, op, r.type, r.type, place);
			planted := planted + 1;
		END LOOP;
	END LOOP;
	FOR r IN SELECT type FROM unnest(ARRAY['ulid', 'digest', 'request', 'permit', 'attempt', 'json', 'int4', 'text', 'timestamptz', 'xid8', 'bytea', 'uuid', 'bool']) AS type LOOP
		EXECUTE format('CREATE DOMAIN %s.%I AS pg_catalog.varchar', place, r.type);
		planted := planted + 1;
	END LOOP;
	RETURN planted;
END
$$;
CREATE SCHEMA attacker;
GRANT USAGE ON SCHEMA attacker TO PUBLIC;
-- the connection that plants has its plans already; parse them anew as well
SELECT cmp_ok(t.plant('attacker'), '>', 120::bigint, 'planted in a schema that everybody may use');
CREATE TEMP TABLE any_temp (a int);
SELECT cmp_ok(t.plant('pg_temp'), '>', 120::bigint, 'planted in pg_temp');
GRANT ALL ON ALL TABLES IN SCHEMA attacker TO PUBLIC;

-- the trap works
SET t.path = 'attacker, pg_temp, pg_catalog';
SELECT matches((t.as('alice', '(SELECT ''a''::pg_catalog.text = ''b''::pg_catalog.text)')).message, 'planted', 'a caller that compares texts is caught itself');

SELECT is(t.life(path), said, 'the same life with search_path ' || path) FROM t.plain, unnest(ARRAY['attacker, pg_catalog', 'pg_temp, attacker, approval, pg_catalog', 'attacker, pg_temp, public, pg_catalog', 'pg_catalog', 'nowhere']) AS path;
-- with plans made under such a path: a change of the tables makes all of them anew
ALTER TABLE approval.requests SET (fillfactor = 90);
ALTER TABLE approval.logins SET (fillfactor = 90);
ALTER TABLE approval.keys SET (fillfactor = 90);
SELECT is(t.life('attacker, pg_temp, pg_catalog'), said, 'and with new plans') FROM t.plain;
SELECT is_empty($$SELECT relname FROM pg_class WHERE relkind = 'r' AND (relnamespace = 'attacker'::regnamespace OR relnamespace = pg_my_temp_schema()) AND relname IN
	(SELECT relname FROM pg_class WHERE relnamespace = 'approval'::regnamespace) AND (xpath('/row/c/text()', query_to_xml(format('SELECT count(*) AS c FROM %s', oid::regclass), false, true, '')))[1]::text <> '0'$$,
	'the planted tables are empty');

SELECT * FROM finish();
ROLLBACK;
