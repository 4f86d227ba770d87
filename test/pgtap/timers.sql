-- What time does: reminders, escalation, expiry, each once and as an event; and
-- waiting, which ends with the deadline at the latest.
\set ns timers
\ir include/gate.psql
SELECT no_plan();

CREATE FUNCTION t.kinds(request approval.ulid) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(e.kind, ' ' ORDER BY e.n) FROM approval.events e WHERE e.request_id = request);
CREATE FUNCTION t.sweep() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN t.row('admin', 'approval.expire_due(1000)')::text::bigint;
END
$$;

-- What policy may say.
SELECT is(t.detail('admin', format('approval.register_tool(''refund'', ''action'', %L)', options)) ->> 'place', '$.escalate_to', options)
  FROM (VALUES ('{"escalate_after":"1 hour"}'), ('{"escalate_to":"leads"}'), ('{"escalate_after":"1 hour","escalate_to":"*"}')) AS v(options);
SELECT t.row('admin', $$approval.register_tool('refund', 'action', '{"default_mode":"review","reviewer_group":"clerks","remind_before":"2 days","escalate_after":"1 second","escalate_to":"leads"}')$$) IS NOT NULL AS done \g /dev/null
SELECT t.row('admin', format('approval.add_member(%L, %L)', g, a)) IS NOT NULL AS done FROM (VALUES ('clerks', 'user:alice'), ('leads', 'user:bob')) AS v(g, a) \g /dev/null

-- The reminder: longer before than the time there is, so at once.
SELECT t.proposed() AS i \gset
SELECT is((t.stored(:'i')).remind_at, (t.stored(:'i')).proposed_at, 'reminded as soon as it is there');
SELECT is((t.stored(:'i')).due_at, (t.stored(:'i')).remind_at, 'due_at is the first of the times');
SELECT is(t.sweep(), 1::bigint, 'one row');
SELECT is(t.kinds(:'i'), 'proposed reminded', 'an event');
SELECT is((t.stored(:'i')).due_at, (t.stored(:'i')).escalate_at, 'the next time comes');
SELECT is(t.sweep(), 0::bigint, 'and not again');

-- Before: the group only.  After: the other one too.
SELECT is(t.says('bob', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))), 'PT403 not_eligible', 'not yet');
SELECT is((t.as('alice', 'approval.inbox_page(''{"reviewer_group":"leads"}'')')).rows, NULL, 'nothing in the inbox of the other group');
SELECT pg_sleep_until((t.stored(:'i')).escalate_at + interval '10 ms') \g /dev/null
SELECT is(t.says('bob', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))), 'PT403 not_eligible', 'the time alone lets nobody in');
SELECT is(t.sweep(), 1::bigint, 'it is escalated');
SELECT is(t.kinds(:'i'), 'proposed reminded escalated', 'an event');
SELECT is((SELECT note FROM approval.events WHERE request_id = :'i' AND kind = 'escalated'), 'leads', 'that names the group');
SELECT is((SELECT actor || ' ' || status_before || ' ' || status_after FROM approval.events WHERE request_id = :'i' AND kind = 'escalated'), 'login:timers_admin pending pending', 'and moves nothing');
SELECT is((t.as('alice', 'approval.inbox_page(''{"reviewer_group":"leads"}'')')).rows -> 0 ->> 'escalated_to', 'leads', 'it is in the inbox of the other group');
SELECT is((SELECT escalated_to FROM approval.inbox WHERE id = :'i'), 'leads', 'and the view says so');
SELECT is(jsonb_array_length((t.as('alice', 'approval.inbox_page(''{"reviewer_group":"clerks"}'')')).rows), 1, 'as in that of the first');
SELECT is(t.row('bob', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))) ->> 'status', 'approved', 'and may be decided there');
SAVEPOINT policy;
SELECT t.row('admin', $$approval.update_tool('refund', '{"escalate_to":null,"escalate_after":null}')$$) IS NOT NULL AS done \g /dev/null
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', %L, ''run-1'')', :'i', (t.stored(:'i')).arguments)), 'PT412 policy_changed', 'which does not hold once policy wants no escalation');
ROLLBACK TO policy;
SELECT is((t.stored(:'i')).due_at, (t.stored(:'i')).use_by, 'then what comes is the end of its use');
SELECT is(ok, true, 'the chain is whole') FROM approval.verify_request(:'i');

-- Deadlines: every state that lapses, once.
CREATE TABLE t.lapsing AS SELECT state, t.request(state) AS id FROM unnest(ARRAY['late', 'lost', 'pending', 'in_flight', 'succeeded', 'rejected']) AS state;
SELECT is(due_at IS NULL, state IN ('succeeded', 'rejected'), state || ': due or not') FROM t.lapsing, LATERAL t.stored(id);
SELECT pg_sleep(1.05) \g /dev/null
SELECT cmp_ok(t.sweep(), '>=', 2::bigint, 'what has lapsed');
SELECT is(t.kinds(id), CASE state WHEN 'late' THEN 'proposed expired' ELSE 'proposed approved consumed abandoned' END, state) FROM t.lapsing WHERE state IN ('late', 'lost');
SELECT is(status || coalesce(' ' || outcome, ''), CASE state WHEN 'late' THEN 'expired' ELSE 'consumed unknown' END, state || ': as it is stored')
  FROM t.lapsing, LATERAL t.stored(id) WHERE state IN ('late', 'lost');
SELECT is(due_at, NULL, state || ': nothing more to come') FROM t.lapsing, LATERAL t.stored(id) WHERE state IN ('late', 'lost');

-- A heartbeat leaves due_at where it is; who looks sees that it is too early.
SELECT id AS running FROM t.lapsing WHERE state = 'in_flight' \gset
SELECT due_at AS before FROM t.stored(:'running') \gset
SELECT t.row('runner', format('approval.heartbeat(%L, ''run-1'', %L, ''1 hour'')', :'running', t.token(:'running'))) IS NOT NULL AS done \g /dev/null
SELECT is(due_at, :'before'::timestamptz, 'a longer lease does not move it') FROM t.stored(:'running');
SELECT t.row('runner', format('approval.heartbeat(%L, ''run-1'', %L, ''1 second'')', :'running', t.token(:'running'))) IS NOT NULL AS done \g /dev/null
SELECT is(due_at, lease_until, 'a shorter one does') FROM t.stored(:'running');

-- A forged row is set aside, the others go on.
CREATE TABLE t.poisoned AS SELECT n, t.request('late') AS id FROM generate_series(1, 3) AS n;
ALTER TABLE approval.requests DISABLE TRIGGER guard;
UPDATE approval.requests SET tool = 'other' WHERE id = (SELECT id FROM t.poisoned WHERE n = 2);
ALTER TABLE approval.requests ENABLE TRIGGER guard;
SELECT pg_sleep(1.05) \g /dev/null
SELECT t.sweep() \g /dev/null
SELECT is(string_agg(status, ' ' ORDER BY n), 'expired pending expired', 'all but the forged one') FROM t.poisoned, LATERAL t.stored(id);
SELECT is((SELECT problem || ' ' || tries FROM approval.set_aside WHERE request_id = p.id), 'row_tampered 1', 'which is set aside') FROM t.poisoned p WHERE n = 2;
SELECT t.sweep() \g /dev/null
SELECT is((SELECT tries FROM approval.set_aside WHERE request_id = p.id), 1, 'and left alone for a while') FROM t.poisoned p WHERE n = 2;

-- What does not get on, and why.
SELECT t.row('admin', $$approval.remove_member('clerks', 'user:alice')$$) IS NOT NULL AS done \g /dev/null
SELECT t.proposed() AS alone \gset
SELECT is((SELECT string_agg(why, ', ') FROM approval.stuck WHERE id = :'alone'), 'nobody eligible', 'a group without members');
SELECT is((SELECT string_agg(why || ' ' || (since = (t.stored(l.id)).lease_until), ', ') FROM approval.stuck WHERE id = l.id), 'outcome unknown true', 'a lost execution, since its lease was over') FROM t.lapsing l WHERE state = 'lost';
SELECT t.row('admin', $$approval.register_tool('pay', 'action', '{"default_mode":"review","reviewers":{"leads":1,"nobody":1}}')$$) IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', $$approval.propose('panel-1', 'pay', '{}')$$) ->> 'id' AS panel \gset
SELECT is((SELECT string_agg(why, ', ') FROM approval.stuck WHERE id = :'panel'), 'nobody eligible', 'nor one of several');
SELECT is((SELECT string_agg(what_to_do, ', ') FROM approval.stuck WHERE id = p.id AND why = 'set aside'), 'somebody has changed the row: verify_request() says where', 'a row that was set aside') FROM t.poisoned p WHERE n = 2;
SELECT is((t.as('admin', '(SELECT preloaded, backlog > 0 AS due FROM approval.worker_stats)')).rows -> 0 ->> 'due', 'true', 'and the worker''s own account');
SELECT t.row('admin', $$approval.add_member('clerks', 'user:alice')$$) IS NOT NULL AS done \g /dev/null

-- Waiting for what is settled does not wait, nor does a timeout of nothing.
SELECT is(t.row('agent', format('approval.wait(%L)', :'i')) ->> 'status', 'approved', 'decided already');
SELECT t.request('pending') AS p \gset
SELECT is(t.row('agent', format('approval.wait(%L, ''0'')', :'p')) ->> 'status', 'pending', 'the time is up at once');
SELECT t.request('late') AS l \gset
SELECT is(t.row('agent', format('approval.wait(%L, ''20 seconds'')', :'l')) ->> 'status', 'expired', 'the deadline ends it');
SELECT is(t.says('agent', format('approval.wait(%L, ''-1 second'')', :'p')), '22023', 'no time runs backwards');
SELECT is(t.says('agent2', format('approval.wait(%L, ''0'')', :'p')), 'PT404 not_found', 'what one cannot see');
SELECT is(t.says('agent', 'approval.wait(NULL)'), '22004', 'NULL');
SELECT is((SELECT string_agg(o ->> 'status', ' ') FROM jsonb_array_elements((t.as('agent', 'approval.wait_conversation('''', ''0'')')).rows) o WHERE o ->> 'id' = :'p'), 'pending', 'a conversation');

-- The feed does not follow a transaction that writes.
SELECT is(t.says('agent', 'approval.feed()'), '25001', 'feed in a transaction that has written');

SELECT * FROM finish();
ROLLBACK;
