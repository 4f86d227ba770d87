-- The type approval.digest.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(29);

\set zero 0000000000000000000000000000000000000000000000000000000000000000
\set mixed 0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdeF
SELECT is(:'mixed'::approval.digest::text, lower(:'mixed'), 'any case in, lower case out');
SELECT is(pg_column_size(:'zero'::approval.digest), 32, '32 bytes, no header');
SELECT throws_ok(format('SELECT %L::approval.digest', bad), '22P02', 'invalid input syntax for type approval.digest', 'refused, not repeated: ' || why)
FROM (VALUES ('', 'empty'), ('secret', 'short'), (left(:'zero', 63), 'a digit less'), (:'zero' || '0', 'a digit more'),
			 (left(:'zero', 63) || 'g', 'another letter'), ('\x' || left(:'zero', 62), 'bytea''s prefix'), (' ' || left(:'zero', 63), 'a blank')) AS t(bad, why);

-- Casts: unknown, text and varchar without saying so; bytea when asked.
CREATE TEMP TABLE d (d approval.digest);
PREPARE by_varchar(varchar) AS INSERT INTO d VALUES ($1);
PREPARE by_text(text) AS SELECT count(*) FROM d WHERE d = $1;
EXECUTE by_varchar(:'mixed');
SELECT is(d = :'mixed'::varchar, true, 'compares with a varchar') FROM d;
SELECT is(d = :'mixed', true, 'compares with a literal') FROM d;
SELECT results_eq(format('EXECUTE by_text(%L)', :'mixed'), ARRAY[1::bigint], 'compares with a text parameter');
SELECT is(d::bytea, decode(:'mixed', 'hex'), 'to bytea') FROM d;
SELECT is(decode(:'mixed', 'hex')::approval.digest, d, 'from bytea') FROM d;
SELECT throws_ok($$SELECT '\x00'::bytea::approval.digest$$, '22P03', NULL, 'from too few bytes');
SELECT throws_ok($$INSERT INTO d VALUES ('\x00'::bytea)$$, '42804', NULL, 'bytea is not taken by itself');
SELECT is((sha256('')::approval.digest)::text, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'of an SHA-256');

-- Operators, with approval in nobody's search_path.
SET LOCAL search_path = public, pg_temp;
CREATE EXTENSION IF NOT EXISTS pgtap;
TRUNCATE d;
INSERT INTO d SELECT sha256(i::text::bytea)::approval.digest FROM generate_series(1, 5000) AS i;
INSERT INTO d SELECT d FROM d LIMIT 100;
SELECT is(string_agg(d::text, ' ' ORDER BY d), string_agg(d::text, ' ' ORDER BY d::text COLLATE "C"), 'sorts as its text does') FROM d;
SELECT is(count(DISTINCT d), 5000::bigint, 'distinct') FROM d;
SELECT ok(bool_and((a < b) = (a::text COLLATE "C" < b::text) AND (a <= b) = NOT (a > b) AND (a >= b) = NOT (a < b) AND (a <> b) = NOT (a = b)), 'operators agree')
FROM (SELECT d AS a, lead(d) OVER (ORDER BY d::bytea DESC) AS b FROM d) AS pair WHERE b IS NOT NULL;
CREATE INDEX d_btree ON d (d);
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT is(count(*), 1::bigint, 'btree index finds') FROM d WHERE d = sha256('4711')::approval.digest;
SELECT is(d::text, (SELECT min(d::text COLLATE "C") FROM d), 'btree index orders') FROM (SELECT d FROM d ORDER BY d LIMIT 1) AS first;
DROP INDEX d_btree;
CREATE INDEX d_hash ON d USING hash (d);
SELECT is(count(*), 1::bigint, 'hash index finds') FROM d WHERE d = sha256('4711')::approval.digest;
SET LOCAL enable_seqscan = on;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_nestloop = off;
SELECT is(count(*), 5300::bigint, 'hash join') FROM d AS a JOIN d AS b ON a.d = b.d;
SET LOCAL enable_mergejoin = on;
SET LOCAL enable_hashjoin = off;
SELECT is(count(*), 5300::bigint, 'merge join') FROM d AS a JOIN d AS b USING (d);
CREATE TEMP TABLE parted (d approval.digest) PARTITION BY HASH (d);
CREATE TEMP TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TEMP TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT d FROM d;
SELECT ok((SELECT count(*) FROM parted_0) BETWEEN 2000 AND 3100, 'hash partitions (extended hash)');

-- Binary COPY, there and back.
\set file `mktemp /tmp/approval-digest.XXXXXX`
\set copy_out '\\copy d TO ' :'file' ' (FORMAT binary)'
CREATE TEMP TABLE copied (d approval.digest);
:copy_out
\set copy_in '\\copy copied FROM ' :'file' ' (FORMAT binary)'
:copy_in
\setenv copied_file :file
\set removed `rm -f "$copied_file"`
SELECT is((SELECT array_agg(d ORDER BY d) FROM copied), (SELECT array_agg(d ORDER BY d) FROM d), 'binary COPY round trip');

SELECT is(count(*) FILTER (WHERE NOT proleakproof), 0::bigint, 'comparison and hash functions are leakproof')
FROM pg_proc WHERE pronamespace = 'approval'::regnamespace AND proname ~ '^(digest|ulid)_(lt|le|eq|ge|gt|ne|cmp|hash|hash_extended)$';
SELECT ok(bool_and(has_function_privilege('pg_monitor', oid, 'EXECUTE')), 'and granted to PUBLIC')
FROM pg_proc WHERE pronamespace = 'approval'::regnamespace AND proname ~ '^(digest|ulid)_' AND proname <> 'ulid_from';

SELECT * FROM finish();
ROLLBACK;
