-- diff: where two documents differ.  preview_diff: what an agent says that it
-- would change, which no agent can make fail.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(34 + 8 + 9 + 10 + 3 + 14 + 9 + 22 + 11 + 4);
SET LOCAL statement_timeout = '60s';

CREATE FUNCTION pg_temp.lines(before text, after text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(concat_ws(' ', d.change, d.path, coalesce(d.before_value::text, '-'), coalesce(d.after_value::text, '-')), '; ' ORDER BY d.ordinality)
		  FROM approval.diff(before::json, after::json) WITH ORDINALITY AS d);

SELECT is(pg_temp.lines(before, after), lines, format('diff: %s, %s', before, after)) FROM (VALUES
	-- nothing
	(NULL, NULL, NULL),
	('{}', '{}', NULL),
	('{"b":1,"a":[1,{"x":null}]}', '{ "a" : [1.0, {"x" : null}], "\u0062" : 1e0 }', NULL),
	('"x"', '"\u0078"', NULL),
	('-0', '0', NULL),
	-- no document, and null, which is one
	(NULL, '{"b":2,"a":1}', 'added $ - {"a":1,"b":2}'),
	('[1]', NULL, 'removed $ [1] -'),
	(NULL, 'null', 'added $ - null'),
	('null', NULL, 'removed $ null -'),
	('null', 'null', NULL),
	('null', '{}', 'changed $ null {}'),
	('{"a":null}', '{}', 'removed $.a null -'),
	('{}', '{"a":null}', 'added $.a - null'),
	('{"a":null}', '{"a":false}', 'changed $.a null false'),
	-- scalars, and other kinds
	('1', '2', 'changed $ 1 2'),
	('1', '"1"', 'changed $ 1 "1"'),
	('true', 'false', 'changed $ true false'),
	('1', '[1]', 'changed $ 1 [1]'),
	('[1]', '1', 'changed $ [1] 1'),
	('[]', '{}', 'changed $ [] {}'),
	('{"a":{"x":1}}', '{"a":[1]}', 'changed $.a {"x":1} [1]'),
	('{"a":{"x":1}}', '{"a":"{\"x\":1}"}', 'changed $.a {"x":1} "{\"x\":1}"'),
	-- descended into
	('{"a":{"b":{"c":1,"d":2}}}', '{"a":{"b":{"c":1,"d":3}}}', 'changed $.a.b.d 2 3'),
	('{"a":{"b":[{"c":1}]}}', '{"a":{"b":[{"c":2},true]}}', 'changed $.a.b[0].c 1 2; added $.a.b[1] - true'),
	('[1,2,3]', '[2,3]', 'changed $[0] 1 2; changed $[1] 2 3; removed $[2] 3 -'),
	('[]', '[[],{}]', 'added $[0] - []; added $[1] - {}'),
	('[[1,2],[3]]', '[[1],[3,4]]', 'removed $[0][1] 2 -; added $[1][1] - 4'),
	('{"a":[]}', '{"a":[]}', NULL),
	-- in the order of the canonical form: not of the text, not of jsonb, not by bytes
	('{"c":1,"a":1}', '{"c":2,"b":1}', 'removed $.a 1 -; added $.b - 1; changed $.c 1 2'),
	('{"b":1,"aa":1}', '{"b":2,"aa":2}', 'changed $.aa 1 2; changed $.b 1 2'),
	('{}', '{"b":1,"":1,"aa":1,"a":1,"B":1}', 'added $."" - 1; added $.B - 1; added $.a - 1; added $.aa - 1; added $.b - 1'),
	('{}', '{"�":1,"😀":1,"é":1}', 'added $."é" - 1; added $."😀" - 1; added $."�" - 1'),
	-- paths
	('{"a b":{"1":{"_x9":[0]}}}', '{"a b":{"1":{"_x9":[1]}}}', 'changed $."a b"."1"._x9[0] 0 1'),
	('{"a\"b\n.c":1}', '{"a\"b\n.c":2}', 'changed $."a\"b\n.c" 1 2')
) AS t(before, after, lines);

-- Values are told whole and exactly.
SELECT is(pg_temp.lines(before, after), lines, format('values: %s, %s', before, after)) FROM (VALUES
	('9007199254740992', '9007199254740994', 'changed $ 9007199254740992 9007199254740994'),
	('0.1', '0.10000000000000002', 'changed $ 0.1 0.10000000000000002'),
	('1e21', '1000000000000000000000', NULL),
	('1e21', '1e-7', 'changed $ 1e+21 1e-7'),
	('1.7976931348623157e308', '5e-324', 'changed $ 1.7976931348623157e+308 5e-324'),
	('"e\u0301"', '"\u00e9"', U&'changed $ "e\0301" "\00E9"'),
	('"a"', '"A"', 'changed $ "a" "A"'),
	('{"z":1}', '{"z":{"b":[1.50,"\u000a\/"],"aa":null}}', 'changed $.z 1 {"aa":null,"b":[1.5,"\n/"]}')
) AS t(before, after, lines);

-- Bounds.
SELECT is((SELECT length(after_value #>> '{}') FROM approval.diff('{"a":1}', json_build_object('a', repeat('ü', 1000000)))), 1000000, 'a value of 2 MB is not cut');
CREATE FUNCTION pg_temp.numbers(n int, by int) RETURNS json LANGUAGE sql
RETURN (SELECT json_agg(i * by) FROM generate_series(1, n) AS i);
SELECT is(count(*), n.rows, format('%s places: %s rows', n.places, n.rows)) FROM (VALUES (999, 999::bigint), (1000, 1000), (1001, 1001), (5000, 1001)) AS n(places, rows),
	LATERAL approval.diff(pg_temp.numbers(n.places, 1), pg_temp.numbers(n.places, 2)) GROUP BY n.places, n.rows;
SELECT results_eq($$SELECT path, change, before_value::text, after_value::text FROM approval.diff(pg_temp.numbers(1001, 1), pg_temp.numbers(1001, 2)) OFFSET 999$$,
	$$VALUES ('$[999]', 'changed', '1000', '2000'), ('...', 'truncated', NULL, NULL)$$, 'the row behind the last one says so');
SELECT is(count(*), 0::bigint, '1000 differences are not truncated') FROM approval.diff(pg_temp.numbers(1000, 1), pg_temp.numbers(1000, 2)) WHERE change = 'truncated';
SELECT is(path, '$."' || repeat('é', 100) || '..."', 'a long key is clipped') FROM approval.diff(json_build_object(repeat('é', 5000), 1), json_build_object(repeat('é', 5000), 2));
SELECT is(path, '$' || repeat('.abcdefghi', 100) || '...', 'and so is a long path')
  FROM approval.diff((repeat('{"abcdefghi":', 300) || '1' || repeat('}', 300))::json, (repeat('{"abcdefghi":', 300) || '2' || repeat('}', 300))::json);

-- What has no canonical form is refused on either side, without a word of it in the message.
CREATE FUNCTION pg_temp.refusal(before text, after text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	detail text;
	message text;
BEGIN
	PERFORM approval.diff(before::json, after::json);
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, message = MESSAGE_TEXT;
	IF message ~ 'secret' OR detail ~ 'secret value' THEN
		RETURN 'the message tells';
	END IF;
	RETURN concat_ws(' ', code, detail::json ->> 'reason', detail::json ->> 'problem', detail::json ->> 'path');
END $$;
SELECT is(pg_temp.refusal(before, after), 'PT422 not_canonical ' || refusal, format('refused: %s, %s', before, after)) FROM (VALUES
	('{"a":1,"a":1}', '{}', 'duplicate_key $.a'),
	('{}', '{"a":1,"a":1}', 'duplicate_key $.a'),
	(NULL, '{"a":1,"\u0061":2}', 'duplicate_key $.a'),
	('{"a":"secret value\u0000"}', '{}', 'nul_character $.a'),
	('{}', '{"b":{"secret\u0000":1}}', 'nul_character $.b'),
	('[1e999]', '[]', 'number_out_of_range $[0]'),
	('1e-20000', NULL, 'number_out_of_range $'),
	('[]', '[1e131073]', 'number_out_of_range $[0]'),
	('{"a":9007199254740993}', '{"a":9007199254740992}', 'number_not_exact $.a'),
	('["secret value\ud800"]', '[]', 'lone_surrogate $[0]')
) AS t(before, after, refusal);

-- Depth: 54001 or an answer, and the backend goes on.
CREATE TEMP TABLE deep AS SELECT (repeat('{"b":1,"a":', 3000) || '1' || repeat('}', 3000))::json AS before, (repeat('{"b":1,"a":', 3000) || '2' || repeat('}', 3000))::json AS after;
SELECT is(count(*), 1::bigint, '3,000 levels are fine') FROM deep, approval.diff(before, after);
SET LOCAL max_stack_depth = '100kB';
SELECT throws_ok('SELECT approval.diff(before, after) FROM deep', '54001', NULL, 'with less stack they are too deep');
RESET max_stack_depth;
SELECT is(pg_temp.lines('1', '2'), 'changed $ 1 2', 'and the backend goes on');

-- preview_diff: the same, as JSON.
SELECT is(approval.preview_diff(preview::json)::text, entries, 'preview: ' || preview) FROM (VALUES
	('{"before":{"a":1},"after":{"a":1.0}}', '[]'),
	('{"before":{"a":1},"after":{"a":2}}', '[{"path":"$.a","change":"changed","before":1,"after":2}]'),
	('{"after":{"a":[2]},"before":{"a":[2,3],"b":{}}}', '[{"path":"$.a[1]","change":"removed","before":3},{"path":"$.b","change":"removed","before":{}}]'),
	('{"before":{},"after":{"b":1,"a a":2}}', '[{"path":"$.\"a a\"","change":"added","after":2},{"path":"$.b","change":"added","after":1}]'),
	('{"after":{"b":1,"a":2}}', '[{"path":"$","change":"added","after":{"a":2,"b":1}}]'),
	('{"before":[1]}', '[{"path":"$","change":"removed","before":[1]}]'),
	('{"before":null,"after":1}', '[{"path":"$","change":"changed","before":null,"after":1}]'),
	('{"before":null,"after":null}', '[]'),
	('{"after":null}', '[{"path":"$","change":"added","after":null}]'),
	('{"before":"x","after":"y","note":{"before":1}}', '[{"path":"$","change":"changed","before":"x","after":"y"}]'),
	('{"befor\u0065":1,"after":2}', '[{"path":"$","change":"changed","before":1,"after":2}]'),
	('{"before":{"a":"\"},{\"path\":\"$.b"},"after":{"a":"\\"}}', '[{"path":"$.a","change":"changed","before":"\"},{\"path\":\"$.b","after":"\\"}]'),
	('{"before":{"\",\"change\":\"":1},"after":{}}', '[{"path":"$.\"\\\",\\\"change\\\":\\\"\"","change":"removed","before":1}]'),
	('{"before":{"k\u0001\n":"\u001f\u007f"},"after":{}}', '[{"path":"$.\"k\\u0001\\n\"","change":"removed","before":"\u001f' || chr(127) || '"}]')
) AS t(preview, entries);

-- Bounds.
CREATE FUNCTION pg_temp.preview(before anyelement, after anyelement) RETURNS json LANGUAGE sql AS
$$ SELECT approval.preview_diff(json_build_object('before', before, 'after', after)) $$;
SELECT is(json_array_length(pg_temp.preview(pg_temp.numbers(n, 1), pg_temp.numbers(n, 2))), entries, format('%s places: %s entries', n, entries))
  FROM (VALUES (99, 99), (100, 100), (101, 101), (5000, 101)) AS v(n, entries);
SELECT is(pg_temp.preview(pg_temp.numbers(101, 1), pg_temp.numbers(101, 2)) ->> -1, '{"change":"truncated"}', 'of which the last says so');
SELECT is(pg_temp.preview(pg_temp.numbers(100, 1), pg_temp.numbers(100, 2)) -> -1 ->> 'path', '$[99]', 'and only if there is more');
SELECT is(pg_temp.preview(repeat('x', 1998), '') #>> '{0,before}', repeat('x', 1998), '2000 bytes of JSON are shown whole');
SELECT is(pg_temp.preview(repeat('x', 1999), ''::text) #>> '{0,before}', '"' || repeat('x', 1999) || '... (2001 bytes)', 'of 2001 the first 2000');
SELECT is(pg_temp.preview('1'::json, to_json(repeat('é', 500000))) #>> '{0,after}', '"' || repeat('é', 999) || '... (1000002 bytes)', 'characters stay whole, and so does JSON');

-- What an agent may send.  The json type would not take the deepest of it today.
CREATE FUNCTION pg_temp.unchecked(text) RETURNS json LANGUAGE internal IMMUTABLE STRICT AS 'btrim1';
CREATE TEMP TABLE hostile (name text, preview json);
INSERT INTO hostile SELECT name, preview::json FROM (VALUES
	('NULL', NULL), ('null', 'null'), ('a number', '1'), ('a string', '"{\"before\":1}"'), ('an array', '[{"before":1,"after":2}]'),
	('an empty array', '[]'), ('an empty object', '{}'), ('neither side', '{"befor":1,"After":2,"x":{"before":1,"after":2}}'),
	('a side twice', '{"before":1,"after":2,"after":3}'), ('duplicate keys', '{"before":{"a":1,"a":2},"after":{}}'),
	('duplicate keys elsewhere', '{"before":1,"after":2,"x":{"a":1,"a":2}}'),
	('U+0000', '{"before":"\u0000","after":1}'), ('U+0000 in a key', '{"before":{"\u0000":1},"after":1}'),
	('a lone surrogate', '{"before":"\ud800","after":1}'), ('1e999', '{"before":1e999,"after":1}'),
	('-1e99999999999', '{"before":-1e99999999999,"after":1}'), ('a number that is not exact', '{"before":0.1000000000000000055,"after":0.1}'),
	('201 levels behind a backslash', '{"x":"\\","before":' || repeat('[', 200) || repeat(']', 200) || ',"after":1}'),
	('201 levels', '{"before":' || repeat('[', 200) || repeat(']', 200) || ',"after":1}')) AS v(name, preview);
INSERT INTO hostile VALUES
	('100,000 arrays', pg_temp.unchecked('{"before":' || repeat('[', 100000) || repeat(']', 100000) || ',"after":1}')),
	('100,000 objects', pg_temp.unchecked('{"before":' || repeat('{"a":', 100000) || '1' || repeat('}', 100000) || ',"after":1}')),
	('more than 4 MB', json_build_object('before', repeat('x', 4200000), 'after', 1));
SET LOCAL max_stack_depth = '100kB';
SELECT is(approval.preview_diff(preview)::text, NULL, 'NULL for ' || name) FROM hostile;

-- The largest that is answered, with the smallest stack.
SELECT is(pg_temp.preview((repeat('[', 199) || n || repeat(']', 199))::json, (repeat('[', 199) || repeat(']', 199))::json)::text,
	format('[{"path":"$%s","change":"removed","before":%s}]', repeat('[0]', 199), n), '200 levels of arrays') FROM (VALUES (1)) AS v(n);
SELECT is(json_array_length(pg_temp.preview((repeat('{"b":1,"a":', 199) || '1' || repeat('}', 199))::json, (repeat('{"b":2,"a":', 199) || '2' || repeat('}', 199))::json)), 101, '200 levels of objects');
SELECT is(json_array_length(pg_temp.preview('1'::json, (repeat('{"b":2,"a":', 199) || '2' || repeat('}', 199))::json)), 1, 'or on one side');
RESET max_stack_depth;
SELECT is(json_array_length(pg_temp.preview(to_json('"' || repeat('[', 500)), '[]')), 1, 'brackets in strings are no levels');
SELECT is(pg_temp.preview(repeat('a', 1000000), repeat('b', 1000000)) #>> '{0,after}', '"' || repeat('b', 1999) || '... (1000002 bytes)', 'values of 1 MB');
SELECT is(pg_temp.preview(repeat(E'\x01', 400000), ''::text) #>> '{0,before}' LIKE '"' || repeat('\\u0001', 10) || '%... (2400002 bytes)', true, 'even of escapes');
SELECT is(pg_temp.preview('null'::json, ('[' || repeat('1e20,', 800000) || '1]')::json) #>> '{0,after}' LIKE '%... (17600003 bytes)', true, 'and of numbers that grow');
-- a right-to-left override, a zero-width joiner, a tag and U+2028: as they came
SELECT is(pg_temp.preview('{}'::json, '{"\u202e\u200d":"\u2028\udb40\udc41"}')::text,
	U&'[{"path":"$.\005C"\202E\200D\005C"","change":"added","after":"\2028\+0E0041"}]', 'characters that nobody sees are neither taken away nor added');
SET LOCAL statement_timeout = '10s';
SELECT is(count(*), 1001::bigint, '100,000 keys on each side take no time') FROM approval.diff(
	(SELECT json_object_agg((i * 7919) % 100003, 1) FROM generate_series(1, 100000) AS i), (SELECT json_object_agg((i * 7907) % 100003, 2) FROM generate_series(1, 100000) AS i));
SELECT is(count(*), 0::bigint, 'nor 500,000 elements that are the same') FROM approval.diff(pg_temp.numbers(500000, 1), pg_temp.numbers(500000, 1));
SELECT is(json_array_length(approval.preview_diff(('{"before":' || repeat('{"a":', 190) || '{}' || repeat('}', 190) || ',"after":' || repeat('{"a":', 190) || pg_temp.numbers(300000, 1) || repeat('}', 190) || '}')::json)), 1, 'nor 2 MB below 190 levels');
SET LOCAL statement_timeout = '60s';

-- What the catalogue says of them.
SELECT is(concat(provolatile, proparallel, proisstrict), 'isf', proname || ': immutable, parallel safe, not strict') FROM pg_proc WHERE oid IN ('approval.diff'::regproc, 'approval.preview_diff'::regproc);
SELECT is(has_function_privilege('approval_owner', oid, 'EXECUTE'), proname = 'preview_diff', proname || ': whether the owner of the views may call it') FROM pg_proc WHERE oid IN ('approval.diff'::regproc, 'approval.preview_diff'::regproc);

SELECT * FROM finish();
ROLLBACK;
