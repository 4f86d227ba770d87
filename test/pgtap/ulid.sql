-- The type approval.ulid and its generator.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(29);

SELECT is('01aryz6s41tsv4rrffq69g5fav'::approval.ulid::text, '01ARYZ6S41TSV4RRFFQ69G5FAV', 'any case in, upper case out');
SELECT is('oIlO0000000000000000000000'::approval.ulid::text, '01100000000000000000000000', 'O reads as 0, I and L as 1');
SELECT is(pg_column_size('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'::approval.ulid), 16, '16 bytes, no header');
SELECT throws_ok(format('SELECT %L::approval.ulid', bad), '22P02', 'invalid input syntax for type approval.ulid', 'refused, not repeated: ' || why)
FROM (VALUES ('', 'empty'), ('secret', 'short'), ('80000000000000000000000000', 'more than 128 bits'), ('0000000000000000000000000U', 'the letter U'),
			 ('000000000000000000000000000', '27 characters'), ('0000000000000000000000000é', 'not ASCII'), ('01ARYZ6S41-SV4RRFFQ69G5FAV', 'a hyphen')) AS t(bad, why);

SELECT is('01ARYZ6S41TSV4RRFFQ69G5FAV'::approval.ulid::timestamptz, '2016-07-30 22:36:16.385+00'::timestamptz, 'the time, in milliseconds');
SELECT is('00000000000000000000000000'::approval.ulid::timestamptz, to_timestamp(0), 'the first time');
SELECT is(extract(year FROM '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'::approval.ulid::timestamptz AT TIME ZONE 'UTC'), 10889::numeric, 'the last one');
SELECT is('01ARYZ6S41TSV4RRFFQ69G5FAV'::approval.ulid::uuid, '01563df3-6481-d676-4c61-efb99302bd5b'::uuid, 'to uuid');
SELECT is('01563df3-6481-d676-4c61-efb99302bd5b'::uuid::approval.ulid, '01ARYZ6S41TSV4RRFFQ69G5FAV'::approval.ulid, 'from uuid');
SELECT is(uuid_send(id::uuid), approval.ulid_send(id), 'both have the same bytes') FROM approval.new_ulid() AS id;

CREATE TEMP TABLE u (id approval.ulid);
PREPARE by_varchar(varchar) AS INSERT INTO u VALUES ($1);
EXECUTE by_varchar('01ARYZ6S41TSV4RRFFQ69G5FAV');
SELECT is(id = '01aryz6s41tsv4rrffq69g5fav'::varchar, true, 'compares with a varchar') FROM u;
SELECT is(id = '01aryz6s41tsv4rrffq69g5fav', true, 'compares with a literal') FROM u;
SELECT is(id = ANY ('{01aryz6s41tsv4rrffq69g5fav}'::approval.ulid[]), true, 'in an array') FROM u;

-- The generator.
TRUNCATE u;
INSERT INTO u SELECT approval.new_ulid() FROM generate_series(1, 100000);
SELECT is(count(DISTINCT id), 100000::bigint, '100,000 different ones') FROM u;
SELECT ok(bool_and(id > before), 'each larger than the one before')
FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS before FROM u) AS pair WHERE before IS NOT NULL;
SELECT ok(count(DISTINCT left(id::text, 10)) > 1, 'over more than one millisecond') FROM u;
SELECT ok(abs(extract(epoch FROM clock_timestamp() - approval.new_ulid()::timestamptz)) < 60, 'its time is now');
SELECT ok(NOT has_function_privilege('pg_monitor', 'approval.new_ulid()', 'EXECUTE'), 'not granted to PUBLIC');

-- Operators and indexes.
SELECT is(array_agg(id::text ORDER BY id), array_agg(id::text ORDER BY id::text COLLATE "C"), 'sorts as its text does') FROM (SELECT id FROM u LIMIT 1000) AS few;
SELECT is(array_agg(id ORDER BY id), array_agg(id ORDER BY id::uuid), 'and as the uuid does') FROM (SELECT id FROM u LIMIT 1000) AS few;
CREATE UNIQUE INDEX u_btree ON u (id);
CREATE INDEX u_hash ON u USING hash (id);
SET LOCAL enable_seqscan = off;
SELECT is(count(*), 1::bigint, 'index finds') FROM u WHERE id = (SELECT max(id::text) FROM u);
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_nestloop = off;
SELECT is(count(*), 100000::bigint, 'hash join') FROM u AS a JOIN u AS b USING (id);

-- Binary COPY, there and back.
\set file `mktemp /tmp/approval-ulid.XXXXXX`
\set copy_out '\\copy u TO ' :'file' ' (FORMAT binary)'
CREATE TEMP TABLE copied (id approval.ulid);
:copy_out
\set copy_in '\\copy copied FROM ' :'file' ' (FORMAT binary)'
:copy_in
\setenv copied_file :file
\set removed `rm -f "$copied_file"`
SELECT is((SELECT count(*) FROM copied JOIN u USING (id)), 100000::bigint, 'binary COPY round trip');

SELECT * FROM finish();
ROLLBACK;
