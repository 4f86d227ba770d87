-- Canonical JSON: the public vectors and the pairs of test/vectors.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(6 * 3 + 2 + 69 + 18 + 12);

-- The six samples of RFC 8785, byte for byte.
\set vectors `cat test/vectors/rfc_vectors.jsonl`
CREATE TEMP TABLE vector AS
SELECT line::json->>'name' AS name, line::json->>'in' AS input, line::json->>'hex' AS hex,
	   line::json->>'sha256' AS sha256, (line::json->>'accepted_by_product_rule')::boolean AS accepted
FROM string_to_table(:'vectors', E'\n') AS line WHERE line <> '';

SELECT is(encode(convert_to(approval.jcs(input::json), 'UTF8'), 'hex'), hex, 'jcs: sample ' || name) FROM vector;
SELECT is(encode(sha256(convert_to(approval.jcs(input::json), 'UTF8')), 'hex'), sha256, 'SHA-256 of sample ' || name) FROM vector;
SELECT is(approval.canonical(input::json), approval.jcs(input::json), 'canonical agrees with jcs on ' || name)
FROM vector WHERE accepted;
SELECT throws_ok(format('SELECT approval.canonical(%L)', input), 'PT422', NULL, 'canonical refuses ' || name)
FROM vector WHERE NOT accepted;
SELECT is(count(*), 6::bigint, 'six samples') FROM vector;
SELECT is(string_agg(name, ',') FILTER (WHERE NOT accepted), 'values', 'of which one is refused') FROM vector;

-- Pairs that must hash the same, differently, or be refused.
CREATE FUNCTION pg_temp.strict(doc text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN approval.canonical(doc::json);
EXCEPTION WHEN SQLSTATE 'PT422' THEN
	RETURN 'refused';
END $$;
\set pairs `cat test/vectors/collisions.jsonl`
CREATE TEMP TABLE pair AS
SELECT line::json->>'a' AS a, line::json->>'b' AS b, line::json->>'expect' AS expect, line::json->>'why' AS why
FROM string_to_table(:'pairs', E'\n') AS line WHERE line <> '';
SELECT ok(CASE expect
	WHEN 'same' THEN pg_temp.strict(a) = pg_temp.strict(b) AND pg_temp.strict(a) <> 'refused'
		AND approval.jcs(a::json) = approval.jcs(b::json)
	WHEN 'different' THEN pg_temp.strict(a) <> pg_temp.strict(b) AND approval.jcs(a::json) <> approval.jcs(b::json)
	WHEN 'reject_a' THEN pg_temp.strict(a) = 'refused' AND pg_temp.strict(b) <> 'refused'
	WHEN 'reject_both' THEN pg_temp.strict(a) = 'refused'
	END, expect || ': ' || why)
FROM pair;

-- Bytes that are not UTF-8 never get as far as the functions.
\set bytes `cat test/vectors/invalid_utf8.jsonl`
CREATE FUNCTION pg_temp.of_bytes(bytes text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN encode(convert_to(approval.canonical(convert_from(decode(bytes, 'hex'), 'UTF8')::json), 'UTF8'), 'hex');
EXCEPTION WHEN character_not_in_repertoire OR invalid_text_representation THEN
	RETURN NULL;
END $$;
SELECT is(pg_temp.of_bytes(line::json->>'in_hex'), line::json->>'out_hex', line::json->>'why')
FROM string_to_table(:'bytes', E'\n') AS line WHERE line <> '';

-- Order of keys: UTF-16 code units, where escapes, prefixes and surrogates tempt.
SELECT is(approval.canonical(input::json), output, why) FROM (VALUES
	('{"b":1,"a":2,"":3}', '{"":3,"a":2,"b":1}', 'the empty key is first'),
	('{"\ufb33":1,"\ud83d\ude00":2}', E'{"😀":2,"\uFB33":1}', 'a surrogate pair sorts before U+FB33'),
	('{"\ue000":1,"\uffff":2,"\ud800\udc00":3,"\ud7ff":4}', E'{"\uD7FF":4,"\U00010000":3,"\uE000":1,"\uFFFF":2}', 'U+D7FF, U+10000, U+E000, U+FFFF'),
	('{"x\ud83d\ude00":1,"x\ufb33":2,"x":3}', E'{"x":3,"x😀":1,"x\uFB33":2}', 'also behind a common prefix'),
	('{"\n":1,"\t":2,"\r":3,"\u0001":4,"!":5,"\"":6,"\\":7,"[":8,"]":9}', '{"\u0001":4,"\t":2,"\n":1,"\r":3,"!":5,"\"":6,"[":8,"\\":7,"]":9}', 'escaped keys sort by what they stand for'),
	('{"abcdefgh2":1,"abcdefgh1":2,"abcdefgh":3,"abcdefg":4}', '{"abcdefg":4,"abcdefgh":3,"abcdefgh1":2,"abcdefgh2":1}', 'keys that differ behind eight bytes'),
	('{"10":1,"9":2,"1":3}', '{"1":3,"10":1,"9":2}', 'digits are text'),
	('{"b":{"d":{"f":1,"e":2},"c":3},"a":{"h":[{"j":4,"i":5}],"g":6}}', '{"a":{"g":6,"h":[{"i":5,"j":4}]},"b":{"c":3,"d":{"e":2,"f":1}}}', 'objects out of order inside each other'),
	('[{"b":1,"a":{"d":1,"c":2}},{"z":0,"y":{"x":{"w":1,"v":2}}},{"k":1}]', '[{"a":{"c":2,"d":1},"b":1},{"y":{"x":{"v":2,"w":1}},"z":0},{"k":1}]', 'and beside each other')
) AS t(input, output, why);
SELECT is(approval.jcs('{"a\u0001":1,"a\u0000":2,"a":3}'), '{"a":3,"a\u0000":2,"a\u0001":1}', 'jcs has U+0000, in its place');
SELECT is(approval.canonical(('{' || string_agg(format('"k%s":%s', i, i), ',' ORDER BY hashint4(i)) || '}')::json),
		  '{' || string_agg(format('"k%s":%s', i, i), ',' ORDER BY ('k' || i) COLLATE "C") || '}',
		  'a thousand keys in any order') FROM generate_series(1, 1000) AS i;
SELECT is(approval.canonical(E' \t\r\n {"a" : [ ] , "b":{ } }\n'), '{"a":[],"b":{}}', 'white space goes');

SELECT * FROM finish();
ROLLBACK;
