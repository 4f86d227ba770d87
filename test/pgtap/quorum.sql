-- Several approvals, of a group: who counts, and when it is decided.
\set ns quorum
\ir include/gate.psql
SELECT no_plan();
DO $$
DECLARE
	p record;
BEGIN
	FOR p IN SELECT * FROM (VALUES ('dave', 'user:dave'), ('alice2', 'user:alice')) AS v(who, actor) LOOP
		EXECUTE format('CREATE ROLE %I LOGIN', t.login(p.who));
		EXECUTE format('GRANT approval_approver TO %I', t.login(p.who));
		PERFORM approval.register_login(t.login(p.who), 'person', p.actor);
	END LOOP;
	PERFORM approval.register_tool('pay', 'action', '{"approvals_needed":2,"reviewer_group":"board","owner_may_confirm":false}');
	PERFORM approval.register_tool('three', 'action', '{"approvals_needed":3}');
	PERFORM approval.register_tool('own', 'action', '{"owner_may_confirm":true}');
	PERFORM approval.add_member('board', a) FROM unnest(ARRAY['user:alice', 'user:bob', 'user:dave', 'agent:refunds']) a;
END
$$;
CREATE FUNCTION t.ask(tool text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.propose(%L, %L, ''{"x":1}'' %s)', 'q_' || nextval('t.calls'), tool, ', ' || nullif(more, ''))) ->> 'id')::approval.ulid;
-- "ok pending 1" after a verdict
CREATE FUNCTION t.vote(i approval.ulid, who text, verdict text DEFAULT 'approve', actor text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := t.says(who, format('approval.decide(%L, %L, %L %s)', i, verdict, t.seen(i), ', actor => ' || quote_literal(actor)));
	r approval.requests := t.stored(i);
BEGIN
	RETURN concat_ws(' ', answer, r.status, r.approvals, r.cause);
END
$$;

SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'carol'), 'PT403 not_eligible pending 0', 'not in the group');
SELECT is(t.vote(:'i', 'carol', 'reject'), 'PT403 not_eligible pending 0', 'not even to reject');
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'the first');
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'again: a no-op');
SELECT is(t.vote(:'i', 'alice2'), 'ok pending 1', 'and over another login too');
SELECT is(t.vote(:'i', 'web', actor => 'user:alice'), 'ok pending 1', 'and through an application');
SELECT is(t.events(:'i'), 2::bigint, 'one event');
SELECT is((SELECT kind || ' ' || status_after FROM approval.events WHERE request_id = :'i' AND n = 2), 'voted pending', 'a vote');
SELECT is((SELECT count(*) FROM approval.decisions WHERE request_id = :'i'), 1::bigint, 'one decision');
SELECT is(t.says('runner', format('approval.consume(%L, ''pay'', ''{"x":1}'', ''r'')', :'i')), 'PT409 not_approved', 'one is not enough to run it');
SELECT is((t.row('alice', format('approval.request_of(%L)', :'i'))) ->> 'approvals', '1', 'readers see how far it is');
SELECT is(t.vote(:'i', 'bob'), 'ok approved 2 quorum', 'the second decides');
SELECT is((t.stored(:'i')).decided_by, 'user:bob', 'the last voter');
SELECT is(t.vote(:'i', 'alice'), 'ok approved 2 quorum', 'the first, once more: still a no-op');
SELECT is(t.vote(:'i', 'dave'), 'PT409 already_decided approved 2 quorum', 'a third comes too late');
SELECT is(t.vote(:'i', 'alice', 'reject'), 'PT409 already_decided approved 2 quorum', 'and so does a change of mind');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT is(t.says('runner', format('approval.consume(%L, ''pay'', ''{"x":1}'', ''r'')', :'i')), 'ok', 'two are enough');

SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'approved');
SELECT is(t.vote(:'i', 'bob', 'reject'), 'ok rejected 1 veto', 'one rejection is a veto');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'alice', 'reject'), 'ok pending 1, ok rejected 1 veto', 'an approval may become a rejection');
SELECT is(t.vote(:'i', 'alice'), 'PT409 already_decided rejected 1 veto', 'not the reverse');

-- somebody leaves between the votes
SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'the first');
SELECT t.row('admin', $$approval.remove_member('board', 'user:alice')$$) ->> 'n' AS n \gset
SELECT is(t.vote(:'i', 'bob'), 'ok pending 1', 'whose vote counts no more');
SELECT is(t.vote(:'i', 'dave'), 'ok approved 2 quorum', 'so it takes another');
SELECT t.row('admin', $$approval.add_member('board', 'user:alice')$$) ->> 'n' AS n \gset

-- the requester in every guise
SELECT t.ask('pay', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'PT403 self_approval pending 0', 'for whom it is asked');
SELECT is(t.vote(:'i', 'web', actor => 'user:alice'), 'PT403 self_approval pending 0', 'over whatever login');
SELECT is(t.vote(:'i', 'web', actor => 'agent:refunds'), 'PT403 self_approval pending 0', 'nor the agent, though it is in the group');
SELECT is(t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'dave'), 'ok pending 1, ok approved 2 quorum', 'others do');
SELECT t.ask('own', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok approved 1 person', 'unless the tool lets people confirm their own assistant');
SELECT t.ask('own', $$on_behalf_of => 'agent:refunds'$$) AS i \gset
SELECT is(t.vote(:'i', 'web', actor => 'agent:refunds'), 'PT403 self_approval pending 0', 'which is no way for the assistant');

-- three, without a group; and a view that is not the current one
SELECT t.ask('three') AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'carol'), 'ok pending 1, ok pending 2, ok approved 3 quorum', 'three of anybody');
SELECT t.ask('three') AS i \gset
SELECT t.seen(:'i') AS first \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'one');
SELECT is(t.says('bob', format('approval.edit(%L, %L, ''{"x":2}'')', :'i', :'first')), 'ok', 'an edit');
SELECT is((t.stored(:'i')).approvals, 1, 'voids the first vote and counts for itself');
SELECT is(t.says('carol', format('approval.approve(%L, %L)', :'i', :'first')), 'PT412 stale_view', 'a vote on what it was');
SELECT is(t.vote(:'i', 'bob'), 'ok pending 1', 'the editor counts once');
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'carol'), 'ok pending 2, ok approved 3 quorum', 'the others vote on what it is');
SELECT is((t.stored(:'i')).arguments::text, '{"x":2}', 'as edited');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT is(t.vote(t.ask('three'), 'robot'), 'PT403 not_eligible pending 0', 'a service does not vote');
SELECT * FROM finish();
ROLLBACK;
