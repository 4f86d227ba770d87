-- Every verb in every state: what it answers, what it moves, and that the
-- table of moves is what happens.
\set ns verbs
\ir include/gate.psql
SELECT no_plan();

CREATE TABLE t.verb (verb text, who text, call text);
INSERT INTO t.verb VALUES
	('approve',		'bob',		'approval.approve(%1$L, %2$L)'),
	('again',		'alice',	'approval.approve(%1$L, %2$L)'),	-- alice decided, if anybody did
	('reject',		'bob',		'approval.reject(%1$L, %2$L)'),
	('edit',		'bob',		'approval.edit(%1$L, %2$L, ''{"order":"A-1","amount":40}'')'),
	('cancel',		'agent',	'approval.cancel(%1$L)'),
	('revoke',		'bob',		'approval.revoke(%1$L)'),
	('consume',		'runner',	'approval.consume(%1$L, ''refund'', ''{"order":"A-1","amount":50}'', ''run-2'')'),
	('heartbeat',	'runner',	'approval.heartbeat(%1$L, ''run-1'', %3$L)'),
	('resume',		'runner',	'approval.resume(%1$L, ''run-1'', %3$L)'),
	('succeeded',	'runner',	'approval.complete(%1$L, ''run-1'', %3$L, ''succeeded'')'),
	('failed',		'runner',	'approval.complete(%1$L, ''run-1'', %3$L, ''failed'')'),
	('unknown',		'runner',	'approval.complete(%1$L, ''run-1'', %3$L, ''unknown'')'),
	('reconcile',	'bob',		'approval.reconcile(%1$L, ''succeeded'')');

-- "ok" has moved the request and made one event, "same" has changed nothing
-- and returned the row, "beat" has returned the row without an event.
CREATE TABLE t.expected (state text, verb text, answer text, ends text);
INSERT INTO t.expected
SELECT split_part(cell, ' | ', 1), split_part(cell, ' | ', 2), split_part(cell, ' | ', 3), nullif(split_part(cell, ' | ', 4), '')
  FROM unnest(ARRAY[
	'pending | approve | ok | approved',
	'pending | again | ok | approved',
	'pending | reject | ok | rejected',
	'pending | edit | ok | approved',
	'pending | cancel | ok | cancelled',
	'pending | revoke | PT409 not_approved',
	'pending | consume | PT409 not_approved',
	'approved | approve | PT409 already_decided',
	'approved | again | same',
	'approved | reject | PT409 already_decided',
	'approved | edit | PT409 already_decided',
	'approved | cancel | ok | cancelled',
	'approved | revoke | ok | revoked',
	'approved | consume | ok | consumed/in_flight',
	'rejected | approve | PT409 already_decided',
	'rejected | again | PT409 already_decided',
	'rejected | reject | PT409 already_decided',
	'rejected | edit | PT409 already_decided',
	'rejected | cancel | PT409 already_decided',
	'rejected | revoke | PT409 not_approved',
	'rejected | consume | PT409 not_approved',
	'cancelled | approve | PT409 already_decided',
	'cancelled | again | PT409 already_decided',
	'cancelled | reject | PT409 already_decided',
	'cancelled | edit | PT409 already_decided',
	'cancelled | cancel | same',
	'cancelled | revoke | PT409 not_approved',
	'cancelled | consume | PT409 not_approved',
	'revoked | approve | PT409 already_decided',
	'revoked | again | same',
	'revoked | reject | PT409 already_decided',
	'revoked | edit | PT409 already_decided',
	'revoked | cancel | PT409 already_decided',
	'revoked | revoke | same',
	'revoked | consume | PT409 not_approved',
	'late | approve | PT410 expired',
	'late | again | PT410 expired',
	'late | reject | PT410 expired',
	'late | edit | PT410 expired',
	'late | cancel | PT410 expired',
	'late | revoke | PT410 expired',
	'late | consume | PT410 expired',
	'stale | approve | PT409 already_decided',
	'stale | again | same',
	'stale | reject | PT409 already_decided',
	'stale | edit | PT409 already_decided',
	'stale | cancel | PT410 expired',
	'stale | revoke | PT410 expired',
	'stale | consume | PT410 expired']) AS cell;
-- Once it is consumed nothing but its outcome moves.
INSERT INTO t.expected
SELECT s.state, v.verb, v.answer
  FROM unnest(ARRAY['in_flight', 'lost', 'unknown', 'succeeded', 'failed']) AS s(state),
	   (VALUES ('approve', 'PT409 already_decided'), ('again', 'same'), ('reject', 'PT409 already_decided'),
			   ('edit', 'PT409 already_decided'), ('cancel', 'PT409 already_consumed'),
			   ('revoke', 'PT409 already_consumed'), ('consume', 'PT409 already_consumed'),
			   ('resume', 'PT409 not_idempotent')) AS v(verb, answer);
-- Before it is consumed there is nothing to report.
INSERT INTO t.expected
SELECT s.state, v.verb, 'PT412 stale_state'
  FROM unnest(ARRAY['pending', 'approved', 'rejected', 'cancelled', 'revoked', 'late', 'stale']) AS s(state),
	   unnest(ARRAY['heartbeat', 'resume', 'succeeded', 'failed', 'unknown', 'reconcile']) AS v(verb);
INSERT INTO t.expected VALUES
	('in_flight', 'heartbeat', 'beat', NULL),
	('in_flight', 'succeeded', 'ok', 'consumed/succeeded'),
	('in_flight', 'failed', 'ok', 'consumed/failed'),
	('in_flight', 'unknown', 'ok', 'consumed/unknown'),
	('in_flight', 'reconcile', 'PT412 stale_state', NULL),
	('lost', 'heartbeat', 'PT410 lease_expired', NULL),
	('lost', 'succeeded', 'ok', 'consumed/succeeded'),
	('lost', 'failed', 'ok', 'consumed/failed'),
	('lost', 'unknown', 'ok', 'consumed/unknown'),
	('lost', 'reconcile', 'ok', 'consumed/succeeded'),
	('unknown', 'heartbeat', 'PT412 stale_state', NULL),
	('unknown', 'succeeded', 'ok', 'consumed/succeeded'),
	('unknown', 'failed', 'ok', 'consumed/failed'),
	('unknown', 'unknown', 'same', NULL),
	('unknown', 'reconcile', 'ok', 'consumed/succeeded'),
	('succeeded', 'heartbeat', 'PT412 stale_state', NULL),
	('succeeded', 'succeeded', 'same', NULL),
	('succeeded', 'failed', 'PT409 outcome_conflict', NULL),
	('succeeded', 'unknown', 'PT409 outcome_conflict', NULL),
	('succeeded', 'reconcile', 'same', NULL),
	('failed', 'heartbeat', 'PT412 stale_state', NULL),
	('failed', 'succeeded', 'PT409 outcome_conflict', NULL),
	('failed', 'failed', 'same', NULL),
	('failed', 'unknown', 'PT409 outcome_conflict', NULL),
	('failed', 'reconcile', 'PT409 outcome_conflict', NULL);

SELECT is((SELECT count(*) FROM t.expected), 12 * (SELECT count(*) FROM t.verb), 'every state meets every verb');

CREATE TABLE t.cell AS SELECT e.*, t.request(e.state) AS id FROM t.expected e;
SELECT FROM pg_sleep(1.1);

CREATE FUNCTION t.place(r approval.requests) RETURNS text LANGUAGE sql
RETURN concat_ws('/', r.status, r.outcome);

-- What a call did: its answer, where the request is then, events made.
CREATE FUNCTION t.try(cell t.cell, OUT answer text, OUT ends text, OUT row_changed boolean) LANGUAGE plpgsql AS $$
DECLARE
	v t.verb;
	events bigint := t.events(cell.id);
	before approval.requests := t.stored(cell.id);
	a t.answer;
BEGIN
	SELECT * INTO v FROM t.verb WHERE verb = cell.verb;
	a := t.as(v.who, format(v.call, cell.id, t.seen(cell.id), t.token(cell.id)));
	events := t.events(cell.id) - events;
	answer := CASE WHEN a.code LIKE 'PT%' THEN a.code || ' ' || (a.detail::json ->> 'reason')
				   WHEN a.code <> '00000' THEN a.code
				   WHEN a.rows -> 0 ->> 'id' <> cell.id::text THEN 'another row'
				   WHEN events = 1 THEN 'ok'
				   WHEN t.stored(cell.id)::text = before::text THEN 'same'
				   ELSE 'beat' END;
	ends := t.place(t.stored(cell.id));
	row_changed := t.stored(cell.id)::text <> before::text;
	IF events > 1 OR (a.code <> '00000' AND events <> 0) THEN
		answer := answer || ', but ' || events || ' events';
	END IF;
END
$$;

CREATE TABLE t.got AS
SELECT c.state, c.verb, c.id, c.answer AS wanted, coalesce(c.ends, t.place(t.stored(c.id))) AS wanted_ends, g.*
  FROM t.cell c, LATERAL t.try(c) g;

SELECT is(answer, wanted, format('%s, then %s', state, verb)) FROM t.got ORDER BY state, verb;
SELECT is_empty($$SELECT state, verb, ends, wanted_ends FROM t.got WHERE ends <> wanted_ends$$,
	'and the request is then where it should be');
SELECT is_empty($$SELECT state, verb FROM t.got WHERE row_changed AND answer NOT IN ('ok', 'beat')$$,
	'a refusal or a no-op leaves the row as it was, byte for byte');
SELECT is_empty($$SELECT g.id FROM t.got g, LATERAL approval.verify_request(g.id) v WHERE NOT v.ok$$,
	'and every request verifies');

-- A proposal that is denied is a row too.
SELECT t.row('agent', $$approval.propose('denied', 'refund', '{}', at_least => 'deny')$$) AS denied \gset
SELECT is(:'denied'::jsonb ->> 'status', 'rejected', 'at_least deny: rejected');
SELECT is(:'denied'::jsonb ->> 'cause', 'policy', 'by policy');
SELECT is(:'denied'::jsonb ->> 'decided_by', 'policy', 'which is said to have decided');

-- What happened, against what may happen.
CREATE TEMP VIEW happened AS
SELECT DISTINCT status_before, outcome_before, status_after, outcome_after FROM approval.events
 WHERE (status_before, outcome_before) IS DISTINCT FROM (status_after, outcome_after);
SELECT is_empty($$SELECT * FROM happened EXCEPT
	SELECT from_status, from_outcome, to_status, to_outcome FROM approval.transitions()$$,
	'nothing happens that transitions() does not list');
SELECT set_eq($$SELECT concat_ws(' ', from_status, from_outcome, '->', to_status, to_outcome, 'by', verb)
	FROM approval.transitions() tr WHERE NOT EXISTS (SELECT FROM happened h
	WHERE (h.status_before, h.outcome_before, h.status_after, h.outcome_after)
		  IS NOT DISTINCT FROM (tr.from_status, tr.from_outcome, tr.to_status, tr.to_outcome))$$,
	$$VALUES ('-> approved by propose'), ('-> consumed untracked by propose'),
		('pending -> expired by expire'), ('approved -> expired by expire'),
		('consumed unknown -> consumed in_flight by resume')$$,
	'and everything it lists happens, but for what policy, the worker and the registry will bring');
SELECT is_empty($$SELECT from_status, from_outcome, to_status, to_outcome FROM approval.transitions()
	GROUP BY 1, 2, 3, 4 HAVING count(*) > 1$$, 'each move is listed once');
SELECT is_empty($$SELECT * FROM approval.transitions()
	WHERE from_status IN ('rejected', 'expired', 'cancelled', 'revoked')
	   OR from_outcome IN ('untracked', 'succeeded', 'failed')$$, 'a terminal state is never left');

SELECT * FROM finish();
ROLLBACK;
