-- Channels: names that every listener can use, kept apart by tenant and
-- conversation.  What is delivered is tested with real listeners.
\set ns doorbell
\ir include/gate.psql
SELECT no_plan();
GRANT approval_requester TO doorbell_web;
SELECT approval.register_login('doorbell_web', 'delegate', NULL, '{"",acme,globex}') \gset _

CREATE FUNCTION t.channel(args text, who text DEFAULT 'web') RETURNS text LANGUAGE sql
RETURN t.row(who, format('approval.channel(%s)', args)) #>> '{}';

CREATE TABLE t.channels AS
SELECT args, t.channel(args) AS name FROM (VALUES
	($$'all'$$), ($$'tenant'$$), ($$'tenant', tenant => 'acme'$$), ($$'tenant', tenant => 'globex'$$),
	($$'conversation', 'c1'$$), ($$'conversation', 'c2'$$), ($$'conversation', 'C1'$$), ($$'conversation', ' c1'$$), ($$'conversation', 'c1', 'acme'$$), ($$'conversation', 'c1', 'globex'$$),
	($$'conversation', 'acme'$$), ($$'conversation', 'ü "😀" \'$$), ($$'conversation', repeat('x', 255)$$), ($$'conversation', 'c1","c2'$$)) AS v(args);
SELECT matches(name, '^[a-z_][a-z0-9_]{0,62}$', args) FROM t.channels;
SELECT is((SELECT count(DISTINCT name) FROM t.channels), (SELECT count(*) FROM t.channels), 'no two of them are the same');
SELECT is_empty('SELECT args FROM t.channels WHERE name <> t.channel(args)', 'asked again, they are the same');
SELECT is((SELECT name FROM t.channels WHERE args = $$'all'$$), 'approval', 'the common channel');
SELECT matches((SELECT string_agg(left(name, 11), ' ' ORDER BY args) FROM t.channels WHERE args LIKE '''tenant%'), '^approval_t_( approval_t_)+$', 'of tenants');
SELECT matches((SELECT string_agg(left(name, 11), ' ' ORDER BY args) FROM t.channels WHERE args LIKE '''conv%'), '^approval_c_( approval_c_)+$', 'of conversations');
SELECT is_empty($$SELECT name FROM t.channels WHERE name ~ 'acme|globex'$$, 'they do not tell of what');

-- Keyed with a secret that the database made for itself.
SELECT is((SELECT octet_length(value) FROM approval.keys WHERE name = 'channels'), 32, 'a secret of 256 bits');
SELECT t.channel($$'tenant'$$) AS before \gset
UPDATE approval.keys SET value = sha256('another') WHERE name = 'channels';
SELECT isnt(t.channel($$'tenant'$$), :'before', 'with another secret another name, at once');

SELECT is(t.says(who, format('approval.channel(%s)', args)), answer, format('%s: %s', who, args)) FROM (VALUES
	('web', '''nothing''', '22023'), ('web', '''ALL''', '22023'), ('web', '''''', '22023'), ('web', '''conversation''', '22004'), ('web', '''conversation'', ''''', '22023'),
	('web', '''conversation'', repeat(''x'', 256)', '22023'), ('web', '''tenant'', tenant => ''initech''', '42501'), ('agent', '''tenant'', tenant => ''acme''', '42501'),
	('agent', '''tenant''', 'ok'), ('nobody', '''all''', '42501')) AS v(who, args, answer);
SELECT is(t.channel($$'conversation', 'c1'$$, 'agent'), t.channel($$'conversation', 'c1'$$, 'alice'), 'everybody in a tenant gets the same name');

SELECT * FROM finish();
ROLLBACK;
