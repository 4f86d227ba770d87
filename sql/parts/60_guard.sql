/*
 * The guard.  The triggers are ENABLE (origin), so that a restore with
 * session_replication_role = replica and apply workers pass; nothing stamps or
 * notifies on INSERT, so that restored rows are what they were.
 */
CREATE FUNCTION approval.guard_request() RETURNS pg_catalog.trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'approval_guard_request';
REVOKE ALL ON FUNCTION approval.guard_request FROM PUBLIC;
COMMENT ON FUNCTION approval.guard_request IS 'Trigger: requests change by verbs only, along approval.transitions(); nothing is removed.';

CREATE FUNCTION approval.guard_append_only() RETURNS pg_catalog.trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'approval_guard_append_only';
REVOKE ALL ON FUNCTION approval.guard_append_only FROM PUBLIC;
COMMENT ON FUNCTION approval.guard_append_only IS 'Trigger: decisions, events and steps are only ever added.';

CREATE FUNCTION approval.guard_run() RETURNS pg_catalog.trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'approval_guard_run';
REVOKE ALL ON FUNCTION approval.guard_run FROM PUBLIC;
COMMENT ON FUNCTION approval.guard_run IS 'Trigger: runs change by verbs only, along approval.run_transitions(); no counter goes back; nothing is removed.';

CREATE FUNCTION approval.guard_entry() RETURNS pg_catalog.trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'approval_guard_entry';
REVOKE ALL ON FUNCTION approval.guard_entry FROM PUBLIC;
COMMENT ON FUNCTION approval.guard_entry IS 'Trigger: entries of budgets and handles change by verbs only; nothing is removed.';

CREATE FUNCTION approval.table_changed() RETURNS pg_catalog.trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'approval_table_changed';
REVOKE ALL ON FUNCTION approval.table_changed FROM PUBLIC;
COMMENT ON FUNCTION approval.table_changed IS 'Trigger: makes every session forget what it keeps of approval.logins and approval.keys.';

CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.requests
	FOR EACH ROW EXECUTE FUNCTION approval.guard_request();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.requests
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_request();
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.decisions
	FOR EACH ROW EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.decisions
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.events
	FOR EACH ROW EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.events
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_append_only();

CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.runs
	FOR EACH ROW EXECUTE FUNCTION approval.guard_run();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.runs
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_run();
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.steps
	FOR EACH ROW EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.steps
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.handles
	FOR EACH ROW EXECUTE FUNCTION approval.guard_entry();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.handles
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_entry();

/* ALWAYS: sessions on a subscriber have to hear of it too, whoever applies it */
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON approval.logins
	FOR EACH ROW EXECUTE FUNCTION approval.table_changed();
CREATE TRIGGER changed_all AFTER TRUNCATE ON approval.logins
	FOR EACH STATEMENT EXECUTE FUNCTION approval.table_changed();
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.policy_events
	FOR EACH ROW EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.policy_events
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_append_only();
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON approval.budget_entries
	FOR EACH ROW EXECUTE FUNCTION approval.guard_entry();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON approval.budget_entries
	FOR EACH STATEMENT EXECUTE FUNCTION approval.guard_entry();

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['tools', 'rules', 'freezes', 'grants']
	LOOP
		EXECUTE pg_catalog.format('CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON approval.%I'
			' FOR EACH ROW EXECUTE FUNCTION approval.table_changed()', relation);
		EXECUTE pg_catalog.format('CREATE TRIGGER changed_all AFTER TRUNCATE ON approval.%I'
			' FOR EACH STATEMENT EXECUTE FUNCTION approval.table_changed()', relation);
		EXECUTE pg_catalog.format('ALTER TABLE approval.%I ENABLE ALWAYS TRIGGER changed', relation);
		EXECUTE pg_catalog.format('ALTER TABLE approval.%I ENABLE ALWAYS TRIGGER changed_all', relation);
	END LOOP;
END
$do$;

CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON approval.keys
	FOR EACH ROW EXECUTE FUNCTION approval.table_changed();
CREATE TRIGGER changed_all AFTER TRUNCATE ON approval.keys
	FOR EACH STATEMENT EXECUTE FUNCTION approval.table_changed();
ALTER TABLE approval.logins ENABLE ALWAYS TRIGGER changed;
ALTER TABLE approval.logins ENABLE ALWAYS TRIGGER changed_all;
ALTER TABLE approval.keys ENABLE ALWAYS TRIGGER changed;
ALTER TABLE approval.keys ENABLE ALWAYS TRIGGER changed_all;

/*
 * What verbs write fires no statement trigger, so these tell what was loaded:
 * a restore, or rows copied by a subscription.
 */
CREATE TRIGGER loaded AFTER INSERT ON approval.requests
	FOR EACH STATEMENT EXECUTE FUNCTION approval.loaded();
ALTER TABLE approval.requests ENABLE ALWAYS TRIGGER loaded;
CREATE TRIGGER loaded AFTER INSERT ON approval.events
	FOR EACH STATEMENT EXECUTE FUNCTION approval.loaded();
ALTER TABLE approval.events ENABLE ALWAYS TRIGGER loaded;
