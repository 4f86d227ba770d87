/*
 * What verbs return.  The columns of approval.request are those marked PUBLIC
 * in src/request.h, in the same order.
 */
CREATE TYPE approval.request AS (
	tenant	pg_catalog.text,
	id	approval.ulid,
	conversation_id	pg_catalog.text,
	tool_call_id	pg_catalog.text,
	run_id	pg_catalog.text,
	server	pg_catalog.text,
	tool	pg_catalog.text,
	definition	approval.digest,
	resource	pg_catalog.text,
	arguments	pg_catalog.json,
	proposed_arguments	pg_catalog.json,
	action_hash	approval.digest,
	proposed_hash	approval.digest,
	review_hash	approval.digest,
	summary	pg_catalog.text,
	agent_reason	pg_catalog.text,
	preview	pg_catalog.json,
	metadata	pg_catalog.json,
	reply_to	pg_catalog.text,
	requester_login	pg_catalog.text,
	requested_by	pg_catalog.text,
	on_behalf_of	pg_catalog.text,
	assignee	pg_catalog.text,
	retry_of	approval.ulid,
	mode	pg_catalog.text,
	class	pg_catalog.text,
	risk	pg_catalog.text,
	effect	pg_catalog.text,
	gate_reason	pg_catalog.text,
	rule	pg_catalog.int4,
	rule_reason	pg_catalog.text,
	policy_version	pg_catalog.int4,
	grant_id	approval.ulid,
	edited_by	pg_catalog.text,
	reviewer_group	pg_catalog.text,
	reviewers	pg_catalog.json,
	approvals	pg_catalog.int4,
	approvals_needed	pg_catalog.int4,
	rejections	pg_catalog.int4,
	rejections_needed	pg_catalog.int4,
	status	pg_catalog.text,
	cause	pg_catalog.text,
	proposed_at	pg_catalog.timestamptz,
	expires_at	pg_catalog.timestamptz,
	remind_at	pg_catalog.timestamptz,
	reminded_at	pg_catalog.timestamptz,
	escalate_at	pg_catalog.timestamptz,
	escalate_to	pg_catalog.text,
	escalated_at	pg_catalog.timestamptz,
	claimed_by	pg_catalog.text,
	claimed_until	pg_catalog.timestamptz,
	decided_by	pg_catalog.text,
	decided_at	pg_catalog.timestamptz,
	denial	pg_catalog.text,
	use_by	pg_catalog.timestamptz,
	consumed_at	pg_catalog.timestamptz,
	executor_login	pg_catalog.text,
	execution_id	pg_catalog.text,
	attempt	pg_catalog.int4,
	lease_until	pg_catalog.timestamptz,
	outcome	pg_catalog.text,
	result	pg_catalog.json,
	completed_at	pg_catalog.timestamptz,
	reconciled_by	pg_catalog.text
);
COMMENT ON TYPE approval.request IS 'A request as verbs return it. status and outcome are the effective ones: a deadline that has passed shows, whether or not a worker has written it down. reply_to is shown to the proposing login and to executors only.';

CREATE TYPE approval.permit AS (
	id				approval.ulid,
	tool_call_id	pg_catalog.text,
	conversation_id	pg_catalog.text,
	run_id			pg_catalog.text,
	server			pg_catalog.text,
	tool			pg_catalog.text,
	resource		pg_catalog.text,
	arguments		pg_catalog.json,
	action_hash		approval.digest,
	execution_id	pg_catalog.text,
	attempt			pg_catalog.int4,
	token			pg_catalog.text,
	idempotency_key	pg_catalog.text,
	lease_until		pg_catalog.timestamptz,
	decided_by		pg_catalog.text,
	decided_at		pg_catalog.timestamptz
);
COMMENT ON TYPE approval.permit IS 'What consume hands to the executor, once per attempt. token is random and stored only as its SHA-256: it is shown here and nowhere else. idempotency_key is the same for every attempt; pass it on to the upstream system.';

CREATE TYPE approval.attempt AS (
	ok			pg_catalog.bool,
	reason		pg_catalog.text,
	http_status	pg_catalog.int4,
	detail		pg_catalog.json,
	request		pg_catalog.json,
	permit		pg_catalog.json,
	server_now	pg_catalog.timestamptz
);
CREATE TYPE approval.answer AS (
	id				approval.ulid,
	tool_call_id	pg_catalog.text,
	conversation_id	pg_catalog.text,
	answer			pg_catalog.text,
	ok				pg_catalog.bool,
	reason			pg_catalog.text,
	http_status		pg_catalog.int4,
	detail			pg_catalog.json,
	status			pg_catalog.text,
	cause			pg_catalog.text,
	approvals		pg_catalog.int4,
	approvals_needed	pg_catalog.int4,
	decided_by		pg_catalog.text,
	decided_at		pg_catalog.timestamptz,
	review_hash		approval.digest
);
COMMENT ON TYPE approval.answer IS 'What became of one of several verdicts. answer: applied (the verdict, or a vote, was written), unchanged (said before), remaining (left to somebody else; reason says why) or refused (with reason, HTTP status and DETAIL). The columns from status on are those of the request after it, where the caller may see it.';

COMMENT ON TYPE approval.attempt IS 'What a try_ verb returns: ok, or the reason, HTTP status and DETAIL of the refusal that the plain verb would raise; the request where the caller may see it; the permit for consume.';

CREATE TYPE approval.call_outcome AS (
	id	approval.ulid,
	tool_call_id	pg_catalog.text,
	run	pg_catalog.text,
	server	pg_catalog.text,
	tool	pg_catalog.text,
	resource	pg_catalog.text,
	arguments	pg_catalog.json,
	action_hash	approval.digest,
	status	pg_catalog.text,
	cause	pg_catalog.text,
	outcome	pg_catalog.text,
	result	pg_catalog.json,
	decided_by	pg_catalog.text,
	decided_at	pg_catalog.timestamptz,
	denial	pg_catalog.text,
	verdict	pg_catalog.text,
	edited	pg_catalog.bool,
	stop	pg_catalog.bool,
	record	pg_catalog.json
);
COMMENT ON TYPE approval.call_outcome IS 'What became of one call of a conversation: see outcomes().';
