-- The guard: not even the owner of the tables or a superuser changes a row, and
-- whoever removes the guard is found out.
\set ns guard
\ir include/gate.psql
SELECT no_plan();

CREATE TABLE t.states AS SELECT state, t.request(state) AS id
  FROM unnest(ARRAY['pending', 'approved', 'rejected', 'cancelled', 'revoked', 'in_flight', 'unknown', 'succeeded', 'failed']) AS state;

CREATE TABLE t.attempt AS
SELECT 'requests, ' || attname AS what, format('UPDATE approval.requests SET %I = %s', attname,
	CASE format_type(atttypid, NULL) WHEN 'integer' THEN '7' WHEN 'bigint' THEN '7' WHEN 'json' THEN '''{}''' WHEN 'timestamp with time zone' THEN 'now()'
		 WHEN 'approval.ulid' THEN quote_literal(approval.new_ulid()) WHEN 'approval.digest' THEN 'repeat(''0'', 64)' ELSE '''x''' END) AS statement
  FROM pg_attribute WHERE attrelid = 'approval.requests'::regclass AND attnum > 0
UNION ALL VALUES
	('requests, a legal move', 'UPDATE approval.requests SET status = ''approved'' WHERE status = ''pending'''),
	('requests, nothing', 'UPDATE approval.requests SET tenant = tenant'),
	('requests, delete', 'DELETE FROM approval.requests'), ('requests, truncate', 'TRUNCATE approval.requests'),
	('all, truncate', 'TRUNCATE approval.requests, approval.events, approval.decisions'),
	('decisions, update', 'UPDATE approval.decisions SET actor = ''x'''), ('decisions, delete', 'DELETE FROM approval.decisions'), ('decisions, truncate', 'TRUNCATE approval.decisions'),
	('events, update', 'UPDATE approval.events SET note = ''x'''), ('events, delete', 'DELETE FROM approval.events'), ('events, truncate', 'TRUNCATE approval.events CASCADE'),
	('requests, merge', 'MERGE INTO approval.requests r USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE'),
	('requests, upsert', 'INSERT INTO approval.requests SELECT * FROM approval.requests ON CONFLICT (tenant, id) DO UPDATE SET tool = ''x''');

CREATE FUNCTION t.attempt(who text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM set_config('role', who, true);
	EXECUTE statement;
	PERFORM set_config('role', 'none', true);
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || coalesce(nullif(detail, '')::json ->> 'reason', SQLERRM);
END
$$;
SELECT is(t.attempt(who, statement), '42501 guard', format('%s: %s', who, what)) FROM t.attempt, unnest(ARRAY['postgres', 'approval_owner']) AS who ORDER BY what, who;
SELECT is(t.attempt('postgres', format('DO $d$BEGIN PERFORM approval.errors(); %s; END$d$', statement)), '42501 guard', 'inside DO: ' || what)
  FROM t.attempt WHERE what IN ('requests, delete', 'requests, a legal move', 'events, update', 'decisions, truncate');
-- ... also after a verb in the same transaction, and in a trigger that a verb sets off
SELECT t.row('bob', format('approval.request_of(%L)', id)) ->> 'status' AS s FROM t.states WHERE state = 'pending' \gset
SELECT is(t.attempt('postgres', 'UPDATE approval.requests SET tool = ''x'''), '42501 guard', 'a verb leaves no door open');
CREATE FUNCTION t.meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE approval.requests SET assignee = 'x' WHERE id = NEW.id;
	RETURN NEW;
END
$$;
ALTER FUNCTION t.meddle() OWNER TO approval_owner;
CREATE TRIGGER meddle BEFORE UPDATE ON approval.requests FOR EACH ROW EXECUTE FUNCTION t.meddle();
SELECT isnt(t.says('alice', format('approval.approve(%L, %L)', id, t.seen(id))), 'ok', 'a trigger that meddles does not get by') FROM t.states WHERE state = 'pending';
DROP TRIGGER meddle ON approval.requests;
SELECT is_empty($$SELECT s.* FROM t.states s JOIN approval.requests r USING (id), LATERAL approval.verify_request(s.id) v WHERE NOT v.ok OR r.tool <> 'refund'$$, 'nothing has changed');
SELECT set_eq($$SELECT tgrelid::regclass::text, tgname::text, tgenabled::text FROM pg_trigger WHERE tgrelid::regclass::text ~ '^approval\.(requests|events|decisions)$' AND NOT tgisinternal$$,
	$$SELECT 'approval.' || r AS relation, g, 'O'::text AS enabled FROM unnest(ARRAY['requests', 'events', 'decisions']) r, unnest(ARRAY['guard', 'guard_truncate']) g
		UNION ALL VALUES ('approval.requests', 'loaded', 'A'), ('approval.events', 'loaded', 'A')$$, 'the guard stands on all three, and two tell what was loaded');
-- the functions of the guard are of no use elsewhere
CREATE TABLE t.other (status text);
CREATE TRIGGER x BEFORE UPDATE ON t.other FOR EACH ROW EXECUTE FUNCTION approval.guard_request();
INSERT INTO t.other VALUES ('x');
SELECT is(t.attempt('postgres', 'UPDATE t.other SET status = ''y'''), '42501 guard', 'on another table it only refuses');

-- Runs, steps and handles: by the same guard.
SELECT t.row('agent', $$approval.start_run('conv', 'run')$$) IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', $$approval.claim_run('run')$$) ->> 'token' AS token \gset
SELECT t.row('agent', format('approval.next_iteration(''run'', %L)', :'token')) IS NOT NULL, t.row('agent', format('approval.attach_handle(''run'', %L, ''s'', ''h'')', :'token')) IS NOT NULL \g /dev/null
CREATE TABLE t.attempt_runs AS
SELECT format('%s, %s', relation, attname) AS what, format('UPDATE approval.%I SET %I = %s', relation, attname,
	CASE format_type(atttypid, NULL) WHEN 'integer' THEN '7' WHEN 'bigint' THEN '7' WHEN 'numeric' THEN '7' WHEN 'json' THEN '''{}''' WHEN 'timestamp with time zone' THEN 'now()'
		 WHEN 'approval.ulid' THEN quote_literal(approval.new_ulid()) WHEN 'approval.digest' THEN 'repeat(''0'', 64)' ELSE '''x''' END) AS statement
  FROM unnest(ARRAY['runs', 'steps', 'handles']) AS relation, pg_attribute WHERE attrelid = ('approval.' || relation)::regclass AND attnum > 0
UNION ALL SELECT format('%s, delete', relation), format('DELETE FROM approval.%I', relation) FROM unnest(ARRAY['runs', 'steps', 'handles']) AS relation
UNION ALL SELECT format('%s, truncate', relation), format('TRUNCATE approval.%I', relation) FROM unnest(ARRAY['runs', 'steps', 'handles']) AS relation
UNION ALL VALUES ('runs, a legal move', 'UPDATE approval.runs SET status = ''cancelled'', ended_at = now()'), ('runs, a new budget', 'UPDATE approval.runs SET iterations = 0');
SELECT is(t.attempt(who, statement), '42501 guard', format('%s: %s', who, what)) FROM t.attempt_runs, unnest(ARRAY['postgres', 'approval_owner']) AS who ORDER BY what, who;
CREATE FUNCTION t.meddle_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT (jsonb_populate_record($1, %L)).*', current_setting('t.meddle')) INTO NEW USING NEW;
	RETURN NEW;
END
$$;
CREATE TRIGGER a_meddle BEFORE UPDATE ON approval.runs FOR EACH ROW EXECUTE FUNCTION t.meddle_run();
SELECT is(t.says('agent', format('approval.next_iteration(''run'', %L)', :'token')), answer, 'a trigger that sets ' || change)
  FROM (VALUES ('{"iterations":0}', '42501'), ('{"fence":0}', '42501'), ('{"max_iterations":1000}', '42501'), ('{"requester_login":"x"}', '42501'), ('{"status":"completed"}', '42501'), ('{"status":"pending"}', '42501'), ('{"claimed_by":"x"}', 'ok')) AS v(change, answer),
	LATERAL (SELECT set_config('t.meddle', change, true)) AS x;
DROP TRIGGER a_meddle ON approval.runs;
SELECT is((SELECT count(*) FROM pg_trigger WHERE tgrelid::regclass::text IN ('approval.runs', 'approval.steps', 'approval.handles') AND tgname LIKE 'guard%' AND tgenabled = 'O'), 6::bigint, 'the guard stands on all three');

-- INSERT is granted to nobody and not guarded, so that a restore passes; what
-- could never be is refused all the same.
CREATE FUNCTION t.insert(other jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO approval.requests SELECT (jsonb_populate_record(r, other || jsonb_build_object('id', approval.new_ulid(), 'tool_call_id', nextval('t.calls')))).*
	  FROM approval.requests r JOIN t.states s USING (id) WHERE s.state = other ->> 'from';
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SELECT is(t.insert(other), answer, 'insert ' || other::text) FROM (VALUES
	('{"from":"pending"}'::jsonb, 'ok'), ('{"from":"succeeded"}', 'ok'), ('{"from":"pending","status":"done"}', '23514'), ('{"from":"pending","mode":"x"}', '23514'), ('{"from":"pending","effect":"x"}', '23514'),
	('{"from":"approved","cause":"x"}', '23514'), ('{"from":"succeeded","outcome":"x"}', '23514'), ('{"from":"succeeded","outcome":null}', '23514'), ('{"from":"pending","outcome":"in_flight"}', '23514'),
	('{"from":"pending","approvals_needed":0}', '23514'), ('{"from":"pending","approvals_needed":null}', '23502'), ('{"from":"pending","expires_at":"infinity"}', '23514'), ('{"from":"pending","expires_at":null}', '23502'),
	('{"from":"approved","use_by":"infinity"}', '23514'), ('{"from":"approved","use_by":null}', '23514'), ('{"from":"pending","action_hash":null}', '23502'), ('{"from":"pending","tool":null}', '23502')) AS v(other, answer);

-- Whoever takes the guard away is found out, by every verb that would act on
-- the row.
CREATE FUNCTION t.tamper(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE approval.requests DISABLE TRIGGER USER;
	ALTER TABLE approval.events DISABLE TRIGGER USER;
	ALTER TABLE approval.decisions DISABLE TRIGGER USER;
	EXECUTE statement;
	ALTER TABLE approval.requests ENABLE TRIGGER USER;
	ALTER TABLE approval.events ENABLE TRIGGER USER;
	ALTER TABLE approval.decisions ENABLE TRIGGER USER;
END
$$;
CREATE TABLE t.forged AS SELECT v.*, t.request(state) AS id FROM (VALUES
	('pending', 'alice', 'approval.approve(%1$L, %2$L)', 'PT412 row_tampered'), ('pending', 'alice', 'approval.reject(%1$L, %2$L)', 'PT412 row_tampered'),
	('pending', 'alice', 'approval.edit(%1$L, %2$L, ''{}'')', 'PT412 row_tampered'), ('pending', 'agent', 'approval.cancel(%1$L)', 'PT412 row_tampered'),
	('approved', 'bob', 'approval.revoke(%1$L)', 'PT412 row_tampered'), ('approved', 'agent', 'approval.cancel(%1$L)', 'PT412 row_tampered'),
	('approved', 'runner', 'approval.consume(%1$L, ''refund'', ''{"order":"A-1","amount":50}'', ''x'')', 'PT412 row_tampered'),
	-- what has happened is recorded all the same, and marked
	('in_flight', 'runner', 'approval.complete(%1$L, ''run-1'', %3$L, ''succeeded'')', 'ok'), ('unknown', 'bob', 'approval.reconcile(%1$L, ''succeeded'')', 'ok')) AS v(state, who, call, answer);
SELECT t.tamper('UPDATE approval.requests SET agent_reason = ''forged'' WHERE id IN (SELECT id FROM t.forged)') \gset _
SELECT is(t.says(who, format(call, id, t.seen(id), t.token(id))), answer, format('%s, tampered with: %s', state, call)) FROM t.forged;
SELECT set_eq($$SELECT kind FROM approval.events e JOIN t.forged f ON f.id = e.request_id WHERE answer = 'ok' AND kind LIKE '%tampered'$$,
	'{completed_tampered,reconciled_tampered}'::text[], 'marked by the kind of the event');
SELECT is(v.ok, false, 'and found by verify_request ever after: ' || call) FROM t.forged f, LATERAL approval.verify_request(f.id) v;
SELECT is((t.as('bob', 'approval.revoke_by(''user:alice'')')).code, '00000', 'revoke_by passes such a row over');

-- A forged column of every kind is found; the digest of the row is recomputed.
CREATE TABLE t.columns AS SELECT attname, format_type(atttypid, NULL) AS type, t.request('approved') AS id FROM pg_attribute
 WHERE attrelid = 'approval.requests'::regclass AND attnum > 0
   AND attname NOT IN ('tenant', 'id', 'status', 'outcome', 'mode', 'effect', 'cause', 'events', 'row_digest', 'head', 'lease_until', 'due_at', 'claimed_by', 'claimed_until');
SELECT count(t.tamper(format('UPDATE approval.requests SET %I = %s WHERE id = %L', attname,
	CASE type WHEN 'integer' THEN '7' WHEN 'bigint' THEN '7' WHEN 'json' THEN '''{"x":1}''' WHEN 'timestamp with time zone' THEN 'now() + interval ''1 day'''
		 WHEN 'approval.ulid' THEN quote_literal(approval.new_ulid()) WHEN 'approval.digest' THEN 'repeat(''0'', 64)' ELSE '''x''' END, id))) AS n FROM t.columns \gset
SELECT is(v.problem, 'row_tampered', 'forged: ' || attname) FROM t.columns c, LATERAL approval.verify_request(c.id) v ORDER BY attname;
SELECT isnt(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', ''x'')', id)), 'ok', 'not to be consumed: ' || attname) FROM t.columns ORDER BY attname;
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"x":1}'', ''x'')', id)), 'PT412 hash_mismatch', 'nor with the forged arguments') FROM t.columns WHERE attname = 'arguments';

-- Each problem by its name.  A request with four events.
CREATE TABLE t.chain AS SELECT v.*, t.request('succeeded') AS id FROM (VALUES
	('UPDATE approval.events SET note = ''x'' WHERE request_id = %1$L AND n = 2', 'event_changed', 2),
	('UPDATE approval.events SET actor = ''x'' WHERE request_id = %1$L AND n = 1', 'event_changed', 1),
	('UPDATE approval.events SET at = at + interval ''1 us'' WHERE request_id = %1$L AND n = 4', 'event_changed', 4),
	('UPDATE approval.events SET hash = repeat(''0'', 64) WHERE request_id = %1$L AND n = 3', 'event_changed', 3),
	('UPDATE approval.events SET previous = repeat(''0'', 64) WHERE request_id = %1$L AND n = 3', 'event_changed', 3),
	('UPDATE approval.events SET client = ''10.0.0.1'' WHERE request_id = %1$L AND n = 2', 'event_changed', 2),
	('DELETE FROM approval.events WHERE request_id = %1$L AND n = 1', 'event_missing', 2),
	('DELETE FROM approval.events WHERE request_id = %1$L AND n = 3', 'event_missing', 4),
	('DELETE FROM approval.events WHERE request_id = %1$L AND n = 4', 'event_missing', NULL),
	('DELETE FROM approval.events WHERE request_id = %1$L', 'event_missing', NULL),
	('UPDATE approval.requests SET head = repeat(''0'', 64) WHERE id = %1$L', 'chain_broken', NULL),
	('UPDATE approval.requests SET row_digest = repeat(''0'', 64) WHERE id = %1$L', 'row_tampered', NULL),
	('UPDATE approval.requests SET result = ''{"x":1}'' WHERE id = %1$L', 'row_tampered', NULL),
	('UPDATE approval.requests SET events = 3 WHERE id = %1$L', 'event_missing', NULL),
	('UPDATE approval.decisions SET verdict = ''reject'' WHERE request_id = %1$L', 'decision_changed', 2),
	('UPDATE approval.decisions SET actor = ''x'' WHERE request_id = %1$L', 'decision_changed', 2),
	('UPDATE approval.decisions SET seen = repeat(''0'', 64) WHERE request_id = %1$L', 'decision_changed', 2),
	('UPDATE approval.decisions SET result = ''x'' WHERE request_id = %1$L', 'decision_changed', 2),
	('UPDATE approval.decisions SET at = at + interval ''1 us'' WHERE request_id = %1$L', 'decision_changed', 2),
	('DELETE FROM approval.decisions WHERE request_id = %1$L', 'decision_missing', 2),
	('INSERT INTO approval.decisions SELECT tenant, request_id, 9, at, verdict, actor, login, seen, review_hash, action_hash, result, note FROM approval.decisions WHERE request_id = %1$L',
		'decision_added', NULL),
	('SELECT %1$L', NULL, NULL)) AS v(statement, problem, at_event);
SELECT count(t.tamper(format(statement, id))) AS n FROM t.chain \gset
SELECT is((v.problem, v.at_event, v.ok)::text, (c.problem, c.at_event, c.problem IS NULL)::text, statement) FROM t.chain c, LATERAL approval.verify_request(c.id) v;

SELECT * FROM finish();
ROLLBACK;
