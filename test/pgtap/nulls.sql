-- NULL for a required argument is an error on every function: never a NULL that
-- a client takes for an answer.  Driven by the catalogue, so that a new
-- function is tested as soon as it exists.
\set ns nulls
\ir include/gate.psql
SELECT no_plan();

CREATE TEMP VIEW functions AS
SELECT p.*, p.oid::regprocedure::text AS signature
  FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
 WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'approval');

-- The functions of types, operators, casts, checks and triggers have their own rules;
-- they are named by what uses them, not by a list.
CREATE TEMP VIEW plumbing AS
SELECT typinput::oid AS oid FROM pg_type WHERE typnamespace = 'approval'::regnamespace
UNION SELECT typoutput FROM pg_type WHERE typnamespace = 'approval'::regnamespace
UNION SELECT typreceive FROM pg_type WHERE typnamespace = 'approval'::regnamespace
UNION SELECT typsend FROM pg_type WHERE typnamespace = 'approval'::regnamespace
UNION SELECT oprcode FROM pg_operator WHERE oprcode IN (SELECT oid FROM functions)
UNION SELECT amproc FROM pg_amproc WHERE amproc IN (SELECT oid FROM functions)
UNION SELECT castfunc FROM pg_cast WHERE castfunc IN (SELECT oid FROM functions)
UNION SELECT tgfoid FROM pg_trigger WHERE tgfoid IN (SELECT oid FROM functions)
UNION SELECT refobjid FROM pg_depend WHERE classid = 'pg_constraint'::regclass AND refclassid = 'pg_proc'::regclass
UNION SELECT 'approval.ulid_to_timestamptz'::regproc;

CREATE TEMP VIEW verbs AS SELECT * FROM functions WHERE oid NOT IN (SELECT oid FROM plumbing);
SELECT cmp_ok((SELECT count(*) FROM verbs), '>=', 33::bigint, 'all functions are looked at');

-- For these a NULL is a document or a text that does not exist.
CREATE TEMP VIEW null_is_a_value AS
SELECT oid FROM functions WHERE proname IN ('caller_reads', 'diff', 'preview_diff', 'tool_words', 'find_tools', 'diagram_text', 'plain_text', 'otlp_attributes', 'unix_nano');

-- A value that each type takes.
CREATE FUNCTION t.sample(type oid) RETURNS text LANGUAGE sql STABLE
RETURN CASE type::regtype::text
	WHEN 'text' THEN quote_literal('x') WHEN 'json' THEN quote_literal('{}') WHEN 'text[]' THEN quote_literal('{x}')
	WHEN 'approval.ulid' THEN quote_literal(approval.new_ulid()) WHEN 'approval.digest' THEN quote_literal(repeat('0', 64))
	WHEN 'interval' THEN quote_literal('1 hour') WHEN 'oid' THEN '1' WHEN 'jsonb' THEN quote_literal('{}')
	WHEN 'timestamp with time zone' THEN quote_literal(now() + interval '1 hour') WHEN 'integer' THEN '1' END;

-- The call with one argument NULL and the other required ones given.
CREATE FUNCTION t.call_with_null(f oid, missing int) RETURNS text LANGUAGE sql STABLE
RETURN (SELECT format('%s(%s)', p.oid::regproc,
		string_agg(format('%I => %s', p.proargnames[n], CASE WHEN n = missing THEN 'NULL' ELSE t.sample(p.proargtypes[n - 1]) END), ', '))
	FROM pg_proc p, generate_series(1, p.pronargs) AS n
	WHERE p.oid = f AND (n <= p.pronargs - p.pronargdefaults OR n = missing) GROUP BY p.oid);

CREATE TABLE t.required AS
SELECT v.oid, v.signature, n AS argument, v.proargnames[n] AS name
  FROM verbs v, generate_series(1, v.pronargs - v.pronargdefaults) AS n;
SELECT cmp_ok((SELECT count(*) FROM t.required), '>=', 60::bigint, 'and all their required arguments');

-- caller_reads is what views ask of each row, whose login may be NULL: nobody.
SELECT is(caller, false, 'caller_reads(NULL): nobody')
  FROM (SELECT (t.row('agent', 'approval.caller_reads(NULL)') #>> '{}')::boolean AS caller) AS c;

DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('all'));
	EXECUTE format('GRANT approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin TO %I', t.login('all'));
END
$$;
SELECT is(a.code, '22004', format('%s: %s is null', r.signature, r.name))
  FROM t.required r, LATERAL t.as('all', t.call_with_null(r.oid, r.argument)) AS a
 WHERE r.oid NOT IN (SELECT oid FROM null_is_a_value) ORDER BY r.signature, r.argument;
SELECT is((a.detail)::json ->> 'argument', r.name, format('%s: DETAIL names %s', r.signature, r.name))
  FROM t.required r, LATERAL t.as('all', t.call_with_null(r.oid, r.argument)) AS a
 WHERE r.oid NOT IN (SELECT oid FROM null_is_a_value) ORDER BY r.signature, r.argument;
SELECT is(t.says('all', $$approval.channel('conversation', NULL)$$), '22004', 'channel: a conversation has a key');
SELECT is(t.says('all', $$approval.register_login('nulls_all', 'person', NULL, NULL)$$), '22004', 'register_login: tenants are not NULL');
SELECT is(t.says('all', $$approval.register_login('nulls_all', 'person', NULL, ARRAY['a', NULL])$$), '22004', 'nor is one of them');
SELECT is(t.says('all', format('approval.%s(%s)', f, args)), '22004', f || ': ' || args)
  FROM (VALUES ('hash_action', $$'t', '{}', server => NULL$$), ('hash_action', $$'t', '{}', tenant => NULL$$)) AS v(f, args);

-- What the catalogue says of verbs.
SELECT is_empty($$SELECT signature FROM verbs WHERE proisstrict AND pronargs > 0$$, 'no verb is STRICT');
SELECT is_empty($$SELECT signature FROM functions WHERE NOT proisstrict AND provolatile = 'v' AND proparallel <> 'u' AND proname <> 'new_ulid' AND prorettype <> 'trigger'::regtype$$,
	'verbs are not parallel safe');
SELECT is_empty($$SELECT proname FROM functions WHERE pronamespace = 'approval'::regnamespace GROUP BY proname HAVING count(*) > 1$$,
	'one function per name');
SELECT is_empty($$SELECT signature FROM verbs v WHERE 'bool'::regtype = ANY (proargtypes)$$, 'no boolean parameter: PDO binds false as the empty text');
SELECT is_empty($$SELECT signature FROM verbs v WHERE 'timestamptz'::regtype = ANY (proargtypes)
	AND proname NOT IN ('ulid_from', 'allow', 'simulate', 'record_step', 'unix_nano')$$, 'no time serves as a token: only as a bound');
SELECT is_empty($$SELECT signature FROM verbs v WHERE pronargs > 0 AND array_length(proargnames, 1) IS NULL$$, 'every argument has a name');
SELECT is_empty($$SELECT signature FROM verbs WHERE proargnames[pronargs] <> 'tenant'
	AND proname NOT IN ('errors', 'transitions', 'jcs', 'canonical', 'hash_action', 'hash_review', 'tool_digest', 'new_ulid', 'caller_tenants', 'caller_reads', 'register_login',
		'ulid_from', 'diff', 'preview_diff', 'expire_due', 'wake_worker', 'worker_state', 'tool_words', 'inbox_page', 'diagram_text', 'plain_text',
		'timeline_format', 'otlp_attributes', 'unix_nano', 'run_transitions')$$,
	'tenant is the last argument of every verb');
SELECT is_empty($$SELECT v.signature, k.word FROM verbs v, unnest(v.proargnames) n JOIN pg_get_keywords() k ON k.word = n
	WHERE k.catcode IN ('R', 'T') OR (k.catcode = 'C' AND n IN ('limit', 'until'))$$, 'no parameter has a reserved name');
SELECT is_empty($$SELECT attrelid::regclass, attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
	JOIN pg_get_keywords() k ON k.word = attname WHERE relnamespace = 'approval'::regnamespace AND attnum > 0 AND k.catcode IN ('R', 'T')$$,
	'and no column');

SELECT * FROM finish();
ROLLBACK;
