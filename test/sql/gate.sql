-- The gate, as three logins see it.
\set VERBOSITY terse

-- The administrator makes a login for the agent, one for each person, and one
-- for whatever executes.
CREATE ROLE regress_agent LOGIN;
CREATE ROLE regress_alice LOGIN;
CREATE ROLE regress_bob LOGIN;
CREATE ROLE regress_runner LOGIN;
GRANT approval_requester TO regress_agent;
GRANT approval_approver TO regress_alice, regress_bob;
GRANT approval_executor TO regress_runner;
SELECT approval.register_login('regress_alice', 'person', 'user:alice');
SELECT approval.register_login('regress_bob', 'person', 'user:bob');

-- The agent proposes; nothing has happened yet.
SET SESSION AUTHORIZATION regress_agent;
SELECT status, mode, gate_reason, summary, action_hash
  FROM approval.propose('call-1', 'refund', '{"order": "A-1", "amount": 50.0}', 'conv-1');
-- The same call again is the same request.
SELECT status FROM approval.propose('call-1', 'refund', '{"amount": 5e1, "order": "A-1"}', 'conv-1');
-- Another one under its id is not.
SELECT status FROM approval.propose('call-1', 'refund', '{"order": "A-1", "amount": 5000}', 'conv-1');
-- It cannot decide itself, nor look at the inbox, nor speak for a person.
SELECT status FROM approval.approve('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64));
SELECT summary FROM approval.inbox;
SELECT status FROM approval.propose('call-2', 'refund', '{}', requested_by => 'user:alice');
-- It waits while something is pending.
SELECT tool_call_id, tool, arguments, approvals, approvals_needed FROM approval.pending('conv-1');

-- Alice decides on what she was shown.
SET SESSION AUTHORIZATION regress_alice;
SELECT id, review_hash FROM approval.inbox \gset
SELECT status FROM approval.approve(:'id', repeat('0', 64));
SELECT status FROM approval.approve(:'id', :'review_hash', actor => 'user:bob');
SELECT status, cause, decided_by FROM approval.approve(:'id', :'review_hash', note => 'small enough');
-- Once more is no other decision.
SELECT status, decided_by FROM approval.approve(:'id', :'review_hash');
-- Bob is too late, and told who was first.
SET SESSION AUTHORIZATION regress_bob;
SELECT ok, reason, http_status, detail ->> 'decided_by' AS decided_by, detail ->> 'hint' AS hint
  FROM approval.try_decide(:'id', 'reject', :'review_hash');

-- The executor shows what it is about to run.
SET SESSION AUTHORIZATION regress_runner;
SELECT ok, reason, http_status, detail -> 'differs' AS differs
  FROM approval.try_consume(:'id', 'refund', '{"order": "A-1", "amount": 5000}', 'run-1');
-- The permit counts once the statement is done: not in a block that may be rolled back.
BEGIN;
SELECT token FROM approval.consume(:'id', 'refund', '{"order": "A-1", "amount": 50}', 'run-1');
ROLLBACK;
SELECT token, tool, arguments, attempt, decided_by
  FROM approval.consume(:'id', 'refund', '{"order": "A-1", "amount": 50}', 'run-1') \gset
SELECT :'tool' AS tool, :'arguments' AS arguments, :attempt AS attempt, :'decided_by' AS decided_by, length(:'token') AS token;
SELECT token FROM approval.consume(:'id', 'refund', '{"order": "A-1", "amount": 50}', 'run-1');
SELECT status, outcome, result FROM approval.complete(:'id', 'run-1', :'token', 'succeeded', '{"refund": 12345678901234567890}');
SELECT status FROM approval.complete(:'id', 'run-1', :'token', 'failed');

-- The agent goes on.
SET SESSION AUTHORIZATION regress_agent;
SELECT tool_call_id, status, outcome, verdict, edited, stop, arguments, result, record FROM approval.outcomes('conv-1');

-- What happened.
SET SESSION AUTHORIZATION regress_bob;
SELECT n, kind, actor, login, status_before, status_after, outcome_after, note FROM approval.audit ORDER BY request_id, n;
SELECT verb, login, reason, http_status FROM approval.refusals ORDER BY id;
SELECT ok, events, problem FROM approval.verify_request(:'id');

-- Not even a superuser changes it.
RESET SESSION AUTHORIZATION;
UPDATE approval.requests SET arguments = '{"order": "A-1", "amount": 5000}';
DELETE FROM approval.events;
TRUNCATE approval.decisions;
