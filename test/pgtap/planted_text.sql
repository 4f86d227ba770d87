-- Frameworks look for phrases in the text of an error, and silently run the
-- statement again.  So no text of anybody stands in MESSAGE or HINT, and in
-- DETAIL no phrase survives, while a JSON reader still gets it back.
\set ns planted
\ir include/gate.psql
\ir include/provoke.psql
SELECT no_plan();

CREATE TABLE t.phrases AS SELECT n, phrase FROM unnest(ARRAY[
	'Lost connection', 'deadlock detected', 'query_wait_timeout', 'server closed the connection unexpectedly', 'reset by peer',
	E'Error while sending\n"x" \\ ; -- ü😀', E'\'\t\'']) WITH ORDINALITY AS v(phrase, n);
SELECT count(t.plant(phrase)) AS n FROM t.phrases \gset
SELECT FROM pg_sleep(1.1);
CREATE TABLE t.refused AS
SELECT p.phrase, v.answer AS wanted, v.who, v.call, a.* FROM t.phrases p, LATERAL t.provoke(p.phrase) v, LATERAL t.as(v.who, v.call) a;

SELECT is(concat_ws(' ', r.code, CASE WHEN r.code LIKE 'PT%' THEN r.detail::json ->> 'reason' END), wanted, format('%s: %s', to_json(phrase), to_json(left(call, 60))))
  FROM t.refused r WHERE phrase = 'Lost connection' OR concat_ws(' ', r.code, CASE WHEN r.code LIKE 'PT%' THEN r.detail::json ->> 'reason' END) <> wanted;

SELECT is_empty($$SELECT r.call, r.message, r.hint FROM t.refused r JOIN t.phrases w USING (phrase) WHERE strpos(lower(r.message || ' | ' || r.hint), lower(w.phrase)) > 0$$,
	'no phrase stands in MESSAGE or HINT');
SELECT is_empty($$SELECT r.call, r.detail FROM t.refused r JOIN t.phrases w USING (phrase) WHERE strpos(lower(r.detail), lower(w.phrase)) > 0$$, 'none stands in DETAIL as it is');
-- MESSAGE and HINT do not depend on what was planted at all
SELECT is((SELECT count(DISTINCT said) FROM (SELECT array_agg((code, message, hint)::text ORDER BY (code, message, hint)::text) AS said FROM t.refused GROUP BY phrase) AS x), 1::bigint,
	'MESSAGE and HINT are the same for every phrase');
SELECT is_empty($$SELECT call, message, hint FROM t.refused WHERE code LIKE 'PT%' AND (message, hint) NOT IN (SELECT message, hint FROM approval.errors())$$,
	'and those of refusals stand in the table of reasons');

-- DETAIL is one line, and gives the text back.
SELECT is_empty($$SELECT call, detail FROM t.refused WHERE detail ~ E'[\n\r]'$$, 'DETAIL is one line');
SELECT is_empty($$SELECT call, detail FROM t.refused WHERE code LIKE 'PT%' AND detail !~ '^[ -~]*$'$$, 'in ASCII');
SELECT is_empty($$SELECT call, v FROM t.refused, LATERAL regexp_matches(detail, '"(?:decided_by|path)":"((?:[^"\\]|\\.)*)"', 'g') m(v)
	WHERE v[1] !~ '^([A-Za-z0-9:.@-]|\\u[0-9a-f]{4})*$'$$, 'every other character of a text is escaped');
SELECT is((SELECT count(*) FROM t.refused WHERE wanted ~ 'already_|not_approved' AND detail::json ->> 'decided_by' = phrase), 5 * (SELECT count(*) FROM t.phrases), 'decoded, decided_by is who decided');
SELECT is((SELECT count(*) FROM t.refused r WHERE wanted ~ 'hash_mismatch' AND EXISTS (SELECT FROM json_array_elements_text(detail::json -> 'differs') d
	WHERE d IN ('$.' || approval.jcs(to_json(phrase)), '$.' || phrase))), (SELECT count(*) FROM t.phrases), 'decoded, differs names the key that was changed');
SELECT is_empty($$SELECT call, detail FROM t.refused r WHERE wanted ~ 'not_canonical' AND strpos(detail::json ->> 'path', trim('"' FROM approval.jcs(to_json(phrase)))) = 0$$,
	'decoded, path names the key');

-- The twins keep the same DETAIL; the views give text back as it was said.
CREATE TABLE t.kept AS SELECT r.phrase, r.wanted, r.detail, x.rows -> 0 AS answer FROM t.refused r,
	LATERAL t.as(r.who, regexp_replace(r.call, '^approval\.', 'approval.try_')) x WHERE r.call ~ '^approval\.(decide|consume|complete)\(' AND r.code LIKE 'PT%';
SELECT is_empty($$SELECT wanted, answer, detail FROM t.kept WHERE (answer -> 'detail') <> detail::jsonb$$, 'a twin returns the DETAIL that is raised');
SELECT cmp_ok((SELECT count(*) FROM t.kept), '>=', 50::bigint, 'of many');
SELECT is((SELECT count(*) FROM approval.refusal_log), (SELECT count(*) FROM t.kept), 'and keeps it');
SELECT is_empty($$SELECT reason, detail FROM approval.refusal_log l JOIN t.phrases p ON l.tenant = p.phrase WHERE strpos(lower(l.detail::text), lower(p.phrase)) > 0$$, 'also escaped');
SELECT is((SELECT count(*) FROM approval.requests WHERE tenant = tool AND tool = server AND conversation_id = resource AND run_id = agent_reason AND reply_to = tool AND tenant IN (SELECT phrase FROM t.phrases)),
	7 * (SELECT count(*) FROM t.phrases), 'what was said is stored as it was said');
SELECT is_empty($$SELECT r.id FROM t.planted p JOIN approval.requests r USING (id), LATERAL t.as('is ' || p.phrase, format('approval.verify_request(%L)', r.id)) v
	WHERE state <> 'tampered' AND (v.rows #>> '{0,ok}') IS DISTINCT FROM 'true'$$, 'and verifies');

SELECT * FROM finish();
ROLLBACK;
