-- :runs runs of 1,000 steps each; so many as :abreast go on at the same time,
-- so that their steps lie among each other.
SET session_replication_role = replica;
INSERT INTO approval.runs (tenant, run_id, conversation_id, root_run_id, depth, requester_login, requested_by, trace_id, span_id, trace_flags,
	status, max_iterations, iterations, fence, lease, started_at, ended_at)
SELECT '', 'run-' || r, 'conversation-' || r, 'run-' || r, 1, 'bench', 'agent:support', md5(r::text), left(md5('s' || r), 16), '01',
	'completed', 50, 10, 1, 300000000, now(), now()
  FROM generate_series(1, :runs) AS r;
SELECT format($$INSERT INTO approval.steps (tenant, run_id, seq, at, system, kind, name, login, actor, fence, iteration, started_at, duration, input_tokens, output_tokens, cost, detail)
SELECT '', 'run-' || (%s + r), nextval('approval.events_seq'), now(), 'openai', 'model_call', 'gpt-5', 'bench', 'agent:support', 1, n / 100, now(), 1200000, 900, 80, 0.0123,
	'{"messages":12,"finish_reason":"tool_calls","response_id":"resp_68af4030592c81938ec0a5fbab4a3e9f"}'
  FROM (SELECT n, r FROM generate_series(1, 1000) AS n, generate_series(1, %s) AS r ORDER BY n, r) AS x$$, batch * :abreast, :abreast)
  FROM generate_series(0, :runs / :abreast - 1) AS batch ORDER BY batch \gexec
