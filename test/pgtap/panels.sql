-- Several groups that all have to agree, how many rejections it takes, and
-- whose voice counts.
\set ns panels
\ir include/gate.psql
SELECT no_plan();
DO $$
DECLARE
	p record;
BEGIN
	FOR p IN SELECT * FROM (VALUES ('dave', 'user:dave'), ('erin', 'user:erin'), ('alice2', 'user:alice')) AS v(who, actor) LOOP
		EXECUTE format('CREATE ROLE %I LOGIN', t.login(p.who));
		EXECUTE format('GRANT approval_approver TO %I', t.login(p.who));
		PERFORM approval.register_login(t.login(p.who), 'person', p.actor);
	END LOOP;
	-- finance: alice, bob, dave; legal: dave, erin
	PERFORM approval.add_member('finance', a) FROM unnest(ARRAY['user:alice', 'user:bob', 'user:dave']) a;
	PERFORM approval.add_member('legal', a) FROM unnest(ARRAY['user:dave', 'user:erin']) a;
	PERFORM approval.register_tool('both', 'action', '{"reviewers":{"finance":1,"legal":1}}');
	PERFORM approval.register_tool('most', 'action', '{"reviewers":{"finance":2,"legal":1}}');
	PERFORM approval.register_tool('open', 'action', '{"reviewers":{"legal":1,"*":1}}');
	PERFORM approval.register_tool('votes', 'action', '{"approvals_needed":2,"rejections_needed":2}');
	PERFORM approval.register_tool('group', 'action', '{"reviewer_group":"finance","approvals_needed":2,"rejections_needed":3}');
	PERFORM approval.register_tool('sized', 'action', '{"expects":{"amount":"nonnegative"},"default_mode":"review","rules":[
		{"condition":"$.amount > 1000","mode":"review","reviewers":{"finance":1,"legal":1},"rejections_needed":1},
		{"condition":"$.amount > 100","mode":"review","reviewer_group":"finance","rejections_needed":2},
		{"condition":"$.amount > 10","mode":"review","approvals_needed":2}]}');
END
$$;
CREATE FUNCTION t.ask(tool text, arguments text DEFAULT '{"amount":1}', more text DEFAULT '', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.propose(%L, %L, %L %s)', 'p_' || nextval('t.calls'), tool, arguments, ', ' || nullif(more, ''))) ->> 'id')::approval.ulid;
-- "ok pending 1/2 0" : answer, status, approvals of those needed, rejections, cause
CREATE FUNCTION t.vote(i approval.ulid, who text, verdict text DEFAULT 'approve', more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := t.says(who, format('approval.decide(%L, %L, %L %s)', i, verdict, t.seen(i), ', ' || nullif(more, '')));
	r approval.requests := t.stored(i);
BEGIN
	RETURN concat_ws(' ', answer, r.status, r.approvals || '/' || r.approvals_needed, r.rejections, r.cause);
END
$$;

-- all of the groups
SELECT t.ask('both') AS i \gset
SELECT is(concat_ws(' ', (t.stored(:'i')).reviewers, (t.stored(:'i')).approvals_needed, (t.stored(:'i')).reviewer_group), '{"finance":1,"legal":1} 2', 'a request says who has to agree');
SELECT is(t.vote(:'i', 'carol'), 'PT403 not_eligible pending 0/2 0', 'in neither group');
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1/2 0', 'one of finance');
SELECT is(t.vote(:'i', 'bob'), 'ok pending 1/2 0', 'another one of finance takes no other seat');
SELECT is(t.says('runner', format('approval.consume(%L, ''both'', ''{"amount":1}'', ''r'')', :'i')), 'PT409 not_approved', 'two people, and not enough');
SELECT is(t.vote(:'i', 'erin'), 'ok approved 2/2 0 quorum', 'one of legal');
SELECT is(t.says('runner', format('approval.consume(%L, ''both'', ''{"amount":1}'', ''r'')', :'i')), 'ok', 'now they are enough');
SELECT t.ask('both') AS i \gset
SELECT is(t.vote(:'i', 'dave'), 'ok pending 1/2 0', 'who is in both groups counts once');
SELECT is(t.vote(:'i', 'dave'), 'ok pending 1/2 0', 'however often');
SELECT is(t.vote(:'i', 'erin'), 'ok approved 2/2 0 quorum', 'he sits for finance, since legal is taken');
SELECT t.ask('both') AS i \gset
SELECT is(t.vote(:'i', 'dave') || ', ' || t.vote(:'i', 'alice'), 'ok pending 1/2 0, ok approved 2/2 0 quorum', 'or for legal, since finance is');
SELECT t.ask('most') AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'dave') || ', ' || t.vote(:'i', 'bob'), 'ok pending 1/3 0, ok pending 2/3 0, ok approved 3/3 0 quorum', 'two of finance and one of legal');
SELECT t.ask('most') AS i \gset
SELECT is(t.vote(:'i', 'dave') || ', ' || t.vote(:'i', 'erin') || ', ' || t.vote(:'i', 'alice'), 'ok pending 1/3 0, ok pending 2/3 0, ok approved 3/3 0 quorum', 'in any order');
SELECT t.ask('open') AS i \gset
SELECT is(t.vote(:'i', 'carol') || ', ' || t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'erin'), 'ok pending 1/2 0, ok pending 1/2 0, ok approved 2/2 0 quorum', 'one of a group and anybody else');
SELECT t.ask('open') AS i \gset
SELECT is(t.vote(:'i', 'dave') || ', ' || t.vote(:'i', 'erin'), 'ok pending 1/2 0, ok approved 2/2 0 quorum', 'who may be of that group too');
SELECT t.ask('both') AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'erin', 'reject'), 'ok pending 1/2 0, ok rejected 1/2 1 veto', 'each group has a veto');
SELECT t.ask('both') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject', $$result => 'No.'$$) || (t.stored(:'i')).denial, 'ok rejected 0/2 1 vetoNo.', 'with what the model is told');

-- membership is looked at again at the end
SELECT t.ask('both') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1/2 0', 'alice approves');
SELECT approval.remove_member('finance', 'user:alice') \gset _
SELECT is(t.vote(:'i', 'erin'), 'ok pending 1/2 0', 'and leaves finance: erin alone');
SELECT is(t.vote(:'i', 'alice', 'reject'), 'PT403 not_eligible pending 1/2 0', 'she has no veto any more');
SELECT is(t.vote(:'i', 'bob'), 'ok approved 2/2 0 quorum', 'bob is there');
SELECT approval.add_member('finance', 'user:alice') \gset _

-- how many rejections it takes
SELECT t.ask('votes') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject'), 'ok pending 0/2 1', 'one of two rejections');
SELECT is((SELECT kind || ' ' || status_after FROM approval.events WHERE request_id = :'i' ORDER BY n DESC LIMIT 1), 'objected pending', 'an event of its own kind');
SELECT is(t.vote(:'i', 'alice', 'reject') || t.events(:'i'), 'ok pending 0/2 12', 'again: nothing');
SELECT is(t.vote(:'i', 'alice2', 'reject'), 'ok pending 0/2 1', 'nor over another login');
SELECT is(t.vote(:'i', 'alice'), 'PT409 vote_locked pending 0/2 1', 'it does not become an approval');
SELECT is(t.vote(:'i', 'alice', 'approve', $$arguments => '{"amount":2}'$$), 'PT409 vote_locked pending 0/2 1', 'nor an edit');
SELECT is(t.vote(:'i', 'bob'), 'ok pending 1/2 1', 'others approve');
SELECT is(t.vote(:'i', 'bob', 'reject'), 'ok rejected 0/2 2 veto', 'and may change their minds in this direction');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT t.ask('votes') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject') || ', ' || t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'carol'), 'ok pending 0/2 1, ok pending 1/2 1, ok approved 2/2 1 quorum', 'two approvals are enough in spite of one rejection');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT t.ask('votes') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject'), 'ok pending 0/2 1', 'a rejection');
SELECT is(t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":2}'$$), 'ok pending 1/2 1', 'stays when somebody edits');
SELECT is(t.vote(:'i', 'carol', 'reject'), 'ok rejected 1/2 2 veto', 'and counts');
SELECT t.ask('votes') AS i \gset
SELECT is(t.vote(:'i', 'bob') || ', ' || t.vote(:'i', 'carol', 'approve', $$arguments => '{"amount":2}'$$), 'ok pending 1/2 0, ok pending 1/2 0', 'an approval does not: it was of something else');
SELECT is(t.vote(:'i', 'bob'), 'ok approved 2/2 0 quorum', 'until it is given again');

-- too few are left: finance has three, two have to approve, three to reject
SELECT t.ask('group') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject') || ', ' || t.vote(:'i', 'bob', 'reject'), 'ok pending 0/2 1, ok rejected 0/2 2 quorum_unreachable', 'one alone cannot approve any more');
SELECT is(concat_ws(' ', (t.stored(:'i')).decided_by, (t.stored(:'i')).decided_at IS NOT NULL), 'user:bob t', 'the last vote decided');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT t.ask('group', '{"amount":1}', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT is(t.vote(:'i', 'bob', 'reject'), 'ok rejected 0/2 1 quorum_unreachable', 'the requester does not count among those who are left');
SELECT t.ask('group') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1/2 0', 'one of two');
SELECT count(approval.remove_member('finance', a)) FROM unnest(ARRAY['user:bob', 'user:dave']) a \gset _
SELECT is((t.stored(:'i')).status, 'pending', 'the others leave: that ends nothing by itself');
SELECT count(approval.add_member('finance', a)) FROM unnest(ARRAY['user:dave']) a \gset _
SELECT is(t.vote(:'i', 'dave'), 'ok approved 2/2 0 quorum', 'somebody comes back in time');
SELECT approval.remove_member('finance', 'user:dave') \gset _
SELECT t.ask('group') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok rejected 1/2 0 quorum_unreachable', 'a vote finds that nobody else is there');
SELECT is((SELECT kind || ' ' || status_after FROM approval.events WHERE request_id = :'i' ORDER BY n DESC LIMIT 1), 'voted rejected', 'the vote ends it');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT is((SELECT r ->> 'stop' FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('', open_only => '')$$)).rows) r WHERE r ->> 'id' = :'i'), 'true', 'and the loop stops');
SELECT count(approval.add_member('finance', a)) FROM unnest(ARRAY['user:bob', 'user:dave']) a \gset _
SELECT t.ask('both') AS i \gset
SELECT is(t.vote(:'i', 'erin'), 'ok pending 1/2 0', 'legal');
SELECT approval.remove_member('legal', 'user:erin') \gset _
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1/2 0', 'erin has left; dave is still there for legal');
SELECT is(t.vote(:'i', 'dave'), 'ok approved 2/2 0 quorum', 'as he says');
SELECT approval.add_member('legal', 'user:erin') \gset _

-- edits meet the rules again
SELECT t.ask('sized', '{"amount":5}') AS i \gset
SELECT is(t.vote(:'i', 'carol', 'approve', $$arguments => '{"amount":50}'$$), 'ok pending 1/2 0', 'into a rule for two');
SELECT is(t.vote(:'i', 'alice', 'approve', $$arguments => '{"amount":500}'$$), 'ok pending 1/2 0', 'into a rule for one of finance: two people, one of them of finance');
SELECT is((t.stored(:'i')).reviewers::text, '{"*":1,"finance":1}', 'the stricter of all that it was');
SELECT is(t.vote(:'i', 'alice2', 'approve', $$arguments => '{"amount":5000}'$$), 'ok pending 1/2 0', 'into a rule for two groups');
SELECT is((t.stored(:'i')).reviewers::text || (t.stored(:'i')).rejections_needed, '{"finance":1,"legal":1}1', 'they are two people');
SELECT is(t.vote(:'i', 'carol'), 'PT403 not_eligible pending 1/2 0', 'carol is in neither');
SELECT is(t.vote(:'i', 'erin', 'approve', $$arguments => '{"amount":5}'$$), 'ok pending 1/2 0', 'an edit back');
SELECT is((t.stored(:'i')).reviewers::text, '{"finance":1,"legal":1}', 'does not get rid of them');
SELECT is(t.vote(:'i', 'dave'), 'ok approved 2/2 0 quorum', 'both agree on what it is now');
SELECT is((t.stored(:'i')).arguments::text || (t.stored(:'i')).proposed_arguments, '{"amount":5}{"amount":5}', 'which is the proposal');
SELECT t.ask('sized', '{"amount":500}') AS i \gset
SELECT is((t.stored(:'i')).reviewer_group || (t.stored(:'i')).rejections_needed, 'finance2', 'the rule says how many rejections it takes');
SELECT is(t.vote(:'i', 'alice', 'reject'), 'ok pending 0/1 1', 'one is not enough');
SELECT is(t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":5000}'$$), 'ok rejected 0/2 1 veto', 'an edit into a rule with a veto: the one stands');
SELECT is((SELECT kind || ' ' || status_after FROM approval.events WHERE request_id = :'i' ORDER BY n DESC LIMIT 1), 'edited rejected', 'and ends it');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');

-- an edit that is undone does not bring old votes back
DO $$
BEGIN
	PERFORM approval.register_tool('three', 'action', '{"approvals_needed":3}');
	PERFORM approval.register_tool('veto', 'action', '{"edits":"tighten","edit_paths":["$.amount"],"rules":[{"condition":"$.amount == 1","mode":"review","rejections_needed":2},{"mode":"review"}]}');
	PERFORM approval.register_tool('wide', 'action', '{"rules":[{"condition":"$.amount == 1","mode":"review","reviewers":{"finance":60,"b":1}},{"mode":"review","reviewers":{"legal":60,"c":1}}]}');
	PERFORM approval.register_tool('many', 'action', '{"rules":[{"condition":"$.amount == 1","mode":"review","reviewers":{"finance":1,"a":1,"b":1,"c":1,"d":1}},{"mode":"review","reviewers":{"e":1,"f":1,"g":1,"h":1}}]}');
	PERFORM approval.register_tool('lone2', 'action', '{"reviewer_group":"pair","approvals_needed":2}');
	PERFORM approval.register_tool('tight2', 'action', '{"edits":"tighten","edit_paths":["$.amount"]}');
	PERFORM approval.register_tool('lone', 'action', '{"reviewer_group":"pair","rejections_needed":2}');
	PERFORM approval.register_tool('strict', 'action', '{"reviewer_group":"pair","approvals_needed":2,"edits":"tighten","edit_paths":["$.amount"]}');
	PERFORM approval.add_member('pair', a) FROM unnest(ARRAY['user:alice', 'user:bob']) a;
END
$$;
SELECT t.ask('three') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1/3 0', 'alice approves');
SELECT is(t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":2}'$$), 'ok pending 1/3 0', 'bob edits');
SELECT is(t.vote(:'i', 'carol', 'approve', $$arguments => '{"amount":1}'$$), 'ok pending 1/3 0', 'carol undoes it: her voice alone');
SELECT is(t.vote(:'i', 'dave') || ', ' || t.vote(:'i', 'alice'), 'ok pending 2/3 0, ok approved 3/3 0 quorum', 'alice says it again');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
-- nor does an edit get rid of a veto
SELECT t.ask('veto') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject') || ', ' || t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":2}'$$), 'ok pending 0/1 1, ok rejected 0/1 1 veto', 'an edit that takes fewer rejections');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT t.ask('veto') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject') || ', ' || t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":2,"x":1}'$$), 'ok pending 0/1 1, ok rejected 0/1 1 veto', 'also one that is for others to approve');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
-- what no request can ask for
SELECT t.ask('wide') AS i, t.ask('many') AS j \gset
SELECT is(t.vote(:'i', 'alice', 'approve', $$arguments => '{"amount":2}'$$), 'PT422 bad_decision pending 0/61 0', 'more people than a panel has');
SELECT is(t.vote(:'j', 'alice', 'approve', $$arguments => '{"amount":2}'$$), 'PT422 bad_decision pending 0/5 0', 'more groups');
SELECT is(t.detail('alice', format('approval.edit(%L, %L, ''{"amount":2}'')', :'j', t.seen(:'j'))) ->> 'problem', 'needs more people or groups than a request can have', 'DETAIL says so');
-- who is left
SELECT t.ask('lone', '{"amount":1}', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT is(t.vote(:'i', 'bob', 'reject'), 'ok rejected 0/1 1 quorum_unreachable', 'the person behind it is none of them');
SELECT t.ask('strict') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'approve', $$arguments => '{"amount":1,"x":1}'$$), 'ok rejected 0/2 0 quorum_unreachable', 'nor is who makes another action of it');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
-- nobody is left, and the vote is given again
SELECT t.ask('lone2') AS i \gset
SELECT is(t.vote(:'i', 'alice'), 'ok pending 1/2 0', 'one of two');
SELECT approval.remove_member('pair', 'user:bob') \gset _
SELECT is(t.vote(:'i', 'alice'), 'ok rejected 1/2 0 quorum_unreachable', 'again, when the other one has left');
SELECT approval.add_member('pair', 'user:bob') \gset _
-- whose decision it is, and what the model is told
SELECT t.ask('veto') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject', $$result => 'because'$$) || ', ' || t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":2}'$$), 'ok pending 0/1 1, ok rejected 0/1 1 veto', 'a rejection that an edit completes');
SELECT is(concat_ws(' ', (t.stored(:'i')).decided_by, (t.stored(:'i')).denial, (approval.verify_request(:'i')).ok), 'user:alice because t', 'is that of who rejected');
SELECT t.ask('votes') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'reject', $$result => 'one'$$) || ', ' || t.vote(:'i', 'bob', 'reject'), 'ok pending 0/2 1, ok rejected 0/2 2 veto', 'only the first has a text');
SELECT is(concat_ws(' ', (t.stored(:'i')).decided_by, (t.stored(:'i')).denial, (approval.verify_request(:'i')).ok), 'user:bob one t', 'the model gets it');
SELECT t.ask('votes') AS i \gset
SELECT t.vote(:'i', 'alice', 'reject', $$result => 'one'$$) AS a, t.vote(:'i', 'bob', 'reject', $$result => 'two'$$) AS b \gset
SELECT is(concat_ws(' ', (t.stored(:'i')).denial, (approval.verify_request(:'i')).ok), 'two t', 'the last text');
-- who made another action of it stays a requester, whatever others make of it then
SELECT t.ask('tight2') AS i \gset
SELECT is(t.vote(:'i', 'alice', 'approve', $$arguments => '{"amount":1,"b":2}'$$) || ', ' || t.vote(:'i', 'bob', 'approve', $$arguments => '{"amount":1,"b":3}'$$), 'ok pending 0/1 0, ok pending 0/1 0', 'two editors');
SELECT is(t.vote(:'i', 'carol', 'approve', $$arguments => '{"amount":1,"b":2}'$$) || ', ' || t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'bob'), 'ok pending 0/1 0, PT403 self_approval pending 0/1 0, PT403 self_approval pending 0/1 0', 'a third one takes up the words of the first');
SELECT is(t.vote(:'i', 'dave'), 'ok approved 1/1 0 person', 'somebody else approves');
-- almost the same name
SELECT is(t.says('web', format('approval.approve(%L, %L, actor => %L)', t.ask('votes'), repeat('0', 64), a)), '22023', 'an actor with a blank: ' || to_json(a)) FROM unnest(ARRAY['user:alice ', ' user:alice', E'user:alice\t', E'user:alice\n']) a;
SELECT is(t.says('agent', $$approval.propose('blank', 'votes', '{}', on_behalf_of => 'user:alice ')$$), '22023', 'nor is it a person behind a proposal');

-- policy that asks for more people, or others, since the approval
CREATE FUNCTION t.meanwhile(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.ask('both');
	answer text;
BEGIN
	PERFORM t.vote(i, 'alice'), t.vote(i, 'erin');
	PERFORM t.row('admin', format('approval.update_tool(''both'', %L, tenant => '''')', change));
	answer := t.says('runner', format('approval.consume(%L, ''both'', ''{"amount":1}'', ''r'')', i));
	PERFORM t.row('admin', $r$approval.update_tool('both', '{"reviewers":{"finance":1,"legal":1}}', tenant => '')$r$);
	RETURN answer;
END
$$;
SELECT is(t.meanwhile(change), answer, change) FROM (VALUES
	('{"reviewers":{"finance":1,"legal":1}}', 'ok'), ('{"reviewers":{"finance":1}}', 'ok'), ('{"reviewers":{"*":2}}', 'ok'), ('{"reviewers":{"legal":1,"*":1}}', 'ok'),
	('{"reviewers":{"finance":2}}', 'PT412 policy_changed'), ('{"reviewers":{"finance":1,"legal":2}}', 'PT412 policy_changed'),
	('{"reviewers":{"finance":1,"legal":1,"board":1}}', 'PT412 policy_changed'), ('{"reviewers":{"board":1}}', 'PT412 policy_changed'), ('{"reviewers":{"*":3}}', 'PT412 policy_changed')) AS v(change, answer);

-- a grant takes the place of all of them
CREATE FUNCTION t.allow(who text, more text DEFAULT '') RETURNS t.answer LANGUAGE sql
RETURN t.as(who, format('approval.allow(''both'', %L, %L, 10 %s)', t.login('agent'), date_trunc('day', now()) + interval '2 days', more));
SELECT is((t.allow('admin')).detail::json ->> 'reason', 'not_eligible', 'an administrator who reviews nothing grants nothing');
DO $$
BEGIN
	EXECUTE format('GRANT approval_admin TO %I, %I, %I', t.login('alice'), t.login('bob'), t.login('erin'));
END
$$;
SELECT (t.allow('alice')).rows -> 0 #>> '{after,id}' AS grant \gset
SELECT is((t.stored(t.ask('both'))).status, 'pending', 'one of finance is not enough');
SELECT is((t.allow('bob', format(', endorses => %L', :'grant'))).code, '00000', 'two of finance');
SELECT is((t.stored(t.ask('both'))).status, 'pending', 'are not either');
SELECT is((t.allow('erin', format(', endorses => %L', :'grant'))).code, '00000', 'one of legal');
SELECT is((t.stored(t.ask('both'))).gate_reason, 'grant', 'and one of finance are');

-- documents that are refused
CREATE FUNCTION t.problem(document text, class text DEFAULT 'action') RETURNS text LANGUAGE sql
RETURN (SELECT concat_ws(' ', d ->> 'place', d ->> 'problem') FROM t.detail('admin', format('approval.register_tool(%L, %L, %L)', 'refused', class, document)) d);
SELECT alike(t.problem(document), what, document) FROM (VALUES
	('{"reviewers":{}}', '$.reviewers must name 1 to 8 groups'), ('{"reviewers":[]}', '$.reviewers must be an object'), ('{"reviewers":null}', '$.reviewers must not be null'),
	('{"reviewers":{"finance":0}}', '$.reviewers.finance must be an integer from 1 to 100'), ('{"reviewers":{"finance":null}}', '$.reviewers.finance must not be null'),
	('{"reviewers":{"finance":1.5}}', '$.reviewers.finance must be%'), ('{"reviewers":{"finance":"1"}}', '$.reviewers.finance must be%'), ('{"reviewers":{"":1}}', '$.reviewers a group%'),
	('{"reviewers":{"a":60,"b":41}}', '$.reviewers must ask for 100 people at most'), ('{"reviewers":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}}', '$.reviewers must name%'),
	('{"reviewers":{"finance":1},"reviewer_group":"legal"}', '$.reviewers takes the place of%'), ('{"reviewers":{"finance":1},"approvals_needed":2}', '$.reviewers takes the place of%'),
	('{"rejections_needed":0}', '$.rejections_needed must be an integer%'), ('{"rejections_needed":null}', '$.rejections_needed must not be null'),
	('{"reviewers":{"a":1,"b":1},"owner_may_confirm":true}', '$.owner_may_confirm goes with one approval'),
	('{"rules":[{"mode":"deny","reviewers":{"a":1}}]}', '$.rules[0] %go with review'), ('{"rules":[{"mode":"auto","rejections_needed":2}]}', '%go with review'),
	('{"rules":[{"mode":"review","reviewers":{"a":1},"reviewer_group":"b"}]}', '%takes the place of%'), ('{"rules":[{"mode":"review","reviewers":null}]}', '%must not be null%'),
	('{"reviewers":{"a":1},"rules":[{"mode":"review","approvals_needed":2}]}', '%in the same way')) AS v(document, what);
SELECT throws_ok($$INSERT INTO approval.tools (tenant, server, tool, policy_version, class, rejections_needed) VALUES ('', '', 'x', 1, 'action', 0)$$, '23514', NULL, 'nor does the table take no quorum');

-- separation of duties
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('both'));
	EXECUTE format('CREATE ROLE %I', t.login('desk'));
	EXECUTE format('GRANT approval_requester, approval_approver TO %I', t.login('both'));
	EXECUTE format('GRANT approval_approver TO %I', t.login('desk'));
	EXECUTE format('GRANT %I TO %I', t.login('desk'), t.login('both'));
END
$$;
SELECT t.ask('refund', who => 'both') AS i \gset
SELECT is(t.vote(:'i', 'both'), 'PT403 self_approval pending 0/1 0', 'a login with both roles does not approve what it proposed');
SELECT is(t.vote(:'i', 'both', 'reject'), 'PT403 self_approval pending 0/1 0', 'nor reject it');
CREATE FUNCTION t.as_desk(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	me text := session_user;
	said text := 'ok';
BEGIN
	BEGIN
		PERFORM set_config('session_authorization', t.login('both'), true), set_config('role', t.login('desk'), true);
		EXECUTE 'SELECT * FROM ' || call;
		PERFORM set_config('role', 'none', true), set_config('session_authorization', me, true);
	EXCEPTION WHEN OTHERS THEN
		said := SQLSTATE;
	END;
	RETURN said;
END
$$;
SELECT is(t.as_desk(format('approval.decide(%L, ''approve'', %L)', :'i', t.seen(:'i'))), 'PT403', 'after SET ROLE neither');
SELECT is(t.as_desk(format('approval.decide_many(''[{"id":"%s","seen":"%s","verdict":"approve"}]'')', :'i', t.seen(:'i'))), 'PT403', 'nor in bulk');
SELECT is(t.vote(:'i', 'alice'), 'ok approved 1/1 0 person', 'somebody else does');
SELECT t.ask('refund', '{"amount":1}', $$on_behalf_of => 'user:alice'$$) AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'alice2') || ', ' || t.vote(:'i', 'web', 'approve', $$actor => 'user:alice'$$), 'PT403 self_approval pending 0/1 0, PT403 self_approval pending 0/1 0, PT403 self_approval pending 0/1 0', 'nor does the person behind it, over any login');
SELECT t.ask('votes') AS i \gset
SELECT is(t.vote(:'i', 'alice') || ', ' || t.vote(:'i', 'alice2') || ', ' || t.vote(:'i', 'web', 'approve', $$actor => 'user:alice'$$) || ', ' || t.vote(:'i', 'portal'),
	'ok pending 1/2 0, ok pending 1/2 0, ok pending 1/2 0, ok approved 2/2 0 quorum', 'one person under two logins counts once');

SELECT is((SELECT count(*) FROM approval.requests r CROSS JOIN LATERAL approval.verify_request(r.id) v WHERE NOT v.ok), 0::bigint, 'every chain is whole');
SELECT * FROM finish();
ROLLBACK;
