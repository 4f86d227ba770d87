/*
 * What verbs of runs return.  The columns of approval.run are those marked
 * PUBLIC in src/run.h, in the same order, and some that are made.
 */
CREATE TYPE approval.run AS (
	tenant			pg_catalog.text,
	run_id			pg_catalog.text,
	conversation_id	pg_catalog.text,
	parent_run_id	pg_catalog.text,
	root_run_id		pg_catalog.text,
	requester_login	pg_catalog.text,
	requested_by	pg_catalog.text,
	agent			pg_catalog.text,
	metadata		pg_catalog.json,
	status			pg_catalog.text,
	reason			pg_catalog.text,
	max_iterations	pg_catalog.int4,
	iterations		pg_catalog.int4,
	input_tokens	pg_catalog.int8,
	output_tokens	pg_catalog.int8,
	cost			pg_catalog.numeric,
	fence			pg_catalog.int4,
	claimed_by		pg_catalog.text,
	claimed_at		pg_catalog.timestamptz,
	lease_until		pg_catalog.timestamptz,
	started_at		pg_catalog.timestamptz,
	iterated_at		pg_catalog.timestamptz,
	ended_at		pg_catalog.timestamptz,
	ended_by		pg_catalog.text,
	answer			pg_catalog.text,
	traceparent		pg_catalog.text,
	token			pg_catalog.text
);
COMMENT ON TYPE approval.run IS 'A run as verbs return it. status is the effective one: awaiting_approval while a call of the run is pending. input_tokens, output_tokens and cost are the sums over its steps, without those of runs below it. traceparent (W3C Trace Context) is to be passed on to whatever works for the run. token is NULL but from claim_run; it is stored only as its SHA-256.';

CREATE TYPE approval.step AS (
	tenant		pg_catalog.text,
	run_id		pg_catalog.text,
	seq			pg_catalog.int8,
	at			pg_catalog.timestamptz,
	system		pg_catalog.text,
	kind		pg_catalog.text,
	step_id		pg_catalog.text,
	traceparent	pg_catalog.text
);
COMMENT ON TYPE approval.step IS 'A step that was recorded. step_id is its span id (16 hexadecimal digits), for parent_step; traceparent (W3C Trace Context) is to be passed on to whatever works for the step. seq is one order with the events of requests.';

CREATE TYPE approval.handle AS (
	tenant		pg_catalog.text,
	system		pg_catalog.text,
	handle		pg_catalog.text,
	run_id		pg_catalog.text,
	outcome		pg_catalog.text,
	result		pg_catalog.json,
	attached_at	pg_catalog.timestamptz,
	answered_at	pg_catalog.timestamptz,
	answered_by	pg_catalog.text,
	secret		pg_catalog.text,
	traceparent	pg_catalog.text
);
COMMENT ON TYPE approval.handle IS 'A handle and what was reported of it: outcome and result, NULL before. secret is NULL but from attach_handle; it is stored only as its SHA-256. result is JSON as it was sent.';
