/*
 * Following what happens: the feed, waiting, and the worker.
 */
CREATE FUNCTION approval.feed(
	cursor_text pg_catalog.text DEFAULT NULL,
	conversation_id pg_catalog.text DEFAULT NULL,
	run_id pg_catalog.text DEFAULT NULL,
	max_rows pg_catalog.int4 DEFAULT 100,
	tenant pg_catalog.text DEFAULT NULL,
	OUT cursor_text pg_catalog.text,
	OUT events pg_catalog.json,
	OUT more pg_catalog.bool,
	OUT resync pg_catalog.bool)
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_feed';
REVOKE ALL ON FUNCTION approval.feed FROM PUBLIC;
COMMENT ON FUNCTION approval.feed IS
'What has become visible since cursor_text: one row, events being a JSON array of what happened to requests that the caller may see, each event once for a stored cursor, those of one request in their order. cursor_text: the one that the last call returned, NULL or empty to begin with the oldest event, ''now'' to begin with the next one; it is opaque, does not depend on the filters, and says nothing of anybody. conversation_id and run_id (NULL: any) are filters; tenant NULL: all of the caller''s. max_rows (NULL: 100; 1 to 10000): whole transactions up to so many, or more if one transaction has more. more: call again at once. resync: the cursor is of another database, a restored or promoted one, or one into which events were loaded; read the list anew (inbox, pending) and go on with the cursor returned, which is of now. A requester sees the events of what its own login proposed. note is null for who may not read the audit trail, and with note_omitted true where the notes of one answer are more than 16 MB. Members of an event: id, n (its number in the chain of the request), seq (a string), event (the kind), at, actor, status_before, status, outcome_before, outcome, tenant, conversation_id, tool_call_id, run_id, server, tool, note. Flushes the log, so that no cursor outlives what it has seen. Works on a standby, where it shows nothing beyond the oldest transaction that still runs. Errors: 22023 for text that is no cursor, 25001 in a transaction that has written, 42501 for another tenant.';

CREATE FUNCTION approval.wait(
	id approval.ulid,
	timeout pg_catalog.interval DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_wait';
REVOKE ALL ON FUNCTION approval.wait FROM PUBLIC;
COMMENT ON FUNCTION approval.wait IS
'Returns the request as soon as it is not pending any more, be it by its deadline, or as it is when the time is up: then call again. timeout: NULL for approval.max_wait, which is the most in any case; 0 does not wait. With the library preloaded nothing is polled, and the answer comes within milliseconds of the commit; without it, and on a standby, the row is looked at twice a second. The statement holds its connection. Required: id (22004 for NULL). Errors: PT404 not_found, PT429 quota (approval.waits_per_login), 25000 under REPEATABLE READ and SERIALIZABLE, 22023 for a negative timeout.';

CREATE FUNCTION approval.wait_conversation(
	conversation_id pg_catalog.text,
	timeout pg_catalog.interval DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS SETOF approval.call_outcome
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_wait_conversation';
REVOKE ALL ON FUNCTION approval.wait_conversation FROM PUBLIC;
COMMENT ON FUNCTION approval.wait_conversation IS
'Waits until no request of the conversation that the caller may see is pending any more, or until the time is up, and returns the rows of outcomes() as they are then: no row has status pending, or call again. Otherwise as wait(). Required: conversation_id (22004 for NULL).';

CREATE FUNCTION approval.wake_worker() RETURNS pg_catalog.bool
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_wake_worker';
REVOKE ALL ON FUNCTION approval.wake_worker FROM PUBLIC;
COMMENT ON FUNCTION approval.wake_worker IS 'When this commits, the worker of the database is started if need be and looks at everything: after rows were loaded with triggers disabled, say. What was set aside is tried again, as when its cause has been mended. Nothing else needs it. False where the library is not preloaded, so that there is no worker.';

CREATE FUNCTION approval.worker_state(
	OUT preloaded pg_catalog.bool,
	OUT launcher_pid pg_catalog.int4,
	OUT worker_pid pg_catalog.int4,
	OUT state pg_catalog.text,
	OUT notify pg_catalog.text,
	OUT next_due pg_catalog.timestamptz,
	OUT started_at pg_catalog.timestamptz,
	OUT swept_at pg_catalog.timestamptz,
	OUT sweep_time pg_catalog.interval,
	OUT expired pg_catalog.int8,
	OUT abandoned pg_catalog.int8,
	OUT reminded pg_catalog.int8,
	OUT escalated pg_catalog.int8,
	OUT set_aside pg_catalog.int8,
	OUT announced pg_catalog.int8,
	OUT announced_at pg_catalog.timestamptz,
	OUT errors pg_catalog.int8,
	OUT error pg_catalog.text,
	OUT error_at pg_catalog.timestamptz,
	OUT failures pg_catalog.int4,
	OUT retry_at pg_catalog.timestamptz,
	OUT waits pg_catalog.int4)
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_worker_state';
REVOKE ALL ON FUNCTION approval.worker_state FROM PUBLIC;
COMMENT ON FUNCTION approval.worker_state IS 'What the worker of this database tells about itself, from shared memory; see the view worker_stats. Counts since the server has started. They, times and the text of the error are of all tenants together, and NULL for a login that does not have all of them.';

CREATE FUNCTION approval.loaded() RETURNS pg_catalog.trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'approval_loaded';
REVOKE ALL ON FUNCTION approval.loaded FROM PUBLIC;
COMMENT ON FUNCTION approval.loaded IS 'Trigger: requests or events that no verb wrote have arrived; whoever follows the feed begins anew, and the worker looks.';
