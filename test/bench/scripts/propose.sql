\set conversation random(100000000000000000, 999999999999999999)
\set call random(100000000000000000, 999999999999999999)
@CHOICE@

/* propose */ SELECT * FROM approval.propose(
	tool_call_id => :call, tool => @TOOL@, arguments => :arguments,
	conversation_id => :conversation, server => :server, resource => :resource,
	run_id => :run, agent_reason => :reason, on_behalf_of => :owner);
