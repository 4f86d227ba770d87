-- Results: a green status with a bad result is no success.
\set ns results
\ir include/gate.psql
SELECT no_plan();

-- What the registry takes.
SELECT is(d ->> 'place', place, options) FROM (VALUES
	('{"results":{}}', '$.results'), ('{"results":[1]}', '$.results[0]'), ('{"results":[{}]}', '$.results[0]'), ('{"results":[{"requires":"$.a == 1","refuses":"$.b == 1"}]}', '$.results[0]'),
	('{"results":[{"requires":"$.a =="}]}', '$.results[0].requires'), ('{"results":[{"refuses":"$.a"}]}', '$.results[0].refuses'), ('{"results":[{"requires":"$.a == 1","as":"late"}]}', '$.results[0].as'),
	('{"results":[{"requires":"$.a == 1","x":1}]}', '$.results[0].x')) AS v(options, place),
	LATERAL t.detail('admin', format('approval.register_tool(''refund'', ''action'', %L)', options)) AS d;
SELECT t.row('admin', format('approval.register_tool(''refund'', ''action'', %L)', '{"default_mode":"review","idempotent":true,"max_attempts":3,"results":[
	{"requires":"$.receipt != null","as":"empty","reason":"a refund has a receipt"},
	{"refuses":"$.partial == true","reason":"only a part was paid back"},
	{"requires":"$.lines.size() > 0","as":"empty"}]}')) IS NOT NULL AS done \g /dev/null
SELECT is(jsonb_array_length(results), 3, 'the registry shows them') FROM approval.registry WHERE tool = 'refund';

-- validate_result.
CREATE FUNCTION t.valid(result text, tool text DEFAULT 'refund') RETURNS text LANGUAGE sql
RETURN t.says('runner', format('approval.validate_result(%L, %L)', tool, result));
SELECT is(t.valid(result), expected, coalesce(result, 'NULL')) FROM (VALUES
	('{"receipt":"R-1","lines":[1]}', 'ok'), ('{"receipt":"R-1","lines":[1],"partial":false}', 'ok'), (NULL, 'PT422 empty_result'), ('null', 'PT422 empty_result'), ('{}', 'PT422 empty_result'), ('[]', 'PT422 empty_result'),
	('""', 'PT422 empty_result'), ('" \u200b"', 'PT422 empty_result'), ('{"receipt":null,"lines":[1]}', 'PT422 empty_result'), ('{"lines":[1]}', 'PT422 empty_result'), ('{"receipt":"R-1","lines":[]}', 'PT422 empty_result'),
	('{"receipt":"R-1","lines":[1],"partial":true}', 'PT422 degraded_result'), ('{"receipt":"R-1","lines":"x"}', 'PT422 empty_result'), ('"done"', 'PT422 empty_result'), ('{"receipt":"\u0000","lines":[1]}', 'PT422 degraded_result'),
	('{"receipt":' || repeat('9', 200000) || ',"lines":[1]}', 'PT422 degraded_result')) AS v(result, expected);
SELECT is(t.valid(result, 'unknown'), expected, 'a tool without conditions: ' || coalesce(result, 'NULL')) FROM (VALUES ('{"x":1}', 'ok'), ('0', 'ok'), ('false', 'ok'), ('[0]', 'ok'), (NULL, 'PT422 empty_result'), ('[]', 'PT422 empty_result')) AS v(result, expected);
SELECT is(d ->> 'condition' || ' ' || (d ->> 'why'), '2 only a part was paid back', 'DETAIL says which, and why') FROM t.detail('runner', $$approval.validate_result('refund', '{"receipt":"R-1","lines":[1],"partial":true}')$$) AS d;
SELECT is(t.says(who, $$approval.validate_result('refund', '{"receipt":"R-1","lines":[1]}')$$), expected, who) FROM (VALUES ('agent', 'ok'), ('runner', 'ok'), ('alice', '42501')) AS v(who, expected);
SELECT approval.register_login(session_user::text, 'person', 'user:root', '{*}') IS NOT NULL AS done \g /dev/null
SELECT approval.register_tool('refund', 'action', '{"idempotent":true,"max_attempts":3,"results":[{"refuses":"$.receipt == \"R-0\"","as":"empty"}]}', tenant => '*') IS NOT NULL AS done \g /dev/null
SELECT is(t.valid('{"receipt":"R-0","lines":[1]}'), 'PT422 empty_result', 'conditions for every tenant hold too');
SELECT is(t.valid('{"receipt":"R-1","lines":[1],"partial":true}'), 'PT422 degraded_result', 'beside its own');
SELECT is(t.valid('{"receipt":"R-1","lines":[1],"partial":true,"partial":false}'), 'PT422 degraded_result', 'of two members with one name neither is believed');

-- complete always records.
CREATE FUNCTION t.done(i approval.ulid, more text, verb text DEFAULT 'complete') RETURNS text LANGUAGE sql
RETURN t.says('runner', format('approval.%s(%L, ''run-1'', %L, %s)', verb, i, t.token(i), more));
CREATE FUNCTION t.state(i approval.ulid) RETURNS text LANGUAGE sql
RETURN concat_ws(' ', (t.stored(i)).status, (t.stored(i)).outcome, (t.stored(i)).cause);
SELECT t.request('in_flight') AS bad, t.request('in_flight') AS good, t.request('in_flight') AS none, t.request('in_flight') AS failed, t.request('in_flight') AS again \gset
SELECT is(t.done(:'good', $$'succeeded', '{"receipt":"R-1","lines":[1]}'$$), 'ok', 'a good result');
SELECT is(t.state(:'good'), 'consumed succeeded person', 'is a success');
SELECT is(t.done(:'bad', $$'succeeded', '{"receipt":"R-1","lines":[1],"partial":true}'$$), 'ok', 'a degraded one is recorded: the money may have moved');
SELECT is(t.state(:'bad'), 'consumed unknown bad_result', 'but not as a success');
SELECT is((t.stored(:'bad')).result::text, '{"receipt":"R-1","lines":[1],"partial":true}', 'with what came');
SELECT is((SELECT note FROM approval.events WHERE request_id = :'bad' AND kind = 'completed'), 'degraded_result: a condition that the tool refuses holds: only a part was paid back', 'the event says why');
SELECT is(t.done(:'bad', $$'succeeded', '{"receipt":"R-1","lines":[1],"partial":true}'$$), 'ok', 'the same report again');
SELECT is(t.events(:'bad'), 4::bigint, 'changes nothing');
SELECT is(t.done(:'bad', $$'succeeded', '{"receipt":"R-1","lines":[1]}'$$), 'PT409 outcome_conflict', 'a nicer one does not come after it');
SELECT is(t.done(:'bad', $$'failed'$$), 'PT409 outcome_conflict', 'nor another outcome');
SELECT is((SELECT outcome FROM approval.inbox WHERE id = :'bad'), 'unknown', 'it waits for a person');
SELECT is(t.says('bob', format('approval.reconcile(%L, ''succeeded'', ''seen at the bank'')', :'bad')), 'ok', 'who settles it');
SELECT is(t.state(:'bad'), 'consumed succeeded bad_result', 'and how it came there is kept');
SELECT is(t.done(:'none', $$'succeeded'$$), 'ok', 'no result at all');
SELECT is(t.state(:'none'), 'consumed unknown bad_result', 'is not a success either');
SELECT is(t.done(:'failed', $$'failed', '{}'$$), 'ok', 'a failure');
SELECT is(t.state(:'failed'), 'consumed failed person', 'needs no result');
SELECT is(t.done(:'again', $$'succeeded', '{}'$$, 'try_complete'), 'ok', 'try_complete');
SELECT is(t.state(:'again'), 'consumed unknown bad_result', 'does the same');
SELECT is(r ->> 'attempt', '2', 'an idempotent tool may run again') FROM t.row('runner', format('approval.resume(%L, ''run-1'', %L)', :'again', t.token(:'again'))) AS r, LATERAL (SELECT set_config('t.again', r ->> 'token', true)) x;
SELECT is(t.state(:'again'), 'consumed in_flight person', 'why it may run is as it was');
SELECT is(t.says('runner', format('approval.complete(%L, ''run-1'', %L, ''succeeded'', ''{"receipt":"R-2","lines":[1]}'')', :'again', current_setting('t.again'))), 'ok', 'with a good result');
SELECT is(t.state(:'again'), 'consumed succeeded person', 'it is a success');
SELECT t.row('admin', $$approval.update_tool('refund', '{"results":[{"requires":"$.seal != null"}]}')$$) IS NOT NULL AS done \g /dev/null
SELECT is(t.done(:'good', $$'succeeded', '{"receipt":"R-1","lines":[1]}'$$), 'ok', 'a report that was good enough is, sent again, no other one');
SELECT is(t.state(:'good'), 'consumed succeeded person', 'whatever the registry says by now');
SELECT is(t.valid('{"a":"\u0000"}', 'unknown'), 'ok', 'what cannot be looked into is not empty');
SELECT is(ok, true, 'chain of ' || i) FROM unnest(ARRAY[:'bad', :'good', :'none', :'again']::approval.ulid[]) AS i, LATERAL approval.verify_request(i);

SELECT * FROM finish();
ROLLBACK;
