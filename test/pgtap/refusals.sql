-- What a refusal looks like: SQLSTATE, MESSAGE, HINT, and DETAIL as one line of
-- JSON, raised or returned.
\set ns refusals
\ir include/gate.psql
\ir include/provoke.psql
SELECT no_plan();

-- The table of reasons is that of the design.
SELECT set_eq('SELECT sqlstate, reason FROM approval.errors()', $$SELECT 'PT' || split_part(l, ' ', 1), r FROM unnest(ARRAY[
	'403 not_eligible self_approval actor_not_allowed not_executor tool_denied tool_frozen tool_retired',
	'404 not_found',
	'409 already_decided already_consumed not_approved tool_call_conflict decisions_mismatch vote_locked outcome_conflict execution_mismatch not_idempotent run_claimed run_paused run_conflict run_ended handle_conflict',
	'410 expired lease_expired run_lease_expired',
	'412 hash_mismatch stale_view tool_changed policy_changed stale_state row_tampered',
	'422 not_canonical bad_arguments too_large bad_decision bad_policy commit_first empty_result degraded_result iteration_limit',
	'423 claimed', '429 quota']) AS l, unnest((string_to_array(l, ' '))[2:]) AS r$$, 'reasons and their SQLSTATE');
SELECT is_empty($$SELECT reason FROM approval.errors() WHERE sqlstate <> 'PT' || http_status$$, 'SQLSTATE is PT and the HTTP status');
SELECT is_empty($$SELECT reason FROM approval.errors() GROUP BY reason HAVING count(*) > 1$$, 'each reason stands there once');
SELECT is_empty($$SELECT message FROM approval.errors() WHERE message !~ '^[a-z].*[^.]$' OR message ~ '[^ -~]'$$, 'messages: lower case, no full stop');
SELECT is_empty($$SELECT hint FROM approval.errors() WHERE hint !~ '^[A-Z].*\.$' OR hint ~ '["\\]|[^ -~]'$$, 'hints: whole sentences that need no escaping');
SELECT is_empty($$SELECT reason, message, hint FROM approval.errors() WHERE message || hint ~* 'lost connection|deadlock|query_wait|reset by peer|closed the connection|no connection|error while sending|gone away|could not serialize'$$,
	'no words that a framework would retry on');

SELECT t.plant('x') \gset _
SELECT FROM pg_sleep(1.1);
CREATE TABLE t.refused AS SELECT v.answer AS wanted, v.who, v.call, a.code, a.message, nullif(a.detail, '') AS detail, a.hint
  FROM t.provoke('x') v, LATERAL t.as(v.who, v.call) a;
SET approval.commit_first = on;
INSERT INTO t.refused SELECT 'PT422 commit_first', 'runs x', c, a.code, a.message, a.detail, a.hint FROM t.planted p, LATERAL format('approval.consume(%L, ''x'', %L, ''x'', ''x'', ''x'')', p.id, (t.stored(p.id)).arguments) c,
	LATERAL t.as('runs x', c) a WHERE state = 'approved';
SET approval.commit_first = off;

SELECT set_eq($$SELECT reason FROM approval.errors() EXCEPT SELECT detail::json ->> 'reason' FROM t.refused WHERE code LIKE 'PT%'$$,
	$$SELECT unnest('{not_executor,tool_denied,tool_frozen,tool_retired,decisions_mismatch,vote_locked,tool_changed,policy_changed,bad_policy,empty_result,degraded_result,iteration_limit,claimed,quota,run_claimed,run_paused,run_conflict,run_ended,run_lease_expired,handle_conflict}'::text[])$$,
	'every reason is provoked but those of policy and of runs, which have files of their own');
SELECT is(r.code || ' ' || (r.detail::json ->> 'reason'), wanted, call) FROM t.refused r WHERE wanted LIKE 'PT%';
SELECT is((message, hint)::text, (SELECT (e.message, e.hint)::text FROM approval.errors() e WHERE e.sqlstate || ' ' || e.reason = wanted), 'MESSAGE and HINT: ' || wanted)
  FROM t.refused WHERE wanted LIKE 'PT%';
SELECT is_empty($$SELECT detail FROM t.refused WHERE detail ~ E'[\n\r]' OR json_typeof(detail::json) <> 'object'$$, 'DETAIL is one line of JSON');
SELECT is_empty($$SELECT call FROM t.refused WHERE detail IS NULL AND code <> '22P02' AND call !~ 'register_login'$$, 'on every error but those of types and grants, which are the server''s');
SELECT is_empty($$SELECT wanted, detail FROM t.refused WHERE detail::json ->> 'sqlstate' <> code$$, 'which repeats the SQLSTATE: n8n drops it');
SELECT is((SELECT array_agg(k ORDER BY o) FROM json_object_keys(r.detail::json) WITH ORDINALITY AS x(k, o) WHERE k IN ('sqlstate', 'reason', 'http', 'id', 'status', 'hint')),
	'{sqlstate,reason,http,id,status,hint}'::text[], 'members: ' || wanted) FROM t.refused r WHERE wanted LIKE 'PT%';
SELECT is((detail::json ->> 'http') || (detail::json ->> 'hint'), right(code, 3) || hint, 'http and hint: ' || wanted) FROM t.refused WHERE wanted LIKE 'PT%';

-- id is the one asked for, status what it is, where the caller may know.
SELECT is((r.detail::json ->> 'status'), v.status, wanted || ': status') FROM (VALUES ('PT409 already_decided', 'approved'), ('PT409 already_decided', 'rejected'), ('PT410 expired', 'expired'),
	('PT410 lease_expired', 'consumed'), ('PT412 hash_mismatch', 'approved'), ('PT412 stale_view', 'pending'), ('PT403 self_approval', 'pending'), ('PT404 not_found', NULL), ('PT409 tool_call_conflict', NULL),
	('PT409 not_approved', 'pending'), ('PT409 not_approved', 'rejected')) AS v(answer, status)
  JOIN t.refused r ON r.wanted = v.answer AND (r.detail::json ->> 'status') IS NOT DISTINCT FROM v.status;
SELECT is_empty($$SELECT wanted, detail FROM t.refused, LATERAL regexp_matches(call, '[0-9A-HJKMNP-TV-Z]{26}') m WHERE code LIKE 'PT%' AND wanted !~ 'conflict|actor_not_allowed|not_eligible|canonical'
	AND detail::json ->> 'id' IS DISTINCT FROM m[1]$$, 'id is the one that was asked for');
SELECT is(detail::json ->> 'outcome', 'unknown', 'lease_expired says what the outcome reads as') FROM t.refused WHERE wanted = 'PT410 lease_expired';

-- The twins: the same answer as a row.
CREATE TABLE t.twins AS SELECT r.wanted, r.code, r.detail, r.call, x.rows -> 0 AS a FROM t.refused r,
	LATERAL t.as(r.who, regexp_replace(r.call, '^approval\.', 'approval.try_')) x WHERE r.call ~ '^approval\.(decide|consume|complete)\(' AND r.code LIKE 'PT%' AND wanted <> 'PT422 commit_first';
SELECT is((a ->> 'ok', a ->> 'reason', a ->> 'http_status', a -> 'detail', a ->> 'permit')::text, ('false', split_part(wanted, ' ', 2), right(code, 3), detail::jsonb, NULL)::text, 'try: ' || call) FROM t.twins;
SELECT is_empty($$SELECT a FROM t.twins WHERE (a ->> 'server_now')::timestamptz NOT BETWEEN now() AND clock_timestamp()$$, 'with the server''s time');
SELECT is_empty($$SELECT a FROM t.twins WHERE (a -> 'request') ->> 'status' IS DISTINCT FROM a -> 'detail' ->> 'status' AND a -> 'detail' ->> 'status' IS NOT NULL$$, 'and the request, where it was found');
SELECT results_eq('SELECT reason, http_status, verb, login FROM approval.refusal_log ORDER BY id',
	$$SELECT split_part(wanted, ' ', 2), right(code, 3)::int, substring(call FROM 'approval\.(\w+)'), CASE WHEN call LIKE '%.decide%' THEN coalesce(substring(a ->> 'x' FROM 'x'), CASE WHEN wanted = 'PT422 bad_decision' AND call LIKE '%''x'', ''%' THEN 'refusals_decides x' ELSE 'refusals_is x' END) ELSE 'refusals_runs x' END FROM t.twins$$,
	'each refusal is kept, in order');
SELECT is((SELECT count(*) FROM approval.events), (SELECT sum(CASE state WHEN 'pending' THEN 1 WHEN 'late' THEN 1 WHEN 'approved' THEN 2 WHEN 'rejected' THEN 2 WHEN 'tampered' THEN 2 WHEN 'succeeded' THEN 4 ELSE 3 END) FROM t.planted), 'none of it made an event');
SELECT t.row('runs x', format('approval.try_consume(%L, ''x'', %L, ''x'', ''x'', ''x'')', id, (t.stored(id)).arguments)) AS a FROM t.planted WHERE state = 'approved' \gset
SELECT is(:'a'::jsonb ->> key, value, 'try_consume that may: ' || key) FROM (VALUES ('ok', 'true'), ('reason', NULL), ('http_status', '200'), ('detail', NULL)) AS v(key, value);
SELECT is((:'a'::jsonb -> 'permit' ->> 'token') ~ '^[0-9a-f]{64}$' AND :'a'::jsonb -> 'request' ->> 'status' = 'consumed', true, 'with permit and request');
SELECT is(t.says('is x', format('approval.try_decide(%L, ''approve'', NULL)', id)), '22004', 'a twin raises standard errors all the same') FROM t.planted WHERE state = 'pending';
SELECT is((SELECT count(*) FROM approval.refusal_log), (SELECT count(*) FROM t.twins), 'and does not keep them');

SELECT * FROM finish();
ROLLBACK;
