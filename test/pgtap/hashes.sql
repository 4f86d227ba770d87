-- hash_action, hash_review, tool_digest; docs/vectors.md has the vectors.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(10 + 3 + 8 + 9 + 5);

\set vectors `cat test/vectors/hash_vectors.json`
SELECT is(approval.hash_action(v->>'tool', (v->>'arguments')::json, coalesce(v->>'server', ''), v->>'resource',
							   (v->>'definition')::approval.digest, coalesce(v->>'tenant', ''))::text,
		  v->>'sha256', 'action: ' || (v->>'why'))
FROM json_array_elements(:'vectors'::json->'action') AS v;
SELECT is(approval.hash_review((v->>'action')::approval.digest, v->>'summary', (v->>'preview')::json, v->>'reason', v->>'requester', v->>'on_behalf_of')::text,
		  v->>'sha256', 'review: ' || (v->>'why'))
FROM json_array_elements(:'vectors'::json->'review') AS v;

-- Every part counts, and defaults are what they say.
SELECT is(approval.hash_action('t', '{}'), approval.hash_action(tool => 't', arguments => '{}', server => '', resource => NULL, definition => NULL, tenant => ''), 'defaults');
SELECT is(count(DISTINCT hash), 7::bigint, 'each part changes the hash') FROM (VALUES
	(approval.hash_action('t', '{}')), (approval.hash_action('u', '{}')), (approval.hash_action('t', '{"a":1}')),
	(approval.hash_action('t', '{}', server => 's')), (approval.hash_action('t', '{}', resource => '')),
	(approval.hash_action('t', '{}', definition => repeat('0', 64))), (approval.hash_action('t', '{}', tenant => 's'))) AS t(hash);
SELECT isnt(approval.hash_action('t', '{"a":[]}'), approval.hash_action('t', '{"a":{}}'), 'only the outermost [] is taken as {}');
SELECT is(count(DISTINCT hash), 8::bigint, 'each part of the review changes its hash') FROM (VALUES
	(approval.hash_review(repeat('0', 64), 's')), (approval.hash_review(repeat('1', 64), 's')), (approval.hash_review(repeat('0', 64), 't')),
	(approval.hash_review(repeat('0', 64), 's', preview => '{}')), (approval.hash_review(repeat('0', 64), 's', preview => '{ }')),
	(approval.hash_review(repeat('0', 64), 's', reason => 'x')), (approval.hash_review(repeat('0', 64), 's', requester => 'x')),
	(approval.hash_review(repeat('0', 64), 's', on_behalf_of => 'x'))) AS t(hash);
SELECT is(approval.hash_review(repeat('0', 64), 's', preview => '{"n":1e999,"n":"\ud800"}')::text ~ '^[0-9a-f]{64}$', true, 'a preview is never refused');
SELECT ok(NOT has_function_privilege('pg_monitor', oid, 'EXECUTE'), proname || ' is not granted to PUBLIC')
FROM pg_proc WHERE pronamespace = 'approval'::regnamespace AND proname IN ('hash_action', 'hash_review', 'tool_digest') ORDER BY proname;

SELECT throws_ok('SELECT approval.hash_action(' || args || ')', '22004', NULL, 'NULL: ' || args) FROM (VALUES
	('NULL, ''{}'''), ('''t'', NULL'), ('''t'', ''{}'', server => NULL'), ('''t'', ''{}'', tenant => NULL')) AS t(args);
SELECT throws_ok($$SELECT approval.hash_review(NULL, 's')$$, '22004', NULL, 'NULL: action');
SELECT throws_ok($$SELECT approval.hash_review(repeat('0', 64), NULL)$$, '22004', NULL, 'NULL: summary');
SELECT throws_ok(format('SELECT approval.hash_action(%L, %L)', 't', bad), 'PT422', NULL, 'not arguments: ' || bad)
FROM (VALUES ('[1]'), ('"{}"'), ('null')) AS t(bad);

SELECT is(approval.tool_digest('{"name":"x","b":[1.0]}'), sha256('{"b":[1],"name":"x"}')::approval.digest, 'tool_digest: SHA-256 of the canonical text');
SELECT is(approval.tool_digest('{"icons":[1e999,"}\""],"name":"x","\u005fmeta":{"_meta":{"a":[]}}}'), approval.tool_digest('{"name":"x"}'), 'without _meta and icons, whatever is in them');
SELECT isnt(approval.tool_digest('{"name":"x","o":{"_meta":1}}'), approval.tool_digest('{"name":"x","o":{}}'), 'but with those further in');
SELECT throws_ok($$SELECT approval.tool_digest('[]')$$, 'PT422', NULL, 'tool_digest: not an object');
SELECT throws_ok('SELECT approval.tool_digest(NULL)', '22004', NULL, 'tool_digest: NULL');

SELECT * FROM finish();
ROLLBACK;
