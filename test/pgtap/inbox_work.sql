-- Working an inbox: claims, assignees, remarks, more time, selections, pages
-- and how people review.
\set ns inbox_work
\ir include/gate.psql
SELECT no_plan();
DO $$
BEGIN
	PERFORM approval.register_login(t.login('auditor'), 'person', 'user:auditor', '{*}');
	PERFORM approval.register_tool('fixed', 'action', '{"edits":"none"}');
	PERFORM approval.register_tool('two', 'action', '{"approvals_needed":2}');
	PERFORM approval.register_tool('sized', 'action', '{"default_mode":"review","rules":[{"condition":"$.amount > 100","mode":"review","approvals_needed":2}]}');
	PERFORM approval.register_tool('board', 'action', '{"reviewer_group":"board","risk":"critical"}');
	PERFORM approval.register_tool('panel', 'action', '{"reviewers":{"board":1,"legal":1},"risk":"low"}');
	PERFORM approval.add_member(g, 'user:bob') FROM unnest('{board,legal}'::text[]) g;
END
$$;
CREATE FUNCTION t.kinds(request approval.ulid) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(e.kind, ' ' ORDER BY e.n) FROM approval.events e WHERE e.request_id = request);
CREATE FUNCTION t.who_has(request approval.ulid) RETURNS text LANGUAGE sql
RETURN (SELECT r ->> 'claimed_by' FROM jsonb_array_elements((t.as('bob', 'approval.inbox')).rows) r WHERE r ->> 'id' = request::text);

-- claim, release
SELECT t.proposed() AS i \gset
SELECT is(t.row('alice', format('approval.claim(%L)', :'i')) ->> 'claimed_by', 'user:alice', 'a claim');
SELECT is(t.who_has(:'i'), 'user:alice', 'shows in the inbox');
SELECT is(t.says('bob', format('approval.claim(%L)', :'i')), 'PT423 claimed', 'and keeps others from claiming');
SELECT is(t.detail('bob', format('approval.claim(%L)', :'i')) ->> 'claimed_by', 'user:alice', 'who are told whose it is');
SELECT isnt(t.detail('bob', format('approval.claim(%L)', :'i')) ->> 'claimed_until', NULL, 'and how long it holds');
SELECT is(t.says('bob', format('approval.release(%L)', :'i')), 'PT423 claimed', 'it is not theirs to release');
SELECT (t.stored(:'i')).claimed_until AS before \gset
SELECT is(t.says('alice', format('approval.claim(%L, lease => ''2 hours'')', :'i')) || ' ' || t.kinds(:'i'), 'ok proposed claimed', 'renewing it makes no event');
SELECT cmp_ok((t.stored(:'i')).claimed_until, '>', :'before'::timestamptz + interval '1 hour', 'and it holds longer');
SELECT is(t.says('alice', format('approval.release(%L)', :'i')) || t.says('alice', format('approval.release(%L)', :'i')) || ' ' || t.kinds(:'i'), 'okok proposed claimed released', 'released, once');
SELECT is(t.who_has(:'i'), NULL, 'nobody has it');
SELECT is(t.says('bob', format('approval.claim(%L, lease => ''1 second'')', :'i')), 'ok', 'somebody else may');
SELECT is(t.says('alice', format('approval.decide(%L, ''approve'', %L)', :'i', t.seen(:'i'))), 'ok', 'a claim never stands in the way of a decision');
SELECT is(t.says('alice', format('approval.claim(%L)', :'i')) || ', ' || t.says('alice', format('approval.release(%L)', :'i')), 'PT409 already_decided, PT423 claimed', 'what is decided is not claimed');
SELECT pg_sleep_for('1100 ms') \gset _
SELECT is(t.says('alice', format('approval.release(%L)', :'i')), 'ok', 'a claim that has run out is none');
SELECT t.proposed() AS i \gset
SELECT is(t.says('bob', format('approval.claim(%L, lease => ''1 second'')', :'i')), 'ok', 'bob');
SELECT pg_sleep_for('1100 ms') \gset _
SELECT is(t.who_has(:'i') , NULL, 'has it no longer');
SELECT is(t.says('alice', format('approval.claim(%L)', :'i')) || ' ' || t.kinds(:'i'), 'ok proposed claimed claimed', 'alice takes it over');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');
SELECT is(t.says(w, format('approval.claim(%L)', t.proposed())), a, 'claimed by ' || w) FROM (VALUES ('agent', '42501'), ('runner', '42501'), ('auditor', '42501'), ('robot', 'PT403 not_eligible'), ('gateway', 'PT403 not_eligible'), ('web', '22004')) AS v(w, a);
SELECT is(t.says('alice', format('approval.claim(%L)', t.proposed($$on_behalf_of => 'user:alice'$$))), 'PT403 self_approval', 'who cannot decide cannot claim');
SELECT is(t.says('alice', format('approval.claim(%L)', (t.row('agent', $$approval.propose('b1', 'board', '{}')$$) ->> 'id'))), 'PT403 not_eligible', 'nor who is not of the group');
SELECT is(t.says('alice', format('approval.claim(%L, lease => %L)', t.proposed(), l)), '22023', 'lease ' || l) FROM unnest(ARRAY['0', '-1 second', '2 days', '0.5 seconds']) l;
SELECT is(t.says('alice', format('approval.claim(%L)', t.request(s))), a, 'claim: ' || s) FROM (VALUES ('approved', 'PT409 already_decided'), ('rejected', 'PT409 already_decided'), ('cancelled', 'PT409 already_decided'),
	('succeeded', 'PT409 already_decided'), ('unknown', 'ok')) AS v(s, a);

-- assign
SELECT t.proposed($$assignee => 'user:bob'$$) AS i \gset
SELECT is(t.row('alice', format('approval.assign(%L, ''user:carol'')', :'i')) ->> 'assignee', 'user:carol', 'assigned');
SELECT is((SELECT note || ' ' || actor FROM approval.events WHERE request_id = :'i' AND kind = 'assigned'), 'user:carol user:alice', 'the event says to whom, and by whom');
SELECT is(t.says('alice', format('approval.assign(%L, ''user:carol'')', :'i')) || t.events(:'i'), 'ok2', 'again: nothing');
SELECT is(t.row('alice', format('approval.assign(%L)', :'i')) ->> 'assignee', NULL, 'to nobody');
SELECT is(t.says('alice', format('approval.assign(%L, '''')', :'i')), '22023', 'nobody has the empty name');
SELECT is(t.says('bob', format('approval.decide(%L, ''approve'', %L)', :'i', t.seen(:'i'))), 'ok', 'anybody else decides');
SELECT is(t.says('alice', format('approval.assign(%L, ''user:bob'')', :'i')), 'PT409 already_decided', 'what is decided is not assigned');
SELECT is(t.says('alice', format('approval.decide(%L, ''approve'', %L)', i, t.seen(i))), 'PT403 self_approval', 'nor does an assignment make anybody eligible')
  FROM (SELECT (t.row('bob', format('approval.assign(%L, ''user:alice'')', t.proposed($$on_behalf_of => 'user:alice'$$))) ->> 'id')::approval.ulid AS i) s;

-- comment
SELECT t.request('succeeded') AS i \gset
SELECT is(t.says('bob', format('approval.comment(%L, ''Looks fine.'')', :'i')), 'ok', 'a remark, in any state');
SELECT is((SELECT r ->> 'note' FROM jsonb_array_elements((t.as('auditor', 'approval.audit')).rows) r WHERE r ->> 'kind' = 'commented' AND r ->> 'request_id' = :'i'), 'Looks fine.', 'in the trail');
SELECT is((SELECT status_before || status_after || outcome_before || outcome_after FROM approval.events WHERE request_id = :'i' AND kind = 'commented'), 'consumedconsumedsucceededsucceeded', 'which says that nothing moved');
SELECT is(t.says('agent', format('approval.comment(%L, ''The customer wrote again.'')', :'i')), 'ok', 'the requester too');
SELECT is(t.says('agent2', format('approval.comment(%L, ''x'')', :'i')), 'PT404 not_found', 'on its own only');
SELECT is(t.says('alice', format('approval.comment(%L, %L)', :'i', n)), '22023', 'no remark') FROM unnest(ARRAY['', repeat('x', 65537)]) n;
SELECT count(t.says('agent', format('approval.comment(%L, ''%s'')', :'i', n))) FROM generate_series(1, 100) n \gset _
SELECT is(t.says('agent', format('approval.comment(%L, ''x'')', :'i')) || t.events(:'i'), 'PT429 quota100', 'remarks of an agent are limited');
SELECT is(t.says('bob', format('approval.comment(%L, ''x'')', :'i')), 'ok', 'those of reviewers are not');
SELECT is(t.says('alice', format('approval.comment(%L, ''x'')', t.request('stale'))), 'ok', 'also on an approval that is about to lapse');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');

-- extend
SELECT t.proposed() AS i \gset
SELECT (t.stored(:'i')).expires_at AS before \gset
SELECT is(t.says('alice', format('approval.extend(%L, ''3 days'', note => ''holiday'')', :'i')) || ' ' || t.kinds(:'i'), 'ok proposed extended', 'more time');
SELECT cmp_ok((t.stored(:'i')).expires_at, '>', clock_timestamp() + interval '71 hours', 'from now on');
SELECT is(t.says('alice', format('approval.extend(%L, ''2 days'')', :'i')) || t.events(:'i'), 'ok2', 'never less');
SELECT is(t.says('alice', format('approval.extend(%L, ''3 days'', note => ''holiday'')', :'i')) || t.events(:'i'), 'ok2', 'nor a moment more, for a retry');
SELECT is(t.says('alice', format('approval.extend(%L, %L)', :'i', e)), a, 'extend by ' || coalesce(e, 'null')) FROM (VALUES (NULL, '22004'), ('0', '22023'), ('-1 day', '22023'), ('31 days', '22023'), ('30 days', 'PT412 stale_state')) AS v(e, a);
SELECT isnt(t.detail('alice', format('approval.extend(%L, ''30 days'')', :'i')) ->> 'latest', NULL, 'DETAIL says how far');
SELECT is(t.says(w, format('approval.extend(%L, ''4 days'')', :'i')), a, 'extended by ' || w) FROM (VALUES ('agent', '42501'), ('robot', 'PT403 not_eligible')) AS v(w, a);
SELECT is(t.says('alice', format('approval.extend(%L, ''2 days'')', t.proposed($$on_behalf_of => 'user:alice'$$))), 'PT403 self_approval', 'nobody gives himself more time');
SELECT is(t.says('alice', format('approval.extend(%L, ''2 days'')', t.request(s))), 'PT409 already_decided', 'extend: ' || s) FROM unnest(ARRAY['approved', 'rejected', 'unknown']) s;
SELECT ok((approval.verify_request(:'i')).ok, 'whole');

-- what has lapsed
SELECT t.request('late') AS i \gset
SELECT pg_sleep_for('1100 ms') \gset _
SELECT is(t.says('alice', format(c, :'i')), 'PT410 expired', 'past the deadline: ' || c) FROM unnest(ARRAY['approval.claim(%L)', 'approval.assign(%L, ''x'')', 'approval.extend(%L, ''1 day'')']) c;
SELECT is(t.says('alice', format('approval.comment(%L, ''Too late.'')', :'i')) || (t.stored(:'i')).status, 'okpending', 'a remark does not put it away');
SELECT ok((approval.verify_request(:'i')).ok, 'whole');

-- a selection
CREATE FUNCTION t.item(i approval.ulid, verdict text, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql
RETURN jsonb_build_object('id', i, 'seen', t.seen(i), 'verdict', verdict) || more;
CREATE FUNCTION t.many(verb text, list jsonb, who text DEFAULT 'alice') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a t.answer := t.as(who, format('approval.%s(%L)', verb, list));
BEGIN
	IF a.code LIKE 'PT%' THEN
		RETURN a.code || ' ' || (a.detail::json ->> 'reason');
	ELSIF a.code <> '00000' THEN
		RETURN a.code;
	END IF;
	RETURN (SELECT string_agg(concat_ws(' ', r ->> 'answer', r ->> 'status', r ->> 'reason', nullif(r ->> 'http_status', '200'), r -> 'detail' ->> 'decided_by'), ', ' ORDER BY n)
			  FROM jsonb_array_elements(a.rows) WITH ORDINALITY AS x(r, n));
END
$$;
SELECT t.proposed() AS a, t.proposed() AS b, t.proposed() AS c \gset
SELECT is(t.many('decide_many', jsonb_build_array(t.item(:'c', 'approve'), t.item(:'a', 'approve', '{"note":"first"}'), t.item(:'b', 'reject', '{"result":"No."}'))), 'applied approved, applied rejected, applied approved', 'a selection, in the order of ids');
SELECT is((t.stored(:'b')).denial || (SELECT note FROM approval.decisions WHERE request_id = :'a'), 'No.first', 'each with what belongs to it');
SELECT is(t.many('decide_many', jsonb_build_array(t.item(:'c', 'approve'), t.item(:'a', 'approve', '{"note":"first"}'), t.item(:'b', 'reject', '{"result":"No."}'))), 'unchanged approved, unchanged rejected, unchanged approved', 'again: nothing');
SELECT is(t.many('decide_many', jsonb_build_array(t.item(t.proposed(), 'approve'), t.item(:'a', 'approve')), 'bob'), 'PT409 already_decided', 'one is too late');
SELECT is((SELECT count(*) FROM approval.requests WHERE decided_by = 'user:bob' AND NOT id IN (SELECT request_id FROM approval.events WHERE kind IN ('consumed', 'completed'))
	AND id > :'c'), 0::bigint, 'and then none is decided');
SELECT t.proposed() AS d, t.proposed() AS e \gset
SELECT is(t.many('try_decide_many', jsonb_build_array(t.item(:'d', 'approve'), t.item(:'a', 'reject'), t.item(:'e', 'edit', '{"arguments":{"amount":1}}')), 'bob'), 'refused approved already_decided 409 user:alice, applied approved, applied approved', 'the twin decides what it can, and says who won');
SELECT is((t.stored(:'e')).arguments::text, '{"amount":1}', 'edits too');
SELECT is((SELECT count(*) FROM approval.refusal_log WHERE verb = 'decide_many' AND request_id = :'a'), 1::bigint, 'refusals are kept');
SELECT is(t.many('try_decide_many', jsonb_build_array(jsonb_build_object('id', approval.new_ulid(), 'seen', repeat('0', 64), 'verdict', 'approve'), t.item(t.proposed(), 'approve') || jsonb_build_object('seen', repeat('0', 64)))), 'refused not_found 404, refused pending stale_view 412', 'what is not there, and what was not seen');
SELECT t.proposed() AS d \gset
SELECT is(t.many('try_decide_many', jsonb_build_array(t.item(:'d', 'edit', '{"arguments":{"amount":7}}'), t.item((t.row('agent', $$approval.propose('f1', 'fixed', '{}')$$) ->> 'id')::approval.ulid, 'edit', '{"arguments":{"x":1}}')), 'alice'), 'PT422 bad_decision', 'several edits are of one tool too');

-- in bulk: one tool, not too many, and never where two people are needed
SELECT (t.row('agent', format('approval.propose(%L, %L, ''{"amount":1}'')', 'k_' || n, tool)) ->> 'id')::approval.ulid AS i, n, tool INTO t.bulk FROM generate_series(1, 60) n, unnest('{sized}'::text[]) tool;
SELECT is(t.many('decide_many', (SELECT jsonb_agg(t.item(i, 'approve')) FROM t.bulk WHERE n <= 51)), 'PT422 bad_decision', '51 at a time');
SELECT is(t.many('decide_many', jsonb_build_array(t.item(i, 'approve'), t.item(t.proposed(), 'approve'))), 'PT422 bad_decision', 'two tools') FROM t.bulk WHERE n = 1;
SELECT is(t.many('decide_many', jsonb_build_array(t.item(i, 'approve'), t.item(t.proposed(), 'reject'))), 'applied approved, applied rejected', 'a rejection is of any tool') FROM t.bulk WHERE n = 51;
SELECT is(t.many('decide_many', jsonb_build_array(t.item(i, 'approve'), t.item((t.row('agent', $$approval.propose('k', 'sized', '{"amount":101}')$$) ->> 'id')::approval.ulid, 'approve'))), 'PT422 bad_decision', 'what needs two people') FROM t.bulk WHERE n = 1;
SELECT (t.row('agent', $$approval.propose('k2', 'sized', '{"amount":101}')$$) ->> 'id')::approval.ulid AS k \gset
SELECT is(t.many('try_decide_many', jsonb_build_array(t.item(i, 'approve'), t.item(:'k', 'approve'))), 'applied approved, refused pending bad_decision 422', 'is left out by the twin') FROM t.bulk WHERE n = 52;
SELECT is(t.many('try_decide_many', jsonb_build_array(t.item(i, 'edit', '{"arguments":{"amount":5000}}'), t.item((SELECT i FROM t.bulk WHERE n = 54), 'approve'))), 'refused pending bad_decision 422, applied approved', 'also if an edit makes it so') FROM t.bulk WHERE n = 53;
SELECT is((t.stored(i)).arguments::text, '{"amount":1}', 'which is not stored then') FROM t.bulk WHERE n = 53;
SELECT is(t.many('decide_many', jsonb_build_array(t.item(:'k', 'approve'))), 'applied pending', 'by itself it gets its vote');
SELECT is((SELECT count(*) FROM regexp_matches(t.many('decide_many', (SELECT jsonb_agg(t.item(i, 'approve')) FROM t.bulk WHERE n <= 50)), 'applied approved', 'g')), 50::bigint, 'fifty of one tool');
SELECT is(t.many('try_decide_many', (SELECT jsonb_agg(t.item(i, 'approve')) FROM t.bulk WHERE n <= 51), 'bob'), 'PT422 bad_decision', 'too many for the twin as well');

-- what is no selection
SELECT is(t.says('alice', format('approval.%s(%L)', v, d)), a, v || ': ' || left(coalesce(d, 'null'), 60)) FROM unnest(ARRAY['decide_many', 'try_decide_many']) v, (VALUES
	(NULL, '22004'), ('[]', 'PT422 bad_decision'), ('{}', 'PT422 bad_decision'), ('[1]', 'PT422 bad_decision'), ('[[]]', 'PT422 bad_decision'), ('[null]', 'PT422 bad_decision'), ('1', 'PT422 bad_decision'),
	('[{}]', 'PT422 bad_decision'), ('[{"id":"x","seen":"","verdict":"approve"}]', 'PT422 bad_decision'), ('[{"id":"01M8R133M933FDK6ARYC29KGZ6","verdict":"approve"}]', 'PT422 bad_decision'),
	(format('[{"id":"01M8R133M933FDK6ARYC29KGZ6","seen":"%s"}]', repeat('0', 64)), 'PT422 bad_decision'),
	(format('[{"id":"01M8R133M933FDK6ARYC29KGZ6","seen":"%s","verdict":"approve","extra":1}]', repeat('0', 64)), 'PT422 bad_decision'),
	(format('[{"id":"01M8R133M933FDK6ARYC29KGZ6","seen":"%1$s","verdict":"reject"},{"id":"01m8r133m933fdk6aryc29kgz6","seen":"%1$s","verdict":"approve"}]', repeat('0', 64)), 'PT422 bad_decision'),
	(format('[{"id":"01M8R133M933FDK6ARYC29KGZ6","seen":"%s","verdict":"approve","seen":""}]', repeat('0', 64)), 'PT422 not_canonical')) AS x(d, a);

-- pages: the rows of the view, in its order, each once
CREATE FUNCTION t.walk(filters text, n int, who text DEFAULT 'alice') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	after text;
	page jsonb;
	pages jsonb := '[]';
BEGIN
	LOOP
		page := (t.as(who, format('approval.inbox_page(%L, %L, %s)', filters, after, n))).rows;
		EXIT WHEN page IS NULL;
		pages := pages || page;
		after := page -> -1 ->> 'sort_key';
	END LOOP;
	RETURN pages;
END
$$;
SELECT count(t.row('agent', format('approval.propose(%L, %L, ''{"amount":1}'', conversation_id => %L, server => %L, assignee => %L, preview => %L)', 'w_' || n, (ARRAY['refund', 'two', 'board', 'panel'])[n % 4 + 1],
	'conv ' || n % 3, CASE WHEN n % 5 = 0 THEN 'pay' ELSE '' END, CASE WHEN n % 3 = 0 THEN 'user:bob' END, CASE WHEN n % 7 = 0 THEN '{"before":{"a":1},"after":{"a":2}}' END))) AS n FROM generate_series(1, 40) n \gset
SELECT t.request('unknown') AS u, t.request('lost') AS l \gset
SELECT count(t.says('bob', format('approval.claim(%L)', i))) FROM (SELECT id AS i FROM approval.requests WHERE status = 'pending' ORDER BY id DESC LIMIT 5) s \gset _
CREATE FUNCTION t.view(condition text DEFAULT 'true', who text DEFAULT 'alice') RETURNS jsonb LANGUAGE sql
RETURN coalesce((t.as(who, format('(SELECT * FROM approval.inbox WHERE %s ORDER BY sort_key)', condition))).rows, '[]');
SELECT is(jsonb_array_length(t.view()) > 45, true, 'an inbox');
SELECT is(t.walk('{}', n), t.view(), 'in pages of ' || n) FROM unnest(ARRAY[1, 7, 50, 1000]) n;
SELECT is(t.walk(filters, 3), t.view(condition), filters) FROM (VALUES
	('{"tool":"board"}', $$tool = 'board'$$), ('{"tool":["board","two"]}', $$tool IN ('board', 'two')$$), ('{"tool":"none"}', 'false'), ('{"tool":null}', 'true'), ('{"tool":[]}', 'true'),
	('{"risk":"critical"}', $$risk = 'critical'$$), ('{"risk":["low","high"]}', $$risk IN ('low', 'high')$$), ('{"assignee":"user:bob"}', $$assignee = 'user:bob'$$),
	('{"assignee":["user:bob","user:x"]}', $$assignee = 'user:bob'$$), ('{"reviewer_group":"board"}', $$reviewer_group = 'board' OR reviewers::jsonb ? 'board'$$), ('{"reviewer_group":"legal"}', $$reviewers::jsonb ? 'legal'$$),
	('{"server":"pay"}', $$server = 'pay'$$), ('{"claimed_by":"user:bob"}', $$claimed_by = 'user:bob'$$), ('{"conversation_id":"conv 1"}', $$conversation_id = 'conv 1'$$),
	('{"status":"pending"}', $$status = 'pending'$$), ('{"status":"unknown"}', $$outcome = 'unknown'$$), ('{"status":["unknown","expired"]}', $$outcome = 'unknown' OR status = 'expired'$$), ('{"status":"expired"}', $$status = 'expired'$$),
	('{"tenant":""}', 'true'), ('{"tenant":["",""]}', 'true'), ('{"server":""}', $$server = ''$$), ('{"tool":"two","assignee":"user:bob","status":"pending"}', $$tool = 'two' AND assignee = 'user:bob'$$), ('{"reviewer_group":"board","tool":"panel","risk":"low"}', $$tool = 'panel' AND risk = 'low'$$),
	('{"older_than":"1 hour"}', 'false'), ('{"newer_than":"1 hour"}', 'true'), ('{"newer_than":3600,"tool":"board"}', $$tool = 'board'$$), ('{"assignee":"user:bob","status":"unknown"}', 'false')) AS v(filters, condition);
SELECT isnt(t.view($$outcome = 'unknown'$$), '[]', 'there are unknown outcomes') UNION ALL SELECT isnt(t.view($$status = 'expired'$$), '[]', 'and what is past its deadline') UNION ALL SELECT isnt(t.view($$claimed_by = 'user:bob'$$), '[]', 'and claims')
	UNION ALL SELECT isnt(t.view($$diff IS NOT NULL$$), '[]', 'and diffs');
SELECT is(t.says('alice', format('approval.inbox_page(%L)', f)), '22023', 'filters ' || f) FROM unnest(ARRAY['[1]', '1', 'null', '"x"', '{"x":1}', '{"tool":1}', '{"tool":""}', '{"assignee":[""]}', '{"tool":[1]}', '{"status":"approved"}', '{"status":["pending","x"]}', '{"older_than":"soon"}', '{"older_than":-1}', '{"tool":{"a":1}}', '{"tool":"x\u0000"}', '{"tool":"a","tool":"b"}']) f;
SELECT is(t.detail('alice', $$approval.inbox_page('{"status":"approved"}')$$) ->> 'place', '$.status', 'DETAIL names the place');
SELECT is(t.says('alice', c), a, c) FROM (VALUES ($$approval.inbox_page('{}', 'x')$$, '22023'), ($$approval.inbox_page('{}', '')$$, 'ok'), ($$approval.inbox_page(NULL, NULL, NULL)$$, 'ok'), ($$approval.inbox_page('[]')$$, 'ok'),
	($$approval.inbox_page(max_rows => 0)$$, '22023'), ($$approval.inbox_page(max_rows => 1001)$$, '22023'), ($$approval.inbox_page('{"tenant":"acme"}')$$, '42501')) AS v(c, a);
SELECT is(t.says(w, 'approval.inbox_page()'), a, 'read by ' || w) FROM (VALUES ('agent', '42501'), ('runner', '42501'), ('nobody', '42501'), ('auditor', 'ok'), ('admin', 'ok')) AS v(w, a);
SELECT approval.register_login(t.login('agent2'), 'service', 'agent:mails', '{"",acme,globex}') \gset _
SELECT count(t.row('agent2', format('approval.propose(%L, ''refund'', ''{}'', tenant => %L)', 'x_' || n, (ARRAY['acme', 'globex', ''])[n % 3 + 1]))) FROM generate_series(1, 12) n \gset _
SELECT is(t.walk('{}', 5, 'auditor'), t.view(who => 'auditor'), 'over all tenants');
SELECT is(t.walk('{"tenant":["acme","acme"]}', n, 'auditor'), t.view($$tenant = 'acme'$$, 'auditor'), 'a tenant twice, ' || n) FROM unnest(ARRAY[1, 2, 50]) n;
SELECT approval.register_login(t.login('bob'), 'person', 'user:bob', '{acme,"",acme}') \gset _
SELECT is(t.walk('{}', n, 'bob'), t.view(who => 'bob'), 'a login that has it twice, ' || n) FROM unnest(ARRAY[1, 2, 50]) n;
SELECT is((SELECT string_agg(DISTINCT r ->> 'tenant', ',') FROM jsonb_array_elements(t.walk('{"tenant":["acme","globex"]}', 5, 'auditor')) r), 'acme,globex', 'of some tenants');
SELECT is((SELECT count(*) FROM jsonb_array_elements(t.walk('{}', 5)) r WHERE r ->> 'tenant' <> ''), 0::bigint, 'nobody sees another tenant''s');

-- how people review
SELECT is((SELECT concat_ws(' ', r ->> 'never_rejects', (r ->> 'approvals')::int + (r ->> 'rejections')::int = (r ->> 'decisions')::int, (r ->> 'within_2s')::int > 50, (r ->> 'longest_streak')::int >= 50, r ->> 'current_streak' <= r ->> 'longest_streak')
	FROM jsonb_array_elements((t.as('auditor', 'approval.reviewer_stats')).rows) r WHERE r ->> 'actor' = 'user:alice' AND r ->> 'tenant' = ''), 'false t t t t', 'many in no time');
CREATE FUNCTION t.age(i approval.ulid, proposed interval, decided interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('session_replication_role', 'replica', true);
	UPDATE approval.events SET at = clock_timestamp() - proposed WHERE request_id = i AND kind = 'proposed';
	UPDATE approval.decisions SET at = clock_timestamp() - decided WHERE request_id = i;
	UPDATE approval.requests SET proposed_at = clock_timestamp() - proposed, decided_at = clock_timestamp() - decided WHERE id = i;
	PERFORM set_config('session_replication_role', 'origin', true);
END
$$;
SELECT (t.row('agent', format('approval.propose(%L, ''slow'', ''{}'')', 's_' || n)) ->> 'id')::approval.ulid AS i, n INTO t.slow FROM generate_series(1, 5) n;
SELECT count(t.row('web', format('approval.decide(%L, %L, %L, actor => ''user:wendy'')', i, CASE WHEN n = 3 THEN 'reject' ELSE 'approve' END, t.seen(i)))) FROM (SELECT * FROM t.slow ORDER BY n) s \gset _
SELECT count(t.age(i, interval '1 hour', interval '59 minutes' - n * interval '1 minute')::text) FROM t.slow \gset _
SELECT is((SELECT r - '{first_at,last_at,median_look,tenant}'::text[] FROM jsonb_array_elements((t.as('auditor', 'approval.reviewer_stats')).rows) r WHERE r ->> 'actor' = 'user:wendy'),
	'{"actor":"user:wendy","edits":0,"approvals":4,"decisions":5,"within_2s":0,"rejections":1,"never_rejects":false,"longest_streak":2,"current_streak":2,"within_2s_of_last":0}', 'one who looks');
SELECT is((SELECT concat_ws(' ', r ->> 'decided', r ->> 'approved', r ->> 'rejected', date_trunc('minute', (r ->> 'median_time')::interval), date_trunc('minute', (r ->> 'longest_time')::interval), r ->> 'pending')
	FROM jsonb_array_elements((t.as('auditor', 'approval.review_times')).rows) r WHERE r ->> 'tool' = 'slow'), '5 4 1 00:04:00 00:06:00 0', 'time to decision of a tool');
SELECT is((SELECT count(*) FROM jsonb_array_elements((t.as('auditor', 'approval.review_times')).rows) r WHERE r ->> 'reviewers' = '{"board":1,"legal":1}' AND r ->> 'tool' = 'panel'), 1::bigint, 'and of a group');
SELECT is(t.says(w, 'approval.reviewer_stats') || t.says(w, 'approval.review_times'), a, w) FROM (VALUES ('agent', '4250142501'), ('alice', 'okok')) AS v(w, a);

SELECT is((SELECT count(*) FROM approval.requests r CROSS JOIN LATERAL approval.verify_request(r.id) v WHERE r.tenant = '' AND NOT v.ok AND r.tool <> 'slow'), 0::bigint, 'every chain is whole');
SELECT * FROM finish();
ROLLBACK;
