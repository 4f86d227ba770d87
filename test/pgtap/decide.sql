-- decide, approve, reject, edit: who may, on what, and what stays.
\set ns decide
\ir include/gate.psql
SELECT no_plan();

-- A verdict and what it leaves.
SELECT t.proposed() AS id \gset
SELECT t.row('alice', format('approval.approve(%L, %L, note => ''fine'')', :'id', t.seen(:'id'))) AS r \gset
SELECT is(:'r'::jsonb ->> key, value, 'approve: ' || key)
  FROM (VALUES ('status', 'approved'), ('cause', 'person'), ('decided_by', 'user:alice'), ('approvals', '1'), ('denial', NULL)) AS v(key, value);
SELECT is((t.stored(:'id')).use_by - (t.stored(:'id')).decided_at, interval '1 hour', 'an hour to use it');
SELECT is((SELECT (d.verdict, d.actor, d.login, d.seen = r.review_hash, d.action_hash = r.action_hash, d.note, d.n)::text
	FROM approval.decisions d JOIN approval.requests r ON r.id = d.request_id WHERE d.request_id = :'id'),
	'(approve,user:alice,decide_alice,t,t,fine,2)', 'one decision, with what was seen');
SELECT is((SELECT (kind, actor, login, status_before, status_after, note)::text FROM approval.events WHERE request_id = :'id' AND n = 2),
	'(approved,user:alice,decide_alice,pending,approved,fine)', 'one event');

SELECT t.proposed() AS id \gset
SELECT t.row('alice', format('approval.reject(%L, %L, result => ''Ask for less.'')', :'id', t.seen(:'id'))) AS r \gset
SELECT is(:'r'::jsonb ->> key, value, 'reject: ' || key)
  FROM (VALUES ('status', 'rejected'), ('cause', 'person'), ('decided_by', 'user:alice'), ('denial', 'Ask for less.'), ('use_by', NULL)) AS v(key, value);

SELECT t.proposed('preview => ''{"p":1}''') AS id \gset
SELECT t.seen(:'id') AS shown \gset
SELECT t.row('alice', format('approval.edit(%L, %L, %L)', :'id', :'shown', '{"amount":40.0,"order":"A-1"}')) AS r \gset
SELECT is(:'r'::jsonb ->> key, value, 'edit: ' || key)
  FROM (VALUES ('status', 'approved'), ('arguments', '{"order": "A-1", "amount": 40}'), ('preview', NULL),
			   ('proposed_arguments', '{"order": "A-1", "amount": 50}'), ('summary', 'refund with {"amount":40,"order":"A-1"}'),
			   ('action_hash', approval.hash_action('refund', '{"order":"A-1","amount":40}')::text),
			   ('proposed_hash', approval.hash_action('refund', '{"order":"A-1","amount":50}')::text)) AS v(key, value);
SELECT isnt(t.seen(:'id'), :'shown', 'an edit makes another view');
SELECT is((SELECT kind FROM approval.events WHERE request_id = :'id' AND n = 2), 'edited', 'and an event of its own kind');
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', ''x'')', :'id')),
	'PT412 hash_mismatch', 'the proposal can no longer be consumed');
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":40}'', ''x'')', :'id')),
	'ok', 'the correction can');

SELECT t.proposed() AS id \gset
SELECT t.row('alice', format('approval.edit(%L, %L, %L)', :'id', t.seen(:'id'), '{"amount":5e1, "order":"A-1"}')) AS r \gset
SELECT is(:'r'::jsonb ->> 'proposed_arguments', NULL, 'an edit that changes nothing is an approval');
SELECT is((SELECT kind FROM approval.events WHERE request_id = :'id' AND n = 2), 'approved', 'and says so');

-- What goes with which verdict.
SELECT is(t.says('alice', format('approval.decide(%L, %L, %L%s)', i, verdict, t.seen(i), more)), answer, format('decide %L%s', verdict, more))
  FROM (VALUES ('approve', '', 'ok'), ('reject', '', 'ok'), ('approve', ', arguments => ''{"amount":1}''', 'ok'),
			   ('reject', ', result => ''no''', 'ok'), ('approve', ', note => ''n''', 'ok'), ('reject', ', note => ''n''', 'ok'),
			   ('approve', ', result => ''no''', 'PT422 bad_decision'), ('reject', ', arguments => ''{}''', 'PT422 bad_decision'),
			   ('edit', ', arguments => ''{}''', 'PT422 bad_decision'), ('APPROVE', '', 'PT422 bad_decision'), ('', '', 'PT422 bad_decision'),
			   ('true', '', 'PT422 bad_decision'), ('approve', ', arguments => ''[1]''', 'PT422 bad_arguments'),
			   ('approve', ', arguments => ''{"a":1,"a":2}''', 'PT422 not_canonical')) AS v(verdict, more, answer),
	   LATERAL (SELECT t.proposed() AS i WHERE v.answer IS NOT NULL) AS p;

-- seen is the view that was shown.
SELECT t.proposed() AS id \gset
SELECT t.proposed() AS other \gset
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'id', seen)), 'PT412 stale_view', 'seen: ' || what)
  FROM (VALUES ('the action hash', (t.stored(:'id')).action_hash::text), ('another request''s', t.seen(:'other')::text),
			   ('zeros', repeat('0', 64))) AS v(what, seen) WHERE seen <> t.seen(:'id')::text;
SELECT is(t.says('alice', format('approval.reject(%L, %L)', :'id', repeat('0', 64))), 'PT412 stale_view', 'a rejection names its view too');
SELECT is((t.stored(:'id')).status, 'pending', 'and it is still pending');
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'id', 'xyz')), '22P02', 'seen that is no digest');

-- Whoever asks does not decide.
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('both'));
	EXECUTE format('GRANT approval_requester, approval_approver TO %I', t.login('both'));
	PERFORM approval.register_login(t.login('both'), 'delegate');
END
$$;
SELECT is(t.says('both', format('approval.%s(%L, %L, actor => %L%s)', verb, i, t.seen(i), actor, more)), answer, format('%s as %s: %s', verb, actor, why))
  FROM (VALUES ('approve', 'user:z', '', 'PT403 self_approval', 'the same login'),
			   ('reject', 'user:z', '', 'PT403 self_approval', 'the same login'),
			   ('edit', 'user:z', ', arguments => ''{"x":1}''', 'PT403 self_approval', 'the same login')) AS v(verb, actor, more, answer, why),
	   LATERAL (SELECT t.proposed('requested_by => ''user:x'', on_behalf_of => ''user:y''', 'both') AS i WHERE v.verb IS NOT NULL) AS p;
SELECT is(t.says(who, format('approval.approve(%L, %L%s)', i, t.seen(i), ', actor => ' || quote_nullable(actor))), answer, format('%s as %s', who, actor))
  FROM (VALUES ('web', 'user:x', 'PT403 self_approval'), ('web', 'user:y', 'PT403 self_approval'), ('web', 'user:z', 'ok'),
			   ('alice', NULL, 'ok')) AS v(who, actor, answer),
	   LATERAL (SELECT t.proposed('requested_by => ''user:x'', on_behalf_of => ''user:y''', 'both') AS i WHERE v.who IS NOT NULL) AS p;
SELECT is(t.says('alice', format('approval.approve(%L, %L)', i, t.seen(i))), 'PT403 self_approval', 'a person whom an agent acts for')
  FROM t.proposed('on_behalf_of => ''user:alice''') AS i;
SELECT is(t.says('alice', format('approval.approve(%L, %L)', i, t.seen(i))), 'ok', 'an assignee may, being nothing special')
  FROM t.proposed('assignee => ''user:alice''') AS i;
SELECT is(t.says('bob', format('approval.approve(%L, %L)', i, t.seen(i))), 'ok', 'and so may others')
  FROM t.proposed('assignee => ''user:alice''') AS i;
-- ... and a login that proposed does not either, whatever role it has taken on
CREATE FUNCTION t.approve_after_set_role(request approval.ulid, seen approval.digest) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	me text := session_user;
	reason text;
BEGIN
	EXECUTE format('GRANT %I TO %I', t.login('bob'), t.login('both'));
	PERFORM set_config('session_authorization', t.login('both'), true);
	PERFORM set_config('role', t.login('bob'), true);
	BEGIN
		PERFORM approval.approve(request, seen, actor => 'user:bob');
		reason := 'ok';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
		reason := reason::json ->> 'reason';
	END;
	PERFORM set_config('role', 'none', true);
	PERFORM set_config('session_authorization', me, true);
	RETURN reason;
END
$$;
SELECT is(t.approve_after_set_role(i, t.seen(i)), 'self_approval', 'a login that proposed, after SET ROLE to an approver')
  FROM t.proposed('requested_by => ''user:x''', 'both') AS i;
-- ... unless an administrator rests on actors alone
SET approval.separate_logins = off;
SELECT is(t.says('both', format('approval.approve(%L, %L, actor => %L)', i, t.seen(i), actor)), answer, format('one login for all, as %s', actor))
  FROM (VALUES ('user:x', 'PT403 self_approval'), ('user:y', 'PT403 self_approval'), ('user:z', 'ok')) AS v(actor, answer),
	   LATERAL (SELECT t.proposed('requested_by => ''user:x'', on_behalf_of => ''user:y''', 'both') AS i WHERE v.actor IS NOT NULL) AS p;
SET approval.separate_logins = on;

-- Kinds of logins.
SELECT is(t.says(who, format('approval.approve(%L, %L, actor => %L)', i, t.seen(i), actor)), answer, format('%s as %L', who, actor))
  FROM (VALUES ('alice', NULL, 'ok'), ('alice', 'user:alice', 'ok'), ('alice', 'user:bob', 'PT403 actor_not_allowed'),
			   ('robot', NULL, 'PT403 not_eligible'), ('robot', 'user:bob', 'PT403 actor_not_allowed'),
			   ('carol', NULL, 'ok'), ('carol', 'login:decide_carol', 'ok'), ('carol', 'user:carol', 'PT403 actor_not_allowed'),
			   ('web', NULL, '22004'), ('web', 'user:any', 'ok'), ('web', 'policy', 'PT403 actor_not_allowed'),
			   ('web', 'login:decide_bob', 'PT403 actor_not_allowed'), ('web', 'login:decide_web', 'ok'), ('web', '', '22023'),
			   ('portal', NULL, 'ok'), ('portal', 'app:portal', 'ok'), ('portal', 'user:any', 'ok'),
			   ('gateway', NULL, 'PT403 not_eligible'), ('gateway', 'gateway:mcp', 'PT403 not_eligible'),
			   ('runner', NULL, '42501'), ('agent', NULL, '42501'), ('auditor', NULL, '42501'), ('admin', NULL, '42501'),
			   ('nobody', NULL, '42501')) AS v(who, actor, answer),
	   LATERAL (SELECT t.proposed() AS i WHERE v.who IS NOT NULL) AS p;
SELECT is(t.row('carol', format('approval.approve(%L, %L)', i, t.seen(i))) ->> 'decided_by', 'login:decide_carol', 'a login that is not registered is its own actor')
  FROM t.proposed() AS i;

-- One's own decision again is a no-op; anything else is too late.
CREATE FUNCTION t.second(first text, second text, OUT answer text, OUT events bigint) LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.proposed();
	shown text := t.seen(i);
BEGIN
	PERFORM t.row(split_part(first, ' ', 1), format(substr(first, strpos(first, ' ') + 1), i, shown));
	events := t.events(i);
	answer := t.says(split_part(second, ' ', 1), format(substr(second, strpos(second, ' ') + 1), i, shown, t.seen(i)));
	events := t.events(i) - events;
END
$$;
SELECT is(s.answer || ' ' || s.events, v.answer || ' 0', format('%s, then %s', first, second))
  FROM (VALUES
	('alice approval.approve(%L, %L)', 'alice approval.approve(%L, %L)', 'ok'),
	('alice approval.approve(%L, %L)', 'alice approval.decide(%L, ''approve'', %L)', 'ok'),
	('alice approval.approve(%L, %L)', 'alice approval.approve(%L, %L, note => ''another note'')', 'ok'),
	('alice approval.approve(%L, %L)', 'alice approval.edit(%L, %L, ''{"order":"A-1","amount":50}'')', 'ok'),
	('alice approval.approve(%L, %L)', 'alice approval.edit(%L, %L, ''{"order":"A-1","amount":1}'')', 'PT409 already_decided'),
	('alice approval.approve(%L, %L)', 'alice approval.reject(%L, %L)', 'PT409 already_decided'),
	('alice approval.approve(%L, %L)', 'bob approval.approve(%L, %L)', 'PT409 already_decided'),
	('alice approval.approve(%L, %L)', 'alice approval.approve(%L, repeat(''0'', 64))', 'PT409 already_decided'),
	('alice approval.reject(%L, %L)', 'alice approval.reject(%L, %L)', 'ok'),
	('alice approval.reject(%L, %L, result => ''a'')', 'alice approval.reject(%L, %L, result => ''a'')', 'ok'),
	('alice approval.reject(%L, %L, result => ''a'')', 'alice approval.reject(%L, %L, result => ''b'')', 'PT409 already_decided'),
	('alice approval.reject(%L, %L, result => ''a'')', 'alice approval.reject(%L, %L)', 'PT409 already_decided'),
	('alice approval.reject(%L, %L)', 'alice approval.approve(%L, %L)', 'PT409 already_decided'),
	('alice approval.edit(%L, %L, ''{"amount":40}'')', 'alice approval.edit(%L, %L, ''{"amount":4e1}'')', 'ok'),
	('alice approval.edit(%L, %L, ''{"amount":40}'')', 'alice approval.edit(%L, %L, ''{"amount":41}'')', 'PT409 already_decided'),
	('alice approval.edit(%L, %L, ''{"amount":40}'')', 'alice approval.approve(%L, %L)', 'PT409 already_decided'),
	('alice approval.edit(%L, %L, ''{"amount":40}'')', 'bob approval.edit(%L, %L, ''{"amount":40}'')', 'PT409 already_decided'),
	('alice approval.edit(%L, %L, ''{"amount":40}'')', 'bob approval.approve(%L, %3$L)', 'PT409 already_decided'),
	('web approval.approve(%L, %L, actor => ''user:alice'')', 'alice approval.approve(%L, %L)', 'ok'),
	('web approval.approve(%L, %L, actor => ''user:x'')', 'web approval.approve(%L, %L, actor => ''user:y'')', 'PT409 already_decided')) AS v(first, second, answer),
	   LATERAL t.second(v.first, v.second) AS s;

-- The loser is told who won, and when.
SELECT t.request('approved') AS id \gset
SELECT t.detail('bob', format('approval.reject(%L, %L)', :'id', t.seen(:'id'))) AS d \gset
SELECT is(:'d'::jsonb - 'decided_at' - 'hint',
	jsonb_build_object('sqlstate', 'PT409', 'reason', 'already_decided', 'http', 409, 'id', :'id', 'status', 'approved', 'decided_by', 'user:alice'),
	'already_decided says who');
SELECT is((:'d'::jsonb ->> 'decided_at')::timestamptz, (t.stored(:'id')).decided_at, 'and when, to the microsecond');
SELECT matches(:'d'::jsonb ->> 'decided_at', '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$', 'in RFC 3339, UTC');

-- A savepoint that is rolled back leaves nothing.
SELECT t.proposed() AS id \gset
SAVEPOINT s;
SELECT t.row('alice', format('approval.approve(%L, %L)', :'id', t.seen(:'id'))) ->> 'status' AS s \gset
SELECT t.events(:'id') AS n \gset
ROLLBACK TO s;
SELECT is(:'s' || :'n', 'approved2', 'decided in a savepoint');
SELECT is((t.stored(:'id')).status || t.events(:'id'), 'pending1', 'rolled back: pending, one event');
SELECT is((SELECT count(*) FROM approval.decisions WHERE request_id = :'id'), 0::bigint, 'and no decision');
SELECT is(t.says('bob', format('approval.reject(%L, %L)', :'id', t.seen(:'id'))), 'ok', 'anybody may decide it now');

-- revoke_by takes back everything that one actor approved, and nothing else.
CREATE TABLE t.revocable AS
SELECT who, actor, state, t.request('pending') AS id FROM (VALUES
	('web', 'user:stolen', 'approved'), ('web', 'user:stolen', 'approved'), ('web', 'user:stolen', 'consumed'), ('web', 'user:honest', 'approved')) AS v(who, actor, state);
SELECT count(t.row(who, format('approval.approve(%L, %L, actor => %L)', id, t.seen(id), actor))) AS n FROM t.revocable \gset
SELECT count(t.consumed(id)) AS n FROM t.revocable WHERE state = 'consumed' \gset
SELECT (t.as('bob', $$approval.revoke_by('user:stolen', 'phished')$$)).rows AS r \gset
SELECT is((SELECT jsonb_agg(x ->> 'id' ORDER BY x ->> 'id') FROM jsonb_array_elements(:'r'::jsonb) x),
	(SELECT jsonb_agg(id::text ORDER BY id) FROM t.revocable WHERE actor = 'user:stolen' AND state = 'approved'), 'revoke_by returns what it revoked');
SELECT set_eq($$SELECT actor, state, (t.stored(id)).status, (t.stored(id)).cause FROM t.revocable$$,
	$$VALUES ('user:stolen', 'approved', 'revoked', 'revoked'), ('user:stolen', 'consumed', 'consumed', 'person'), ('user:honest', 'approved', 'approved', 'person')$$,
	'and only that');
SELECT is((SELECT DISTINCT note || ' ' || e.actor FROM approval.events e JOIN t.revocable r ON e.request_id = r.id WHERE kind = 'revoked'), 'phished user:bob',
	'the events say why and by whom');
SELECT is((t.as('bob', $$approval.revoke_by('user:stolen')$$)).rows, NULL, 'a second time there is nothing');
SELECT is(t.says('bob', $$approval.revoke_by('user:honest', revoked_by => 'user:carol')$$), 'PT403 actor_not_allowed', 'revoked_by is an actor like any');
SELECT is(t.says('web', $$approval.revoke_by('user:honest', revoked_by => 'user:carol')$$), 'ok', 'whom a delegate names');

SELECT * FROM finish();
ROLLBACK;
