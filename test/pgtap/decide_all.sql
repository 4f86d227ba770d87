-- The decision map of the agent SDKs, case by case: what an application sends
-- for the calls of one conversation, and what the agent's loop goes on with.
\set ns decide_all
\ir include/gate.psql
SELECT no_plan();
DO $$
BEGIN
	PERFORM approval.register_tool('lookup', 'live_data', '{"default_mode":"inline"}');
	PERFORM approval.register_tool('mail', 'action', '{"default_mode":"auto"}');
	PERFORM approval.register_tool('forbidden', 'action', '{"default_mode":"deny"}');
	PERFORM approval.register_tool('fixed', 'action', '{"edits":"none"}');
	PERFORM approval.register_tool('tight', 'action', '{"edits":"tighten","edit_paths":["$.amount"]}');
	PERFORM approval.register_tool('board', 'action', '{"reviewer_group":"board"}');
	PERFORM approval.register_tool('two', 'action', '{"approvals_needed":2}');
	PERFORM approval.register_tool('three', 'action', '{"approvals_needed":2,"rejections_needed":2}');
	PERFORM approval.add_member('board', 'user:bob');
END
$$;

-- Proposes calls ("c1", or "c1=tool") in a conversation, in this order.
CREATE FUNCTION t.step(conversation text, VARIADIC calls text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c text;
BEGIN
	FOREACH c IN ARRAY calls LOOP
		PERFORM t.row('agent', format('approval.propose(%L, %L, ''{"amount":50}'', conversation_id => %L)',
									  split_part(c, '=', 1), coalesce(nullif(split_part(c, '=', 2), ''), 'refund'), conversation));
	END LOOP;
END
$$;
CREATE FUNCTION t.call(conversation text, call text) RETURNS approval.requests LANGUAGE sql
RETURN (SELECT r FROM approval.requests r WHERE r.tenant = '' AND r.conversation_id = conversation AND r.tool_call_id = call);
CREATE FUNCTION t.set(conversation text, who text DEFAULT 'alice') RETURNS text LANGUAGE sql
RETURN coalesce(t.row(who, format('approval.pending(%L)', conversation)) ->> 'seen_set', repeat('0', 64));
-- A map for a conversation: "c1 applied approved, c2 remaining pending", or the refusal.
CREATE FUNCTION t.map(conversation text, map text, who text DEFAULT 'alice', seen_set text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a t.answer := t.as(who, format('approval.decide_all(%L, %L, %L)', conversation, map, seen_set));
BEGIN
	IF a.code LIKE 'PT%' THEN
		RETURN a.code || ' ' || (a.detail::json ->> 'reason');
	ELSIF a.code <> '00000' THEN
		RETURN a.code;
	END IF;
	RETURN coalesce((SELECT string_agg(concat_ws(' ', r ->> 'tool_call_id', r ->> 'answer', r ->> 'status', r ->> 'reason'), ', ' ORDER BY n)
					   FROM jsonb_array_elements(a.rows) WITH ORDINALITY AS x(r, n)), 'nothing');
END
$$;
CREATE FUNCTION t.told(conversation text, map text, who text DEFAULT 'alice', seen_set text DEFAULT NULL) RETURNS jsonb LANGUAGE sql
RETURN t.detail(who, format('approval.decide_all(%L, %L, %L)', conversation, map, seen_set));
-- What the loop is told of a call: "reject rejected stop", "approve approved"
CREATE FUNCTION t.outcome(conversation text, call text) RETURNS text LANGUAGE sql
RETURN (SELECT concat_ws(' ', r ->> 'verdict', r ->> 'status', CASE WHEN r ->> 'stop' = 'true' THEN 'stop' END, r ->> 'denial')
		  FROM jsonb_array_elements((t.as('agent', format('approval.outcomes(%L)', conversation))).rows) r WHERE r ->> 'tool_call_id' = call);
CREATE FUNCTION t.made(conversation text) RETURNS bigint LANGUAGE sql
RETURN (SELECT count(*) FROM approval.events e JOIN approval.requests r ON r.tenant = e.tenant AND r.id = e.request_id WHERE r.conversation_id = conversation);

-- approve
SELECT t.step('a1', 'c1') \gset _
SELECT is(t.map('a1', '{"c1":true}'), 'c1 applied approved', 'true approves');
SELECT is(t.outcome('a1', 'c1'), 'approve approved', 'and the loop goes on with the call');
SELECT is((t.call('a1', 'c1')).decided_by, 'user:alice', 'decided by who sent the map');
SELECT t.step('a2', 'c1') \gset _
SELECT is(t.map('a2', '{"c1":{"action":"approve"}}'), 'c1 applied approved', 'so does the action');
SELECT t.step('a3', 'c1') \gset _
SELECT is(t.map('a3', format('{"c1":{"action":"approve","seen":"%s","note":"ok"}}', (t.call('a3', 'c1')).review_hash)), 'c1 applied approved', 'on what was seen');
SELECT is((SELECT note FROM approval.decisions WHERE request_id = (t.call('a3', 'c1')).id), 'ok', 'with a note');
SELECT t.step('a4', 'c1') \gset _
SELECT is(t.map('a4', format('{"c1":{"action":"approve","seen":"%s"}}', repeat('a', 64))), 'PT412 stale_view', 'not on something else');
SELECT is(t.told('a4', format('{"c1":{"action":"approve","seen":"%s"}}', repeat('a', 64))) ->> 'tool_call_id', 'c1', 'DETAIL names the call');
SELECT is(t.map('a4', '{"c1":{"action":"approve","seen":null,"note":null,"result":null,"arguments":null}}'), 'c1 applied approved', 'null members are not there');

-- reject
SELECT t.step('r1', 'c1') \gset _
SELECT is(t.map('r1', '{"c1":false}'), 'c1 applied rejected', 'false rejects');
SELECT is(t.outcome('r1', 'c1'), 'reject rejected stop', 'without a result the loop stops');
SELECT t.step('r2', 'c1') \gset _
SELECT is(t.map('r2', '{"c1":{"action":"reject","result":"Ask for the receipt first."}}'), 'c1 applied rejected', 'reject with a result');
SELECT is(t.outcome('r2', 'c1'), 'reject rejected Ask for the receipt first.', 'it is for the model, and the loop goes on');
SELECT is((SELECT r ->> 'record' FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('r2')$$)).rows) r)::jsonb,
	'{"tool_call_id":"c1","status":"rejected","executed":"no","content":"Ask for the receipt first."}', 'and a record for the conversation is ready');
SELECT t.step('r3', 'c1') \gset _
SELECT is(t.map('r3', '{"c1":{"action":"reject","result":""}}') || ', ' || t.outcome('r3', 'c1'), 'c1 applied rejected, reject rejected ', 'an empty result is one');
SELECT t.step('r4', 'c1') \gset _
SELECT is(t.map('r4', '{"c1":{"action":"reject"}}') || ', ' || t.outcome('r4', 'c1'), 'c1 applied rejected, reject rejected stop', 'reject without one');
SELECT is((SELECT r ->> 'record' FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('r4')$$)).rows) r)::jsonb ->> 'content',
	'The call was not approved and not executed.', 'the record says so in words of its own');

-- edit
SELECT t.step('e1', 'c1') \gset _
SELECT is(t.map('e1', '{"c1":{"action":"edit","arguments":{"amount":20}}}'), 'c1 applied approved', 'edit approves other arguments');
SELECT is((SELECT r ->> 'arguments' FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('e1')$$)).rows) r), '{"amount": 20}', 'which the loop gets');
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"amount":50}'', ''r'')', (t.call('e1', 'c1')).id)), 'PT412 hash_mismatch', 'the original is not what was approved');
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"amount":20}'', ''r'')', (t.call('e1', 'c1')).id)), 'ok', 'the edit is');
SELECT is(t.row('agent', $$approval.propose('c1', 'refund', '{"amount":20}', conversation_id => 'e1')$$) ->> 'id', (t.call('e1', 'c1')).id::text, 'the agent that proposes the edit gets its row');
SELECT t.step('e2', 'c1') \gset _
SELECT is(t.map('e2', '{"c1":{"action":"approve","arguments":{"amount":20}}}'), 'c1 applied approved', 'approve with arguments is an edit');
SELECT t.step('e3', 'c1', 'c2=fixed') \gset _
SELECT is(t.map('e3', '{"c1":true,"c2":{"action":"edit","arguments":{"amount":1}}}'), 'PT422 bad_decision', 'not where the tool has none');
SELECT is((t.call('e3', 'c1')).status, 'pending', 'and then the other call is not decided either');
SELECT is(t.map('e3', '{"c1":true,"c2":{"action":"edit","arguments":{"amount":50}}}'), 'c1 applied approved, c2 applied approved', 'the same arguments are no edit');
SELECT t.step('e4', 'c1=tight') \gset _
SELECT is(t.map('e4', '{"c1":{"action":"edit","arguments":{"amount":50,"to":"me"}}}'), 'c1 applied pending', 'beyond the paths of the tool it is a proposal');
SELECT is(t.map('e4', '{"c1":{"action":"edit","arguments":{"amount":50,"to":"me"}}}'), 'c1 unchanged pending', 'which is not made twice');
SELECT is(t.map('e4', '{"c1":true}'), 'PT403 self_approval', 'nor approved by who made it');
SELECT is(t.map('e4', '{"c1":true}', 'bob'), 'PT412 stale_view', 'a plain true is for the action as it was proposed');
SELECT is(t.map('e4', format('{"c1":{"action":"approve","seen":"%s"}}', (t.call('e4', 'c1')).review_hash), 'bob'), 'c1 applied approved', 'who saw the edit approves it');
SELECT is(t.map('e4', '{"c1":{"action":"edit","arguments":{"amount":50,"to":"me"}}}'), 'c1 unchanged approved', 'and the edit, sent again, is still there');
SELECT t.step('e5', 'c1') \gset _
SELECT is(t.map('e5', '{"c1":{"action":"edit","arguments":[]}}') || (t.call('e5', 'c1')).arguments, 'c1 applied approved{}', 'an empty array is an empty object');
SELECT t.step('e6', 'c1') \gset _
SELECT is(t.map('e6', '{"c1":{"action":"edit","arguments":{"amount":9007199254740993}}}'), 'PT422 not_canonical', 'a number that is not what it says');
SELECT is(t.told('e6', '{"c1":{"action":"edit","arguments":{"amount":9007199254740993}}}') ->> 'path', '$.c1.arguments.amount', 'DETAIL names the place');
SELECT is(t.map('e6', '{"c1":{"action":"edit","arguments":{"amount":1e3,"s":"\u00e4\ud83d\ude00"}}}') || (t.call('e6', 'c1')).arguments, 'c1 applied approved{"amount":1000,"s":"ä😀"}', 'canonical arguments');
SELECT is(t.map('e6', '{"c1":{"action":"edit","arguments":{"s":"ä😀","amount":1000.0}}}'), 'c1 unchanged approved', 'the same edit in other words');

-- the rest
SELECT t.step('w1', 'c1', 'c2', 'c3') \gset _
SELECT is(t.map('w1', '{"c2":false,"*":true}'), 'PT422 bad_decision', 'approving the rest takes the digest of the list that was shown');
SELECT is(t.map('w1', '{"c2":false,"*":true}', seen_set => t.set('w1')), 'c1 applied approved, c2 applied rejected, c3 applied approved', 'with it, it does');
SELECT t.step('w2', 'c1', 'c2') \gset _
SELECT t.set('w2') AS before, t.step('w2', 'c3') \gset
SELECT is(t.map('w2', '{"*":true}', seen_set => :'before'), 'PT412 stale_view', 'a call that came after the list was shown is not approved');
SELECT is((SELECT string_agg(p ->> 'tool_call_id', ',') FROM jsonb_array_elements(t.told('w2', '{"*":true}', seen_set => :'before') -> 'pending') p), 'c1,c2,c3', 'DETAIL has the list as it is');
SELECT is(t.told('w2', '{"*":true}', seen_set => :'before') ->> 'seen_set', t.set('w2'), 'and its digest');
SELECT is(t.map('w2', '{"*":true}', seen_set => t.told('w2', '{"*":true}', seen_set => :'before') ->> 'seen_set'), 'c1 applied approved, c2 applied approved, c3 applied approved', 'which approves');
SELECT t.step('w3', 'c1', 'c2') \gset _
SELECT is(t.map('w3', '{"*":false}'), 'c1 applied rejected, c2 applied rejected', 'rejecting the rest takes none');
SELECT t.step('w4', 'c1', 'c2') \gset _
SELECT is(t.map('w4', '{"c1":true,"*":{"action":"reject","result":"Later."}}') || ', ' || t.outcome('w4', 'c2'), 'c1 applied approved, c2 applied rejected, reject rejected Later.', 'with a result');
SELECT t.step('w5', 'c1') \gset _
SELECT is(t.map('w5', '{"*":{"action":"edit","arguments":{}}}'), 'PT422 bad_decision', 'the rest is never edited');
SELECT is(t.map('w5', '{"*":{"action":"approve","arguments":{"amount":1}}}', seen_set => t.set('w5')), 'PT422 bad_decision', 'in no words');
SELECT is(t.map('w5', format('{"*":{"action":"approve","seen":"%s"}}', (t.call('w5', 'c1')).review_hash)), 'PT422 bad_decision', 'one hash does not stand for a list');
SELECT is(t.map('w5', '{"*":{"action":"approve"}}', seen_set => t.set('w5')), 'c1 applied approved', 'approve in words');
SELECT is(t.says('agent', $$approval.propose('*', 'refund', '{}', conversation_id => 'w6')$$), '22023', 'no call has that name');
SELECT t.step('w7', 'c1', 'c2') \gset _
SELECT t.set('w7') AS before \gset
SELECT t.row('bob', format('approval.edit(%L, %L, ''{"amount":1}'')', (t.call('w7', 'c1')).id, (t.call('w7', 'c1')).review_hash)) \gset _
SELECT is(t.map('w7', '{"*":true}', seen_set => :'before'), 'PT412 stale_view', 'a call that was decided meanwhile is another list');
SELECT t.step('w8', 'c1=two', 'c2') \gset _
SELECT is(t.map('w8', '{"*":true}', seen_set => t.set('w8')), 'c1 remaining pending bad_decision, c2 applied approved', 'what needs two people has to be named');
SELECT is(t.map('w8', '{"*":true}', seen_set => t.set('w8')), 'PT422 bad_decision', 'there is nothing else');
SELECT is(t.map('w8', '{"c1":true}') || ', ' || t.map('w8', '{"c1":true}', 'bob'), 'c1 applied pending, c1 applied approved', 'by each of them');
SET approval.bulk_approvals = 2;
SELECT t.step('w9', 'c1', 'c2', 'c3') \gset _
SELECT is(t.map('w9', '{"*":true}', seen_set => t.set('w9')), 'PT422 bad_decision', 'too many at a time');
SELECT is(t.told('w9', '{"*":true}', seen_set => t.set('w9')) ->> 'limit', '2', 'DETAIL says how many');
SELECT is(t.map('w9', '{"c2":true,"*":true}', seen_set => t.set('w9')), 'c1 applied approved, c2 applied approved, c3 applied approved', 'those that are named do not count');
RESET approval.bulk_approvals;
SELECT is(t.map('w10', '{"*":false}'), 'PT409 decisions_mismatch', 'nothing waits, and nothing did');

-- mismatch
SELECT t.step('m1', 'c1', 'c2') \gset _
SELECT is(t.map('m1', '{"c1":true}'), 'PT409 decisions_mismatch', 'a call is missing');
SELECT is(t.told('m1', '{"c1":true}') -> 'missing', '["c2"]', 'DETAIL names it');
SELECT is(t.map('m1', '{"c1":true,"c2":true,"c3":true}'), 'PT409 decisions_mismatch', 'a call is unknown');
SELECT is(t.told('m1', '{"c1":true,"c2":true,"c3":true}') -> 'unknown', '["c3"]', 'DETAIL names that');
SELECT is(t.told('m1', '{"x":true}') - '{hint,id,status,seen_set,pending,ended}'::text[], '{"sqlstate":"PT409","reason":"decisions_mismatch","http":409,"conversation_id":"m1","unknown":["x"],"missing":["c1","c2"],"decided":[]}', 'all of it');
SELECT is((SELECT jsonb_agg(p - 'review_hash' - 'id') FROM jsonb_array_elements(t.told('m1', '{"x":true}') -> 'pending') p), '[{"tool_call_id":"c1","tool":"refund"},{"tool_call_id":"c2","tool":"refund"}]', 'and the list to decide on');
SELECT is((t.call('m1', 'c1')).status || (t.call('m1', 'c2')).status || t.made('m1'), 'pendingpending2', 'nothing was decided');
SELECT is(t.map('m1', '{"c2":false,"c1":true}'), 'c1 applied approved, c2 applied rejected', 'positions do not matter');
SELECT is(t.map('m2', '{"c1":true}'), 'PT409 decisions_mismatch', 'a conversation that does not exist');
SELECT is(t.map('m1', '{"c1":true,"c2":true}', 'bob'), 'PT409 decisions_mismatch', 'too late');
SELECT is((SELECT jsonb_agg(d - 'decided_at' ORDER BY d ->> 'tool_call_id') FROM jsonb_array_elements(t.told('m1', '{"c1":true,"c2":true}', 'bob') -> 'decided') d),
	'[{"tool_call_id":"c1","status":"approved","decided_by":"user:alice"},{"tool_call_id":"c2","status":"rejected","decided_by":"user:alice"}]', 'the loser is told who won');
SELECT is(t.map('m1', '{"*":false}', 'bob'), 'PT409 decisions_mismatch', 'also who meant all of it');
SELECT is(t.map('m1', '{"*":true}', 'bob', t.set('m1')), 'PT412 stale_view', 'in either way');
SELECT t.step('m3', 'c1') \gset _
SELECT is(t.map('m3', '{"C1":true}') || ', ' || t.map('m3', '{"c1 ":true}'), 'PT409 decisions_mismatch, PT409 decisions_mismatch', 'almost the same id is another one');

-- what is no map
SELECT is(t.map('m3', m), 'PT422 bad_decision', 'no map: ' || m) FROM unnest(ARRAY['{}', '[]', '[true]', 'true', 'null', '"c1"', '1', '{"c1":null}', '{"c1":"approve"}', '{"c1":1}', '{"c1":[]}', '{"c1":{}}',
	'{"c1":{"action":"maybe"}}', '{"c1":{"action":null}}', '{"c1":{"action":true}}', '{"c1":{"approve":true}}', '{"c1":{"action":"approve","seen":"x"}}', '{"c1":{"action":"approve","seen":1}}',
	'{"c1":{"action":"approve","result":"x"}}', '{"c1":{"action":"edit"}}', '{"c1":{"action":"edit","arguments":1}}', '{"c1":{"action":"reject","arguments":{}}}', '{"c1":{"action":"reject","result":{}}}',
	'{"c1":{"action":"reject","reason":"x"}}', '{"c1":true,"*":null}']) m;
SELECT is(t.map('m3', '{"c1":{"action":"edit","arguments":[1]}}'), 'PT422 bad_arguments', 'arguments that are none');
SELECT is(t.map('m3', '{"c1":true,"c1":false}'), 'PT422 not_canonical', 'one call twice');
SELECT is(t.told('m3', '{"c1":true,"c1":false}') ->> 'problem', 'duplicate_key', 'DETAIL says so');
SELECT is(t.map('m3', '{"c1":{"action":"approve","action":"reject"}}'), 'PT422 not_canonical', 'two actions for it');
SELECT is(t.told('m3', '{"c1":{"action":"maybe"}}') ->> 'place', '$.c1.action', 'DETAIL names the place');
SELECT is(t.map('m3', (SELECT json_object_agg('c' || n, true) FROM generate_series(1, 1001) n)::text), 'PT422 bad_decision', 'too long a map');
SELECT is(t.map('m3', NULL) || t.map(NULL, '{}'), '2200422004', 'NULL');
SELECT is((t.call('m3', 'c1')).status || t.made('m3'), 'pending1', 'nothing of it did anything');

-- double submit
SELECT t.step('d1', 'c1', 'c2', 'c3') \gset _
SELECT t.set('d1') AS set, format('{"c1":true,"c2":{"action":"reject","result":"No."},"c3":{"action":"edit","arguments":{"amount":1},"seen":"%s"}}', (t.call('d1', 'c3')).review_hash) AS map \gset
SELECT is(t.map('d1', :'map'), 'c1 applied approved, c2 applied rejected, c3 applied approved', 'a map');
SELECT t.made('d1') AS made \gset
SELECT is(t.map('d1', :'map'), 'c1 unchanged approved, c2 unchanged rejected, c3 unchanged approved', 'again: nothing');
SELECT is(t.made('d1'), :made::bigint, 'no event');
SELECT is(t.map('d1', :'map', 'bob'), 'PT409 decisions_mismatch', 'from somebody else it is too late');
SELECT is(t.map('d1', '{"c1":true,"c2":{"action":"reject","result":"Never."},"c3":true}'), 'PT409 decisions_mismatch', 'other words are another map');
SELECT is(t.map('d1', '{"c1":false,"c2":false,"c3":false}'), 'PT409 decisions_mismatch', 'and so is the opposite');
SELECT t.step('d1', 'c4') \gset _
SELECT is(t.map('d1', :'map'), 'c1 unchanged approved, c2 unchanged rejected, c3 unchanged approved, c4 remaining pending', 'after the conversation has gone on');
SELECT is(t.map('d1', '{"c1":true,"c4":true}'), 'c1 unchanged approved, c4 applied approved', 'old and new together');
SELECT t.step('d2', 'c1', 'c2') \gset _
SELECT t.set('d2') AS set \gset
SELECT is(t.map('d2', '{"*":true}', seen_set => :'set'), 'c1 applied approved, c2 applied approved', 'the rest');
SELECT is(t.map('d2', '{"*":true}', seen_set => :'set'), 'c1 unchanged approved, c2 unchanged approved', 'again: nothing');
SELECT t.step('d2', 'c3') \gset _
SELECT is(t.map('d2', '{"*":true}', seen_set => :'set'), 'c1 unchanged approved, c2 unchanged approved, c3 remaining pending', 'nor after the conversation has gone on');
SELECT is(t.map('d2', '{"*":true}', 'bob', :'set'), 'PT412 stale_view', 'for somebody else it is a stale list');
SELECT is(t.map('d2', '{"*":false}', seen_set => :'set'), 'PT412 stale_view', 'and for the opposite');
SELECT t.step('d3', 'c1', 'c2') \gset _
SELECT is(t.map('d3', '{"c1":true,"*":false}') || '; ' || t.map('d3', '{"c1":true,"*":false}'), 'c1 applied approved, c2 applied rejected; c1 unchanged approved, c2 unchanged rejected', 'rejecting the rest, twice');
SELECT t.step('d3', 'c3') \gset _
SELECT is(t.map('d3', '{"c1":true,"*":false}'), 'c1 unchanged approved, c2 unchanged rejected, c3 remaining pending', 'a retry does not reach what came later');
SELECT is(t.map('d3', '{"*":false}'), 'c3 applied rejected', 'a new map does');
SELECT is(t.map('d3', '{"*":false}'), 'c3 unchanged rejected', 'again: nothing');
SELECT t.step('d4', 'c1') \gset _
SELECT t.set('d4') AS set, t.map('d4', '{"*":false}', seen_set => t.set('d4')) AS x \gset
SELECT t.step('d4', 'c2') \gset _
SELECT is(t.map('d4', '{"*":false}', seen_set => :'set'), 'c1 unchanged rejected, c2 remaining pending', 'with the digest of the list a retry of it is exact');

-- half of it waits for somebody else: a retry does not reach what came later either
SELECT t.step('d5', 'c1', 'c2=two', 'c3') \gset _
SELECT is(t.map('d5', '{"c1":true,"c2":true,"*":false}'), 'c1 applied approved, c2 applied pending, c3 applied rejected', 'a vote among it');
SELECT t.step('d5', 'c4') \gset _
SELECT is(t.map('d5', '{"c1":true,"c2":true,"*":false}'), 'c1 unchanged approved, c2 unchanged pending, c3 unchanged rejected, c4 remaining pending', 'the retry');
SELECT t.step('d6', 'c1=tight', 'c2') \gset _
SELECT is(t.map('d6', '{"c1":{"action":"edit","arguments":{"x":1}},"*":false}'), 'c1 applied pending, c2 applied rejected', 'an edit for others among it');
SELECT t.step('d6', 'c3') \gset _
SELECT is(t.map('d6', '{"c1":{"action":"edit","arguments":{"x":1}},"*":false}'), 'c1 unchanged pending, c2 unchanged rejected, c3 remaining pending', 'the retry');
SELECT t.step('d7', 'c1', 'c2') \gset _
SELECT t.row('alice', format('approval.approve(%L, %L)', (t.call('d7', 'c1')).id, (t.call('d7', 'c1')).review_hash)) \gset _
SELECT is(t.map('d7', '{"c1":true,"*":false}'), 'c1 unchanged approved, c2 applied rejected', 'what was decided by itself does not make a map a retry');
SELECT t.step('d8', 'c1=two') \gset _
SELECT t.map('d8', '{"c1":true}') AS x, t.says('bob', $$approval.revoke_by('user:alice', 'stolen')$$) AS y \gset _
SELECT is(t.map('d8', '{"c1":true}'), 'c1 applied pending', 'a vote that was taken back is given anew');

-- mixed calls in one step: what policy lets through is not in the map
SELECT t.step('x1', 'c1=lookup', 'c2=mail', 'c3=forbidden', 'c4', 'c5') \gset _
SELECT is((SELECT string_agg(r ->> 'tool_call_id' || ' ' || (r ->> 'status'), ', ' ORDER BY r ->> 'tool_call_id') FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('x1')$$)).rows) r),
	'c1 consumed, c2 approved, c3 rejected, c4 pending, c5 pending', 'inline, automatic, denied and gated calls');
SELECT is(t.map('x1', '{"c1":true,"c2":true,"c3":true,"c4":true,"c5":true}'), 'PT409 decisions_mismatch', 'only what waits is decided');
SELECT is(t.told('x1', '{"c1":true,"c2":true,"c3":true,"c4":true,"c5":true}') -> 'unknown', '["c1","c2","c3"]', 'DETAIL names what does not');
SELECT is(t.map('x1', '{"c4":true,"c5":{"action":"reject","result":"No."}}'), 'c4 applied approved, c5 applied rejected', 'the two that wait');
SELECT t.row('runner', format('approval.consume(%L, ''refund'', ''{"amount":50}'', ''r'')', (t.call('x1', 'c4')).id)) ->> 'token' AS token \gset
SELECT t.row('runner', format('approval.complete(%L, ''r'', %L, ''succeeded'', ''{"refund":1}'')', (t.call('x1', 'c4')).id, :'token')) \gset _
SELECT is((SELECT string_agg(concat_ws(' ', r ->> 'tool_call_id', r ->> 'status', r ->> 'outcome', r ->> 'result'), ', ' ORDER BY r ->> 'tool_call_id') FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('x1')$$)).rows) r),
	'c1 consumed untracked, c2 approved, c3 rejected, c4 consumed succeeded {"refund": 1}, c5 rejected', 'a loop that starts again sees what has run, and with what result');
SELECT is((SELECT string_agg(r ->> 'tool_call_id', ', ' ORDER BY r ->> 'tool_call_id') FROM jsonb_array_elements((t.as('agent', $$approval.outcomes('x1')$$)).rows) r WHERE r ->> 'record' IS NOT NULL),
	'c3, c5', 'a record for each denied call');

-- two conversations with the same ids
SELECT t.step('y1', 'c1', 'c2') \gset _
SELECT t.step('y2', 'c1', 'c2') \gset _
SELECT is(t.map('y1', '{"c1":true,"c2":false}'), 'c1 applied approved, c2 applied rejected', 'one conversation');
SELECT is((t.call('y2', 'c1')).status || (t.call('y2', 'c2')).status, 'pendingpending', 'is not the other');
SELECT is(t.map('y2', '{"*":true}', seen_set => t.set('y1')), 'PT412 stale_view', 'nor is its list');
SELECT t.row('agent', $$approval.propose('c1', 'refund', '{}')$$) \gset _
SELECT is(t.map('', '{"*":false}'), 'c1 applied rejected', 'the calls without a conversation are one');

-- groups
SELECT t.step('g1', 'c1', 'c2=board') \gset _
SELECT is(t.map('g1', '{"c1":true,"c2":true}'), 'c1 applied approved, c2 remaining pending not_eligible', 'what is for another group is left');
SELECT is(t.map('g1', '{"c1":true,"c2":true}'), 'c1 unchanged approved, c2 remaining pending not_eligible', 'once more');
SELECT is(t.map('g1', '{"c2":true}'), 'PT403 not_eligible', 'there is nothing else');
SELECT is(t.map('g1', '{"c2":true}', 'bob'), 'c2 applied approved', 'the group decides');
SELECT t.step('g2', 'c1', 'c2=board') \gset _
SELECT is(t.map('g2', '{"c1":true}'), 'c1 applied approved, c2 remaining pending not_eligible', 'it need not be named');
SELECT t.step('g3', 'c1', 'c2=board') \gset _
SELECT is(t.map('g3', '{"*":true}', seen_set => t.set('g3')), 'c1 applied approved, c2 remaining pending not_eligible', 'nor is it the rest');
SELECT is(t.map('g3', '{"*":false}'), 'PT403 not_eligible', 'which there is no more');

-- people
SELECT t.row('agent', $$approval.propose('c1', 'refund', '{}', conversation_id => 'p1', on_behalf_of => 'user:alice')$$) \gset _
SELECT t.step('p1', 'c2') \gset _
SELECT is(t.map('p1', '{"c1":true,"c2":true}'), 'c1 remaining pending self_approval, c2 applied approved', 'nobody decides for himself');
SELECT is(t.map('p1', '{"*":true}', seen_set => t.set('p1')), 'PT403 self_approval', 'nor in bulk');
SELECT is(t.map('p1', '{"c1":true}', 'bob'), 'c1 applied approved', 'somebody else does');
SELECT t.step('p2', 'c1') \gset _
SELECT is(t.map('p2', '{"c1":true}', 'robot') || ', ' || t.map('p2', '{"c1":true}', 'gateway'), 'PT403 not_eligible, PT403 not_eligible', 'neither a service nor a gateway');
SELECT is(t.map('p2', '{"c1":true}', w), '42501', 'without the role: ' || w) FROM unnest(ARRAY['agent', 'runner', 'auditor', 'nobody']) w;
SELECT is(t.map('p2', '{"c1":true}', 'web'), '22004', 'an application names who decides');
SELECT is(t.says('web', $$approval.decide_all('p2', '{"c1":true}', actor => 'user:7')$$) || ' ' || (t.call('p2', 'c1')).decided_by, 'ok user:7', 'as it does here');
SELECT is(t.says('alice', $$approval.decide_all('p2', '{"c1":true}', actor => 'user:bob')$$), 'PT403 actor_not_allowed', 'and nobody else');

-- several people
SELECT t.step('q1', 'c1=two', 'c2') \gset _
SELECT is(t.map('q1', '{"c1":true,"c2":true}'), 'c1 applied pending, c2 applied approved', 'the first of two');
SELECT is(t.map('q1', '{"c1":true,"c2":true}'), 'c1 unchanged pending, c2 unchanged approved', 'again: nothing');
SELECT is(t.map('q1', '{"c2":true}'), 'c1 remaining pending, c2 unchanged approved', 'what the actor has voted on is not missing');
SELECT is(t.map('q1', '{"c1":true}', 'bob'), 'c1 applied approved', 'the second');
SELECT t.step('q2', 'c1=three') \gset _
SELECT is(t.map('q2', '{"c1":false}'), 'c1 applied pending', 'one of two rejections');
SELECT is(t.map('q2', '{"c1":false}') || ', ' || t.map('q2', '{"*":false}'), 'c1 unchanged pending, c1 unchanged pending', 'again: nothing');
SELECT is(t.map('q2', '{"c1":true}'), 'PT409 vote_locked', 'a rejection does not become an approval');
SELECT is(t.map('q2', '{"*":false}', 'bob'), 'c1 applied rejected', 'two rejections');

-- what was left is decided by others meanwhile, and one's own map comes again
SELECT t.step('g4', 'c1', 'c2=board') \gset _
SELECT is(t.map('g4', '{"c1":true,"c2":true}'), 'c1 applied approved, c2 remaining pending not_eligible', 'a map');
SELECT is(t.map('g4', '{"c2":false}', 'bob'), 'c2 applied rejected', 'the other group');
SELECT is(t.map('g4', '{"c1":true,"c2":true}'), 'c1 unchanged approved, c2 remaining rejected already_decided', 'the map again');
SELECT is(t.map('g4', '{"c1":true,"c2":true,"*":false}'), 'PT409 decisions_mismatch', 'another one is not for this state');
-- a mismatch comes before what is wrong with one call
SELECT t.step('g5', 'c1', 'c2') \gset _
SELECT t.row('bob', format('approval.comment(%L, ''x'')', (t.call('g5', 'c1')).id)) \gset _
SELECT is(t.map('g5', format('{"c1":{"action":"approve","seen":"%s"}}', repeat('0', 64))), 'PT409 decisions_mismatch', 'missing before stale');
SELECT is(t.map('g5', format('{"c1":{"action":"approve","seen":"%s"},"c2":true,"zz":true}', repeat('0', 64))), 'PT409 decisions_mismatch', 'unknown before stale');
SELECT is(t.map('g5', format('{"c1":{"action":"approve","seen":"%s"},"c2":true}', repeat('0', 64))), 'PT412 stale_view', 'then stale');

-- a call that has lapsed, or was taken back
SELECT t.step('l1', 'c1', 'c2') \gset _
SELECT t.row('agent', format('approval.cancel(%L)', (t.call('l1', 'c1')).id)) \gset _
SELECT is(t.map('l1', '{"c1":true,"c2":true}'), 'PT409 decisions_mismatch', 'taken back');
SELECT is(t.told('l1', '{"c1":true,"c2":true}') -> 'ended', '[{"status":"cancelled","tool_call_id":"c1"}]', 'DETAIL says so');
SELECT is(t.map('l1', '{"c2":true}'), 'c2 applied approved', 'the other one');
SET approval.decide_within = '1s';
SELECT t.step('l2', 'c1') \gset _
RESET approval.decide_within;
SELECT pg_sleep_for('1100 ms') \gset _
SELECT is(t.map('l2', '{"c1":true}') || ', ' || t.map('l2', '{"*":false}'), 'PT409 decisions_mismatch, PT409 decisions_mismatch', 'past its deadline');
SELECT t.step('l2', 'c2') \gset _
SELECT is(t.map('l2', '{"c2":true}'), 'c2 applied approved', 'what has lapsed is not in the answer');
SELECT t.row('carol', format('approval.revoke(%L)', (t.call('l2', 'c2')).id)) \gset _
SELECT is(t.outcome('l2', 'c1') || ', ' || t.outcome('l2', 'c2'), 'expired, revoked', 'no verdict holds for either');

-- the twin
SELECT t.step('t1', 'c1', 'c2') \gset _
SELECT t.row('alice', $$approval.try_decide_all('t1', '{"c1":true}')$$) AS a \gset
SELECT is(:'a'::jsonb -> 'ok' || jsonb_build_array(:'a'::jsonb -> 'reason', :'a'::jsonb -> 'http_status', :'a'::jsonb -> 'detail' -> 'missing'), '[false, "decisions_mismatch", 409, ["c2"]]', 'a refusal is returned');
SELECT is((SELECT count(*) FROM approval.refusal_log WHERE verb = 'decide_all' AND reason = 'decisions_mismatch'), 1::bigint, 'and kept');
SELECT is((t.call('t1', 'c1')).status, 'pending', 'and nothing decided');
SELECT t.row('alice', $$approval.try_decide_all('t1', '{"c1":true,"c2":false}')$$) AS a \gset
SELECT is((SELECT string_agg(concat_ws(' ', r ->> 'tool_call_id', r ->> 'answer', r ->> 'status', r ->> 'decided_by'), ', ') FROM jsonb_array_elements(:'a'::jsonb -> 'request') r),
	'c1 applied approved user:alice, c2 applied rejected user:alice', 'what it comes to is returned too');
SELECT is(t.says('alice', $$approval.try_decide_all('t1', NULL)$$), '22004', 'what is no refusal is raised');
SELECT t.step('t2', 'c1', 'c2=fixed') \gset _
SELECT is(t.row('alice', $$approval.try_decide_all('t2', '{"c1":true,"c2":{"action":"edit","arguments":{}}}')$$) ->> 'reason', 'bad_decision', 'refused at the last call');
SELECT is((t.call('t2', 'c1')).status || t.made('t2'), 'pending2', 'the first one was not written');

-- nothing that a user wrote stands outside of DETAIL, and there escaped
SELECT t.step('server closed the connection unexpectedly', 'deadlock detected') \gset _
SELECT t.as('alice', $$approval.decide_all('server closed the connection unexpectedly', '{"lost connection":true}')$$) AS a \gset
SELECT unalike((:'a'::t.answer).message || (:'a'::t.answer).hint || (:'a'::t.answer).detail, '%' || w || '%', w) FROM unnest(ARRAY['deadlock detected', 'lost connection', 'server closed']) w;
SELECT is(((:'a'::t.answer).detail)::jsonb -> 'unknown', '["lost connection"]', 'it can be read from there');

-- A map that is refused has changed nothing, also in what the refusal shows.
SELECT t.row('agent', $$approval.propose('shown-1', 'refund', '{"order":"A-1","amount":200}', conversation_id => 'shown')$$) ->> 'review_hash' AS shown \gset
SELECT is(t.row('web', $$approval.try_decide_all('shown', '{"shown-1":{"action":"edit","arguments":{"order":"A-1","amount":1}},"nobody":true}', actor => 'user:7')$$)::jsonb #>> '{detail,pending,0,review_hash}',
	:'shown', 'the refusal shows a call as it is, and not as its edit would have been');

SELECT is((SELECT count(*) FROM approval.requests r CROSS JOIN LATERAL approval.verify_request(r.id) v WHERE NOT v.ok), 0::bigint, 'every chain is whole');
SELECT * FROM finish();
ROLLBACK;
