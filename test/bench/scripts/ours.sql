\set conversation random(100000000000000000, 999999999999999999)
\set call random(100000000000000000, 999999999999999999)

/* propose */ SELECT * FROM approval.propose(
	tool_call_id => :call, tool => :tool, arguments => :arguments,
	conversation_id => :conversation, server => :server, resource => :resource,
	run_id => :run, agent_reason => :reason, on_behalf_of => :owner)
\gset r_

/* decide */ SELECT * FROM approval.decide(
	id => :r_id, verdict => 'approve', seen => :r_review_hash, actor => :reviewer, note => :note);

/* consume */ SELECT * FROM approval.consume(
	id => :r_id, tool => :tool, arguments => :arguments, execution_id => :call,
	server => :server, resource => :resource)
\gset p_

/* complete */ SELECT * FROM approval.complete(
	id => :r_id, execution_id => :call, token => :p_token, outcome => 'succeeded', result => :result);
