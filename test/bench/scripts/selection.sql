-- What a person is going to decide, proposed and listed, and the same as
-- documents for decide_many: the first ten of it in one, which is to bring a
-- session up to speed and is not timed, the rest by the batch.
-- Variables: verdict, how_many, batch; and what a proposal says.

TRUNCATE bench.requests, bench.batches;

INSERT INTO bench.requests
SELECT n, r.id, r.review_hash
  FROM generate_series(1, 10 + :how_many) n,
	LATERAL approval.propose(tool_call_id => 'call_' || n, tool => :'tool', arguments => :'arguments',
		conversation_id => gen_random_uuid()::text, server => :'server', resource => :'resource',
		run_id => :'run', agent_reason => :'reason', on_behalf_of => :'owner') r;

INSERT INTO bench.batches
SELECT step, json_agg(json_build_object('id', id, 'seen', seen, 'verdict', :'verdict', 'note', :'note') ORDER BY n)
  FROM (SELECT *, CASE WHEN n <= 10 THEN 1 ELSE 2 + (n - 11) / :batch END AS step FROM bench.requests) s
 GROUP BY step;
