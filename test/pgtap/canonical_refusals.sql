-- Canonical JSON: what is refused, where, and what costs how much.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(17 + 6 + 7 + 6 + 4);

-- The DETAIL of a refusal, its user text unescaped, as "reason path".
CREATE FUNCTION pg_temp.refusal(doc text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	message text;
BEGIN
	IF mode = 'jcs' THEN
		RETURN approval.jcs(doc::json);
	END IF;
	RETURN approval.canonical(doc::json);
EXCEPTION WHEN SQLSTATE 'PT422' THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, message = MESSAGE_TEXT;
	IF message ~ 'secret' THEN
		RETURN 'the message tells';
	END IF;
	RETURN concat_ws(' ', detail::json->>'problem', detail::json->>'path');
END $$;

SELECT is(pg_temp.refusal(doc, 'strict'), expected, 'canonical: ' || expected) FROM (VALUES
	('{"a":1,"a":1}', 'duplicate_key $.a'),
	('{"b":1,"a":2,"b":3}', 'duplicate_key $.b'),
	('{"x":{"\u0061":1,"a":1}}', 'duplicate_key $.x.a'),
	('[0,{"secret key":{"z":1,"y":2,"z":3}}]', 'duplicate_key $[1]."secret key".z'),
	('{"items":[1,2,3,{"price":9007199254740993}]}', 'number_not_exact $.items[3].price'),
	('{"a\"b\n":0.1000000000000000055}', 'number_not_exact $."a\"b\n"'),
	('[333333333.33333329]', 'number_not_exact $[0]'),
	('1e400', 'number_out_of_range $'),
	('[[-1e309]]', 'number_out_of_range $[0][0]'),
	('{"é":1e-400}', 'number_out_of_range $."é"'),
	('1e99999999999999999999', 'number_out_of_range $'),
	('1e-99999999999999999999', 'number_out_of_range $'),
	('{"a":"\ud800"}', 'lone_surrogate $.a'),
	('["\udc00\ud800"]', 'lone_surrogate $[0]'),
	('["x","\ud83dx"]', 'lone_surrogate $[1]'),
	('{"1a":"\u0000"}', 'nul_character $."1a"'),
	('{"a":{"secret\u0000":1}}', 'nul_character $.a')
) AS t(doc, expected);

SELECT is(pg_temp.refusal(doc, 'jcs'), expected, 'jcs: ' || doc) FROM (VALUES
	('{"b":1,"a":2,"b":3}', 'duplicate_key $.b'),
	('["\ud800"]', 'lone_surrogate $[0]'),
	('[1e400]', 'number_out_of_range $[0]'),
	('[1e-400,-1e-400]', '[0,0]'),
	('"\u0000"', '"\u0000"'),
	('[9007199254740993,0.1000000000000000055]', '[9007199254740992,0.1]')
) AS t(doc, expected);

SELECT throws_ok('SELECT approval.jcs(NULL)', '22004', NULL, 'jcs: NULL');
SELECT throws_ok('SELECT approval.canonical(NULL)', '22004', NULL, 'canonical: NULL');
SELECT throws_ok($$SELECT approval.canonical('{"a":01}')$$, '22P02', NULL, 'malformed JSON is the json type''s error');
SELECT is(length(pg_temp.refusal('{"' || repeat('ä', 5000) || '":1e999}', 'strict')) < 1000, true, 'a long key is clipped');
SELECT is(length(pg_temp.refusal(repeat('[', 1500) || '1e999' || repeat(']', 1500), 'strict')) < 2000, true, 'so is a long path');
SELECT ok(NOT has_function_privilege('pg_monitor', 'approval.jcs(json)', 'EXECUTE'), 'jcs is not granted to PUBLIC');
SELECT ok(NOT has_function_privilege('pg_monitor', 'approval.canonical(json)', 'EXECUTE'), 'nor is canonical');

-- Depth: one clean error, from the json type or from us, and life goes on.
SELECT throws_ok(format('SELECT approval.canonical(%L)', repeat('[', 100000) || repeat(']', 100000)), '54001', NULL, '100,000 levels of arrays');
SELECT throws_ok(format('SELECT approval.canonical(%L)', repeat('{"a":', 100000) || '1' || repeat('}', 100000)), '54001', NULL, '100,000 levels of objects');
CREATE TEMP TABLE deep AS SELECT (repeat('{"b":1,"a":', 4000) || '1' || repeat('}', 4000))::json AS doc;
SELECT is(length(approval.canonical(doc)), length(doc::text), '4,000 levels are fine') FROM deep;
SET LOCAL max_stack_depth = '100kB';
SELECT throws_ok('SELECT approval.canonical(doc) FROM deep', '54001', NULL, 'our own recursion ends in the same error');
RESET max_stack_depth;
SELECT is(approval.canonical('[1]'), '[1]', 'and the backend goes on');
SELECT is(length(approval.jcs((repeat('[', 4000) || repeat(']', 4000))::json)), 8000, 'with the depth it had');

-- Nothing is quadratic: each of these takes milliseconds when it is not.
SET LOCAL statement_timeout = '10s';
SELECT is(length(approval.canonical(('{' || string_agg(format('"%s":%s', 1000000 - i, i % 10), ',') || '}')::json)), 100000 * 11 + 1,
		  '100,000 keys backwards') FROM generate_series(1, 100000) AS i;
SELECT is(length(approval.canonical(('{"b":1,"a":' || '"' || repeat('x', 1000000) || '"}')::json)), 1000014, 'a string of 1 MB');
SELECT is(length(approval.canonical((repeat('{"b":1,"a":', 3000) || '"' || repeat('x', 1000000) || '"' || repeat('}', 3000))::json)),
		  1000002 + 3000 * 12, '1 MB below 3,000 levels out of order');
SELECT is(length(approval.jcs(('[' || repeat('9007199254740993.00000000000000000001,', 27000) || '0]')::json)), 27000 * 17 + 3,
		  '1 MB of numbers that are hard to round');

SELECT * FROM finish();
ROLLBACK;
