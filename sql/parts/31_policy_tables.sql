/*
 * Tables of policy.  A row whose tenant is * holds for every tenant; where it
 * and a tenant's own row disagree, the stricter wins.  Only the verbs of the
 * administrator write here, and each change is a row of policy_events.
 */
CREATE SEQUENCE approval.policy_version_seq AS pg_catalog.int4;

CREATE TABLE approval.tools (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	server				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	policy_version		pg_catalog.int4 NOT NULL,
	class				pg_catalog.text NOT NULL,
	risk				pg_catalog.text NOT NULL DEFAULT 'high',
	roles				pg_catalog.text[],
	description			pg_catalog.text,
	annotations			pg_catalog.json,
	default_mode		pg_catalog.text,
	definition			pg_catalog.json,
	definition_digest	approval.digest,
	shape				approval.digest,
	reviewed_by			pg_catalog.text,
	reviewed_at			pg_catalog.timestamptz,
	capability			pg_catalog.text,
	owner				pg_catalog.text,
	effect				pg_catalog.text NOT NULL DEFAULT 'external',
	idempotent			pg_catalog.bool NOT NULL DEFAULT false,
	max_attempts		pg_catalog.int4 NOT NULL DEFAULT 1,
	retry_within		pg_catalog.interval,
	executors			pg_catalog.text[],
	lease				pg_catalog.interval,
	decide_within		pg_catalog.interval,
	use_within			pg_catalog.interval,
	edits				pg_catalog.text NOT NULL DEFAULT 'free',
	edit_paths			pg_catalog.text[],
	owner_may_confirm	pg_catalog.bool NOT NULL DEFAULT false,
	summary_template	pg_catalog.text,
	expects				pg_catalog.jsonb,
	reviewer_group		pg_catalog.text,
	approvals_needed	pg_catalog.int4 NOT NULL DEFAULT 1,
	reviewers			pg_catalog.jsonb,
	rejections_needed	pg_catalog.int4 NOT NULL DEFAULT 1,
	key_paths			pg_catalog.text[],
	cool_down			pg_catalog.interval,
	remind_before		pg_catalog.interval,
	escalate_after		pg_catalog.interval,
	escalate_to			pg_catalog.text,
	budgets				pg_catalog.jsonb,
	results				pg_catalog.jsonb,
	retired_at			pg_catalog.timestamptz,
	retired_by			pg_catalog.text,
	replaced_by			pg_catalog.text,
	CONSTRAINT tools_pkey PRIMARY KEY (tenant, server, tool),
	CONSTRAINT tools_approvals_check CHECK (approvals_needed >= 1 AND rejections_needed >= 1)
);
CREATE UNIQUE INDEX tools_capability ON approval.tools (tenant, capability)
	WHERE capability IS NOT NULL AND retired_at IS NULL;
CREATE INDEX tools_shape ON approval.tools (tenant, server, shape) WHERE shape IS NOT NULL;

CREATE TABLE approval.rules (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	server				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	position			pg_catalog.int4 NOT NULL,
	condition			pg_catalog.text,
	mode				pg_catalog.text NOT NULL,
	reason				pg_catalog.text,
	approvals_needed	pg_catalog.int4,
	reviewer_group		pg_catalog.text,
	reviewers			pg_catalog.jsonb,
	rejections_needed	pg_catalog.int4,
	costly				pg_catalog.bool,
	CONSTRAINT rules_pkey PRIMARY KEY (tenant, server, tool, position),
	CONSTRAINT rules_approvals_check CHECK (approvals_needed >= 1 AND rejections_needed >= 1)
);

/* definitions that gateways have brought and nobody has reviewed */
CREATE TABLE approval.seen_definitions (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	server				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	digest				approval.digest NOT NULL,
	definition			pg_catalog.json NOT NULL,
	seen_by				pg_catalog.text NOT NULL,
	seen_at				pg_catalog.timestamptz NOT NULL
);
CREATE INDEX seen_definitions_tool ON approval.seen_definitions (tenant, server, tool, digest);

/* what nothing is proposed or consumed for: a tool, or (tool '') a whole tenant */
CREATE TABLE approval.freezes (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	server				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	frozen_at			pg_catalog.timestamptz NOT NULL,
	frozen_by			pg_catalog.text NOT NULL,
	reason				pg_catalog.text,
	CONSTRAINT freezes_pkey PRIMARY KEY (tenant, server, tool)
);

CREATE TABLE approval.members (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	reviewer_group		pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	actor				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	added_by			pg_catalog.text NOT NULL,
	added_at			pg_catalog.timestamptz NOT NULL,
	CONSTRAINT members_pkey PRIMARY KEY (tenant, reviewer_group, actor)
);

/* amounts approved automatically, and what became of them */
CREATE TABLE approval.budget_entries (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	request_id			approval.ulid NOT NULL,
	tool_tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	budget				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	server				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	key					pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	amount				pg_catalog.numeric NOT NULL,
	at					pg_catalog.timestamptz NOT NULL,
	use_by				pg_catalog.timestamptz,
	consumed_at			pg_catalog.timestamptz,
	released_at			pg_catalog.timestamptz,
	CONSTRAINT budget_entries_pkey PRIMARY KEY (tenant, request_id, tool_tenant, budget)
);
CREATE INDEX budget_entries_window ON approval.budget_entries (tenant, server, tool, tool_tenant, budget, at)
	INCLUDE (key, amount) WHERE released_at IS NULL;
CREATE INDEX budget_entries_unused ON approval.budget_entries (tenant, server, tool, tool_tenant, budget, use_by)
	WHERE released_at IS NULL AND consumed_at IS NULL;

CREATE TABLE approval.grants (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	id					approval.ulid NOT NULL,
	server				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	tool				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	condition			pg_catalog.text,
	requester_login		pg_catalog.text NOT NULL,
	requested_by		pg_catalog.text,
	until				pg_catalog.timestamptz NOT NULL,
	max_uses			pg_catalog.int4 NOT NULL,
	policy_version		pg_catalog.int4 NOT NULL,
	grantors			pg_catalog.text[] NOT NULL,
	granted_at			pg_catalog.timestamptz NOT NULL,
	note				pg_catalog.text,
	voided_at			pg_catalog.timestamptz,
	voided_by			pg_catalog.text,
	void_reason			pg_catalog.text,
	CONSTRAINT grants_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX grants_tool ON approval.grants (tenant, server, tool) WHERE voided_at IS NULL;

/*
 * Freezes are a chain of their own: whoever shuts the gate must not wait for an
 * administrator who sits in an open transaction.
 */
CREATE TABLE approval.policy_events (
	tenant				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	chain				pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	n					pg_catalog.int4 NOT NULL,
	at					pg_catalog.timestamptz NOT NULL,
	verb				pg_catalog.text NOT NULL,
	actor				pg_catalog.text NOT NULL,
	login				pg_catalog.text NOT NULL,
	role				pg_catalog.text NOT NULL,
	client				pg_catalog.text,
	server				pg_catalog.text,
	tool				pg_catalog.text,
	subject				pg_catalog.text,
	policy_version		pg_catalog.int4,
	before				pg_catalog.json,
	after				pg_catalog.json,
	note				pg_catalog.text,
	previous			approval.digest,
	hash				approval.digest NOT NULL,
	CONSTRAINT policy_events_pkey PRIMARY KEY (tenant, chain, n)
);

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['tools', 'rules', 'seen_definitions', 'freezes', 'members',
									'budget_entries', 'grants', 'policy_events']
	LOOP
		EXECUTE pg_catalog.format('ALTER TABLE approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
		PERFORM pg_catalog.pg_extension_config_dump(('approval.' OPERATOR(pg_catalog.||) relation)::pg_catalog.regclass, '');
	END LOOP;
	ALTER SEQUENCE approval.policy_version_seq OWNER TO approval_owner;
	PERFORM pg_catalog.pg_extension_config_dump('approval.policy_version_seq'::pg_catalog.regclass, '');
END
$do$;

COMMENT ON TABLE approval.tools IS 'The registry: one row for each tool of a server, of one tenant or (*) of every tenant. Spans are intervals; NULL means the setting of the same name. annotations are kept as the tool claims them and never read.';
COMMENT ON TABLE approval.rules IS 'The rules of a tool in order; the first whose jsonpath condition (strict) matches decides. A NULL condition always matches.';
COMMENT ON TABLE approval.seen_definitions IS 'Tool definitions that gateways brought with a proposal and that are not the reviewed one.';
COMMENT ON TABLE approval.freezes IS 'Tools, or (tool '''') whole tenants, for which nothing is proposed or consumed; tenant * for all of them.';
COMMENT ON TABLE approval.members IS 'Who belongs to a group of reviewers, in one tenant or (*) in every tenant.';
COMMENT ON TABLE approval.budget_entries IS 'What was approved automatically against a budget, and when. An entry counts until its request is withdrawn, lapses unused, or is reconciled as failed (released_at).';
COMMENT ON TABLE approval.grants IS 'Standing grants: proposals that a person has allowed in advance, bounded in time and number.';
COMMENT ON TABLE approval.policy_events IS 'Append-only: every change of policy with before and after, chained by hash within a tenant: chain policy, and chain freeze for freezes.';
