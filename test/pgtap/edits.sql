-- Edits by the tool's option: free, none, and within some paths.
\set ns edits
\ir include/gate.psql
SELECT no_plan();
SELECT t.row('admin', $$approval.register_tool('free', 'action', '{"summary_template":"Pay {amount} to {to}","rules":[{"condition":"$.amount > 1000","mode":"deny"},{"condition":"$.amount > 100","mode":"review","approvals_needed":2,"reviewer_group":"managers"},{"mode":"review"}]}')$$);
SELECT t.row('admin', $$approval.register_tool('none', 'action', '{"edits":"none"}')$$);
SELECT t.row('admin', $$approval.register_tool('tight', 'action', '{"edits":"tighten","edit_paths":["$.amount","$.ship.address"]}')$$);
SELECT t.row('admin', $$approval.add_member('managers', 'user:alice')$$);
SELECT t.row('admin', $$approval.add_member('managers', 'user:bob')$$);

CREATE FUNCTION t.ask(tool text, arguments text) RETURNS approval.ulid LANGUAGE sql
RETURN (t.row('agent', format('approval.propose(%L, %L, %L, preview => ''{"after":1}'')', 'e_' || nextval('t.calls'), tool, arguments)) ->> 'id')::approval.ulid;
-- "ok: approved 1/1", or the refusal
CREATE FUNCTION t.edit(i approval.ulid, arguments text, who text DEFAULT 'alice', seen approval.digest DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := t.says(who, format('approval.edit(%L, %L, %L)', i, coalesce(seen, t.seen(i)), arguments));
	r approval.requests := t.stored(i);
BEGIN
	RETURN answer || ': ' || r.status || ' ' || r.approvals || '/' || r.approvals_needed || coalesce(' by ' || r.edited_by, '');
END
$$;

-- free
SELECT t.ask('free', '{"amount":50,"to":"x"}') AS i \gset
SELECT is(t.edit(:'i', '{"amount":40,"to":"y"}'), 'ok: approved 1/1', 'an edit approves');
SELECT is((t.stored(:'i')).summary, 'free: Pay 40 to "y"', 'the summary is made again from the template');
SELECT is((t.stored(:'i')).preview::text, NULL, 'the preview was of the proposal');
SELECT is((t.stored(:'i')).proposed_arguments::text, '{"amount":50,"to":"x"}', 'which stays beside');
SELECT is(t.says('runner', format('approval.consume(%L, ''free'', ''{"amount":50,"to":"x"}'', ''run-1'')', :'i')), 'PT412 hash_mismatch', 'the original is not what was approved');
SELECT is(t.says('runner', format('approval.consume(%L, ''free'', ''{"amount":40,"to":"y"}'', ''run-1'')', :'i')), 'ok', 'the edited one is');
SELECT t.ask('free', '{"amount":50,"to":"x"}') AS i \gset
SELECT is(t.edit(:'i', '{"amount":2000,"to":"x"}'), 'PT403 tool_denied: pending 0/1', 'through policy again: denied');
SELECT is(t.edit(:'i', '{"amount":500,"to":"x"}', 'carol'), 'PT403 not_eligible: pending 0/1', 'or for a group that the editor is not in');
SELECT is(t.edit(:'i', '{"amount":500,"to":"x"}'), 'ok: pending 1/2', 'or for two');
SELECT is((t.stored(:'i')).reviewer_group, 'managers', 'of that group');
SELECT is(t.edit(:'i', '{"amount":500,"to":"x"}', seen => (t.stored(:'i')).proposed_hash), 'PT412 stale_view: pending 1/2', 'the editor has not seen something else');
SELECT is(t.edit(:'i', '{"amount":400,"to":"x"}', 'bob'), 'ok: pending 1/2', 'another edit voids the first approval');
SELECT is(t.edit(:'i', '{"amount":5,"to":"x"}'), 'ok: pending 1/2', 'and a harmless one does not lower the quorum');
SELECT is(t.says('bob', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))), 'ok', 'the second approval');
SELECT is((t.stored(:'i')).status || ' ' || (t.stored(:'i')).cause, 'approved quorum', 'decides');
SELECT ok((approval.verify_request(:'i')).ok, 'the chain is whole');

-- none
SELECT t.ask('none', '{"amount":50}') AS i \gset
SELECT is(t.edit(:'i', '{"amount":5}'), 'PT422 bad_decision: pending 0/1', 'no edits');
SELECT is(t.detail('alice', format('approval.edit(%L, %L, ''{"amount":5}'')', :'i', t.seen(:'i'))) ->> 'problem', 'edits_not_allowed', 'and why');
SELECT is(t.edit(:'i', '{"amount":50.0}'), 'ok: approved 1/1', 'the same arguments are no edit');

-- within some paths
CREATE TABLE t.tight (n serial, arguments text, answer text);
INSERT INTO t.tight (arguments, answer) VALUES
	('{"amount":5,"to":"x","ship":{"address":{"city":"A"},"by":"air"}}', 'ok: approved 1/1'),
	('{"amount":50,"to":"x","ship":{"address":{"city":"B"},"by":"air"}}', 'ok: approved 1/1'),
	('{"amount":50,"to":"x","ship":{"address":[1],"by":"air"}}', 'ok: approved 1/1'),
	('{"to":"x","ship":{"address":{"city":"A"},"by":"air"}}', 'ok: approved 1/1'),
	('{"amount":50,"to":"y","ship":{"address":{"city":"A"},"by":"air"}}', 'ok: pending 0/1 by user:alice'),
	('{"amount":5,"to":"y","ship":{"address":{"city":"A"},"by":"air"}}', 'ok: pending 0/1 by user:alice'),
	('{"amount":50,"to":"x","ship":{"address":{"city":"A"},"by":"sea"}}', 'ok: pending 0/1 by user:alice'),
	('{"amount":50,"to":"x","ship":{"address":{"city":"A"}}}', 'ok: pending 0/1 by user:alice'),
	('{"amount":50,"to":"x","ship":null}', 'ok: pending 0/1 by user:alice'),
	('{"amount":50,"amounts":1,"to":"x","ship":{"address":{"city":"A"},"by":"air"}}', 'ok: pending 0/1 by user:alice'),
	('{"amount":50,"to":"x","ship":{"address":{"city":"A"},"by":"air","address2":1}}', 'ok: pending 0/1 by user:alice');
SELECT is(t.edit(t.ask('tight', '{"amount":50,"to":"x","ship":{"address":{"city":"A"},"by":"air"}}'), arguments), answer, arguments) FROM t.tight ORDER BY n;

-- who goes beyond them asks for it
SELECT t.ask('tight', '{"amount":50,"to":"x"}') AS i \gset
SELECT t.seen(:'i') AS first \gset
SELECT is(t.edit(:'i', '{"amount":50,"to":"y"}'), 'ok: pending 0/1 by user:alice', 'alice makes another action of it');
SELECT is(t.says('alice', format('approval.edit(%L, %L, ''{"amount":50,"to":"y"}'')', :'i', :'first')), 'ok', 'the same once more changes nothing');
SELECT is(t.events(:'i'), 2::bigint, 'and makes no event');
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))), 'PT403 self_approval', 'and cannot approve it');
SELECT is(t.says('web', format('approval.approve(%L, %L, ''user:alice'')', :'i', t.seen(:'i'))), 'PT403 self_approval', 'over no login');
SELECT is(t.says('bob', format('approval.approve(%L, %L)', :'i', :'first')), 'PT412 stale_view', 'nor does bob approve what he has not seen');
SELECT is(t.says('bob', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))), 'ok', 'but he approves what he has');
SELECT is((t.stored(:'i')).decided_by, 'user:bob', 'bob decided');
SELECT is(t.says('agent', (SELECT format('approval.propose(%L, ''tight'', ''{"amount":50,"to":"y"}'')', tool_call_id) FROM approval.requests WHERE id = :'i')), 'ok', 'the agent that proposes the edited call again gets the same row');
SELECT ok((approval.verify_request(:'i')).ok, 'the chain is whole');
SELECT * FROM finish();
ROLLBACK;
