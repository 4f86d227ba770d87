-- Budgets of automatic approval: how much, for whom, and what gives it back.
\set ns budgets
\ir include/gate.psql
SELECT no_plan();
SET approval.turn_wait = 0;

SELECT t.row('admin', $$approval.register_tool('pay', 'action', '{"default_mode":"auto","expects":{"note":"string"},"rules":[
	{"condition":"$.amount > 1000","mode":"review"},{"mode":"auto"}],
	"budgets":[{"name":"day","amount":"$.amount","key":"$.customer","limit":1000,"ceiling":2500,"within":"1 day"}]}')$$);

-- "auto rule", "review budget_exceeded", ...
CREATE FUNCTION t.pay(amount text, customer text DEFAULT '"c1"', tool text DEFAULT 'pay', who text DEFAULT 'agent') RETURNS approval.ulid LANGUAGE sql
RETURN (t.row(who, format('approval.propose(%L, %L, %L)', 'pay_' || nextval('t.calls'), tool,
			format('{"note":"x","amount":%s,"customer":%s}', amount, customer))) ->> 'id')::approval.ulid;
CREATE FUNCTION t.mode(i approval.ulid) RETURNS text LANGUAGE sql
RETURN (SELECT r.mode || ' ' || r.gate_reason FROM approval.requests r WHERE r.id = i);
CREATE FUNCTION t.try(amount text, customer text DEFAULT '"c1"', tool text DEFAULT 'pay', who text DEFAULT 'agent') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN t.mode(t.pay(amount, customer, tool, who));
END
$$;
-- forgets what was spent, for the next part
CREATE FUNCTION t.fresh() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL session_replication_role = replica;
	DELETE FROM approval.budget_entries;
	SET LOCAL session_replication_role = origin;
END
$$;
CREATE FUNCTION t.age(i approval.ulid, by interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL session_replication_role = replica;
	UPDATE approval.budget_entries SET at = at - by WHERE request_id = i;
	SET LOCAL session_replication_role = origin;
END
$$;

-- the limit to the last unit
SELECT is(t.try('400'), 'auto rule', '400');
SELECT is(t.try('599.99'), 'auto rule', 'and 599.99');
SELECT is(t.try('0.02'), 'review budget_exceeded', 'a hundredth too much goes to a person');
SELECT is(t.try('0.01'), 'auto rule', 'the last hundredth fits');
SELECT is(t.try('0.01'), 'review budget_exceeded', 'then nothing');
SELECT is(t.try('0'), 'auto rule', 'but nothing at all');
SELECT is((SELECT sum(amount) FROM approval.budget_entries), 1000.00, 'exactly the limit is reserved');
SELECT is(t.row('agent', $$approval.propose('kept', 'pay', '{"note":"x","amount":5,"customer":"c1"}')$$) ->> 'rule', '2', 'the rule that would have approved stands beside the reason');
SELECT t.fresh();

-- one large refund in many small ones
SELECT is((SELECT string_agg(t.try('90'), ',' ORDER BY n) FROM generate_series(1, 12) n),
	repeat('auto rule,', 11) || 'review budget_exceeded', 'splitting ends with a person');
SELECT t.fresh();
SELECT is((SELECT string_agg(DISTINCT t.try('0.1'), ',') FROM generate_series(1, 30) n), 'auto rule', 'thirty times 0.1');
SELECT is((SELECT sum(amount) FROM approval.budget_entries)::text, '3.0', 'are 3, without an error of floating point');
SELECT t.fresh();

-- keys
SELECT is(t.try('1000', '"c1"'), 'auto rule', 'one customer');
SELECT is(t.try('1000', '"c2"'), 'auto rule', 'another one');
SELECT is(t.try('501', '"c3"'), 'review budget_exceeded', 'the ceiling is for all of them');
SELECT is(t.try('500', '"c3"'), 'auto rule', 'up to its last unit');
SELECT is(t.try('1', '"c4"'), 'review budget_exceeded', 'and no customer more');
SELECT t.fresh();
SELECT is(t.try('800', '42'), 'auto rule', 'a key that is a number');
SELECT is(t.try('800', '"42"'), 'review budget_exceeded', 'is the same key as a string');
SELECT is(t.try('800', '42.0'), 'review budget_exceeded', 'however it is written');
SELECT is(t.try('800', '4.2e1'), 'review budget_exceeded', 'even so');
SELECT t.fresh();

-- what is no amount, or no key
SELECT t.row('admin', $$approval.register_tool('loose', 'action', '{"default_mode":"auto",
	"budgets":[{"name":"day","amount":"$.amount","key":"$.customer","limit":1000,"ceiling":2500,"within":"1 day"}]}')$$);
SELECT is(t.try(amount, customer, 'loose'), 'review budget_unusable', format('%s for %s', amount, customer))
  FROM (VALUES ('-1', '"c1"'), ('"5"', '"c1"'), ('null', '"c1"'), ('[5]', '"c1"'), ('{}', '"c1"'), ('true', '"c1"'),
			   ('5', 'null'), ('5', '""'), ('5', '["c1"]'), ('5', '{"id":"c1"}'), ('5', 'true')) AS v(amount, customer);
SELECT is(t.row('agent', $$approval.propose('no_amount', 'loose', '{"note":"x","customer":"c1"}')$$) ->> 'gate_reason', 'budget_unusable', 'no amount at all');
SELECT is(t.row('agent', $$approval.propose('no_key', 'loose', '{"amount":1}')$$) ->> 'gate_reason', 'budget_unusable', 'no key');
SELECT is((SELECT count(*) FROM approval.budget_entries), 0::bigint, 'none of them takes anything');

-- the window slides
SELECT t.pay('1000') AS old \gset
SELECT is(t.try('1'), 'review budget_exceeded', 'spent');
SELECT t.age(:'old', '23 hours 59 minutes');
SELECT is(t.try('1'), 'review budget_exceeded', 'a minute before the window has passed');
SELECT t.age(:'old', '2 minutes');
SELECT is(t.try('1000'), 'auto rule', 'a minute after');
SELECT t.fresh();

-- what gives it back
CREATE FUNCTION t.spent(i approval.ulid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM t.row('runner', format('approval.consume(%L, ''pay'', %L, ''run-1'')', i, (t.stored(i)).arguments));
END
$$;
CREATE FUNCTION t.pay_and(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid;
	p jsonb;
BEGIN
	PERFORM t.fresh();
	i := t.pay('1000');
	IF what = 'cancel' THEN
		PERFORM t.row('agent', format('approval.cancel(%L)', i));
	ELSIF what = 'revoke' THEN
		PERFORM t.row('alice', format('approval.revoke(%L)', i));
	ELSIF what LIKE 'lapse%' THEN
		PERFORM set_config('session_replication_role', 'replica', true);
		UPDATE approval.requests SET use_by = clock_timestamp() - interval '1 second' WHERE id = i;
		UPDATE approval.budget_entries SET use_by = clock_timestamp() - interval '1 second' WHERE request_id = i;
		PERFORM set_config('session_replication_role', 'origin', true);
	ELSIF what <> 'nothing' THEN
		p := t.row('runner', format('approval.consume(%L, ''pay'', %L, ''run-1'')', i, (t.stored(i)).arguments));
		IF what IN ('succeeded', 'failed', 'unknown') THEN
			PERFORM t.row('runner', format('approval.complete(%L, ''run-1'', %L, %L)', i, p ->> 'token', what));
		ELSIF what LIKE 'reconciled%' THEN
			PERFORM t.row('runner', format('approval.complete(%L, ''run-1'', %L, ''unknown'')', i, p ->> 'token'));
			PERFORM t.row('alice', format('approval.reconcile(%L, %L)', i, split_part(what, ' ', 2)));
		END IF;
	END IF;
	RETURN t.try('1');
END
$$;
SELECT is(t.pay_and(what), answer, format('after %s', what)) FROM (VALUES
	('nothing', 'review budget_exceeded'), ('cancel', 'auto rule'), ('revoke', 'auto rule'), ('lapse', 'auto rule'),
	('consume', 'review budget_exceeded'), ('succeeded', 'review budget_exceeded'), ('failed', 'review budget_exceeded'),
	('unknown', 'review budget_exceeded'), ('reconciled failed', 'auto rule'), ('reconciled succeeded', 'review budget_exceeded')) AS v(what, answer);
SELECT t.fresh();
-- a lapsed one is put away by expire_due
SET approval.use_within = '1s';
SELECT t.pay('1000') AS i \gset
SET approval.use_within = '1h';
SELECT pg_sleep(1.1);
SELECT cmp_ok(t.row('admin', 'approval.expire_due()')::text::int, '>=', 1, 'something is put away');
SELECT is((t.stored(:'i')).status || ' ' || (t.stored(:'i')).cause, 'expired use_deadline', 'the approval that nobody used');
SELECT isnt((SELECT released_at FROM approval.budget_entries WHERE request_id = :'i'), NULL, 'which is released');
SELECT is(t.try('1000'), 'auto rule', 'so that there is room again');
SELECT t.fresh();

-- what takes nothing
SELECT t.pay('1500') AS reviewed \gset
SELECT is(t.mode(:'reviewed'), 'review rule', 'a large one is reviewed');
SELECT t.row('alice', format('approval.approve(%L, %L)', :'reviewed', t.seen(:'reviewed')));
SELECT is(t.try('1000'), 'auto rule', 'and what a person approves takes nothing from the budget of policy');
SELECT t.fresh();
SELECT t.row('agent', $$approval.propose('same', 'pay', '{"note":"x","amount":600,"customer":"c1"}')$$) ->> 'mode' AS m \gset
SELECT is(t.row('agent', $$approval.propose('same', 'pay', '{"note":"x","amount":600,"customer":"c1"}')$$) ->> 'status', 'approved', 'the same call again is the same request');
SELECT is((SELECT sum(amount) FROM approval.budget_entries), 600::numeric, 'and takes nothing twice');
SELECT is(t.row('admin', $$approval.explain('pay', '{"note":"x","amount":400,"customer":"c1"}')$$) ->> 'gate_reason', 'rule', 'explain sees what is left');
SELECT is(t.row('admin', $$approval.explain('pay', '{"note":"x","amount":401,"customer":"c1"}')$$) ->> 'gate_reason', 'budget_exceeded', 'to the unit');
SELECT is((SELECT sum(amount) FROM approval.budget_entries), 600::numeric, 'and takes nothing');
SELECT t.fresh();

-- several budgets, counts, and inline
SELECT t.row('admin', $$approval.register_tool('mail', 'action', '{"default_mode":"auto","budgets":[
	{"name":"hour","limit":3,"within":"1 hour"}, {"name":"to","key":"$.customer","limit":2,"ceiling":100,"within":"1 day"}]}')$$);
SELECT is((SELECT string_agg(t.try('0', customer, 'mail'), ', ' ORDER BY n) FROM (VALUES (1, '"a"'), (2, '"a"'), (3, '"a"'), (4, '"b"'), (5, '"b"')) AS v(n, customer)),
	'auto default, auto default, review budget_exceeded, auto default, review budget_exceeded', 'each budget counts for itself: two for one, three in all');
SELECT t.row('admin', $$approval.register_tool('lookup', 'live_data', '{"default_mode":"inline","budgets":[{"name":"hour","limit":2,"within":"1 hour"}]}')$$);
SELECT is((SELECT string_agg(t.try('0', '1', 'lookup'), ', ' ORDER BY n) FROM generate_series(1, 3) n), 'inline default, inline default, review budget_exceeded', 'what runs inline counts too');
SELECT t.row('admin', $$approval.register_tool('never', 'action', '{"default_mode":"auto","budgets":[{"name":"none","amount":"$.amount","limit":0,"within":"1 hour"}]}')$$);
SELECT is(t.try('0.01', '1', 'never'), 'review budget_exceeded', 'a limit of 0');
SELECT is(t.try('1e308', '1', 'never'), 'review budget_exceeded', 'the largest amount there is');

-- a tool of every tenant has a budget in each
DO $$
BEGIN
	EXECUTE format('CREATE ROLE %I LOGIN', t.login('root'));
	EXECUTE format('GRANT approval_admin TO %I', t.login('root'));
	PERFORM approval.register_login(t.login('root'), 'person', 'user:root', '{*}');
	PERFORM approval.register_login(t.login('agent2'), 'service', 'agent:acme', '{acme}');
END
$$;
SELECT t.row('root', $$approval.register_tool('shared', 'action', '{"default_mode":"auto","budgets":[{"name":"d","amount":"$.amount","limit":10,"within":"1 day"}]}', tenant => '*')$$);
SELECT is(t.try('10', '1', 'shared'), 'auto default', 'spent in one tenant');
SELECT is(t.try('10', '1', 'shared', 'agent2'), 'auto default', 'and whole in the other');
SELECT is(t.try('1', '1', 'shared', 'agent2'), 'review budget_exceeded', 'until it is spent there');
-- a tenant may be stricter for itself
SELECT t.row('root', $$approval.register_tool('shared', 'action', '{"default_mode":"auto","budgets":[{"name":"d","amount":"$.amount","limit":5,"within":"1 day"}]}', tenant => 'acme')$$);
SELECT t.fresh();
SELECT is(t.try('6', '1', 'shared', 'agent2'), 'review budget_exceeded', 'the stricter of two budgets');
SELECT is(t.try('6', '1', 'shared'), 'auto default', 'not for the others');

-- the budget's word counts for the quorum as well
SELECT t.row('admin', $$approval.register_tool('wire', 'action', '{"rules":[{"condition":"$.amount >= 0 && $.amount <= 10","mode":"auto"},{"mode":"review","approvals_needed":2,"reviewer_group":"managers"}],
	"budgets":[{"name":"d","amount":"$.amount","limit":10,"within":"1 day"}]}')$$);
SELECT is(t.try('10', '1', 'wire'), 'auto rule', 'within it');
SELECT t.pay('10', '1', 'wire') AS beyond \gset
SELECT is((t.stored(:'beyond')).approvals_needed || ' ' || (t.stored(:'beyond')).reviewer_group, '2 managers', 'beyond it: the strictest reviewers of the tool');

SELECT throws_ok('UPDATE approval.budget_entries SET amount = 0', '42501', NULL, 'entries are not changed');
SELECT throws_ok('DELETE FROM approval.budget_entries', '42501', NULL, 'nor removed');

-- What somebody who wants more than the limit would try.
SELECT t.fresh();
SELECT is((SELECT string_agg(t.try('400', '"c9"', 'pay', who), ', ' ORDER BY n) FROM (VALUES (1, 'agent'), (2, 'gateway'), (3, 'agent'), (4, 'gateway')) AS v(n, who)),
	'auto rule, auto rule, review budget_exceeded, review budget_exceeded', 'a second login is no second budget');
SELECT is(t.row('agent', format('approval.propose(%L, ''pay'', ''{"note":"x","amount":300,"customer":"c9"}'' %s)', 'trick_' || n, more)) ->> 'gate_reason', 'budget_exceeded', 'nor is ' || what)
  FROM (VALUES (1, ', conversation_id => ''another''', 'another conversation'), (2, ', resource => ''another''', 'another resource'),
			   (3, ', run_id => ''another''', 'another run'), (4, ', on_behalf_of => ''user:other''', 'another person behind it'),
			   (5, ', at_least => ''inline''', 'a wish for less')) AS v(n, more, what);
SELECT is(t.row('agent', $$approval.propose('srv', 'pay', '{"note":"x","amount":300,"customer":"c9"}', server => 'mirror')$$) ->> 'gate_reason', 'unknown_tool', 'the same tool on another server is another tool, which nobody knows');
SELECT is(t.row('agent', $$approval.propose('look', 'pay', '{"note":"x","amount":1,"Amount":300,"customer":"c8"}')$$) ->> 'gate_reason', 'lookalike_keys', 'nor does a second amount pass');
SELECT is((SELECT sum(amount) FROM approval.budget_entries WHERE key = 'c9'), 800::numeric, 'none of which took anything');

-- decimals to the last digit, nested paths
SELECT t.row('admin', $$approval.register_tool('fee', 'action', '{"default_mode":"auto","budgets":[{"name":"d","amount":"$.order.lines[0].price","limit":1,"within":"1 day"}]}')$$);
CREATE FUNCTION t.fee(amount text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN t.row('agent', format('approval.propose(%L, ''fee'', %L)', 'fee_' || nextval('t.calls'), format('{"order":{"lines":[{"price":%s},{"price":99}]}}', amount))) ->> 'gate_reason';
END
$$;
SELECT is((SELECT string_agg(t.fee('0.1'), ' ') FROM generate_series(1, 10)), 'default default default default default default default default default default', 'ten times 0.1 is 1');
SELECT is(t.fee('0.0000000000000001'), 'budget_exceeded', 'and a ten-quadrillionth more is more than 1');
SELECT is(t.fee('0'), 'default', 'while nothing is nothing');
SELECT t.fresh();
SELECT is(t.fee('0.1') || t.fee('0.2') || t.fee('0.7'), 'defaultdefaultdefault', '0.1 + 0.2 + 0.7 is 1');
SELECT is(t.fee('1e-17'), 'budget_exceeded', 'so that there is no room for 1e-17');
SELECT t.fresh();
SELECT is(t.fee('1e0') || t.fee('5e-324'), 'defaultbudget_exceeded', 'nor for the smallest number there is');
SELECT is(t.row('agent', format('approval.propose(%L, ''fee'', %L)', 'fee_' || nextval('t.calls'), arguments)) ->> 'gate_reason', 'budget_unusable', arguments)
  FROM unnest(ARRAY['{}', '{"order":1}', '{"order":{"lines":[]}}', '{"order":{"lines":{"0":{"price":1}}}}', '{"order":{"lines":[[{"price":1}]]}}', '{"order":{"lines":[{"price":"1"}]}}',
					'{"order":{"lines":[{"price":-0.01}]}}', '{"order":{"lines":[null]}}', '{"order.lines[0].price":1}', '{"order":[{"lines":[{"price":1}]}]}']) AS arguments;
SELECT t.fresh();

-- all or nothing: where one of several budgets has no room, the others are not touched
SELECT t.row('admin', $$approval.register_tool('multi', 'action', '{"default_mode":"auto","budgets":[
	{"name":"a_wide","amount":"$.amount","limit":100,"within":"30 days"}, {"name":"b_count","limit":2,"within":"1 hour"}, {"name":"c_narrow","amount":"$.amount","key":"$.customer","limit":10,"ceiling":1000,"within":"1 day"}]}')$$);
SELECT is(t.try('11', '1', 'multi'), 'review budget_exceeded', 'no room in the last of three budgets');
SELECT is((SELECT count(*) FROM approval.budget_entries), 0::bigint, 'takes nothing from the first two');
SELECT is(t.try('10', '1', 'multi') || ', ' || t.try('10', '2', 'multi') || ', ' || t.try('1', '3', 'multi'), 'auto default, auto default, review budget_exceeded', 'the second one ends it');
SELECT is((SELECT string_agg(budget || '=' || amount || '/' || n, ' ' ORDER BY budget) FROM (SELECT budget, sum(amount) AS amount, count(*) AS n FROM approval.budget_entries GROUP BY budget) b),
	'a_wide=20/2 b_count=2/2 c_narrow=20/2', 'a request takes from each of them once');
SELECT t.pay('1', '3', 'multi') AS i \gset
SELECT is((t.stored(:'i')).reserved, NULL, 'a reviewed one from none');
SELECT is(count(t.row('agent', format('approval.cancel(%L)', id))), 2::bigint, 'two are cancelled') FROM approval.requests WHERE tool = 'multi' AND mode = 'auto';
SELECT is((SELECT count(*) FROM approval.budget_entries WHERE released_at IS NULL), 0::bigint, 'which gives back all six entries');
SELECT is(t.row('agent', format('approval.cancel(%L)', id)) ->> 'status', 'cancelled', 'cancelled again') FROM approval.requests WHERE tool = 'multi' AND mode = 'auto' LIMIT 1;
SELECT is(t.try('10', '1', 'multi') || ', ' || t.try('10', '1', 'multi'), 'auto default, review budget_exceeded', 'is not given back twice');
SELECT t.fresh();

-- a change of the policy does not open a fresh budget
SELECT t.row('admin', $$approval.register_tool('steady', 'action', '{"default_mode":"auto","budgets":[{"name":"d","amount":"$.amount","limit":100,"within":"1 day"}]}')$$);
SELECT is(t.try('100', '1', 'steady'), 'auto default', 'spent');
SELECT t.row('admin', $$approval.update_tool('steady', '{"description":"same"}')$$);
SELECT is(t.try('1', '1', 'steady'), 'review budget_exceeded', 'an unrelated change gives no room');
SELECT t.row('admin', $$approval.update_tool('steady', '{"budgets":[{"name":"d","amount":"$.amount","limit":150,"within":"1 day"}]}')$$);
SELECT is(t.try('51', '1', 'steady') || ', ' || t.try('50', '1', 'steady'), 'review budget_exceeded, auto default', 'a higher limit gives the difference');
SELECT t.row('admin', $$approval.update_tool('steady', '{"budgets":[{"name":"d","amount":"$.amount","limit":120,"within":"1 day"}]}')$$);
SELECT is(t.try('0', '1', 'steady'), 'review budget_exceeded', 'a lower one is exceeded already, even for nothing');
SELECT t.row('admin', $$approval.retire_tool('steady')$$);
SELECT t.row('admin', $$approval.register_tool('steady', 'action', '{"default_mode":"auto","budgets":[{"name":"d","amount":"$.amount","limit":151,"within":"1 day"}]}')$$);
SELECT is(t.try('2', '1', 'steady') || ', ' || t.try('1', '1', 'steady'), 'review budget_exceeded, auto default', 'a tool that is registered again remembers');
SELECT t.fresh();

-- what never got as far takes nothing
CREATE FUNCTION t.left_over(call text, before text DEFAULT NULL, after text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	IF before IS NOT NULL THEN
		PERFORM t.row('root', before);
	END IF;
	answer := t.says('agent', call);
	IF after IS NOT NULL THEN
		PERFORM t.row('root', after);
	END IF;
	RETURN answer || ', ' || (SELECT coalesce(sum(b.amount), 0) FROM approval.budget_entries b);
END
$$;
SELECT is(t.left_over(call, before, after), answer || ', 0', what) FROM (VALUES
	($$approval.propose('kept', 'pay', '{"note":"x","amount":6,"customer":"c1"}')$$, NULL, NULL, 'PT409 tool_call_conflict', 'a tool call id that is taken'),
	($$approval.propose('lo1', 'pay', '{"note":"x","amount":6,"customer":"c1"}', at_least => 'review')$$, NULL, NULL, 'ok', 'what the proposer wants reviewed'),
	($$approval.propose('lo2', 'pay', '{"note":"x","amount":6,"customer":"c1"}', at_least => 'deny')$$, NULL, NULL, 'ok', 'or denied'),
	($$approval.propose('lo3', 'pay', '{"note":7,"amount":6,"customer":"c1"}')$$, NULL, NULL, 'ok', 'what has unexpected arguments'),
	($$approval.propose('lo4', 'pay', '{"note":"x","amount":6,"customer":"c1"}', expires_in => '1 second')$$, NULL, NULL, '22023', 'what is refused after it was weighed'),
	($$approval.propose('lo5', 'pay', '{"note":"x","amount":6,"customer":"c1"}')$$, $$approval.freeze_tool('pay', tenant => '')$$, $$approval.unfreeze_tool('pay', tenant => '')$$, 'PT403 tool_frozen', 'a frozen tool')) AS v(call, before, after, answer, what);
SELECT is(t.row('agent', $$approval.propose('kept', 'pay', '{"note":"x","amount":5,"customer":"c1"}')$$) ->> 'status', 'pending', 'nor does a repeated call that once was reviewed, now that there would be room');
SELECT is((SELECT count(*) FROM approval.budget_entries), 0::bigint, 'which stays what it was');
SAVEPOINT s;
SELECT t.try('1000', '"sp"') AS answer \gset
ROLLBACK TO s;
SELECT is(:'answer' || ', ' || t.try('1000', '"sp"'), 'auto rule, auto rule', 'what was taken in a savepoint that was rolled back was not');
SELECT t.fresh();

-- the executor's word does not open the budget, not even on the way round
CREATE FUNCTION t.way(steps text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i approval.ulid := t.pay('1000', '"way"');
	p jsonb := t.row('runner', format('approval.consume(%L, ''pay'', %L, ''run-1'')', i, (t.stored(i)).arguments));
	s text;
	answer text := '';
BEGIN
	FOREACH s IN ARRAY steps LOOP
		IF s LIKE 'person %' THEN
			answer := answer || t.says('alice', format('approval.reconcile(%L, %L)', i, split_part(s, ' ', 2))) || ', ';
		ELSIF s = 'lost' THEN
			PERFORM set_config('session_replication_role', 'replica', true);
			UPDATE approval.requests SET lease_until = clock_timestamp() - interval '1 second' WHERE id = i;
			PERFORM set_config('session_replication_role', 'origin', true);
		ELSE
			answer := answer || t.says('runner', format('approval.complete(%L, ''run-1'', %L, %L)', i, p ->> 'token', s)) || ', ';
		END IF;
	END LOOP;
	answer := answer || t.try('1', '"way"');
	PERFORM t.fresh();
	RETURN answer;
END
$$;
SELECT is(t.way(steps), answer, array_to_string(steps, ', then ')) FROM (VALUES
	(ARRAY['failed', 'person failed'], 'ok, ok, review budget_exceeded'),
	(ARRAY['failed', 'person succeeded'], 'ok, PT409 outcome_conflict, review budget_exceeded'),
	(ARRAY['unknown', 'failed'], 'ok, ok, review budget_exceeded'),
	(ARRAY['unknown', 'person failed'], 'ok, ok, auto rule'),
	(ARRAY['unknown', 'person succeeded', 'failed'], 'ok, ok, PT409 outcome_conflict, review budget_exceeded'),
	(ARRAY['unknown', 'person failed', 'succeeded'], 'ok, ok, PT409 outcome_conflict, auto rule'),
	(ARRAY['person failed'], 'PT412 stale_state, review budget_exceeded'),
	(ARRAY['lost'], 'review budget_exceeded'),
	(ARRAY['lost', 'person failed'], 'ok, auto rule'),
	(ARRAY['lost', 'failed', 'person failed'], 'ok, ok, review budget_exceeded')) AS v(steps, answer);
-- what has lapsed gives room, and is not used after that
SELECT t.pay('1000', '"late"') AS i \gset
SELECT set_config('session_replication_role', 'replica', true);
UPDATE approval.requests SET use_by = clock_timestamp() - interval '1 second' WHERE id = :'i';
UPDATE approval.budget_entries SET use_by = clock_timestamp() - interval '1 second' WHERE request_id = :'i';
SELECT set_config('session_replication_role', 'origin', true);
SELECT is(t.try('1000', '"late"'), 'auto rule', 'an approval that lapsed makes room before anybody puts it away');
SELECT is(t.says('runner', format('approval.consume(%L, ''pay'', %L, ''run-1'')', :'i', (t.stored(:'i')).arguments)), 'PT410 expired', 'since it cannot be used any more');
SELECT is(t.try('1', '"late"'), 'review budget_exceeded', 'and the new one counts');
SELECT t.fresh();

-- tenants with a tool of the same name
SELECT t.row('root', $$approval.register_tool('pay', 'action', '{"default_mode":"auto","budgets":[{"name":"day","amount":"$.amount","key":"$.customer","limit":1000,"ceiling":2500,"within":"1 day"}]}', tenant => 'acme')$$);
SELECT is(t.try('1000', '"c1"', 'pay', 'agent2') || ', ' || t.try('1000', '"c1"') || ', ' || t.try('1', '"c1"', 'pay', 'agent2') || ', ' || t.try('1', '"c1"'),
	'auto default, auto rule, review budget_exceeded, review budget_exceeded', 'each tenant spends its own');

-- who may look
SELECT is(t.says(who, '(SELECT amount FROM approval.budget_entries)'), '42501', who || ' does not see what is left') FROM unnest(ARRAY['agent', 'gateway', 'runner', 'alice']) AS who;
SELECT is(t.says('agent', $$approval.explain('pay', '{"note":"x","amount":1,"customer":"c1"}')$$), '42501', 'nor does an agent ask explain');

-- explain beside what has lapsed
SELECT t.fresh();
SELECT t.pay('1000', '"gone"') AS i \gset
SELECT set_config('session_replication_role', 'replica', true) AS x \gset
UPDATE approval.requests SET use_by = clock_timestamp() - interval '1 second' WHERE id = :'i';
UPDATE approval.budget_entries SET use_by = clock_timestamp() - interval '1 second' WHERE request_id = :'i';
SELECT set_config('session_replication_role', 'origin', true) AS x \gset
SELECT is(t.row('admin', $$approval.explain('pay', '{"note":"x","amount":1000,"customer":"gone"}')$$) ->> 'gate_reason', 'rule', 'explain sees the room that a lapsed approval makes');
SELECT is(t.try('1000', '"gone"'), 'auto rule', 'as propose does');
SELECT * FROM finish();
ROLLBACK;
