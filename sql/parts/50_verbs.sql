/*
 * Verbs.  VOLATILE, PARALLEL UNSAFE, not STRICT: a NULL for a required
 * argument raises 22004.  One function per name, no overloads.
 */
CREATE FUNCTION approval.propose(
	tool_call_id pg_catalog.text,
	tool pg_catalog.text,
	arguments pg_catalog.json,
	conversation_id pg_catalog.text DEFAULT '',
	server pg_catalog.text DEFAULT '',
	resource pg_catalog.text DEFAULT NULL,
	definition pg_catalog.json DEFAULT NULL,
	run_id pg_catalog.text DEFAULT NULL,
	agent_reason pg_catalog.text DEFAULT NULL,
	preview pg_catalog.json DEFAULT NULL,
	requested_by pg_catalog.text DEFAULT NULL,
	on_behalf_of pg_catalog.text DEFAULT NULL,
	assignee pg_catalog.text DEFAULT NULL,
	expires_in pg_catalog.interval DEFAULT NULL,
	at_least pg_catalog.text DEFAULT NULL,
	retry_of approval.ulid DEFAULT NULL,
	reply_to pg_catalog.text DEFAULT NULL,
	metadata pg_catalog.json DEFAULT NULL,
	run_token pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_propose';
REVOKE ALL ON FUNCTION approval.propose FROM PUBLIC;
COMMENT ON FUNCTION approval.propose IS
'Asks for one action: evaluates policy, stores the request and returns it. Never raises for a denial: that is a row with status rejected and cause policy. The same call again (tenant, conversation_id, tool_call_id) from the same login with the same action returns the stored row, whatever became of it, and changes nothing. tool_call_id, conversation_id, server, tool, run_id, requested_by, on_behalf_of, assignee and tenant: at most 255 bytes; resource and reply_to: 2048; agent_reason: 65536; arguments, definition, preview and metadata: approval.max_action_size each. expires_in only shortens the time to decide, not below approval.min_decide_within (22023). at_least (inline, auto, review or deny) makes this call stricter, never looser. definition: by logins registered as gateway only. retry_of: an ended request of the same login, its outcome not unknown. run_id: of a run that was started, whose token is shown as run_token, or else, without a token, only a correlation id. Required: tool_call_id, tool, arguments (22004 for NULL). Errors: PT409 tool_call_conflict, PT422 not_canonical, bad_arguments, too_large, PT403 actor_not_allowed, not_eligible, tool_frozen, tool_retired, PT429 quota (DETAIL: scope, of, limit), PT404 not_found (retry_of; run_id with a run_token), PT412 stale_state (retry_of not ended), and for a run_id that is a run (DETAIL: run_id, claimed_by, lease_until): PT409 run_claimed, run_conflict (DETAIL: problem; of another conversation, or another login), run_ended, PT410 run_lease_expired, PT422 iteration_limit.';

CREATE FUNCTION approval.decide(
	id approval.ulid,
	verdict pg_catalog.text,
	seen approval.digest,
	actor pg_catalog.text DEFAULT NULL,
	arguments pg_catalog.json DEFAULT NULL,
	result pg_catalog.text DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_decide';
REVOKE ALL ON FUNCTION approval.decide FROM PUBLIC;
COMMENT ON FUNCTION approval.decide IS
'A person''s verdict on a pending request: approve or reject. seen is the review_hash that was shown. arguments with approve: approve with these corrections. result with reject: text for the model; without one its loop stops. A delegate names the actor; every other login decides as itself; services and gateways do not decide. Where a request has a reviewer_group, only its members do. Where it needs several approvals, it stays pending until enough different actors, of each group so many as it needs, have approved what is shown. One rejection is a veto, unless the policy says how many it takes (rejections_needed); where too few are left who could approve, the request ends as rejected with the cause quorum_unreachable. While it is pending, an approval may become a rejection, not the reverse. Repeating one''s own decision is a no-op that returns the row. Required: id, verdict, seen (22004 for NULL). Errors: PT404 not_found, PT403 self_approval, actor_not_allowed, not_eligible, PT409 already_decided (DETAIL: decided_by, decided_at), vote_locked, PT410 expired, PT412 stale_view, row_tampered, PT422 bad_decision, not_canonical, bad_arguments, too_large.';

CREATE FUNCTION approval.try_decide(
	id approval.ulid,
	verdict pg_catalog.text,
	seen approval.digest,
	actor pg_catalog.text DEFAULT NULL,
	arguments pg_catalog.json DEFAULT NULL,
	result pg_catalog.text DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.attempt
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_try_decide';
REVOKE ALL ON FUNCTION approval.try_decide FROM PUBLIC;
COMMENT ON FUNCTION approval.try_decide IS
'decide that returns a PT refusal instead of raising it, and keeps it in approval.refusals. Standard errors (22004, 22023, 42501, 40001) are raised all the same.';

CREATE FUNCTION approval.approve(
	id approval.ulid,
	seen approval.digest,
	actor pg_catalog.text DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_approve';
REVOKE ALL ON FUNCTION approval.approve FROM PUBLIC;
COMMENT ON FUNCTION approval.approve IS
'Short for decide(id, ''approve'', seen, ...). Required: id, seen (22004 for NULL). Errors as of decide.';

CREATE FUNCTION approval.reject(
	id approval.ulid,
	seen approval.digest,
	actor pg_catalog.text DEFAULT NULL,
	result pg_catalog.text DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_reject';
REVOKE ALL ON FUNCTION approval.reject FROM PUBLIC;
COMMENT ON FUNCTION approval.reject IS
'Short for decide(id, ''reject'', seen, ...). result is the text for the model. Required: id, seen (22004 for NULL). Errors as of decide.';

CREATE FUNCTION approval.edit(
	id approval.ulid,
	seen approval.digest,
	arguments pg_catalog.json,
	actor pg_catalog.text DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_edit';
REVOKE ALL ON FUNCTION approval.edit FROM PUBLIC;
COMMENT ON FUNCTION approval.edit IS
'Approves with corrected arguments. They go through policy again, and may need more approvals than the proposal; earlier approvals do not count for them. The proposal stays beside them (proposed_arguments), and only the corrected action can be consumed. Where the tool''s option edits is none there are no edits (PT422 bad_decision, DETAIL.problem edits_not_allowed); where it is tighten and the edit changes more than its edit_paths, the editor becomes a requester (edited_by): the request stays pending, and somebody else approves. Required: id, seen, arguments (22004 for NULL). Errors as of decide, and PT403 tool_denied.';

CREATE FUNCTION approval.decide_all(
	conversation_id pg_catalog.text,
	decisions pg_catalog.json,
	seen_set approval.digest DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS SETOF approval.answer
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'approval_decide_all';
REVOKE ALL ON FUNCTION approval.decide_all FROM PUBLIC;
COMMENT ON FUNCTION approval.decide_all IS
'The decision map of the agent SDKs, for all calls of a conversation that wait: {"call_1":true,"call_2":{"action":"reject","result":"…"},"*":false}. A key is a tool_call_id, or * for the calls that are not named; a value is true, false, or {"action":"approve"|"reject"|"edit","seen":…,"arguments":{…},"result":"…","note":"…"}, of which seen, arguments (edit, approve), result (reject) and note are optional. Without seen, true, approve and edit stand for the action as it was proposed (PT412 stale_view if it was edited since), false and reject for whatever it is. * never edits; with approve it needs seen_set, the digest of the list that was shown (a column of pending), approves at most approval.bulk_approvals calls, and leaves those that need several people to be named. All or nothing: one row for each call that was locked, in the order of ids. Calls that the actor may not decide are left (answer remaining); if there are no others, that is the error. Repeating one''s own map changes nothing, also after new calls have arrived; only * with reject, nothing else and no seen_set holds for whatever waits by then. Required: conversation_id, decisions (22004 for NULL). Errors: PT409 decisions_mismatch for ids that do not wait, or calls that wait and are not in the map (DETAIL: unknown, missing, ended with the status of those that are there and do not wait, pending with id, tool_call_id, tool and review_hash, seen_set, and decided with decided_by and decided_at), PT412 stale_view (the same DETAIL for another seen_set), PT422 bad_decision (DETAIL: place, problem), not_canonical, too_large (more than 1000 calls), and for a call (DETAIL: id, tool_call_id) those of decide.';

CREATE FUNCTION approval.try_decide_all(
	conversation_id pg_catalog.text,
	decisions pg_catalog.json,
	seen_set approval.digest DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.attempt
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_try_decide_all';
REVOKE ALL ON FUNCTION approval.try_decide_all FROM PUBLIC;
COMMENT ON FUNCTION approval.try_decide_all IS
'decide_all that returns a PT refusal instead of raising it, and keeps it in approval.refusals; nothing is decided then. request is a JSON array of the rows that decide_all would return. Standard errors (22004, 22023, 42501, 40001) are raised all the same.';

CREATE FUNCTION approval.decide_many(
	decisions pg_catalog.json,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS SETOF approval.answer
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'approval_decide_many';
REVOKE ALL ON FUNCTION approval.decide_many FROM PUBLIC;
COMMENT ON FUNCTION approval.decide_many IS
'Decides the selection of an inbox: a JSON array of 1 to 1000 objects {"id":…,"seen":…,"verdict":"approve"|"reject"|"edit","arguments":{…},"result":"…","note":"…"}, each on exactly what was shown (seen, the review_hash, is required). All or nothing, in the order of ids, whatever the order in the array. Several approvals at a time are of one tool, at most approval.bulk_approvals, and never of what needs several people; rejections are not limited. Returns one row for each, in the order of ids (answer applied or unchanged). Required: decisions (22004 for NULL). Errors: those of decide for the first request that is refused (DETAIL: id), PT422 bad_decision (DETAIL: place, problem), not_canonical, too_large.';

CREATE FUNCTION approval.try_decide_many(
	decisions pg_catalog.json,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS SETOF approval.answer
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'approval_try_decide_many';
REVOKE ALL ON FUNCTION approval.try_decide_many FROM PUBLIC;
COMMENT ON FUNCTION approval.try_decide_many IS
'decide_many that decides what it can: every request gets a row, and one that is refused (answer refused; reason, http_status and detail say why, and who decided) stops none of the others. Refusals are kept in approval.refusals. An array that is no list of decisions, or approves too much at a time, is raised as by decide_many. Required: decisions (22004 for NULL).';

CREATE FUNCTION approval.claim(
	id approval.ulid,
	actor pg_catalog.text DEFAULT NULL,
	lease pg_catalog.interval DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_claim';
REVOKE ALL ON FUNCTION approval.claim FROM PUBLIC;
COMMENT ON FUNCTION approval.claim IS
'Tells others that somebody is at it: a claim on a request of the inbox keeps others from claiming it, and never from deciding. It holds for lease, 1 second to 1 day (approval.claim); claiming again renews it, without an event. Only who may decide may claim. Required: id (22004 for NULL). Errors: PT423 claimed (DETAIL: claimed_by, claimed_until), PT404 not_found, PT403 self_approval, actor_not_allowed, not_eligible, PT409 already_decided, PT410 expired, PT412 row_tampered.';

CREATE FUNCTION approval.release(
	id approval.ulid,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_release';
REVOKE ALL ON FUNCTION approval.release FROM PUBLIC;
COMMENT ON FUNCTION approval.release IS
'Ends one''s own claim; where there is none, nothing changes. Required: id (22004 for NULL). Errors: PT423 claimed for somebody else''s, PT404 not_found, PT403 actor_not_allowed, not_eligible, PT412 row_tampered.';

CREATE FUNCTION approval.assign(
	id approval.ulid,
	assignee pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_assign';
REVOKE ALL ON FUNCTION approval.assign FROM PUBLIC;
COMMENT ON FUNCTION approval.assign IS
'Says who should look at a request of the inbox; NULL: nobody in particular. It makes nobody eligible, and keeps nobody else from deciding. The note of the event is the assignee. The same again changes nothing. Required: id (22004 for NULL). Errors: PT404 not_found, PT403 actor_not_allowed, not_eligible, PT409 already_decided, PT410 expired, PT412 row_tampered.';

CREATE FUNCTION approval.comment(
	id approval.ulid,
	note pg_catalog.text,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_comment';
REVOKE ALL ON FUNCTION approval.comment FROM PUBLIC;
COMMENT ON FUNCTION approval.comment IS
'Adds a remark of at most 65536 bytes to the trail of a request, in whatever state: an event of kind commented. Reviewers comment on any request of their tenants, a requester on its own, up to 100 events. Required: id, note (22004 for NULL). Errors: PT404 not_found, PT403 actor_not_allowed, PT412 row_tampered, PT429 quota.';

CREATE FUNCTION approval.extend(
	id approval.ulid,
	expires_in pg_catalog.interval,
	actor pg_catalog.text DEFAULT NULL,
	note pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_extend';
REVOKE ALL ON FUNCTION approval.extend FROM PUBLIC;
COMMENT ON FUNCTION approval.extend IS
'Gives more time to decide on a pending request: expires_in from now on, not beyond approval.max_decide_within after the proposal. A deadline that is later already stays, and so does one that would move by less than a minute or a hundredth of expires_in: a driver''s retry changes nothing. Only who may decide may extend. Required: id, expires_in (22004 for NULL; at least 1 second and at most approval.max_decide_within, else 22023). Errors: PT412 stale_state where that is too late (DETAIL: latest), row_tampered, PT404 not_found, PT403 self_approval, actor_not_allowed, not_eligible, PT409 already_decided, PT410 expired.';

CREATE FUNCTION approval.cancel(
	id approval.ulid,
	reason pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_cancel';
REVOKE ALL ON FUNCTION approval.cancel FROM PUBLIC;
COMMENT ON FUNCTION approval.cancel IS
'The requester takes back its own request, pending or approved. Cancelling again is a no-op. Required: id (22004 for NULL). Errors: PT404 not_found, PT409 already_consumed, already_decided, PT410 expired, PT412 row_tampered.';

CREATE FUNCTION approval.revoke(
	id approval.ulid,
	reason pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_revoke';
REVOKE ALL ON FUNCTION approval.revoke FROM PUBLIC;
COMMENT ON FUNCTION approval.revoke IS
'Takes back an approval that has not been used. Revoking again is a no-op. Required: id (22004 for NULL). Errors: PT404 not_found, PT403 actor_not_allowed, PT409 not_approved, already_consumed, PT410 expired, PT412 row_tampered.';

CREATE FUNCTION approval.revoke_by(
	actor pg_catalog.text,
	reason pg_catalog.text DEFAULT NULL,
	revoked_by pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS SETOF approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_revoke_by';
REVOKE ALL ON FUNCTION approval.revoke_by FROM PUBLIC;
COMMENT ON FUNCTION approval.revoke_by IS
'Takes back every approval of one actor in the tenant that has not been used, and whatever was approved under a standing grant of that actor, and returns those rows (one that still shows as approved was held by somebody who waited for another one in turn: call again); the grants are void too, and the actor''s votes on what still waits count no more: for a reviewer whose session was stolen. It is an event of policy_audit (chain freeze). Required: actor (22004 for NULL). Errors: PT403 actor_not_allowed (revoked_by).';

CREATE FUNCTION approval.consume(
	id approval.ulid,
	tool pg_catalog.text,
	arguments pg_catalog.json,
	execution_id pg_catalog.text,
	server pg_catalog.text DEFAULT '',
	resource pg_catalog.text DEFAULT NULL,
	definition pg_catalog.json DEFAULT NULL,
	lease pg_catalog.interval DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.permit
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_consume';
REVOKE ALL ON FUNCTION approval.consume FROM PUBLIC;
COMMENT ON FUNCTION approval.consume IS
'Uses an approval, once, for exactly the action presented, and returns the permit. Call it as SELECT * FROM approval.consume(...), as a statement of its own and outside any transaction block: the permit counts when the statement has completed. An omitted server or resource counts as '''' or null, never as what the row says. lease: how long the execution may stay silent, by default approval.lease, at most approval.max_lease. Required: id, tool, arguments, execution_id (22004 for NULL). Policy is looked at again: it may only have become more lenient since. Errors: PT404 not_found, PT403 not_executor, tool_frozen, tool_retired, PT409 not_approved, already_consumed, PT410 expired, PT412 hash_mismatch (DETAIL.differs: paths, no values), row_tampered, tool_changed (the definition given or pinned is not the approved one), policy_changed, PT422 commit_first, not_canonical, bad_arguments, too_large.';

CREATE FUNCTION approval.try_consume(
	id approval.ulid,
	tool pg_catalog.text,
	arguments pg_catalog.json,
	execution_id pg_catalog.text,
	server pg_catalog.text DEFAULT '',
	resource pg_catalog.text DEFAULT NULL,
	definition pg_catalog.json DEFAULT NULL,
	lease pg_catalog.interval DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.attempt
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_try_consume';
REVOKE ALL ON FUNCTION approval.try_consume FROM PUBLIC;
COMMENT ON FUNCTION approval.try_consume IS
'consume that returns a PT refusal instead of raising it, and keeps it in approval.refusals. Standard errors (22004, 22023, 42501, 40001) are raised all the same.';

CREATE FUNCTION approval.resume(
	id approval.ulid,
	execution_id pg_catalog.text,
	token pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.permit
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_resume';
REVOKE ALL ON FUNCTION approval.resume FROM PUBLIC;
COMMENT ON FUNCTION approval.resume IS
'The next attempt of an execution whose lease is over, or that reported unknown, for tools registered as idempotent, within their max_attempts and retry_within: a permit with the next attempt, a new token and the same idempotency key. Call it as consume. Required: id, execution_id, token (22004 for NULL). Errors: PT404 not_found, PT403 not_executor, tool_frozen, tool_retired, PT409 not_idempotent (DETAIL.problem: not_registered, not_idempotent, attempts_used_up, too_late), execution_mismatch, PT412 stale_state, row_tampered, tool_changed, policy_changed, PT422 commit_first.';

CREATE FUNCTION approval.heartbeat(
	id approval.ulid,
	execution_id pg_catalog.text,
	token pg_catalog.text,
	lease pg_catalog.interval DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_heartbeat';
REVOKE ALL ON FUNCTION approval.heartbeat FROM PUBLIC;
COMMENT ON FUNCTION approval.heartbeat IS
'Starts the lease of a running execution again, from now. Makes no event. Required: id, execution_id, token (22004 for NULL). Errors: PT404 not_found, PT409 execution_mismatch, PT410 lease_expired, PT412 stale_state.';

CREATE FUNCTION approval.complete(
	id approval.ulid,
	execution_id pg_catalog.text,
	token pg_catalog.text,
	outcome pg_catalog.text,
	result pg_catalog.json DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_complete';
REVOKE ALL ON FUNCTION approval.complete FROM PUBLIC;
COMMENT ON FUNCTION approval.complete IS
'Records what became of an execution: succeeded, failed or unknown, with a result that is kept verbatim. Accepted after the lease too. The same report again is a no-op; after unknown, a late succeeded or failed is recorded, and so is a result where the same outcome was stored without one. A success with a result that the tool''s option results does not take for one is recorded as unknown with cause bad_result, after which only reconcile() (or resume() of an idempotent tool) settles it. Required: id, execution_id, token, outcome (22004 for NULL; 22023 for another outcome). Errors: PT404 not_found, PT409 execution_mismatch, outcome_conflict, PT412 stale_state (never consumed).';

CREATE FUNCTION approval.try_complete(
	id approval.ulid,
	execution_id pg_catalog.text,
	token pg_catalog.text,
	outcome pg_catalog.text,
	result pg_catalog.json DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.attempt
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_try_complete';
REVOKE ALL ON FUNCTION approval.try_complete FROM PUBLIC;
COMMENT ON FUNCTION approval.try_complete IS
'complete that returns a PT refusal instead of raising it, and keeps it in approval.refusals. Standard errors (22004, 22023, 42501, 40001) are raised all the same.';

CREATE FUNCTION approval.reconcile(
	id approval.ulid,
	outcome pg_catalog.text,
	note pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_reconcile';
REVOKE ALL ON FUNCTION approval.reconcile FROM PUBLIC;
COMMENT ON FUNCTION approval.reconcile IS
'A person''s word on an execution whose outcome is unknown: succeeded or failed. Neither the executing nor the proposing login, and no service or gateway. The same word again is a no-op. Required: id, outcome (22004 for NULL; 22023 for another outcome). Errors: PT404 not_found, PT403 not_eligible, actor_not_allowed, PT409 outcome_conflict, PT412 stale_state (still in flight, or never consumed).';

CREATE FUNCTION approval.request_of(
	id approval.ulid,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_request_of';
REVOKE ALL ON FUNCTION approval.request_of FROM PUBLIC;
COMMENT ON FUNCTION approval.request_of IS
'The request with this id, with its effective status. A requester sees its own login''s requests only. Required: id (22004 for NULL). Errors: PT404 not_found.';

CREATE FUNCTION approval.request_for(
	conversation_id pg_catalog.text,
	tool_call_id pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.request
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_request_for';
REVOKE ALL ON FUNCTION approval.request_for FROM PUBLIC;
COMMENT ON FUNCTION approval.request_for IS
'The request of this tool call, with its effective status. A requester sees its own login''s requests only. Required: conversation_id, tool_call_id (22004 for NULL). Errors: PT404 not_found.';

CREATE FUNCTION approval.pending(
	conversation_id pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL,
	OUT id approval.ulid,
	OUT tool_call_id pg_catalog.text,
	OUT conversation pg_catalog.text,
	OUT run_id pg_catalog.text,
	OUT server pg_catalog.text,
	OUT tool pg_catalog.text,
	OUT resource pg_catalog.text,
	OUT arguments pg_catalog.json,
	OUT action_hash approval.digest,
	OUT review_hash approval.digest,
	OUT summary pg_catalog.text,
	OUT gate_reason pg_catalog.text,
	OUT agent_reason pg_catalog.text,
	OUT preview pg_catalog.json,
	OUT requested_by pg_catalog.text,
	OUT on_behalf_of pg_catalog.text,
	OUT assignee pg_catalog.text,
	OUT approvals pg_catalog.int4,
	OUT approvals_needed pg_catalog.int4,
	OUT proposed_at pg_catalog.timestamptz,
	OUT expires_at pg_catalog.timestamptz,
	OUT seen_set approval.digest)
RETURNS SETOF pg_catalog.record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_pending';
REVOKE ALL ON FUNCTION approval.pending FROM PUBLIC;
COMMENT ON FUNCTION approval.pending IS
'The calls of a conversation that wait for a person, in order of proposal. seen_set, the same in every row, is the SHA-256 of the canonical JSON array of [id, review_hash] in order of id. No rows: nothing waits. Required: conversation_id (22004 for NULL; '''' is a conversation too).';

CREATE FUNCTION approval.outcomes(
	conversation_id pg_catalog.text,
	run_id pg_catalog.text DEFAULT NULL,
	open_only pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS SETOF approval.call_outcome
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_outcomes';
REVOKE ALL ON FUNCTION approval.outcomes FROM PUBLIC;
COMMENT ON FUNCTION approval.outcomes IS
'What an agent loop needs to go on: for every call of a conversation its effective status and outcome, the arguments as approved, the stored result, and for a call that will not run a record that says so, ready to stand in the conversation. denial is the text for the model of a rejection that gave one; stop is true for a rejection without. open_only ''true'': only calls that are not settled. run_id: only calls of that run. Required: conversation_id (22004 for NULL).';

CREATE FUNCTION approval.verify_request(
	id approval.ulid,
	tenant pg_catalog.text DEFAULT NULL,
	OUT ok pg_catalog.bool,
	OUT events pg_catalog.int4,
	OUT problem pg_catalog.text,
	OUT at_event pg_catalog.int4)
RETURNS pg_catalog.record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_verify_request';
REVOKE ALL ON FUNCTION approval.verify_request FROM PUBLIC;
COMMENT ON FUNCTION approval.verify_request IS
'Recomputes the digest of a request and the hash chain of its events, and holds the decisions against them. problem: event_missing, event_changed, chain_broken, row_tampered, action_hash_wrong, decision_missing, decision_changed or decision_added, with the number of the event where there is one; NULL if ok. Required: id (22004 for NULL). Errors: PT404 not_found.';

CREATE FUNCTION approval.channel(
	scope pg_catalog.text,
	key pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS pg_catalog.text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_channel';
REVOKE ALL ON FUNCTION approval.channel FROM PUBLIC;
COMMENT ON FUNCTION approval.channel IS
'The name to LISTEN on: scope all, tenant, or conversation or run with its id as key. It matches ^[a-z_][a-z0-9_]{0,62}$. A notification says that something changed, {"id","event","status"} in JSON, and proves nothing: read the request before acting. On the channel of a run, id is null for a callback, a release with which somebody can go on, and its end. Required: scope, key for a conversation or run (22004 for NULL; 22023 for another scope).';

CREATE FUNCTION approval.register_login(
	login pg_catalog.text,
	kind pg_catalog.text,
	actor pg_catalog.text DEFAULT NULL,
	tenants pg_catalog.text[] DEFAULT '{""}',
	roles pg_catalog.text[] DEFAULT '{}')
RETURNS pg_catalog.text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_register_login';
REVOKE ALL ON FUNCTION approval.register_login FROM PUBLIC;
COMMENT ON FUNCTION approval.register_login IS
'Says for whom a database login speaks: kind person, service, delegate (names its actors; for applications that authenticate people themselves, never for a login whose SQL an agent can write) or gateway (may supply tool definitions, never approves); actor, by default login:NAME; tenants, of which '''' is that of a single-tenant database and * stands for all; roles, what its agents are for: they see the tools of these roles (tools_for), and a tool of other roles is reviewed. Registering again replaces. Returns the login. Required: login, kind, tenants, roles (22004 for NULL; 42704 for a role that does not exist; 22023 for another kind or a reserved actor).';

CREATE FUNCTION approval.errors(
	OUT sqlstate pg_catalog.text,
	OUT reason pg_catalog.text,
	OUT http_status pg_catalog.int4,
	OUT message pg_catalog.text,
	OUT hint pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_errors';
REVOKE ALL ON FUNCTION approval.errors FROM PUBLIC;
COMMENT ON FUNCTION approval.errors IS 'The reasons for which the gate refuses, with their SQLSTATE, HTTP status, message and hint.';

CREATE FUNCTION approval.transitions(
	OUT from_status pg_catalog.text,
	OUT from_outcome pg_catalog.text,
	OUT to_status pg_catalog.text,
	OUT to_outcome pg_catalog.text,
	OUT verb pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_transitions';
REVOKE ALL ON FUNCTION approval.transitions FROM PUBLIC;
COMMENT ON FUNCTION approval.transitions IS 'The legal moves of a request, from the table that verbs and the guard read. A NULL from_status is birth.';
