-- complete, heartbeat, resume, reconcile: what became of an execution.
\set ns complete
\ir include/gate.psql
SELECT no_plan();

CREATE FUNCTION t.report(request text, outcome text, result text DEFAULT NULL, execution text DEFAULT 'run-1', token text DEFAULT NULL)
RETURNS text LANGUAGE sql
RETURN format('approval.complete(%L, %L, %L, %L, %L)', request, execution, coalesce(token, t.token(request)), outcome, result);

-- Results are kept verbatim: they are never refused because of a long number.
SELECT is(t.says('runner', format('(SELECT id FROM %s)', t.report(i::text, 'succeeded', result))) || ': ' || (t.stored(i)).result::text,
		  'ok: ' || result, 'kept: ' || result)
  FROM (VALUES ('{ "b": 1, "a": 12345678901234567890 }'), ('[1e400, 1e400]'), ('"\u0000"'), ('{"a":1,"a":2}'), ('null'), ('"\ud800"')) AS v(result),
	   LATERAL (SELECT t.request('in_flight') AS i WHERE v.result IS NOT NULL) AS p;

-- The same report twice is a no-op, another is a conflict; after unknown the
-- current attempt may still say what it learnt.
CREATE FUNCTION t.reports(first text[], second text[], OUT answer text, OUT events bigint) LANGUAGE plpgsql AS $$
DECLARE
	i text := t.request('in_flight');
BEGIN
	PERFORM t.row('runner', t.report(i, first[1], first[2]));
	events := t.events(i);
	answer := t.says('runner', t.report(i, second[1], second[2]));
	events := t.events(i) - events;
END
$$;
SELECT is(r.answer || ' ' || r.events, v.answer || ' ' || v.events, format('%s, then %s', first, second))
  FROM (VALUES
	('{succeeded,1}', '{succeeded,1}', 'ok', 0), ('{succeeded,1}', '{succeeded,2}', 'PT409 outcome_conflict', 0),
	('{succeeded,1}', '{succeeded,NULL}', 'PT409 outcome_conflict', 0), ('{succeeded,NULL}', '{succeeded,NULL}', 'ok', 0), ('{succeeded,NULL}', '{succeeded,1}', 'ok', 1),
	('{succeeded,1}', '{failed,1}', 'PT409 outcome_conflict', 0), ('{succeeded,1}', '{unknown,1}', 'PT409 outcome_conflict', 0),
	('{failed,1}', '{failed,1}', 'ok', 0), ('{failed,1}', '{succeeded,1}', 'PT409 outcome_conflict', 0),
	('{unknown,1}', '{unknown,1}', 'ok', 0), ('{unknown,1}', '{unknown,2}', 'PT409 outcome_conflict', 0),
	('{unknown,1}', '{succeeded,2}', 'ok', 1), ('{unknown,1}', '{failed,NULL}', 'ok', 1)) AS v(first, second, answer, events),
	   LATERAL t.reports(v.first::text[], v.second::text[]) AS r;

-- Whose report it is.
SELECT t.request('in_flight') AS id \gset
SELECT t.request('in_flight') AS other \gset
SELECT is(t.says('runner', t.report(:'id', 'succeeded', NULL, 'run-1', repeat('0', 64))), 'PT409 execution_mismatch', 'another token');
SELECT is(t.says('runner', t.report(:'id', 'succeeded', NULL, 'run-1', t.token(:'other'))), 'PT409 execution_mismatch', 'the token of another request');
SELECT is(t.says('runner', t.report(:'id', 'succeeded', NULL, 'run-1', '')), 'PT409 execution_mismatch', 'no token');
SELECT is(t.says('runner', t.report(:'id', 'succeeded', NULL, 'run-1', upper(t.token(:'id')) || 'A')), 'PT409 execution_mismatch', 'the token and more');
SELECT is(t.says('runner', t.report(:'id', 'succeeded', NULL, 'run-2')), 'PT409 execution_mismatch', 'another execution');
SELECT is(t.says('runner', t.report(:'id', outcome)), '22023', format('outcome %L', outcome))
  FROM unnest(ARRAY['', 'untracked', 'in_flight', 'SUCCEEDED', 'ok']) AS outcome;
SELECT is((t.stored(:'id')).outcome, 'in_flight', 'none of that was recorded');
SELECT is(t.says('runner2', t.report(:'id', 'succeeded')), 'ok', 'the token counts, not the login');

-- A heartbeat starts the lease again, and makes no event.
SELECT t.consumed(t.request('approved'), '10 s') AS id \gset
SELECT (t.stored(:'id')).lease_until AS before \gset
SELECT is(t.says('runner', format('approval.heartbeat(%L, ''run-1'', %L, ''1 hour'')', :'id', t.token(:'id'))), 'ok', 'heartbeat');
SELECT cmp_ok((t.stored(:'id')).lease_until, '>', :'before'::timestamptz + interval '50 min', 'the lease is longer');
SELECT is(t.events(:'id'), 3::bigint, 'no event');
SELECT ok((approval.verify_request(:'id')).ok, 'and the row still matches its digest');
SELECT is(t.says('runner', format('approval.heartbeat(%L, ''run-1'', %L, %L)', :'id', t.token(:'id'), lease)), answer, format('heartbeat of %L', lease))
  FROM (VALUES ('1 day', 'ok'), ('1 day 1 s', '22023'), ('0', '22023'), ('-1 s', '22023'), ('178000000 years', '22023'), (NULL, 'ok')) AS v(lease, answer);
SELECT is(t.says('runner', format('approval.heartbeat(%L, ''run-1'', ''x'')', :'id')), 'PT409 execution_mismatch', 'heartbeat with another token');

-- After the lease: unknown to every reader, never consumable again, and still
-- to be reported or settled.
SELECT t.request('lost') AS id \gset
SELECT is(t.row('agent', format('approval.request_of(%L)', :'id')) ->> 'outcome', 'unknown', 'lost: reads as unknown');
SELECT is((t.stored(:'id')).outcome, 'in_flight', 'which nobody has written down');
SELECT is((SELECT outcome FROM approval.inbox WHERE id = :'id'), 'unknown', 'a person is asked');
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', ''run-2'')', :'id')), 'PT409 already_consumed', 'not consumable');
SELECT is(t.says('runner', format('approval.resume(%L, ''run-1'', %L)', :'id', t.token(:'id'))), 'PT409 not_idempotent', 'not resumable');
SELECT is(t.says('runner', format('approval.resume(%L, ''run-1'', ''x'')', :'id')), 'PT409 execution_mismatch', 'resume with another token');
SELECT is(t.says('runner', t.report(:'id', 'succeeded', '{"refund":"r1"}')), 'ok', 'the late report is recorded');
SELECT is((SELECT (outcome, result::text)::text FROM approval.history WHERE id = :'id'), '(succeeded,"{""refund"":""r1""}")', 'and shows');

-- reconcile: a person's word, of somebody who neither asked nor ran it.
CREATE FUNCTION t.reconcile(who text, outcome text DEFAULT 'failed', more text DEFAULT '', i text DEFAULT t.request('lost')) RETURNS text LANGUAGE sql
RETURN t.says(who, format('approval.reconcile(%L, %L%s)', i, outcome, ', ' || nullif(more, '')));
SELECT is(t.reconcile(who, more => more), answer, format('reconcile by %s %s', who, more))
  FROM (VALUES ('alice', '', 'ok'), ('bob', '', 'ok'), ('carol', '', 'ok'), ('web', 'actor => ''user:x''', 'ok'), ('web', '', '22004'),
			   ('robot', '', 'PT403 not_eligible'), ('gateway', '', 'PT403 not_eligible'), ('bob', 'actor => ''user:alice''', 'PT403 actor_not_allowed'),
			   ('web', 'actor => ''agent:refunds''', 'PT403 not_eligible'), ('agent', '', '42501'), ('runner', '', '42501')) AS v(who, more, answer);
GRANT approval_approver TO complete_agent, complete_runner;
SELECT approval.register_login('complete_agent', 'person', 'user:agent'), approval.register_login('complete_runner', 'person', 'user:runner') \gset _
SELECT is(t.reconcile(who), 'PT403 not_eligible', who || ' is no judge of its own') FROM unnest(ARRAY['agent', 'runner']) AS who;
SELECT is(t.reconcile('bob', outcome), '22023', format('reconcile to %L', outcome)) FROM unnest(ARRAY['unknown', 'in_flight', '', 'done']) AS outcome;
SELECT t.request('lost') AS id \gset
SELECT is(t.reconcile('bob', 'succeeded', 'note => ''seen in the ledger''', :'id'), 'ok', 'settled');
SELECT is(t.reconcile('bob', 'succeeded', '', :'id'), 'ok', 'the same word again');
SELECT is(t.reconcile('alice', 'failed', '', :'id'), 'PT409 outcome_conflict', 'another word');
SELECT is((SELECT (kind, actor, note, outcome_after)::text FROM approval.events WHERE request_id = :'id' AND n = 4),
	'(reconciled,user:bob,"seen in the ledger",succeeded)', 'the event says who and why');
SELECT is(t.events(:'id'), 4::bigint, 'and there is one');
SELECT is(t.says('runner', t.report(:'id', 'failed')), 'PT409 outcome_conflict', 'the executor comes too late to say something else');
SELECT is(t.says('runner', t.report(:'id', 'succeeded')), 'ok', 'but may agree');

SELECT * FROM finish();
ROLLBACK;
