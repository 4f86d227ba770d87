-- consume: once, for exactly the action approved, and nothing a rollback
-- could take back.
\set ns consume
\ir include/gate.psql
SELECT no_plan();

CREATE FUNCTION t.consume(request text, more text DEFAULT '', arguments text DEFAULT '{"order":"A-1","amount":50}', tool text DEFAULT 'refund')
RETURNS text LANGUAGE sql
RETURN format('approval.consume(%L, %L, %L, ''run-1''%s)', request, tool, arguments, ', ' || nullif(more, ''));

-- The permit.
SELECT t.request('approved') AS id \gset
SELECT t.row('runner', t.consume(:'id', 'lease => ''10 min''')) AS p \gset
SELECT is(:'p'::jsonb ->> key, value, 'permit: ' || key)
  FROM (VALUES ('id', :'id'), ('tool', 'refund'), ('server', ''), ('resource', NULL), ('arguments', '{"order": "A-1", "amount": 50}'),
			   ('action_hash', (t.stored(:'id')).action_hash::text), ('execution_id', 'run-1'), ('attempt', '1'),
			   ('idempotency_key', :'id'), ('decided_by', 'user:alice'), ('tool_call_id', (t.stored(:'id')).tool_call_id)) AS v(key, value);
SELECT matches(:'p'::jsonb ->> 'token', '^[0-9a-f]{64}$', 'the token is 256 bits');
SELECT is((t.stored(:'id')).token_hash::bytea, sha256((:'p'::jsonb ->> 'token')::bytea), 'of which the row keeps the hash');
SELECT is((t.stored(:'id')).lease_until - (t.stored(:'id')).consumed_at, interval '10 min', 'the lease counts from the consumption');
SELECT is((t.stored(:'id')).executor_login, 'consume_runner', 'the executing login is kept');
SELECT is_empty(format($$SELECT 1 FROM approval.requests r WHERE r::text LIKE '%%%s%%' UNION ALL
	SELECT 1 FROM approval.events e WHERE e::text LIKE '%%%1$s%%'$$, :'p'::jsonb ->> 'token'), 'the token itself stands nowhere');
SELECT is((SELECT count(DISTINCT t.row('runner', t.consume(t.request('approved')::text)) ->> 'token') FROM generate_series(1, 20)), 20::bigint, 'no token comes twice');

-- Once.
SELECT is(t.says(who, t.consume(:'id')), 'PT409 already_consumed', 'again, by ' || who) FROM unnest(ARRAY['runner', 'runner2']) AS who;
SELECT is(t.detail('runner2', t.consume(:'id')) - 'decided_at' - 'hint',
	jsonb_build_object('sqlstate', 'PT409', 'reason', 'already_consumed', 'http', 409, 'id', :'id', 'status', 'consumed', 'decided_by', 'user:alice', 'execution_id', 'run-1', 'outcome', 'in_flight'),
	'DETAIL says what became of it');

-- Exactly the action.  What is left out counts as '' or null, never as what the row says.
CREATE FUNCTION t.shop() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i text := t.proposed('server => ''shop'', resource => ''order:1''', arguments => '{"a":{"b":[1,2],"ü.x":null},"c":"x"}');
BEGIN
	PERFORM t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i)));
	RETURN i;
END
$$;
SELECT t.shop() AS id \gset
SELECT is(t.detail('runner', t.consume(:'id', more, arguments, tool)) -> 'differs', differs::jsonb, 'differs: ' || differs)
  FROM (VALUES
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refunds', '["tool"]'),
	('server => ''shop2'', resource => ''order:1''', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refund', '["server"]'),
	('resource => ''order:1''', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refund', '["server"]'),
	('server => ''shop'', resource => ''order:2''', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refund', '["resource"]'),
	('server => ''shop'', resource => ''''', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refund', '["resource"]'),
	('server => ''shop''', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refund', '["resource"]'),
	('', '{"a":{"b":[1,2],"ü.x":null},"c":"x"}', 'refund', '["server","resource"]'),
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1,3],"ü.x":null},"c":"x"}', 'refund', '["$.a.b[1]"]'),
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1,2,3],"ü.x":null},"c":"x"}', 'refund', '["$.a.b[2]"]'),
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1],"ü.x":null},"c":"x"}', 'refund', '["$.a.b[1]"]'),
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1,2],"ü.x":0},"c":"x"}', 'refund', '["$.a.\"ü.x\""]'),
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1,2]},"c":"x"}', 'refund', '["$.a.\"ü.x\""]'),
	('server => ''shop'', resource => ''order:1''', '{"a":{"b":[1,2],"ü.x":null},"c":"x","d":1}', 'refund', '["$.d"]'),
	('server => ''shop'', resource => ''order:1''', '{"a":[],"c":"y"}', 'refund', '["$.a","$.c"]')) AS v(more, arguments, tool, differs);
SELECT ok(NOT (t.as('runner', t.consume(:'id', '', '{"c":"presented-secret"}'))).detail ~ 'presented-secret|order:1|shop', 'paths, no values');
SELECT is(t.says('runner', t.consume(:'id', 'server => ''shop'', resource => ''order:1''', '{"c":"x", "a":{"ü.x":null,"b":[1.0,2e0]}}')), 'ok',
	'after all of that it can still be used for the right one');

-- A definition: omitted, the stored digest stays; given, it must be that.
CREATE FUNCTION t.pinned() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i text := t.proposed('definition => ''{"name":"refund","description":"d"}''', 'gateway');
BEGIN
	PERFORM t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i)));
	RETURN i;
END
$$;
SELECT is(t.says('runner', t.consume(t.pinned(), more)), answer, 'definition: ' || more)
  FROM (VALUES ('', 'ok'), ('definition => ''{"description":"d","name":"refund"}''', 'ok'),
			   ('definition => ''{"description":"d","name":"refund","_meta":{"x":1},"icons":[]}''', 'ok'),
			   ('definition => ''{"description":"D","name":"refund"}''', 'PT412 tool_changed'),
			   ('definition => ''{}''', 'PT412 tool_changed'), ('definition => ''[]''', 'PT422 bad_arguments')) AS v(more, answer);
SELECT is(t.says('runner', t.consume(t.request('approved')::text, 'definition => ''{"name":"refund"}''')), 'PT412 tool_changed',
	'a definition where none was approved');

-- Leases.
SELECT is(t.says('runner', t.consume(t.request('approved')::text, format('lease => %L', lease))), answer, format('lease %L', lease))
  FROM (VALUES ('1 microsecond', 'ok'), ('1 day', 'ok'), ('0', '22023'), ('-1 s', '22023'), ('1 day 1 microsecond', '22023'),
			   ('178000000 years', '22023'), ('-178000000 years', '22023')) AS v(lease, answer);
SELECT is(r.lease_until - r.consumed_at, interval '5 min', 'five minutes by default')
  FROM t.consumed(t.request('approved')) AS i, LATERAL t.stored(i) AS r;
SELECT is(t.says('runner', t.consume(t.request('approved')::text, 'lease => ''infinity''')),
	CASE WHEN current_setting('server_version_num')::int >= 170000 THEN '22023' ELSE '22007' END, 'lease infinity (no interval before 17)');

-- A savepoint makes the row whole again, but the permit has been seen.
SELECT t.request('approved') AS id \gset
SAVEPOINT s;
SELECT t.says('runner', t.consume(:'id')) AS first \gset
ROLLBACK TO s;
SELECT is(:'first'::text, 'ok', 'consumed in a savepoint');
SELECT is((t.stored(:'id')).status, 'approved', 'which is rolled back');
SELECT is(t.says('runner', t.consume(:'id')), 'PT409 already_consumed', 'and no second permit in this transaction');
SELECT is(t.says('runner', replace(t.consume(:'id'), 'approval.consume', 'approval.try_consume')), 'ok', 'try_consume answers');
SELECT is((t.row('runner', replace(t.consume(:'id'), 'approval.consume', 'approval.try_consume'))) ->> 'reason', 'already_consumed', 'the same');
SELECT is(t.says('runner', t.consume(t.request('approved')::text)), 'ok', 'other requests are not concerned');

-- commit_first: not in a block, not in a function.  Whoever may not be trusted
-- with that cannot switch it off.
SET approval.commit_first = on;
SELECT t.request('approved') AS id \gset
SELECT is(t.says('runner', t.consume(:'id')), 'PT422 commit_first', 'inside a transaction block and a function');
SELECT is((t.row('runner', replace(t.consume(:'id'), 'approval.consume', 'approval.try_consume'))) ->> 'reason', 'commit_first', 'its twin does not either');
SELECT is((t.stored(:'id')).status, 'approved', 'and the approval is still there');
SELECT is(t.says('runner', t.consume(:'id', '', '{"order":"A-1","amount":51}')), 'PT412 hash_mismatch', 'what is wrong anyway is said first');
SELECT is(t.says('runner', format('set_config(%L, %L, false)', name, value)), '42501', format('an executor cannot set %s', name))
  FROM (VALUES ('approval.commit_first', 'off'), ('approval.force_sync', 'off'), ('approval.separate_logins', 'off'), ('approval.max_lease', '1d'),
			   ('approval.lease', '1d'), ('approval.use_within', '1d'), ('approval.decide_within', '1d'), ('approval.min_decide_within', '1s'),
			   ('approval.max_action_size', '1GB'), ('approval.notify', 'off'), ('approval.turn_wait', '60s'), ('approval.max_grant', '366d')) AS v(name, value);
SET approval.commit_first = off;
SELECT is(t.says('runner', t.consume(:'id')), 'ok', 'off, it works in a block');
COMMIT;

-- The same by hand, as an executor's client does it.  What is committed here
-- goes with the database, and the roles are dropped at the end.
SET approval.commit_first = on;
CREATE TABLE t.committed AS SELECT n, t.request('approved') AS id FROM generate_series(1, 12) AS n;
SELECT id AS id1 FROM t.committed WHERE n = 1 \gset
SELECT id AS id2 FROM t.committed WHERE n = 2 \gset
SELECT id AS id3 FROM t.committed WHERE n = 3 \gset
CREATE TABLE t.said (what text, code text, wanted text);
GRANT INSERT ON t.said TO PUBLIC;
\set VERBOSITY sqlstate
\set ON_ERROR_STOP off
-- psql says of each statement what its SQLSTATE was
\set args '''refund'', ''{"order":"A-1","amount":50}'', ''run-1'''
SET SESSION AUTHORIZATION consume_runner;
\o /dev/null
BEGIN;
SELECT * FROM approval.consume(:'id1', :args);
\set code :SQLSTATE
ROLLBACK;
INSERT INTO t.said VALUES ('in a transaction block', :'code', 'PT422');
SELECT * FROM approval.consume(:'id1', :args) UNION ALL SELECT * FROM approval.consume(:'id2', :args);
INSERT INTO t.said VALUES ('two in one statement', :'SQLSTATE', 'PT422');
SELECT * FROM approval.consume(:'id1', :args), pg_sleep(0);
INSERT INTO t.said VALUES ('joined with something that may fail', :'SQLSTATE', 'PT422');
WITH c AS MATERIALIZED (SELECT * FROM approval.consume(:'id1', :args)) SELECT * FROM c;
INSERT INTO t.said VALUES ('in a CTE', :'SQLSTATE', 'PT422');
CREATE TEMP TABLE kept AS SELECT * FROM approval.consume(:'id1', :args);
INSERT INTO t.said VALUES ('in CREATE TABLE AS', :'SQLSTATE', 'PT422');
BEGIN;
DECLARE one NO SCROLL CURSOR FOR SELECT * FROM approval.consume(:'id1', :args);
FETCH 1 FROM one;
\set code :SQLSTATE
ROLLBACK;
INSERT INTO t.said VALUES ('through a cursor', :'code', 'PT422');
SELECT * FROM approval.consume(:'id1', :args) \; SELECT 1;
INSERT INTO t.said VALUES ('before another statement in one message', :'SQLSTATE', 'PT422');
SELECT * FROM approval.consume(:'id1', :args);
INSERT INTO t.said VALUES ('as a statement of its own', :'SQLSTATE', '00000');
SELECT * FROM approval.consume(:'id1', :args);
INSERT INTO t.said VALUES ('a second time', :'SQLSTATE', 'PT409');
SELECT (approval.consume(:'id2', :args)).token;
INSERT INTO t.said VALUES ('as an expression', :'SQLSTATE', '00000');
SELECT token FROM approval.consume(:'id3', :args) LIMIT 1;
INSERT INTO t.said VALUES ('with LIMIT 1', :'SQLSTATE', '00000');
\o
RESET SESSION AUTHORIZATION;
\set ON_ERROR_STOP on
SELECT is(code, wanted, what) FROM t.said;
SELECT is((SELECT string_agg((t.stored(id)).status, ' ' ORDER BY n) FROM t.committed WHERE n <= 4), 'consumed consumed consumed approved', 'what was answered is what is stored');

-- Roles are the cluster's.
\set QUIET on
SET client_min_messages = error;
SELECT format('DROP OWNED BY %I', rolname), format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname LIKE 'consume\_%' \gexec
SELECT * FROM finish();
