-- What errors say.  SQLSTATE is PT and an HTTP status; DETAIL is one line of
-- JSON, HINT says what to do.
\pset format unaligned
\pset fieldsep ' | '
SELECT sqlstate, reason, message, hint FROM approval.errors();

SET SESSION AUTHORIZATION regress_alice;
SELECT status FROM approval.approve('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64));
SELECT status FROM approval.decide('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'maybe', repeat('0', 64));
SELECT status FROM approval.approve('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64), actor => 'Lost connection');
SELECT status FROM approval.edit('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64), '{"items": [{"price": 9007199254740993}]}');
SELECT status FROM approval.edit('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64), '{"a": 1, "a": 2}');
SELECT status FROM approval.edit('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64), '[1]');
SELECT status FROM approval.approve(NULL, repeat('0', 64));
SELECT status FROM approval.approve('Lost connection', repeat('0', 64));
SELECT status FROM approval.approve('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'deadlock detected');
SELECT status FROM approval.request_of('01ARZ3NDEKTSV4RRFFQ69G5FAV', tenant => 'globex');
SELECT status FROM approval.approve('01ARZ3NDEKTSV4RRFFQ69G5FAV', repeat('0', 64), note => repeat('x', 65537));
SELECT approval.channel('everything');

SET SESSION AUTHORIZATION regress_agent;
SELECT status FROM approval.propose('', 'refund', '{}');
SELECT status FROM approval.propose('call-3', repeat('ä', 5000), '{}');
SELECT status FROM approval.propose('call-3', 'refund', '{}', expires_in => '1 second');
SELECT status FROM approval.propose('call-3', 'refund', '{}', at_least => 'never');
SELECT status FROM approval.propose('call-3', 'refund', '{}', definition => '{}');
SELECT status FROM approval.propose('call-3', 'refund', json_build_object('a', repeat('x', 1048576)));
SELECT status FROM approval.propose('call-1', 'refund', '{}', 'conv-1');
SELECT status FROM approval.request_for('conv-1', 'call-9');

SET SESSION AUTHORIZATION regress_runner;
SELECT token FROM approval.consume('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'refund', '{}', 'run-1', lease => '0');
SELECT status FROM approval.complete('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'run-1', 'x', 'done');

RESET SESSION AUTHORIZATION;
SELECT approval.register_login('regress_nobody', 'person');
SELECT approval.register_login('regress_bob', 'friend');
SELECT approval.register_login('regress_bob', 'person', 'policy');
SELECT approval.register_login('regress_bob', 'person', 'user:bob', '{}');
UPDATE approval.requests SET status = 'approved';
SET approval.nothing = 1;
