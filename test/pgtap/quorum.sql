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
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'alice', 'reject'), 'ok pending 1, ok rejected 0 veto', 'an approval may become a rejection');
SELECT is(t.vote(:'i', 'alice'), 'PT409 already_decided rejected 0 veto', 'not the reverse');

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

-- A second look: who counts is worked out at each vote, and what is counted is what is shown.
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin, approval_approver TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	PERFORM approval.register_tool('rules', 'action', '{"owner_may_confirm":true,"edits":"free","rules":[
		{"condition":"$.x >= 0 && $.x <= 10","mode":"review"},{"condition":"$.x > 10 && $.x <= 100","mode":"review","approvals_needed":2},
		{"condition":"$.x > 100 && $.x <= 1000","mode":"review","approvals_needed":3,"reviewer_group":"board"},{"mode":"deny"}]}');
	PERFORM approval.register_tool('desks', 'action', '{"rules":[{"condition":"$.x >= 0 && $.x <= 10","mode":"review","reviewer_group":"desk"},{"mode":"review","reviewer_group":"board"}]}');
	PERFORM approval.register_tool('fixed', 'action', '{"approvals_needed":2,"edits":"none"}');
	PERFORM approval.register_tool('tight', 'action', '{"approvals_needed":2,"edits":"tighten","edit_paths":["$.x"]}');
	PERFORM approval.register_tool('wide', 'action', '{"approvals_needed":2,"reviewer_group":"wide"}');
	PERFORM approval.add_member('desk', 'user:carl');
	PERFORM approval.register_login(t.login('carol'), 'person', 'user:carl');
END
$$;
CREATE FUNCTION t.edit(i approval.ulid, who text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := t.says(who, format('approval.edit(%L, %L, %L)', i, t.seen(i), arguments));
	r approval.requests := t.stored(i);
BEGIN
	RETURN concat_ws(' ', answer, r.status, r.approvals || '/' || r.approvals_needed, r.reviewer_group, 'by ' || r.edited_by);
END
$$;
CREATE FUNCTION t.use(i approval.ulid) RETURNS text LANGUAGE sql
RETURN t.says('runner', format('approval.consume(%L, %L, %L, ''r'')', i, (t.stored(i)).tool, (t.stored(i)).arguments));
CREATE FUNCTION t.member(verb text, who text, grp text DEFAULT 'board', tenant text DEFAULT '') RETURNS text LANGUAGE sql
RETURN t.row('root', format('approval.%s_member(%L, %L, %L)', verb, grp, 'user:' || who, tenant)) ->> 'verb';

-- what a vote leaves
SELECT t.ask('pay') AS i \gset
SELECT t.row('alice', format('approval.approve(%L, %L, note => ''looks right'')', :'i', t.seen(:'i'))) AS r \gset
SELECT is(:'r'::jsonb ->> key, value, 'after the first vote: ' || key) FROM (VALUES ('status', 'pending'), ('approvals', '1'), ('approvals_needed', '2'), ('reviewer_group', 'board'), ('decided_by', NULL), ('decided_at', NULL), ('use_by', NULL), ('cause', NULL)) AS v(key, value);
SELECT is((SELECT (verdict, actor, seen = t.seen(:'i'), action_hash = (t.stored(:'i')).action_hash, note)::text FROM approval.decisions WHERE request_id = :'i'), '(approve,user:alice,t,t,"looks right")', 'the decision says what was seen');
SELECT is((SELECT (kind, actor, status_before, status_after, note)::text FROM approval.events WHERE request_id = :'i' AND n = 2), '(voted,user:alice,pending,pending,"looks right")', 'and so does the event');
SELECT is(t.row('bob', format('approval.try_decide(%L, ''approve'', %L)', :'i', t.seen(:'i'))) #>> '{request,status}', 'approved', 'try_decide votes as well');
SELECT is((t.stored(:'i')).use_by - (t.stored(:'i')).decided_at, interval '1 hour', 'the time to use it begins with the last vote');
SELECT is((SELECT string_agg(kind, ' ' ORDER BY n) FROM approval.events WHERE request_id = :'i'), 'proposed voted approved', 'three events');
-- ... and what does not become of one
SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'one of two');
SELECT is(t.row('agent', format('approval.cancel(%L)', :'i')) ->> 'cause', 'withdrawn', 'the agent may still withdraw it');
SELECT is(t.vote(:'i', 'bob'), 'PT409 already_decided cancelled 1 withdrawn', 'then the second is too late');
SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'one of two');
SELECT set_config('session_replication_role', 'replica', true) AS x \gset
UPDATE approval.requests SET expires_at = clock_timestamp() - interval '1 second' WHERE id = :'i';
SELECT set_config('session_replication_role', 'origin', true) AS x \gset
SELECT alike(t.vote(:'i', 'bob'), 'PT4% pending 1', 'nor does a second vote come after the deadline');
SELECT is(t.use(:'i'), 'PT410 expired', 'half a quorum is none');

-- groups: of this tenant, or of every tenant
-- two who never vote keep the quorum within reach
SELECT t.member('add', 'gina', 'wide', '') AS a, t.member('add', 'hugo', 'wide', '*') AS b \gset
SELECT t.ask('wide') AS i \gset
SELECT t.member('add', 'alice', 'wide', '*') AS a, t.member('add', 'bob', 'wide', 'acme') AS b, t.member('add', 'dave', 'Wide', '') AS c \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'a member in every tenant');
SELECT is(t.vote(:'i', 'bob'), 'PT403 not_eligible pending 1', 'in another tenant');
SELECT is(t.vote(:'i', 'dave'), 'PT403 not_eligible pending 1', 'in a group of almost that name');
SELECT t.member('add', 'bob', 'wide', '') AS a, t.member('remove', 'alice', 'wide', '*') AS b \gset
SELECT is(t.vote(:'i', 'bob'), 'ok pending 1', 'the first one has left every tenant');
SELECT t.member('add', 'dave', 'wide', '') AS a \gset
SELECT is(t.vote(:'i', 'dave'), 'ok approved 2 quorum', 'two who are there');
-- all who would be needed are there again, but nobody''s vote is a new one
SELECT t.ask('wide') AS i \gset
SELECT is(t.vote(:'i', 'bob'), 'ok pending 1', 'bob votes');
SELECT t.member('remove', 'bob', 'wide', '') AS a \gset
SELECT is(t.vote(:'i', 'dave'), 'ok pending 1', 'and leaves before dave does');
SELECT is(t.vote(:'i', 'bob', 'reject'), 'PT403 not_eligible pending 1', 'outside the group he has no veto');
SELECT t.member('add', 'bob', 'wide', '') AS a \gset
SELECT is(t.vote(:'i', 'bob'), 'ok approved 2 quorum', 'he is back and says it again: two members have approved what is shown');
SELECT is(t.vote(:'i', 'bob', 'reject'), 'ok rejected 1 veto', 'or he changes his mind') WHERE (t.stored(:'i')).status = 'pending';

-- a request keeps the quorum that it was born with; consume looks at what holds then
CREATE FUNCTION t.meanwhile(change text, back text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.ask('pay');
	answer text := t.vote(i, 'alice');
BEGIN
	PERFORM t.row('root', change);
	answer := answer || ', ' || t.vote(i, 'alice') || ', ' || t.vote(i, 'bob') || ', ' || t.use(i);
	PERFORM t.row('root', back);
	RETURN answer;
END
$$;
SELECT is(t.meanwhile(change, back), answer, change) FROM (VALUES
	($$approval.update_tool('pay', '{"approvals_needed":3}', tenant => '')$$, $$approval.update_tool('pay', '{"approvals_needed":2}', tenant => '')$$, 'ok pending 1, ok pending 1, ok approved 2 quorum, PT412 policy_changed'),
	($$approval.update_tool('pay', '{"approvals_needed":1}', tenant => '')$$, $$approval.update_tool('pay', '{"approvals_needed":2}', tenant => '')$$, 'ok pending 1, ok pending 1, ok approved 2 quorum, ok'),
	($$approval.update_tool('pay', '{"reviewer_group":"desk"}', tenant => '')$$, $$approval.update_tool('pay', '{"reviewer_group":"board"}', tenant => '')$$, 'ok pending 1, ok pending 1, ok approved 2 quorum, PT412 policy_changed'),
	($$approval.update_tool('pay', '{"reviewer_group":"*"}', tenant => '')$$, $$approval.update_tool('pay', '{"reviewer_group":"board"}', tenant => '')$$, 'ok pending 1, ok pending 1, ok approved 2 quorum, ok'),
	($$approval.freeze_tool('pay', tenant => '')$$, $$approval.unfreeze_tool('pay', tenant => '')$$, 'ok pending 1, ok pending 1, ok approved 2 quorum, PT403 tool_frozen')) AS v(change, back, answer);

-- edits among votes
SELECT t.ask('pay') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'alice approves x = 1');
SELECT is(t.edit(:'i', 'bob', '{"x":2}'), 'ok pending 1/2 board', 'bob approves x = 2: her vote was for something else');
SELECT is(t.use(:'i'), 'PT409 not_approved', 'two people, but two actions');
SELECT is(t.edit(:'i', 'alice', '{"x":1}'), 'ok pending 1/2 board', 'alice goes back to x = 1: now his was');
SELECT is(t.vote(:'i', 'dave'), 'ok approved 2 quorum', 'dave agrees with her');
SELECT is((t.stored(:'i')).arguments::text || (t.stored(:'i')).decided_by, '{"x":1}user:dave', 'x = 1 it is');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT t.ask('rules', $$on_behalf_of => 'user:zoe'$$) AS i \gset
SELECT is(t.edit(:'i', 'alice', '{"x":50}'), 'ok pending 1/2', 'an edit into a rule for two');
SELECT is(t.edit(:'i', 'carol', '{"x":500}'), 'PT403 not_eligible pending 1/2', 'into a rule for a group by somebody outside');
SELECT is(t.edit(:'i', 'bob', '{"x":500}'), 'ok pending 1/3 board', 'by somebody inside');
SELECT is(t.edit(:'i', 'dave', '{"x":5000}'), 'PT403 tool_denied pending 1/3 board', 'into a rule that denies');
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'carol'), 'ok pending 2, ok pending 2, PT403 not_eligible pending 2', 'two of three');
SELECT is(t.edit(:'i', 'dave', '{"x":1}'), 'ok pending 1/3 board', 'an edit into the rule for one keeps the quorum that was reached');
SELECT is(t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'alice'), 'ok pending 2, ok approved 3 quorum', 'so that three decide');
SELECT is(t.use(:'i'), 'ok', 'and it is used');
SELECT t.ask('desks') AS i \gset
SELECT is((t.stored(:'i')).reviewer_group, 'desk', 'a small one is for the desk');
SELECT is(t.vote(:'i', 'alice'), 'PT403 not_eligible pending 0', 'and not for the board');
SELECT is(t.edit(:'i', 'carol', '{"x":5000}'), 'ok pending 1/2', 'the desk makes a large one of it, which is for the board too');
SELECT is((t.stored(:'i')).reviewers::text, '{"board":1,"desk":1}', 'both have to agree now');
SELECT isnt(t.use(:'i'), 'ok', 'and it is not used');
SELECT is(t.vote(:'i', 'alice'), 'ok approved 2 quorum', 'until the board has approved it');
SELECT t.ask('fixed') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'a tool without edits');
SELECT is(t.edit(:'i', 'bob', '{"x":2}'), 'PT422 bad_decision pending 1/2', 'is not edited');
SELECT is(t.vote(:'i', 'bob'), 'ok approved 2 quorum', 'and the first vote still counts');
SELECT t.ask('tight') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'a tool with some edits');
SELECT is(t.edit(:'i', 'bob', '{"x":1,"y":1}'), 'ok pending 0/2 by user:bob', 'bob goes beyond them');
SELECT is(t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'dave'), 'PT403 self_approval pending 0, ok pending 1, ok approved 2 quorum', 'and two others decide');

-- a person for whom the agent acts confirms alone what one may confirm, and nothing else
SELECT t.ask('rules', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok approved 1 person', 'her own assistant asks for little');
SELECT t.row('agent', $$approval.propose('big', 'rules', '{"x":50}', on_behalf_of => 'user:alice')$$) ->> 'id' AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'PT403 self_approval pending 0', 'for more: no vote of hers');
SELECT is(t.edit(:'i', 'alice', '{"x":1}'), 'PT403 self_approval pending 0/2', 'not even to make it less');
SELECT t.ask('rules', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT alike(t.edit(:'i', 'alice', '{"x":50}'), 'PT403 %', 'she makes more of it');
SELECT isnt(t.vote(:'i', 'bob'), 'ok approved 2 quorum', 'and is not one of the two who are wanted then');

-- a stolen session
SELECT t.ask('three') AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'dave'), 'ok pending 1, ok pending 2, ok approved 3 quorum', 'alice, bob, dave');
SELECT t.ask('three') AS j \gset
SELECT is(t.vote(:'j', 'alice') || ', ' || t.vote(:'j', 'bob'), 'ok pending 1, ok pending 2', 'alice, bob');
SELECT is(t.says('carol', $$approval.revoke_by('user:alice', 'phished')$$), 'ok', 'the first voter is found out');
SELECT is(t.use(:'i'), 'PT409 not_approved', 'two of three are left, and three are wanted');
SELECT is(t.vote(:'j', 'dave'), 'ok pending 2', 'and her vote on what still waits counts no more');
SELECT is((SELECT count(*) FROM approval.requests r CROSS JOIN LATERAL approval.verify_request(r.id) v WHERE NOT v.ok AND r.expires_at > clock_timestamp()), 0::bigint, 'every chain is whole');

-- she has a new session, and says it again
SELECT t.ask('three') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'alice, or whoever had her session');
SELECT is(t.says('carol', $$approval.revoke_by('user:alice', 'phished')$$), 'ok', 'which is ended');
SELECT t.vote(:'i', 'alice') AS again \gset
SELECT is(:'again'::text, 'ok pending 1', 'now it is alice');
SELECT is(split_part(t.vote(:'i', 'bob'), ' ', 1), 'ok', 'then bob');
SELECT is(t.vote(:'i', 'dave'), 'ok approved 3 quorum', 'and dave: three people have approved what is shown');
-- once more what somebody else has edited meanwhile
SELECT t.ask('three') AS i \gset
SELECT t.seen(:'i') AS first \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1', 'alice approves');
SELECT is(t.edit(:'i', 'bob', '{"x":9}'), 'ok pending 1/3', 'bob makes another action of it');
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'i', :'first')), 'PT412 stale_view', 'alice, whose vote is void, is not told that all is well');
-- two rows with a group each
SELECT t.row('root', $$approval.register_tool('groups', 'action', '{"reviewer_group":"board"}', tenant => '')$$) ->> 'verb' AS a, t.row('root', $$approval.register_tool('groups', 'action', '{"reviewer_group":"desk"}', tenant => '*')$$) ->> 'verb' AS b \gset
SELECT isnt(t.vote(t.ask('groups'), 'alice'), 'ok approved 1 person', 'the board of a tenant alone does not do for a tool that the desk of all tenants has to look at');
SELECT * FROM finish();
ROLLBACK;
