/*
 * The verbs of the administrator: registry, rules, freezes, groups, grants.
 * Each change is a row of policy_events, with before and after.
 */
CREATE TYPE approval.policy_change AS (
	tenant			pg_catalog.text,
	chain			pg_catalog.text,
	n				pg_catalog.int4,
	at				pg_catalog.timestamptz,
	verb			pg_catalog.text,
	server			pg_catalog.text,
	tool			pg_catalog.text,
	subject			pg_catalog.text,
	policy_version	pg_catalog.int4,
	before			pg_catalog.json,
	after			pg_catalog.json
);
COMMENT ON TYPE approval.policy_change IS 'What a verb of the administrator returns: the event that it wrote. n counts the changes of a tenant in its chain (policy, or freeze); policy_version is the version that requests will keep, NULL where the change makes none; before and after are the whole document, NULL where there was, or is, none.';

CREATE FUNCTION approval.register_tool(
	tool pg_catalog.text,
	class pg_catalog.text,
	options pg_catalog.jsonb DEFAULT '{}',
	server pg_catalog.text DEFAULT '',
	replaces pg_catalog.text DEFAULT NULL,
	replaces_server pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_register_tool';
REVOKE ALL ON FUNCTION approval.register_tool FROM PUBLIC;
COMMENT ON FUNCTION approval.register_tool IS
'Registers a tool of a server for the tenant, or with tenant * for every tenant. class: knowledge, live_data or action. options: one JSON object; members: risk (low, medium, high, critical; high), default_mode (inline, auto, review, deny; none: review), rules (see set_rules), expects ({"amount":"nonnegative"}; number, nonnegative, integer, string, boolean, object, array), summary_template, reviewer_group (* for any approver) and approvals_needed (1), or reviewers ({"finance":1,"legal":2}: of each group so many, all different people), rejections_needed (1: a veto), budgets, results ([{"requires":jsonpath | "refuses":jsonpath, "as":"empty"|"degraded" (degraded), "reason"}]: what complete() and validate_result() ask of a result), key_paths and cool_down, executors (logins), roles, capability with owner, effect (external, database), idempotent with max_attempts and retry_within, lease, decide_within, use_within (intervals as text, or seconds), remind_before (a reminder so long before the deadline), escalate_after with escalate_to (after so long its members may decide too), edits (free, none, tighten) with edit_paths, owner_may_confirm, definition (pins it), description, annotations (kept, never read). replaces: the active tool that it takes the capability over from, which is retired. Required: tool, class, options (22004 for NULL). Errors: PT422 bad_policy (DETAIL: place, problem), 42501 for another tenant.';

CREATE FUNCTION approval.update_tool(
	tool pg_catalog.text,
	options pg_catalog.jsonb,
	server pg_catalog.text DEFAULT '',
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_update_tool';
REVOKE ALL ON FUNCTION approval.update_tool FROM PUBLIC;
COMMENT ON FUNCTION approval.update_tool IS
'Changes the options given, and keeps the others; null takes an option away, where it has no default. The whole is checked as one document. Required: tool, options (22004 for NULL). Errors: PT404 not_found, PT403 tool_retired, PT422 bad_policy.';

CREATE FUNCTION approval.set_rules(
	tool pg_catalog.text,
	rules pg_catalog.jsonb,
	server pg_catalog.text DEFAULT '',
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_set_rules';
REVOKE ALL ON FUNCTION approval.set_rules FROM PUBLIC;
COMMENT ON FUNCTION approval.set_rules IS
'Replaces all rules of a tool: an array of {"condition","mode","reason","approvals_needed","reviewer_group","reviewers","rejections_needed","position","costly"}. The first rule whose condition is true decides; a rule without a condition is always true, and the last. Conditions are jsonpath predicates over the arguments, always strict; one that cannot be evaluated leads to review, unless a later rule denies. An upper bound needs a lower one (or expects nonnegative); .** and like_regex need costly. Required: tool, rules (22004 for NULL). Errors: PT404 not_found, PT403 tool_retired, PT422 bad_policy (DETAIL: place, problem).';

CREATE FUNCTION approval.review_tool(
	tool pg_catalog.text,
	seen approval.digest,
	server pg_catalog.text DEFAULT '',
	definition pg_catalog.json DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_review_tool';
REVOKE ALL ON FUNCTION approval.review_tool FROM PUBLIC;
COMMENT ON FUNCTION approval.review_tool IS
'Pins the definition that was reviewed. seen: its tool_digest, as approval.tool_changes shows it; the definition itself is taken from what gateways brought, or given. Required: tool, seen (22004 for NULL). Errors: PT404 not_found (the tool, or no such definition was seen), PT412 stale_view (the definition given is another), PT403 tool_retired, PT422 bad_policy.';

CREATE FUNCTION approval.retire_tool(
	tool pg_catalog.text,
	reason pg_catalog.text DEFAULT NULL,
	server pg_catalog.text DEFAULT '',
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_retire_tool';
REVOKE ALL ON FUNCTION approval.retire_tool FROM PUBLIC;
COMMENT ON FUNCTION approval.retire_tool IS
'Takes a tool out of use: it is refused at propose and at consume (PT403 tool_retired), and its capability is free. register_tool brings it back. Required: tool (22004 for NULL). Errors: PT404 not_found, PT403 tool_retired.';

CREATE FUNCTION approval.freeze_tool(
	tool pg_catalog.text,
	reason pg_catalog.text DEFAULT NULL,
	server pg_catalog.text DEFAULT '',
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_freeze_tool';
REVOKE ALL ON FUNCTION approval.freeze_tool FROM PUBLIC;
COMMENT ON FUNCTION approval.freeze_tool IS
'Refuses the tool at propose and at consume, at once (PT403 tool_frozen), registered or not; standing grants for it are void. Permits that are out are not called back. Approvers may freeze too. Required: tool (22004 for NULL). Errors: PT403 actor_not_allowed.';

CREATE FUNCTION approval.unfreeze_tool(
	tool pg_catalog.text,
	reason pg_catalog.text DEFAULT NULL,
	server pg_catalog.text DEFAULT '',
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_unfreeze_tool';
REVOKE ALL ON FUNCTION approval.unfreeze_tool FROM PUBLIC;
COMMENT ON FUNCTION approval.unfreeze_tool IS
'Lifts a freeze of the tool; grants stay void. Required: tool (22004 for NULL). Errors: PT404 not_found (not frozen), PT403 actor_not_allowed.';

CREATE FUNCTION approval.freeze_tenant(
	reason pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_freeze_tenant';
REVOKE ALL ON FUNCTION approval.freeze_tenant FROM PUBLIC;
COMMENT ON FUNCTION approval.freeze_tenant IS
'Refuses every tool of the tenant (tenant *: of every tenant) at propose and at consume, at once; standing grants are void. Approvers may freeze too. Errors: PT403 actor_not_allowed.';

CREATE FUNCTION approval.unfreeze_tenant(
	reason pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_unfreeze_tenant';
REVOKE ALL ON FUNCTION approval.unfreeze_tenant FROM PUBLIC;
COMMENT ON FUNCTION approval.unfreeze_tenant IS
'Lifts a freeze of the tenant; tools that are frozen by themselves stay so. Errors: PT404 not_found (not frozen), PT403 actor_not_allowed.';

CREATE FUNCTION approval.add_member(
	reviewer_group pg_catalog.text,
	actor pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_add_member';
REVOKE ALL ON FUNCTION approval.add_member FROM PUBLIC;
COMMENT ON FUNCTION approval.add_member IS
'Puts an actor into a group of reviewers, in the tenant or with * in every tenant. Again: nothing changes. Required: reviewer_group, actor (22004 for NULL).';

CREATE FUNCTION approval.remove_member(
	reviewer_group pg_catalog.text,
	actor pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_remove_member';
REVOKE ALL ON FUNCTION approval.remove_member FROM PUBLIC;
COMMENT ON FUNCTION approval.remove_member IS
'Takes an actor out of a group of reviewers. Votes of somebody who has left do not count any more, nor do grants. Required: reviewer_group, actor (22004 for NULL). Errors: PT404 not_found.';

CREATE FUNCTION approval.allow(
	tool pg_catalog.text,
	requester pg_catalog.text,
	until pg_catalog.timestamptz,
	max_uses pg_catalog.int4,
	condition pg_catalog.text DEFAULT NULL,
	server pg_catalog.text DEFAULT '',
	requested_by pg_catalog.text DEFAULT NULL,
	endorses approval.ulid DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_allow';
REVOKE ALL ON FUNCTION approval.allow FROM PUBLIC;
COMMENT ON FUNCTION approval.allow IS
'A standing grant: this tool, arguments for which the jsonpath condition is true (none: any), proposed by this login (and, if given, for this actor), until then, at most so many times (1 to 1000), needs no further review. Each use is approved by policy with gate_reason grant. Where the rule that it replaces needs several people, others endorse it: the same arguments with endorses, the id of the grant (after ->> ''id''). It is void when policy, definition or group changes, on a freeze, and on one rejection in its scope; a denial always wins. Required: tool, requester, until, max_uses (22004 for NULL; 22023 beyond approval.max_grant; 42704 for a login that does not exist). Errors: PT404 not_found, PT403 self_approval, not_eligible, tool_frozen, tool_retired, actor_not_allowed, PT422 bad_policy.';

CREATE FUNCTION approval.disallow(
	id approval.ulid,
	reason pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_disallow';
REVOKE ALL ON FUNCTION approval.disallow FROM PUBLIC;
COMMENT ON FUNCTION approval.disallow IS
'Ends a standing grant. What was approved under it stays approved: revoke it by itself. Approvers may too. Required: id (22004 for NULL). Errors: PT404 not_found, PT403 actor_not_allowed.';

CREATE FUNCTION approval.expire_due(max_rows pg_catalog.int4 DEFAULT 1000)
RETURNS pg_catalog.int8
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_expire_due';
REVOKE ALL ON FUNCTION approval.expire_due FROM PUBLIC;
COMMENT ON FUNCTION approval.expire_due IS
'Writes down what has lapsed in the caller''s tenants: pending and approved requests become expired, executions whose lease is over unknown, reminders and escalations happen, each with its event and one for a request in a call. Returns how many; call it again while that is max_rows. A row that fails is set aside and tried again later. The worker does the same; this is for installations without it. Rows that somebody holds are left for the next time. Deadlines hold without it. max_rows: 1 to 1000000 (22004 for NULL, 22023).';

CREATE FUNCTION approval.explain(
	tool pg_catalog.text,
	arguments pg_catalog.json,
	server pg_catalog.text DEFAULT '',
	resource pg_catalog.text DEFAULT NULL,
	definition pg_catalog.json DEFAULT NULL,
	requester pg_catalog.text DEFAULT NULL,
	requested_by pg_catalog.text DEFAULT NULL,
	on_behalf_of pg_catalog.text DEFAULT NULL,
	at_least pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL,
	OUT mode pg_catalog.text,
	OUT gate_reason pg_catalog.text,
	OUT rule pg_catalog.int4,
	OUT rule_reason pg_catalog.text,
	OUT policy_version pg_catalog.int4,
	OUT class pg_catalog.text,
	OUT risk pg_catalog.text,
	OUT effect pg_catalog.text,
	OUT reviewer_group pg_catalog.text,
	OUT reviewers pg_catalog.json,
	OUT approvals_needed pg_catalog.int4,
	OUT rejections_needed pg_catalog.int4,
	OUT decide_within pg_catalog.interval,
	OUT use_within pg_catalog.interval,
	OUT denial pg_catalog.text,
	OUT grant_id pg_catalog.text,
	OUT summary pg_catalog.text,
	OUT rules pg_catalog.json)
RETURNS pg_catalog.record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_explain';
REVOKE ALL ON FUNCTION approval.explain FROM PUBLIC;
COMMENT ON FUNCTION approval.explain IS
'What would become of a proposal now, and why; nothing is stored, counted or locked. mode: inline, auto, review, deny, or frozen or retired, which propose refuses. rules: those that were looked at, with matches true, false or null for one that cannot be evaluated. requester: the login that would propose (for roles, grants and cool-downs); without it roles are not looked at. For administrators and auditors only: it is an oracle for thresholds. Required: tool, arguments (22004 for NULL). Errors: PT422 not_canonical, bad_arguments, too_large.';

CREATE FUNCTION approval.simulate(
	draft pg_catalog.jsonb,
	since pg_catalog.timestamptz DEFAULT NULL,
	max_rows pg_catalog.int4 DEFAULT 100,
	tenant pg_catalog.text DEFAULT NULL,
	OUT considered pg_catalog.int8,
	OUT changed pg_catalog.int8,
	OUT stricter pg_catalog.int8,
	OUT looser pg_catalog.int8,
	OUT totals pg_catalog.json,
	OUT changes pg_catalog.json)
RETURNS pg_catalog.record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_simulate';
REVOKE ALL ON FUNCTION approval.simulate FROM PUBLIC;
COMMENT ON FUNCTION approval.simulate IS
'Which past requests of a tool a draft would have sent another way. draft: {"tool", "server", and options as of register_tool, rules included}, over what is registered. totals: requests by mode then and by the draft (numbers as strings); changes: the first max_rows (0 to 10000) requests that differ. Proposed arguments are evaluated; budgets, grants, cool-downs and roles are not. since NULL: all of them. Required: draft, max_rows (22004 for NULL). Errors: PT422 bad_policy.';

CREATE FUNCTION approval.verify_policy(
	chain pg_catalog.text DEFAULT 'policy',
	tenant pg_catalog.text DEFAULT NULL,
	OUT ok pg_catalog.bool,
	OUT events pg_catalog.int4,
	OUT problem pg_catalog.text,
	OUT at_event pg_catalog.int4)
RETURNS pg_catalog.record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_verify_policy';
REVOKE ALL ON FUNCTION approval.verify_policy FROM PUBLIC;
COMMENT ON FUNCTION approval.verify_policy IS
'Recomputes a hash chain of the changes of policy of a tenant: chain policy, or freeze (tenant *: of what holds for every tenant, and of logins). events: how many are whole; problem: event_missing, event_changed or chain_broken, with its number; NULL if ok. What an owner cut off at the end shows only against a copy of the last hash. 22023 for another chain, 22004 for NULL.';

CREATE FUNCTION approval.gate_reasons(
	OUT gate_reason pg_catalog.text,
	OUT meaning pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_gate_reasons';
REVOKE ALL ON FUNCTION approval.gate_reasons FROM PUBLIC;
COMMENT ON FUNCTION approval.gate_reasons IS 'The words of gate_reason: why policy sent a request where it did.';
