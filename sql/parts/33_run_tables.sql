/*
 * Tables of runs.  They have no foreign keys for the reason given in
 * 30_tables.sql, and no row digests: a run permits nothing.
 */
CREATE FUNCTION approval.sound_run(
	status pg_catalog.text, iterations pg_catalog.int4, max_iterations pg_catalog.int4,
	ended_at pg_catalog.timestamptz)
RETURNS pg_catalog.bool
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_sound_run';
REVOKE ALL ON FUNCTION approval.sound_run FROM PUBLIC;
COMMENT ON FUNCTION approval.sound_run IS 'CHECK of approval.runs: a status that is stored, no more iterations than the budget, an end exactly where it has ended. Never NULL.';

CREATE TABLE approval.runs (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	run_id			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	conversation_id	pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	parent_run_id	pg_catalog.text COLLATE pg_catalog."C",
	root_run_id		pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	depth			pg_catalog.int4 NOT NULL,
	requester_login	pg_catalog.text NOT NULL,
	requested_by	pg_catalog.text NOT NULL,
	agent			pg_catalog.text,
	metadata		pg_catalog.json,
	trace_id		pg_catalog.text NOT NULL,
	span_id			pg_catalog.text NOT NULL,
	parent_span_id	pg_catalog.text,
	trace_flags		pg_catalog.text NOT NULL,
	status			pg_catalog.text NOT NULL,
	reason			pg_catalog.text,
	max_iterations	pg_catalog.int4 NOT NULL,
	iterations		pg_catalog.int4 NOT NULL,
	fence			pg_catalog.int4 NOT NULL,
	claimed_by		pg_catalog.text,
	token_hash		approval.digest,
	lease			pg_catalog.int8 NOT NULL,
	claimed_at		pg_catalog.timestamptz,
	lease_until		pg_catalog.timestamptz,
	started_at		pg_catalog.timestamptz NOT NULL,
	iterated_at		pg_catalog.timestamptz,
	ended_at		pg_catalog.timestamptz,
	ended_by		pg_catalog.text,
	answer			pg_catalog.text,
	CONSTRAINT runs_pkey PRIMARY KEY (tenant, run_id),
	CONSTRAINT runs_sound CHECK (approval.sound_run(status, iterations, max_iterations, ended_at))
) WITH (fillfactor = 70);

/* one live run a conversation; its children are beside it */
CREATE UNIQUE INDEX runs_live ON approval.runs (tenant, conversation_id)
	WHERE ended_at IS NULL AND parent_run_id IS NULL;
CREATE INDEX runs_conversation ON approval.runs (tenant, conversation_id, started_at);
CREATE INDEX runs_children ON approval.runs (tenant, parent_run_id) WHERE parent_run_id IS NOT NULL;

/* calls of a run; those that wait are found by its conversation */
CREATE INDEX requests_run ON approval.requests (tenant, run_id, id) WHERE run_id IS NOT NULL;

/* numbered by the sequence of the events, so that both have one order */
CREATE TABLE approval.steps (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	run_id			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	seq				pg_catalog.int8 NOT NULL,
	at				pg_catalog.timestamptz NOT NULL,
	system			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	kind			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	name			pg_catalog.text COLLATE pg_catalog."C",
	login			pg_catalog.text NOT NULL,
	actor			pg_catalog.text NOT NULL,
	fence			pg_catalog.int4 NOT NULL,
	iteration		pg_catalog.int4 NOT NULL,
	request_id		approval.ulid,
	parent_seq		pg_catalog.int8,
	parent_span_id	pg_catalog.text,
	link			pg_catalog.text,
	started_at		pg_catalog.timestamptz,
	duration		pg_catalog.int8,
	input_tokens	pg_catalog.int8,
	output_tokens	pg_catalog.int8,
	cost			pg_catalog.numeric,
	error			pg_catalog.text,
	detail			pg_catalog.json,
	CONSTRAINT steps_pkey PRIMARY KEY (tenant, run_id, seq)
);

/* calls of tools, for the view capabilities */
CREATE INDEX steps_tools ON approval.steps (tenant, at) WHERE kind IN ('tool_call', 'workflow');

CREATE TABLE approval.handles (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	system			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	handle			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	run_id			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	secret_hash		approval.digest NOT NULL,
	attached_at		pg_catalog.timestamptz NOT NULL,
	attached_by		pg_catalog.text NOT NULL,
	outcome			pg_catalog.text,
	result			pg_catalog.json,
	idempotency_key	pg_catalog.text,
	answered_at		pg_catalog.timestamptz,
	answered_by		pg_catalog.text,
	CONSTRAINT handles_pkey PRIMARY KEY (tenant, system, handle),
	CONSTRAINT handles_outcome_check CHECK (outcome IN ('succeeded', 'failed'))
);
CREATE INDEX handles_run ON approval.handles (tenant, run_id);

CREATE TABLE approval.run_limits (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	policy_version		pg_catalog.int4 NOT NULL,
	max_iterations		pg_catalog.int4,
	iterations_per_day	pg_catalog.int4,
	CONSTRAINT run_limits_pkey PRIMARY KEY (tenant)
);

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['runs', 'steps', 'handles', 'run_limits']
	LOOP
		EXECUTE pg_catalog.format('ALTER TABLE approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
		PERFORM pg_catalog.pg_extension_config_dump(('approval.' OPERATOR(pg_catalog.||) relation)::pg_catalog.regclass, '');
	END LOOP;
END
$do$;

COMMENT ON TABLE approval.runs IS 'One row for each pass of an agent over a conversation: who holds it, what it has spent, how it ended. That it awaits approval is not stored but follows from its requests. lease in microseconds.';
COMMENT ON TABLE approval.steps IS 'Append-only: what happened in a run beside its requests. seq is one order with the events of requests; duration in microseconds.';
COMMENT ON TABLE approval.handles IS 'Names that other systems have for their part of a run, and what they have reported. The secret is stored as its SHA-256.';
COMMENT ON TABLE approval.run_limits IS 'How many iterations policy gives a run, and the runs of one conversation in 24 hours, of one tenant or (*) of every tenant; NULL: as the setting says.';
