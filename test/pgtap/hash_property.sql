-- Over generated documents: any single change of an approved action is refused,
-- leaves the request usable, and the same action in another spelling is the
-- same action.
\set ns hash_property
\ir include/gate.psql
SELECT no_plan();
SELECT setseed(0.42) \gset _

-- Keys and strings with what breaks naive canonicalisers: quotes, controls,
-- astral characters, keys that sort differently by code unit and by byte.
CREATE FUNCTION t.one_of(choices anyarray) RETURNS anyelement LANGUAGE sql AS
'SELECT choices[1 + floor(random() * cardinality(choices))::int]';
CREATE FUNCTION t.some_key() RETURNS text LANGUAGE sql
RETURN t.one_of(ARRAY['a', 'b', 'amount', 'Amount', '', ' ', 'ä', 'ﬀ', '😀', 'a"b', E'\n', '\', 'a.b', '$', '1', '10', '2', 'order']) || floor(random() * 3)::text;
CREATE FUNCTION t.some_leaf() RETURNS jsonb LANGUAGE sql
RETURN t.one_of(ARRAY['null', 'true', 'false', '0', '-1', '1', '1.5', '1e21', '0.1', '5e-324', '9007199254740992', '""', '"a"', '"1"', '"ä\u0001"',
					  '"😀"', '"null"', '[]', '{}', '[[]]', '[null]', '"\"\\\/"'])::jsonb;
CREATE FUNCTION t.document(depth int) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	kind float := random();
	result jsonb;
BEGIN
	IF depth < 3 AND (depth = 0 OR kind < 0.3) THEN
		result := '{}';
		FOR i IN 1 .. 1 + floor(random() * 4) LOOP
			result := result || jsonb_build_object(t.some_key(), t.document(depth + 1));
		END LOOP;
		RETURN result;
	ELSIF depth < 3 AND kind < 0.5 THEN
		result := '[]';
		FOR i IN 1 .. 1 + floor(random() * 3) LOOP
			result := result || jsonb_build_array(t.document(depth + 1));
		END LOOP;
		RETURN result;
	END IF;
	RETURN t.some_leaf();
END
$$;

-- The path of every value in a document.
CREATE FUNCTION t.paths(doc jsonb) RETURNS SETOF text[] LANGUAGE sql
BEGIN ATOMIC
	WITH RECURSIVE p(path, value) AS (
		SELECT '{}'::text[], doc
		UNION ALL
		SELECT p.path || c.key, c.value
		  FROM p, LATERAL (
			SELECT key, value FROM jsonb_each(CASE jsonb_typeof(p.value) WHEN 'object' THEN p.value ELSE '{}' END)
			UNION ALL
			SELECT (ordinality - 1)::text, value
			  FROM jsonb_array_elements(CASE jsonb_typeof(p.value) WHEN 'array' THEN p.value ELSE '[]' END) WITH ORDINALITY) c)
	SELECT path FROM p WHERE path <> '{}';
END;

-- One change: a value replaced, a member removed, a key renamed, a member added.
CREATE FUNCTION t.changes(doc jsonb) RETURNS TABLE (what text, changed jsonb) LANGUAGE sql
BEGIN ATOMIC
	SELECT 'replaced ' || p::text, jsonb_set(doc, p, v.value)
	  FROM t.paths(doc) p, (VALUES ('null'::jsonb), ('0'), ('1'), ('"1"'), ('""'), ('[]'), ('{}'), ('false')) AS v(value)
	 WHERE doc #> p <> v.value
	UNION ALL SELECT 'removed ' || p::text, doc #- p FROM t.paths(doc) p
	UNION ALL SELECT 'renamed ' || p::text, jsonb_set(doc #- p, p[:cardinality(p) - 1] || (p[cardinality(p)] || '~'), doc #> p)
	  FROM t.paths(doc) p WHERE jsonb_typeof(CASE WHEN cardinality(p) = 1 THEN doc ELSE doc #> p[:cardinality(p) - 1] END) = 'object'
	UNION ALL SELECT 'wrapped ' || p::text, jsonb_set(doc, p, jsonb_build_array(doc #> p)) FROM t.paths(doc) p
	UNION ALL SELECT 'added', doc || '{"~": null}';
END;

-- The same document written otherwise: members from the last to the first,
-- white space, escapes, numbers with exponents.
CREATE FUNCTION t.spelled(doc jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CASE jsonb_typeof(doc)
	WHEN 'object' THEN
		RETURN E'{ \n' || coalesce((SELECT string_agg(t.spelled(to_jsonb(key)) || ' : ' || t.spelled(value), E',\t' ORDER BY key COLLATE "C" DESC) FROM jsonb_each(doc)), '') || ' }';
	WHEN 'array' THEN
		RETURN '[ ' || coalesce((SELECT string_agg(t.spelled(value), ' , ' ORDER BY ordinality) FROM jsonb_array_elements(doc) WITH ORDINALITY), '') || ' ]';
	WHEN 'number' THEN
		RETURN CASE WHEN (doc #>> '{}')::numeric = 0 THEN '0.0e5' ELSE ((doc #>> '{}')::numeric * 1000)::text || 'e-3' END;
	WHEN 'string' THEN
		RETURN '"' || coalesce((SELECT string_agg(CASE WHEN ascii(c) < 65536 THEN '\u' || lpad(to_hex(ascii(c)), 4, '0') ELSE c END, '' ORDER BY n)
								  FROM string_to_table(doc #>> '{}', NULL) WITH ORDINALITY AS x(c, n)), '') || '"';
	ELSE
		RETURN doc::text;
	END CASE;
END
$$;

-- Approve a document, present others, then itself in another spelling.
CREATE FUNCTION t.holds(doc jsonb, OUT tried int, OUT problem text) LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.proposed(arguments => doc::text);
	c record;
	said text;
BEGIN
	tried := 0;
	PERFORM t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i)));
	FOR c IN SELECT * FROM t.changes(doc) ORDER BY random() LIMIT 12 LOOP
		said := t.says('runner', format('approval.consume(%L, ''refund'', %L, ''x'')', i, c.changed));
		tried := tried + 1;
		IF c.changed <> doc AND said <> 'PT412 hash_mismatch' THEN
			problem := format('%s, %s: %s', doc, c.what, said);
			RETURN;
		END IF;
	END LOOP;
	said := t.says('runner', format('(SELECT id FROM approval.consume(%L, ''refund'', %L, ''x''))', i, t.spelled(doc)));
	IF said <> 'ok' THEN
		problem := format('%s as %s: %s', doc, t.spelled(doc), said);
	ELSIF approval.jcs((t.stored(i)).arguments) <> approval.jcs(doc::json) THEN
		problem := format('%s is stored as %s', doc, (t.stored(i)).arguments);
	END IF;
END
$$;

CREATE TABLE t.documents AS SELECT n, t.document(0) AS doc FROM generate_series(1, 300) AS n;
CREATE TABLE t.result AS SELECT d.n, d.doc, h.* FROM t.documents d, LATERAL t.holds(d.doc) h;
SELECT is_empty('SELECT n, problem FROM t.result WHERE problem IS NOT NULL', 'a change is refused, the same is not');
SELECT cmp_ok((SELECT sum(tried) FROM t.result), '>', 3000::bigint, 'some thousand changes were tried');
SELECT cmp_ok((SELECT count(DISTINCT doc) FROM t.result), '>', 250::bigint, 'on different documents');

-- The hash itself, over every change of every document at once: equal exactly
-- where the documents are.
CREATE TABLE t.hashes AS
SELECT DISTINCT c.changed AS doc, approval.hash_action('refund', c.changed::json) AS hash, approval.jcs(c.changed::json) AS text
  FROM t.documents d, LATERAL t.changes(d.doc) c;
SELECT cmp_ok((SELECT count(*) FROM t.hashes), '>', 10000::bigint, 'many documents');
SELECT is_empty($$SELECT hash FROM t.hashes GROUP BY hash HAVING count(DISTINCT doc) > 1$$, 'different documents have different hashes');
SELECT is_empty($$SELECT h.doc FROM t.hashes h JOIN t.documents d ON d.doc = h.doc
	WHERE h.hash <> approval.hash_action('refund', t.spelled(d.doc)::json)$$, 'the spelling makes no difference');

-- Spelled out.
CREATE FUNCTION t.same(a text, b text) RETURNS boolean LANGUAGE sql
RETURN approval.hash_action('refund', a::json) = approval.hash_action('refund', b::json);
SELECT is(t.same(a, b), true, format('%s is %s', to_json(a), to_json(b))) FROM (VALUES
	('{"n":1}', '{"n":1.0}'), ('{"n":1}', '{"n":1e0}'), ('{"n":1}', '{"n":10e-1}'), ('{"n":100}', '{"n":1E+2}'), ('{"n":0}', '{"n":-0}'),
	('{"a":1,"b":2}', '{"b":2,"a":1}'), ('{"a":1}', E'\t{\n"a" :\r1 } '), ('{"a":"A"}', '{"\u0061":"\u0041"}'),
	('{"a":"/"}', '{"a":"\/"}'), ('{"a":"😀"}', '{"a":"\ud83d\ude00"}'), ('[]', '{}')) AS v(a, b);
SELECT is(t.same(a, b), false, format('%s is not %s', a, b)) FROM (VALUES
	('{"a":{}}', '{"a":[]}'), ('{"a":[]}', '{"a":null}'), ('{"a":null}', '{}'), ('{"a":1}', '{"a":"1"}'), ('{"a":true}', '{"a":"true"}'),
	('{"a":"\u00e9"}', '{"a":"e\u0301"}'), ('{"a":[1,2]}', '{"a":[2,1]}'), ('{"a":1}', '{"A":1}'), ('{"a":"x"}', '{"a":"x "}'),
	('{"a":0.1}', '{"a":0.10000000000000002}'), ('{"a":[1]}', '{"a":1}'), ('{"a":[[]]}', '{"a":[]}')) AS v(a, b);
-- Members never run into each other.
SELECT is((SELECT count(DISTINCT approval.hash_action(tool, '{}', server, resource, NULL, tenant)) FROM (VALUES
	('a', 'b', 'c', 'd'), ('ab', '', 'c', 'd'), ('a', 'bc', '', 'd'), ('b', 'a', 'c', 'd'), ('a', 'b', 'd', 'c'), ('a', 'b', NULL, 'c'), ('a', 'b', '', 'c'),
	('a', 'b","tool":"c', 'c', 'd')) AS v(tool, server, resource, tenant)), 8::bigint, 'parts of an action cannot be shifted');

SELECT * FROM finish();
ROLLBACK;
