-- Runs: one live run a conversation, one orchestrator a run, a budget that no
-- retry resets, and an end that takes its open calls along.
\set ns runs
\ir include/gate.psql
SELECT no_plan();

-- A claimed run of the agent, and its token.
CREATE TABLE t.tokens (run text PRIMARY KEY, token text);
CREATE FUNCTION t.claim(run text, more text DEFAULT '', who text DEFAULT 'agent') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	r jsonb := t.row(who, format('approval.claim_run(%L%s)', run, more));
BEGIN
	INSERT INTO t.tokens VALUES (run, r ->> 'token') ON CONFLICT ON CONSTRAINT tokens_pkey DO UPDATE SET token = r ->> 'token';
	RETURN r;
END
$$;
CREATE FUNCTION t.held(run text, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM t.row('agent', format('approval.start_run(%L, %L%s)', 'conv ' || run, run, more));
	PERFORM t.claim(run);
	RETURN run;
END
$$;
CREATE FUNCTION t.tok(run text) RETURNS text LANGUAGE sql RETURN (SELECT token FROM t.tokens x WHERE x.run = tok.run);
CREATE FUNCTION t.run_status(run text) RETURNS text LANGUAGE sql RETURN t.row('auditor', format('approval.run_of(%L)', run)) ->> 'status';
CREATE FUNCTION t.in_run(run text, more text DEFAULT '') RETURNS approval.ulid LANGUAGE sql
RETURN t.proposed(format('conversation_id => %L, run_id => %L, run_token => %L%s', 'conv ' || run, run, t.tok(run), more));
CREATE FUNCTION t.journal(run text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(s.kind, ' ' ORDER BY s.seq) FROM approval.steps s WHERE s.run_id = run);

-- Born pending, with an id of its own or a ULID.
SELECT is(r ->> 'status', 'pending', 'a run is born pending') FROM t.row('agent', $$approval.start_run('conv a', 'a', agent => 'support', metadata => '{"x":1}')$$) AS r;
SELECT matches(t.row('agent', $$approval.start_run('conv ulid')$$) ->> 'run_id', '^[0-9A-HJKMNP-TV-Z]{26}$', 'without an id it gets a ULID');
SELECT is(r ->> 'run_id', 'a', 'the same run again is the stored one') FROM t.row('agent', $$approval.start_run('conv a', 'a')$$) AS r;
SELECT is((SELECT count(*) FROM approval.steps WHERE run_id = 'a'), 1::bigint, 'and nothing happens');
SELECT is(t.says('agent', $$approval.start_run('conv b', 'a')$$), 'PT409 run_conflict', 'the id stands for a run of another conversation');
SELECT is(t.says('agent2', $$approval.start_run('conv a', 'a')$$), 'PT409 run_conflict', 'or of another login');
SELECT is(t.says('agent2', $$approval.run_of('a')$$), 'PT404 not_found', 'which cannot see it');
SELECT is(t.says('agent', $$approval.start_run('conv a')$$), 'PT409 run_conflict', 'one live run a conversation');
SELECT is(d ->> 'live_run_id', 'a', 'DETAIL names it') FROM t.detail('agent', $$approval.start_run('conv a')$$) AS d;
SELECT is(d ->> 'live_run_id', NULL, 'but not to another login') FROM t.detail('agent2', $$approval.start_run('conv a')$$) AS d;
SELECT is(t.says('agent', call), '22023', call) FROM unnest(ARRAY[
	$$approval.start_run('')$$, $$approval.start_run('c', '')$$, $$approval.start_run('c', max_iterations => 0)$$,
	$$approval.start_run('c', max_iterations => -1)$$, $$approval.start_run('c', traceparent => 'x')$$]) AS call;
SELECT is(t.says('agent', $$approval.start_run('c', parent_run_id => 'a')$$), '22004', 'a parent goes with its token');

-- One orchestrator.
SELECT is(t.says('agent', $$approval.next_iteration('a', 'x')$$), 'PT409 run_claimed', 'nothing goes on before the claim');
SELECT ok(r ->> 'token' ~ '^[0-9a-f]{64}$' AND r ->> 'status' = 'running' AND r ->> 'fence' = '1', 'claimed: a token, running, fence 1') FROM t.claim('a', ', claimed_by => ''worker 1''') AS r;
SELECT ok(position(t.tok('a') IN r::text) = 0, 'the token is stored nowhere') FROM approval.runs r WHERE run_id = 'a';
SELECT is(t.says('agent', $$approval.claim_run('a')$$), 'PT409 run_claimed', 'a second loop is refused');
SELECT is(d ->> 'claimed_by', 'worker 1', 'DETAIL: by whom') FROM t.detail('agent', $$approval.claim_run('a')$$) AS d;
SELECT ok((d ->> 'lease_until')::timestamptz > clock_timestamp(), 'and until when') FROM t.detail('agent', $$approval.claim_run('a')$$) AS d;
SELECT is(t.says('agent2', $$approval.claim_run('a')$$), 'PT404 not_found', 'to another login the run does not exist');
SELECT is(t.says('agent', format('approval.%s', replace(call, 'TOKEN', token))), expected, format('%s, %s token', call, kind))
  FROM unnest(ARRAY['next_iteration(''a'', ''TOKEN'')', 'complete_run(''a'', ''TOKEN'', ''x'')', 'fail_run(''a'', ''TOKEN'', ''x'')', 'release_run(''a'', ''TOKEN'')',
	'attach_handle(''a'', ''TOKEN'', ''s'', ''h'')', 'record_step(''a'', ''TOKEN'', ''s'', ''note'')', 'claim_run(''a'', token => ''TOKEN'')', 'cancel_run(''a'', token => ''TOKEN'')',
	'propose(''x'', ''refund'', ''{}'', run_id => ''a'', run_token => ''TOKEN'')', 'start_run(''c'', parent_run_id => ''a'', parent_token => ''TOKEN'')']) AS call,
	(VALUES ('another', repeat('0', 64), 'PT409 run_claimed'), ('an empty', '', 'PT409 run_claimed')) AS v(kind, token, expected);
SELECT is(t.says('agent', $$approval.propose('unused', 'refund', '{}', run_id => 'a')$$), 'PT409 run_claimed', 'propose without the token');
SELECT is(t.says('agent', $$approval.cancel_run('a')$$), 'PT409 run_claimed', 'cancel without it');
SELECT is(t.says('agent2', $$approval.propose('x', 'refund', '{}', run_id => 'a', run_token => 'x')$$), 'PT409 run_conflict', 'nobody else proposes in it');
SELECT is(t.says('agent2', $$approval.propose('x', 'refund', '{}', run_id => 'nobody started it')$$), 'ok', 'an id without a run is a correlation id');
SELECT is(r ->> 'token', t.tok('a'), 'the holder renews under its token') FROM t.row('agent', format('approval.claim_run(''a'', ''1 us'', %L)', t.tok('a'))) AS r;
SELECT is(t.says('agent', format(call, t.tok('a'))), 'PT410 run_lease_expired', call) FROM unnest(ARRAY['approval.next_iteration(''a'', %L)',
	'approval.propose(''unused'', ''refund'', ''{}'', run_id => ''a'', run_token => %L)', 'approval.record_step(''a'', %L, ''s'', ''note'')', 'approval.complete_run(''a'', %L, ''x'')']) AS call;
SELECT is(t.says('agent', format('approval.claim_run(''a'', token => %L)', t.tok('a'))), 'ok', 'late it renews, if nobody was faster');
SELECT t.row('agent', format('approval.claim_run(''a'', ''2 hours'', %L)', t.tok('a'))) IS NOT NULL AS done \g /dev/null
SELECT ok((r ->> 'lease_until')::timestamptz > clock_timestamp() + interval '1 hour', 'renewed without a length it keeps the one that it had') FROM t.row('agent', format('approval.claim_run(''a'', token => %L)', t.tok('a'))) AS r;
SELECT t.row('agent', format('approval.claim_run(''a'', ''1 us'', %L)', t.tok('a'))) IS NOT NULL AS done \g /dev/null
SELECT t.tok('a') AS zombie \gset
SELECT is(r ->> 'fence', '2', 'after the lease another one claims it') FROM t.claim('a') AS r;
SELECT isnt(t.tok('a'), :'zombie', 'with another token');
SELECT is(t.says('agent', format(call, :'zombie')), 'PT409 run_claimed', 'the zombie: ' || call) FROM unnest(ARRAY['approval.next_iteration(''a'', %L)', 'approval.claim_run(''a'', token => %L)',
	'approval.propose(''unused'', ''refund'', ''{}'', run_id => ''a'', run_token => %L)', 'approval.record_step(''a'', %L, ''s'', ''note'')', 'approval.complete_run(''a'', %L, ''x'')',
	'approval.fail_run(''a'', %L, ''x'')', 'approval.cancel_run(''a'', token => %L)']) AS call;
SELECT is(t.says('agent', format('approval.release_run(''a'', %L)', t.tok('a'))), 'ok', 'given back');
SELECT is(t.says('agent', format('approval.claim_run(''a'', token => %L)', t.tok('a'))), 'PT409 run_claimed', 'its token is of no more use');
SELECT is(r ->> 'fence', '3', 'and it can be claimed at once') FROM t.claim('a') AS r;
SELECT is(t.says('agent', format('approval.claim_run(''a'', %L)', lease)), '22023', 'lease ' || lease) FROM unnest(ARRAY['0', '-1 s', '400 days']) AS lease;
SELECT is(t.journal('a'), 'run_started run_claimed run_claimed run_released run_claimed', 'all of it is written down');

-- The budget.
SELECT t.held('b', ', max_iterations => 3') AS run \g /dev/null
SELECT is(t.row('agent', format('approval.next_iteration(''b'', %L)', t.tok('b'))) ->> 'iterations', n::text, 'iteration ' || n) FROM generate_series(1, 3) AS n;
SELECT ok(r ->> 'status' = 'iteration_limit_reached' AND r ->> 'iterations' = '3', 'the call past it ends the run') FROM t.row('agent', format('approval.next_iteration(''b'', %L)', t.tok('b'))) AS r;
SELECT is(t.says('agent', format(call, t.tok('b'))), 'PT422 iteration_limit', call) FROM unnest(ARRAY['approval.next_iteration(''b'', %L)', 'approval.complete_run(''b'', %L, ''x'')', 'approval.claim_run(''b'', token => %L)',
	'approval.fail_run(''b'', %L, ''x'')', 'approval.cancel_run(''b'', token => %L)', 'approval.record_step(''b'', %L, ''s'', ''note'')', 'approval.propose(''unused'', ''refund'', ''{}'', run_id => ''b'', run_token => %L)']) AS call;
SELECT is(t.says('agent', $$approval.claim_run('b')$$), 'PT422 iteration_limit', 'no claim resets it');
SELECT is(t.row('agent', $$approval.start_run('conv b', 'b', max_iterations => 100)$$) ->> 'status', 'iteration_limit_reached', 'and no start');
SELECT is(t.says('agent', $$approval.start_run('conv b', 'b2')$$), 'ok', 'the conversation is free for another run');
SELECT t.held('exact', ', max_iterations => 1') AS run \g /dev/null
SELECT t.row('agent', format('approval.next_iteration(''exact'', %L)', t.tok('exact'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.row('agent', format('approval.complete_run(''exact'', %L, ''done'')', t.tok('exact'))) ->> 'status', 'completed', 'what answers in its last iteration has answered');

-- Policy: the smaller of the tenant''s, everybody''s, or else the setting.
SET approval.run_iterations = 7;
SELECT is(t.row('agent', $$approval.start_run('conv p1')$$) ->> 'max_iterations', '7', 'the setting');
SELECT is(t.row('agent', $$approval.start_run('conv p2', max_iterations => 99)$$) ->> 'max_iterations', '7', 'which nobody exceeds');
SELECT is(t.says('alice', $$approval.set_run_limits('{}')$$), '42501', 'an approver sets no limits');
SELECT is(t.says('admin', format('approval.set_run_limits(%L)', limits)), 'PT422 bad_policy', limits) FROM unnest(ARRAY['[]', '{"max_iterations":0}', '{"max_iterations":"8"}', '{"x":1}', '{"iterations_per_day":1.5}']) AS limits;
SELECT is(c ->> 'before' IS NULL AND (c -> 'after' ->> 'max_iterations') = '9', true, 'limits are policy, with before and after') FROM t.row('admin', $$approval.set_run_limits('{"max_iterations":9}')$$) AS c;
SELECT is(t.row('agent', $$approval.start_run('conv p3')$$) ->> 'max_iterations', '9', 'policy takes the place of the setting');
SELECT approval.set_run_limits('{"max_iterations":4,"iterations_per_day":5}', tenant => '*') IS NOT NULL AS done FROM (SELECT approval.register_login(session_user::text, 'person', 'user:root', '{*}')) x \g /dev/null
SELECT is(t.row('agent', $$approval.start_run('conv p4', 'p4')$$) ->> 'max_iterations', '4', 'the stricter wins');
SELECT is((SELECT string_agg(tenant || ' ' || max_iterations, ', ' ORDER BY tenant) FROM approval.run_budgets), ' 9, * 4', 'the view shows both');
SELECT t.claim('p4') IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', format('approval.next_iteration(''p4'', %L)', t.tok('p4'))) IS NOT NULL AS done FROM generate_series(1, 4) \g /dev/null
SELECT t.row('agent', format('approval.complete_run(''p4'', %L, ''x'')', t.tok('p4'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.row('agent', $$approval.start_run('conv p4', 'p5')$$) ->> 'max_iterations', '1', 'what is left for the day');
SELECT t.claim('p5') IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', format('approval.next_iteration(''p5'', %L)', t.tok('p5'))) IS NOT NULL AS done FROM generate_series(1, 2) \g /dev/null
SELECT is(t.says('agent', $$approval.start_run('conv p4')$$), 'PT422 iteration_limit', 'then nothing is');
SELECT is(t.says('agent', $$approval.start_run('conv p6')$$), 'ok', 'of that conversation');
SELECT approval.set_run_limits('{}', tenant => '*') IS NOT NULL AS done \g /dev/null
SELECT t.row('admin', $$approval.set_run_limits('{}')$$) IS NOT NULL AS done \g /dev/null
SELECT is(t.row('agent', $$approval.start_run('conv p4')$$) ->> 'max_iterations', '7', 'taken back, the setting holds again');
RESET approval.run_iterations;

-- Awaiting approval follows from the calls.
SELECT t.held('w') AS run \g /dev/null
SELECT is(t.run_status('w'), 'running', 'running');
SELECT t.in_run('w') AS i, t.in_run('w') AS j \gset
SELECT is(t.run_status('w'), 'awaiting_approval', 'a pending call: awaiting approval');
SELECT is((SELECT status FROM approval.run_list WHERE run_id = 'w'), 'awaiting_approval', 'in the view too');
SELECT is((SELECT status FROM approval.runs WHERE run_id = 'w'), 'running', 'which is not stored');
SELECT is(t.says('agent', format(call, t.tok('w'))), 'PT409 run_paused', call) FROM unnest(ARRAY['approval.next_iteration(''w'', %L)', 'approval.complete_run(''w'', %L, ''x'')']) AS call;
SELECT is(d -> 'pending' -> 0 ->> 'id' || ' ' || (d -> 'pending' -> 1 ->> 'id'), :'i' || ' ' || :'j', 'DETAIL lists what waits') FROM t.detail('agent', format('approval.next_iteration(''w'', %L)', t.tok('w'))) AS d;
SELECT is(d -> 'pending' -> 0 ->> 'review_hash', t.seen(:'i')::text, 'with what is to be decided on') FROM t.detail('agent', format('approval.next_iteration(''w'', %L)', t.tok('w'))) AS d;
SELECT is(t.says('agent', $$approval.start_run('conv w')$$), 'PT409 run_paused', 'a new run waits for the calls');
SELECT is(jsonb_array_length(t.detail('agent', $$approval.start_run('conv w')$$) -> 'pending'), 2, 'which it lists');
SELECT is(jsonb_array_length(t.detail('agent2', $$approval.start_run('conv w')$$) -> 'pending'), 0, 'to their own login');
SELECT t.row('alice', format('approval.approve(%L, %L)', :'i', t.seen(:'i'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.run_status('w'), 'awaiting_approval', 'one of two decided');
SELECT t.row('alice', format('approval.reject(%L, %L)', :'j', t.seen(:'j'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.run_status('w'), 'running', 'both: running');
SELECT is(t.says('agent', format('approval.next_iteration(''w'', %L)', t.tok('w'))), 'ok', 'and it goes on');
SET LOCAL approval.min_decide_within = '1s';
SELECT t.in_run('w', ', expires_in => ''1 s''') AS late \gset
SELECT is(t.run_status('w'), 'awaiting_approval', 'a call with a deadline');
SELECT pg_sleep(1.05) \g /dev/null
SELECT is((t.stored(:'late')).status, 'pending', 'which nobody has put away');
SELECT is((SELECT status FROM approval.run_list WHERE run_id = 'w'), 'running', 'once that is over the run goes on');

-- Before it was started, anybody may have used its id.
SELECT t.proposed($$conversation_id => 'conv squat', run_id => 'squat'$$, 'agent2') AS squat \gset
SELECT is(t.says('agent', $$approval.start_run('conv squat', 'squat')$$), 'PT409 run_paused', 'what waits in the conversation has to be decided, whoever asked');
SELECT t.row('agent', $$approval.start_run('conv free', 'squat')$$) IS NOT NULL AS done \g /dev/null
SELECT t.claim('squat') IS NOT NULL AS done \g /dev/null
SELECT is(t.run_status('squat'), 'running', 'another login''s call does not stop the run');
SELECT is((SELECT status FROM approval.run_list WHERE run_id = 'squat'), 'running', 'nor in the view');
SELECT is(t.says('agent', format('approval.next_iteration(''squat'', %L)', t.tok('squat'))), 'ok', 'it goes on');
SELECT is(t.says('agent', format('approval.propose(''x'', ''refund'', ''{}'', ''elsewhere'', run_id => ''squat'', run_token => %L)', t.tok('squat'))), 'PT409 run_conflict', 'a call of the run is of its conversation');
SELECT t.row('agent', format('approval.fail_run(''squat'', %L, ''x'')', t.tok('squat'))) IS NOT NULL AS done \g /dev/null
SELECT is((t.stored(:'squat')).status, 'pending', 'and its end takes nothing of others along');

SELECT is(t.says('agent', $$approval.propose('x9', 'refund', '{}', run_token => 'x')$$), '22004', 'a token without a run');
SELECT is(t.says('agent', $$approval.propose('x9', 'refund', '{}', run_id => 'no such run', run_token => 'x')$$), 'PT404 not_found', 'or with one that is not there: a mistake');
SELECT t.proposed($$conversation_id => 'elsewhere', run_id => 'adopt'$$) AS adopted \gset
SELECT t.row('agent', $$approval.start_run('conv adopt', 'adopt')$$) IS NOT NULL AS done \g /dev/null
SELECT t.claim('adopt') IS NOT NULL AS done \g /dev/null
SELECT is(t.run_status('adopt'), 'running', 'nor is a call of another conversation that bore the id before');

-- The end takes open calls along.
SELECT t.held('e') AS run \g /dev/null
SELECT t.in_run('e') AS approved, t.in_run('e') AS waiting, t.in_run('e') AS used, t.in_run('e') AS refused \gset
SELECT t.row('alice', format('approval.approve(%L, %L)', i, t.seen(i::approval.ulid))) IS NOT NULL AS done FROM unnest(ARRAY[:'approved', :'used']) AS i \g /dev/null
SELECT t.row('alice', format('approval.reject(%L, %L)', :'refused', t.seen(:'refused'))) IS NOT NULL AS done \g /dev/null
SELECT t.consumed(:'used') AS done \g /dev/null
SELECT is(t.row('agent', format('approval.fail_run(''e'', %L, ''it broke'')', t.tok('e'))) ->> 'status', 'failed', 'a run fails');
SELECT is((t.stored(i)).status || ' ' || (t.stored(i)).cause, expected, what)
  FROM (VALUES (:'approved'::approval.ulid, 'cancelled withdrawn', 'what was approved and not used is withdrawn'), (:'waiting', 'cancelled withdrawn', 'what waited too'),
		(:'used', 'consumed person', 'what was used stays'), (:'refused', 'rejected person', 'what was refused stays')) AS v(i, expected, what);
SELECT is(ok, true, 'chain of ' || i) FROM unnest(ARRAY[:'approved', :'waiting']::approval.ulid[]) AS i, LATERAL approval.verify_request(i);
SELECT is((t.stored(:'used')).outcome, 'in_flight', 'and an execution is not touched');
SELECT is(t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'')', :'used', t.token(:'used'))), 'ok', 'it reports after the end');
SELECT is(t.row('agent', format('approval.propose(%L, ''refund'', %L, ''conv e'', run_id => ''e'', run_token => %L)', (t.stored(:'waiting')).tool_call_id, (t.stored(:'waiting')).arguments, t.tok('e'))) ->> 'status', 'cancelled', 'what was proposed before is answered with its row');
SELECT is(r ->> 'reason', 'it broke', 'the same report again changes nothing') FROM t.row('agent', format('approval.fail_run(''e'', %L, ''it broke'')', t.tok('e'))) AS r;
SELECT is(t.says('agent', format(call, t.tok('e'))), 'PT409 run_ended', call) FROM unnest(ARRAY['approval.fail_run(''e'', %L, ''another'')', 'approval.complete_run(''e'', %L, ''x'')', 'approval.next_iteration(''e'', %L)',
	'approval.claim_run(''e'', token => %L)', 'approval.release_run(''e'', %L)', 'approval.cancel_run(''e'', token => %L)', 'approval.record_step(''e'', %L, ''s'', ''note'')', 'approval.attach_handle(''e'', %L, ''s'', ''h'')',
	'approval.propose(''unused'', ''refund'', ''{}'', run_id => ''e'', run_token => %L)', 'approval.start_run(''c'', parent_run_id => ''e'', parent_token => %L)']) AS call;

-- Answers in which there is nothing to read.
SELECT t.held('blank') AS run \g /dev/null
SELECT is(t.says('agent', format('approval.complete_run(''blank'', %L, %L)', t.tok('blank'), answer)), 'PT422 empty_result', format('answer %L', answer))
  FROM unnest(ARRAY['', ' ', E'\n\t ', U&'\00A0', U&'\200B\FEFF', U&'\3000\2060', U&'\202E', U&'\+0E0041', U&'\2800']) AS answer;
SELECT is(t.run_status('blank'), 'running', 'the run goes on');
SELECT is(t.says('agent', format('approval.complete_run(''blank'', %L, %L)', t.tok('blank'), answer)), 'ok', format('answer %L', answer)) FROM unnest(ARRAY[U&'\200B0', U&'\200B0']) AS answer;

-- Who may stop a run.
SELECT t.held('s' || n) AS run FROM generate_series(1, 5) AS n \g /dev/null
SELECT is(t.row('alice', 'approval.cancel_run(''s1'', ''too dear'')') ->> 'status', 'cancelled', 'a reviewer stops a run of somebody else');
SELECT is((t.row('auditor', 'approval.run_of(''s1'')') ->> 'ended_by') || ' ' || (t.row('auditor', 'approval.run_of(''s1'')') ->> 'reason'), 'user:alice too dear', 'by name and reason');
SELECT is(t.row('alice', 'approval.cancel_run(''s1'', ''again'')') ->> 'reason', 'too dear', 'once');
SELECT is(t.says('runner', 'approval.cancel_run(''s2'')'), '42501', 'an executor does not');
SELECT is(t.says('agent2', 'approval.cancel_run(''s2'')'), 'PT404 not_found', 'nor another requester');
SELECT is(t.says('agent', format('approval.cancel_run(''s2'', token => %L)', t.tok('s2'))), 'ok', 'its holder does');
SELECT t.row('agent', format('approval.release_run(''s3'', %L)', t.tok('s3'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.says('agent', 'approval.cancel_run(''s3'')'), 'ok', 'its login does, while nobody holds it');
SELECT t.row('agent', format('approval.claim_run(''s4'', ''1 us'', %L)', t.tok('s4'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.says('agent', 'approval.cancel_run(''s4'')'), 'ok', 'or once the lease is over');
SELECT is(t.says('web', 'approval.cancel_run(''s5'', actor => ''user:dave'')'), 'ok', 'a delegate names who did');
SELECT is(t.row('auditor', 'approval.run_of(''s5'')') ->> 'ended_by', 'user:dave', 'and that is kept');

-- Children spend what is their parents'.
SELECT t.held('root', ', max_iterations => 4') AS run \g /dev/null
CREATE FUNCTION t.child(run text, parent text, more text DEFAULT '') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	r jsonb := t.row('agent', format('approval.start_run(''conv root'', %L, %L, %L%s)', run, parent, t.tok(parent), more));
BEGIN
	PERFORM t.claim(run);
	RETURN r;
END
$$;
SELECT ok(r ->> 'root_run_id' = 'root' AND r ->> 'max_iterations' = '4' AND split_part(r ->> 'traceparent', '-', 2) = (SELECT trace_id FROM approval.runs WHERE run_id = 'root'),
	'a child: beside its parent, with what that has, in its trace') FROM t.child('kid', 'root') AS r;
SELECT t.child('grandkid', 'kid', ', max_iterations => 1') IS NOT NULL AS done \g /dev/null
SELECT t.row('agent', format('approval.next_iteration(%L, %L)', run, t.tok(run))) IS NOT NULL AS done FROM unnest(ARRAY['root', 'kid', 'grandkid']) AS run \g /dev/null
SELECT is(string_agg(run_id || ' ' || iterations, ', ' ORDER BY depth), 'root 3, kid 2, grandkid 1', 'an iteration counts for all above') FROM approval.runs WHERE root_run_id = 'root';
SELECT is(t.row('agent', format('approval.next_iteration(''grandkid'', %L)', t.tok('grandkid'))) ->> 'status', 'iteration_limit_reached', 'its own limit');
SELECT is(t.row('agent', format('approval.start_run(''conv root'', ''grandkid'', ''kid'', ''lost'')')) ->> 'status', 'iteration_limit_reached', 'started again it is what became of it');
SELECT t.row('agent', format('approval.next_iteration(''root'', %L)', t.tok('root'))) IS NOT NULL AS done \g /dev/null
SELECT is(t.row('agent', format('approval.next_iteration(''kid'', %L)', t.tok('kid'))) ->> 'status', 'iteration_limit_reached', 'or that of a parent');
SELECT is(t.says('agent', format('approval.start_run(''conv root'', ''late'', ''root'', %L)', t.tok('root'))), 'PT422 iteration_limit', 'nothing is left for another');
SELECT is(t.says('agent', format('approval.complete_run(''root'', %L, ''done'')', t.tok('root'))), 'ok', 'the parent may still answer');
SELECT t.held('top') AS run \g /dev/null
CREATE OR REPLACE FUNCTION t.child(run text, parent text, more text DEFAULT '') RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	PERFORM t.row('agent', format('approval.start_run(''conv top'', %L, %L, %L%s)', run, parent, t.tok(parent), more));
	RETURN t.claim(run);
END
$$;
SELECT t.child('d' || n, CASE n WHEN 2 THEN 'top' ELSE 'd' || n - 1 END) IS NOT NULL AS done FROM generate_series(2, 8) AS n \g /dev/null
SELECT is(t.says('agent', format('approval.start_run(''conv top'', ''d9'', ''d8'', %L)', t.tok('d8'))), '22023', 'eight deep and no deeper');
SELECT is(t.says('agent', format('approval.start_run(''elsewhere'', ''d9'', ''d2'', %L)', t.tok('d2'))), 'PT409 run_conflict', 'and in one conversation');
SELECT t.proposed(format('conversation_id => ''conv top'', run_id => ''d8'', run_token => %L', t.tok('d8'))) AS deep \gset
SELECT is(t.run_status('top'), 'running', 'a child that waits does not stop its parents');
SELECT is(t.says('agent', format('approval.complete_run(''top'', %L, ''done'')', t.tok('top'))), 'PT409 run_paused', 'but they have no answer before it has');
SELECT is((t.stored(:'deep')).status, 'pending', 'and nothing is withdrawn');
SELECT is(t.says('agent', format('approval.cancel_run(''d4'', token => %L)', t.tok('d4'))), 'ok', 'one in the middle ends');
SELECT is(string_agg(run_id || ' ' || status, ', ' ORDER BY depth), 'top running, d2 running, d3 running, d4 cancelled, d5 cancelled, d6 cancelled, d7 cancelled, d8 cancelled', 'with all below it') FROM approval.runs WHERE root_run_id = 'top';
SELECT is((t.stored(:'deep')).status, 'cancelled', 'and their calls');

-- Tenants: another tenant's run is no different from one that is missing.
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT t || '_' || role AS who, role, t AS tenant FROM unnest(ARRAY['acme', 'globex']) AS t, unnest(ARRAY['requester', 'approver', 'executor', 'auditor']) AS role LOOP
		EXECUTE format('CREATE ROLE %I LOGIN', t.login(r.who));
		EXECUTE format('GRANT %I TO %I', 'approval_' || r.role, t.login(r.who));
		PERFORM approval.register_login(t.login(r.who), 'person', 'user:' || r.who, ARRAY[r.tenant]);
	END LOOP;
END
$$;
SELECT t.row('globex_requester', $$approval.start_run('theirs', 'theirs')$$) IS NOT NULL AS done \g /dev/null
SELECT t.row('globex_requester', $$approval.claim_run('theirs')$$) ->> 'token' AS theirs \gset
SELECT t.row('globex_requester', format('approval.attach_handle(''theirs'', %L, ''n8n'', ''theirs'')', :'theirs')) ->> 'secret' AS their_secret \gset
CREATE TABLE t.tried AS SELECT who, call, n, a.* FROM (VALUES
	('requester', 'claim_run(%1$L)'), ('requester', 'claim_run(%1$L, token => %2$L)'), ('requester', 'release_run(%1$L, %2$L)'), ('requester', 'next_iteration(%1$L, %2$L)'),
	('requester', 'complete_run(%1$L, %2$L, ''x'')'), ('requester', 'fail_run(%1$L, %2$L, ''x'')'), ('requester', 'cancel_run(%1$L, token => %2$L)'), ('approver', 'cancel_run(%1$L)'),
	('requester', 'attach_handle(%1$L, %2$L, ''s'', ''h'')'), ('requester', 'record_step(%1$L, %2$L, ''s'', ''note'')'), ('executor', 'record_step(%1$L, %2$L, ''s'', ''note'')'),
	('requester', 'start_run(''c'', parent_run_id => %1$L, parent_token => %2$L)'), ('requester', 'run_of(%1$L)'), ('approver', 'run_of(%1$L)'), ('auditor', 'run_of(%1$L)'),
	('requester', 'trace(%1$L)'), ('approver', 'trace(%1$L)'), ('auditor', 'timeline(%1$L)'), ('auditor', 'trace_otlp(%1$L)'),
	('requester', 'callback(''n8n'', %1$L, %3$L, ''succeeded'')'), ('executor', 'callback(''n8n'', %1$L, %3$L, ''succeeded'')')) AS v(who, call),
	unnest(ARRAY['theirs', 'nowhere']) AS n, LATERAL t.as('acme_' || who, 'approval.' || format(call, n, :'theirs', :'their_secret')) AS a;
SELECT is(replace(x.code || x.detail, 'theirs', ''), replace(m.code || m.detail, 'nowhere', ''), format('%s: %s', x.who, x.call)) FROM t.tried x JOIN t.tried m USING (who, call) WHERE x.n = 'theirs' AND m.n = 'nowhere' ORDER BY x.call;
SELECT is_empty($$SELECT call FROM t.tried WHERE detail::json ->> 'reason' <> 'not_found' OR code = '00000'$$, 'and that is not_found');
SELECT is((SELECT string_agg(kind, ' ' ORDER BY seq) FROM approval.steps WHERE run_id = 'theirs'), 'run_started run_claimed handle_attached', 'nothing has happened to it');
SELECT is((t.as('acme_auditor', format('(SELECT * FROM approval.%I)', v))).rows, NULL, 'nothing of it in ' || v) FROM unnest(ARRAY['run_list', 'handle_list']) AS v;
SELECT is(t.row('acme_requester', $$approval.start_run('theirs', 'theirs')$$) ->> 'tenant', 'acme', 'its names are free in another tenant');

-- The table of moves is that of the code.
SELECT set_eq($$SELECT coalesce(from_status, '') || '>' || to_status FROM approval.run_transitions()$$,
	ARRAY['>pending', 'pending>running', 'pending>cancelled', 'running>awaiting_approval', 'awaiting_approval>running', 'running>completed', 'running>failed',
		'running>iteration_limit_reached', 'running>cancelled', 'awaiting_approval>failed', 'awaiting_approval>cancelled'], 'the moves');
SELECT is_empty($$SELECT FROM approval.runs WHERE status = 'awaiting_approval'$$, 'one of them is never stored');

SELECT * FROM finish();
ROLLBACK;
