/*
 * Tables.
 *
 * They belong to approval_owner and are granted to nobody: verbs write, views
 * read.  The tenant leads every primary key, so that rows can be routed by it.
 * There are no foreign keys: only verbs insert, nothing is deleted, and a key
 * share lock on the request for each event would cost more than the whole
 * check is worth.  verify_request() finds what an owner took away.
 */
CREATE FUNCTION approval.sound_request(
	status pg_catalog.text, outcome pg_catalog.text, cause pg_catalog.text,
	mode pg_catalog.text, effect pg_catalog.text, approvals_needed pg_catalog.int4,
	expires_at pg_catalog.timestamptz, use_by pg_catalog.timestamptz)
RETURNS pg_catalog.bool
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_sound_request';
REVOKE ALL ON FUNCTION approval.sound_request FROM PUBLIC;
COMMENT ON FUNCTION approval.sound_request IS 'CHECK of approval.requests: known words, an outcome exactly where consumed, a quorum of at least one, finite deadlines. Never NULL.';

CREATE FUNCTION approval.sound_verdict(verdict pg_catalog.text)
RETURNS pg_catalog.bool
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_sound_verdict';
REVOKE ALL ON FUNCTION approval.sound_verdict FROM PUBLIC;
COMMENT ON FUNCTION approval.sound_verdict IS 'CHECK of approval.decisions: approve or reject. Never NULL.';

CREATE TABLE approval.requests (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	id					approval.ulid NOT NULL,
	conversation_id		pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool_call_id		pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	run_id				pg_catalog.text COLLATE pg_catalog."C",
	server				pg_catalog.text NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	definition			approval.digest,
	resource			pg_catalog.text,
	arguments			pg_catalog.json NOT NULL,
	proposed_arguments	pg_catalog.json,
	action_hash			approval.digest NOT NULL,
	proposed_hash		approval.digest,
	review_hash			approval.digest NOT NULL,
	summary				pg_catalog.text NOT NULL,
	agent_reason		pg_catalog.text,
	preview				pg_catalog.json,
	metadata			pg_catalog.json,
	reply_to			pg_catalog.text,
	requester_login		pg_catalog.text NOT NULL,
	requested_by		pg_catalog.text NOT NULL,
	on_behalf_of		pg_catalog.text,
	assignee			pg_catalog.text COLLATE pg_catalog."C",
	retry_of			approval.ulid,
	mode				pg_catalog.text NOT NULL,
	class				pg_catalog.text,
	risk				pg_catalog.text,
	effect				pg_catalog.text NOT NULL,
	gate_reason			pg_catalog.text,
	rule				pg_catalog.int4,
	rule_reason			pg_catalog.text,
	policy_version		pg_catalog.int4,
	grant_id			approval.ulid,
	edited_by			pg_catalog.text,
	reviewer_group		pg_catalog.text COLLATE pg_catalog."C",
	reviewers			pg_catalog.json,
	approvals			pg_catalog.int4 NOT NULL,
	approvals_needed	pg_catalog.int4 NOT NULL,
	rejections			pg_catalog.int4 NOT NULL,
	rejections_needed	pg_catalog.int4 NOT NULL,
	status				pg_catalog.text NOT NULL,
	cause				pg_catalog.text,
	proposed_at			pg_catalog.timestamptz NOT NULL,
	expires_at			pg_catalog.timestamptz NOT NULL,
	remind_at			pg_catalog.timestamptz,
	reminded_at			pg_catalog.timestamptz,
	escalate_at			pg_catalog.timestamptz,
	escalate_to			pg_catalog.text,
	escalated_at		pg_catalog.timestamptz,
	claimed_by			pg_catalog.text,
	claimed_until		pg_catalog.timestamptz,
	use_within			pg_catalog.int8 NOT NULL,
	decided_by			pg_catalog.text,
	decided_at			pg_catalog.timestamptz,
	denial				pg_catalog.text,
	use_by				pg_catalog.timestamptz,
	consumed_at			pg_catalog.timestamptz,
	executor_login		pg_catalog.text,
	execution_id		pg_catalog.text,
	attempt				pg_catalog.int4 NOT NULL,
	token_hash			approval.digest,
	lease_until			pg_catalog.timestamptz,
	outcome				pg_catalog.text,
	result				pg_catalog.json,
	completed_at		pg_catalog.timestamptz,
	reconciled_by		pg_catalog.text,
	due_at				pg_catalog.timestamptz,
	repeat_key			approval.digest,
	reserved			pg_catalog.int4,
	events				pg_catalog.int4 NOT NULL,
	row_digest			approval.digest NOT NULL,
	head				approval.digest NOT NULL,
	CONSTRAINT requests_pkey PRIMARY KEY (tenant, id),
	CONSTRAINT requests_call_key UNIQUE (tenant, conversation_id, tool_call_id),
	CONSTRAINT requests_sound CHECK (approval.sound_request(status, outcome, cause, mode, effect, approvals_needed, expires_at, use_by))
);

/* what is not settled: small, however many requests there are */
CREATE INDEX requests_open ON approval.requests (tenant, id)
	WHERE status IN ('pending', 'approved') OR outcome IN ('in_flight', 'unknown');

/* what runs, or may have run */
CREATE INDEX requests_running ON approval.requests (tenant, id) WHERE outcome IN ('in_flight', 'unknown');

/* what waits, by what an inbox is filtered by */
CREATE INDEX requests_assigned ON approval.requests (tenant, assignee, id)
	WHERE status = 'pending' AND assignee IS NOT NULL;
CREATE INDEX requests_group ON approval.requests (tenant, reviewer_group, id)
	WHERE status = 'pending' AND reviewer_group IS NOT NULL;
CREATE INDEX requests_panel ON approval.requests (tenant, id)
	WHERE status = 'pending' AND (reviewers IS NOT NULL OR escalated_at IS NOT NULL);
CREATE INDEX requests_tool ON approval.requests (tenant, tool, id) WHERE status = 'pending';

/* what time will do something about, the next first; of all tenants */
CREATE INDEX requests_due ON approval.requests (due_at) WHERE due_at IS NOT NULL;

/* uses of a standing grant, and rejections that a cool-down remembers */
CREATE INDEX requests_grant ON approval.requests (tenant, grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX requests_repeat ON approval.requests (tenant, repeat_key, decided_at)
	WHERE repeat_key IS NOT NULL AND status = 'rejected' AND cause <> 'policy';

/* what waits in one conversation, for its quota */
CREATE INDEX requests_waiting ON approval.requests (tenant, conversation_id)
	WHERE status = 'pending' AND conversation_id <> '';

CREATE TABLE approval.decisions (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	request_id		approval.ulid NOT NULL,
	n				pg_catalog.int4 NOT NULL,
	at				pg_catalog.timestamptz NOT NULL,
	verdict			pg_catalog.text NOT NULL,
	actor			pg_catalog.text NOT NULL,
	login			pg_catalog.text NOT NULL,
	seen			approval.digest NOT NULL,
	review_hash		approval.digest NOT NULL,
	action_hash		approval.digest NOT NULL,
	result			pg_catalog.text,
	note			pg_catalog.text,
	map_hash		approval.digest,
	CONSTRAINT decisions_pkey PRIMARY KEY (tenant, request_id, n),
	CONSTRAINT decisions_sound CHECK (approval.sound_verdict(verdict))
);

CREATE SEQUENCE approval.events_seq;

CREATE TABLE approval.events (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	request_id		approval.ulid NOT NULL,
	n				pg_catalog.int4 NOT NULL,
	seq				pg_catalog.int8 NOT NULL DEFAULT pg_catalog.nextval('approval.events_seq'::pg_catalog.regclass),
	xid				pg_catalog.xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(),
	origin			pg_catalog.int8 NOT NULL,
	at				pg_catalog.timestamptz NOT NULL,
	kind			pg_catalog.text NOT NULL,
	actor			pg_catalog.text NOT NULL,
	login			pg_catalog.text NOT NULL,
	role			pg_catalog.text NOT NULL,
	client			pg_catalog.text,
	status_before	pg_catalog.text,
	status_after	pg_catalog.text NOT NULL,
	outcome_before	pg_catalog.text,
	outcome_after	pg_catalog.text,
	action_hash		approval.digest NOT NULL,
	review_hash		approval.digest NOT NULL,
	note			pg_catalog.text,
	row_digest		approval.digest NOT NULL,
	previous		approval.digest,
	hash			approval.digest NOT NULL,
	CONSTRAINT events_pkey PRIMARY KEY (tenant, request_id, n)
);
ALTER SEQUENCE approval.events_seq OWNED BY approval.events.seq;

/* what has become visible since: the feed and the worker; the last ones of a tenant too */
CREATE INDEX events_feed ON approval.events (origin, xid, tenant, seq);

CREATE SEQUENCE approval.refusal_log_id_seq;

CREATE TABLE approval.refusal_log (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	id				pg_catalog.int8 NOT NULL DEFAULT pg_catalog.nextval('approval.refusal_log_id_seq'::pg_catalog.regclass),
	at				pg_catalog.timestamptz NOT NULL,
	verb			pg_catalog.text NOT NULL,
	login			pg_catalog.text NOT NULL,
	role			pg_catalog.text NOT NULL,
	actor			pg_catalog.text,
	request_id		approval.ulid,
	reason			pg_catalog.text NOT NULL,
	http_status		pg_catalog.int4 NOT NULL,
	detail			pg_catalog.json NOT NULL,
	CONSTRAINT refusal_log_pkey PRIMARY KEY (tenant, id)
);
ALTER SEQUENCE approval.refusal_log_id_seq OWNED BY approval.refusal_log.id;
CREATE INDEX refusal_log_at ON approval.refusal_log (tenant, at);

CREATE TABLE approval.logins (
	login			pg_catalog.text NOT NULL,
	kind			pg_catalog.text NOT NULL,
	actor			pg_catalog.text,
	tenants			pg_catalog.text[] NOT NULL,
	roles			pg_catalog.text[] NOT NULL DEFAULT '{}',
	registered_by	pg_catalog.text NOT NULL,
	registered_at	pg_catalog.timestamptz NOT NULL,
	CONSTRAINT logins_pkey PRIMARY KEY (login),
	CONSTRAINT logins_kind_check CHECK (kind IN ('person', 'service', 'delegate', 'gateway')),
	CONSTRAINT logins_tenants_check CHECK (pg_catalog.cardinality(tenants) >= 1 AND pg_catalog.array_position(tenants, NULL) IS NULL)
);

/* secrets that the database makes for itself at first use, and marks it sets */
CREATE TABLE approval.keys (
	name			pg_catalog.text NOT NULL,
	value			pg_catalog.bytea NOT NULL,
	CONSTRAINT keys_pkey PRIMARY KEY (name)
);

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['requests', 'decisions', 'events', 'refusal_log', 'logins', 'keys']
	LOOP
		EXECUTE pg_catalog.format('ALTER TABLE approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
		PERFORM pg_catalog.pg_extension_config_dump(('approval.' OPERATOR(pg_catalog.||) relation)::pg_catalog.regclass, '');
	END LOOP;
	PERFORM pg_catalog.pg_extension_config_dump('approval.events_seq'::pg_catalog.regclass, '');
	PERFORM pg_catalog.pg_extension_config_dump('approval.refusal_log_id_seq'::pg_catalog.regclass, '');
END
$do$;

COMMENT ON TABLE approval.requests IS 'One row for each proposed action and all that became of it. Changed by verbs only; read it through the views.';
COMMENT ON TABLE approval.decisions IS 'One row for each verdict of a person on a request, with the review_hash that was shown.';
COMMENT ON TABLE approval.events IS 'Append-only audit trail: one row for each transition, chained by hash within a request.';
COMMENT ON TABLE approval.refusal_log IS 'What the try_ verbs refused. Not chained; may be purged by age.';
COMMENT ON TABLE approval.logins IS 'Which database login may speak for whom, and for which tenants. Written by register_login().';
COMMENT ON TABLE approval.keys IS 'Secrets that the database made for itself (channel names). Readable by nobody.';
