/*
 * Verbs of runs.  As the others: VOLATILE, PARALLEL UNSAFE, not STRICT, no
 * overloads, tenant last.
 */
CREATE FUNCTION approval.start_run(
	conversation_id pg_catalog.text,
	run_id pg_catalog.text DEFAULT NULL,
	parent_run_id pg_catalog.text DEFAULT NULL,
	parent_token pg_catalog.text DEFAULT NULL,
	agent pg_catalog.text DEFAULT NULL,
	max_iterations pg_catalog.int4 DEFAULT NULL,
	requested_by pg_catalog.text DEFAULT NULL,
	metadata pg_catalog.json DEFAULT NULL,
	traceparent pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_start_run';
REVOKE ALL ON FUNCTION approval.start_run FROM PUBLIC;
COMMENT ON FUNCTION approval.start_run IS
'Begins a run, with status pending until somebody claims it. run_id is the application''s own, or a ULID is made; the same run_id again, from the same login for the same conversation and parent, returns the stored run, whatever became of it. A conversation has one live run; runs with a parent_run_id, whose token is shown as parent_token, run beside it, in the same conversation. max_iterations only makes less of what policy gives (set_run_limits, or approval.run_iterations and approval.run_iterations_per_day); an iteration of a child is one of its parents too. traceparent: the header of W3C Trace Context under which the run stands, otherwise a trace id is made. conversation_id, run_id, agent, requested_by and tenant: 1 to 255 bytes. metadata: approval.max_action_size. Required: conversation_id (22004 for NULL), parent_token with parent_run_id. Errors: PT409 run_paused (DETAIL: pending, the calls of the conversation that wait and that this login proposed), run_conflict (DETAIL: problem, live_run_id; also where another start in the conversation stays uncommitted for approval.turn_wait), PT422 iteration_limit (nothing is left for the day, or of the parent), too_large, PT404 not_found, and those of a token for the parent: PT409 run_claimed, run_ended, PT410 run_lease_expired; 22023 for a traceparent that is none, for runs nested more than 8 deep (the root included), and max_iterations below 1.';

CREATE FUNCTION approval.claim_run(
	run_id pg_catalog.text,
	lease pg_catalog.interval DEFAULT NULL,
	token pg_catalog.text DEFAULT NULL,
	claimed_by pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_claim_run';
REVOKE ALL ON FUNCTION approval.claim_run FROM PUBLIC;
COMMENT ON FUNCTION approval.claim_run IS
'Makes the caller the one orchestrator of the run for the time of lease (NULL: approval.lease; at most approval.max_lease). The token in the answer has to be shown to every other verb of the run and to propose(run_id); fence counts the claims. A run that is held can be claimed once its lease is over or it is released: whoever held it before is refused from then on. With the current token the lease is renewed, also after it was over, for the time of lease (NULL: as long as before), and the token stays; next_iteration() renews it by itself. claimed_by: a name for people to see. A new holder sees with outcomes(conversation_id, run_id) and trace(run_id) what was decided, executed or is open. Required: run_id (22004 for NULL). Errors: PT404 not_found (also for a run of another login), PT409 run_claimed (DETAIL: claimed_by, lease_until; also where a transaction that works on the run stays open for approval.turn_wait), run_ended, PT422 iteration_limit, 22023 for a lease out of range.';

CREATE FUNCTION approval.release_run(
	run_id pg_catalog.text,
	token pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_release_run';
REVOKE ALL ON FUNCTION approval.release_run FROM PUBLIC;
COMMENT ON FUNCTION approval.release_run IS
'Gives the run back before the lease is over, as a job does that pauses for a decision: it can be claimed at once, and the token is of no more use. The channel of the run rings if none of its calls is open, none of its handles is without a callback and none of its children is live; otherwise their next event does. Required: run_id, token (22004 for NULL). Errors: PT404 not_found, PT409 run_claimed, run_ended, PT410 run_lease_expired, PT422 iteration_limit.';

CREATE FUNCTION approval.next_iteration(
	run_id pg_catalog.text,
	token pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_next_iteration';
REVOKE ALL ON FUNCTION approval.next_iteration FROM PUBLIC;
COMMENT ON FUNCTION approval.next_iteration IS
'Once more round the loop: counts one iteration of the run and of those above it, and renews the lease. Where one of them has none left, the run ends instead: look at status, which is iteration_limit_reached then, and PT422 iteration_limit at every later call. Never more iterations than max_iterations, however many sessions call. What was counted must not be rolled back: it has to be one SELECT of plain columns outside any transaction block, as for consume, unless approval.commit_first is off. Required: run_id, token (22004 for NULL). Errors: PT422 commit_first, PT404 not_found, PT409 run_paused (DETAIL: pending, the calls of the run that wait), run_claimed, run_ended, PT410 run_lease_expired, PT422 iteration_limit.';

CREATE FUNCTION approval.complete_run(
	run_id pg_catalog.text,
	token pg_catalog.text,
	answer pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_complete_run';
REVOKE ALL ON FUNCTION approval.complete_run FROM PUBLIC;
COMMENT ON FUNCTION approval.complete_run IS
'Ends the run with its answer. Runs below it are cancelled, and calls of theirs or of the run that are approved and not used are withdrawn; what waits for a person, of either, has to be decided or cancelled before. The same answer again with the same token changes nothing. answer: 65536 bytes. Required: run_id, token, answer (22004 for NULL). Errors: PT422 empty_result (an answer in which there is nothing to read: blanks and characters that leave no mark), iteration_limit, PT409 run_paused (DETAIL: pending), run_claimed, run_ended, PT410 run_lease_expired, PT404 not_found.';

CREATE FUNCTION approval.fail_run(
	run_id pg_catalog.text,
	token pg_catalog.text,
	reason pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_fail_run';
REVOKE ALL ON FUNCTION approval.fail_run FROM PUBLIC;
COMMENT ON FUNCTION approval.fail_run IS
'Ends the run as failed. Runs below it are cancelled, and calls of theirs or of the run that wait, or are approved and not used, are withdrawn. The same reason again with the same token changes nothing. reason: 65536 bytes. Required: run_id, token, reason (22004 for NULL). Errors: PT404 not_found, PT409 run_claimed, run_ended, PT410 run_lease_expired, PT422 iteration_limit.';

CREATE FUNCTION approval.cancel_run(
	run_id pg_catalog.text,
	reason pg_catalog.text DEFAULT NULL,
	token pg_catalog.text DEFAULT NULL,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_cancel_run';
REVOKE ALL ON FUNCTION approval.cancel_run FROM PUBLIC;
COMMENT ON FUNCTION approval.cancel_run IS
'Stops the run: what fail_run does, with status cancelled. An approver may stop any run of its tenants; the login of the run needs the token while somebody holds it. Cancelled already: the row as it is. actor: for a delegate. Required: run_id (22004 for NULL). Errors: PT404 not_found, PT409 run_claimed (also where a transaction that works on the run, on one below it or on a call of either stays open for approval.turn_wait: then nothing has ended), run_ended, PT422 iteration_limit, PT403 actor_not_allowed.';

CREATE FUNCTION approval.run_of(
	run_id pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.run
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_run_of';
REVOKE ALL ON FUNCTION approval.run_of FROM PUBLIC;
COMMENT ON FUNCTION approval.run_of IS
'The run as it is, for whoever may see it: the login that started it, and approvers, executors, auditors and administrators of its tenant. Required: run_id (22004 for NULL). Errors: PT404 not_found.';

CREATE FUNCTION approval.attach_handle(
	run_id pg_catalog.text,
	token pg_catalog.text,
	system pg_catalog.text,
	handle pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.handle
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_attach_handle';
REVOKE ALL ON FUNCTION approval.attach_handle FROM PUBLIC;
COMMENT ON FUNCTION approval.attach_handle IS
'Notes the name that another system has for its part of the run (the execution id of a workflow engine, say), and returns the secret with which that system reports to callback(). The secret is shown here only. Attached again to the same run before it was answered, it gets another secret, and the first is of no more use. system and handle: 1 to 255 bytes; a handle is unique in its tenant and system. Required: run_id, token, system, handle (22004 for NULL). Errors: PT409 handle_conflict (attached to another run, or answered), run_claimed, run_ended, PT410 run_lease_expired, PT404 not_found, PT422 iteration_limit.';

CREATE FUNCTION approval.callback(
	system pg_catalog.text,
	handle pg_catalog.text,
	secret pg_catalog.text,
	outcome pg_catalog.text,
	result pg_catalog.json DEFAULT NULL,
	idempotency_key pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.handle
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_callback';
REVOKE ALL ON FUNCTION approval.callback FROM PUBLIC;
COMMENT ON FUNCTION approval.callback IS
'What became of a handle: outcome succeeded or failed, with a result (approval.max_action_size). Applied once, also where the run has ended meanwhile, and rings on the channel of the run (it stands in the trace, and in the view handle_list); it changes neither the run nor a request. The same outcome again, with the same idempotency_key or the same result, returns the stored row and changes nothing. The secret is what allows it: any requester or executor of the tenant may deliver it. Required: system, handle, secret, outcome (22004 for NULL). Errors: PT404 not_found (no such handle, or another secret: the same answer), PT409 outcome_conflict (DETAIL: run_id, status of the run), PT422 too_large.';

CREATE FUNCTION approval.record_step(
	run_id pg_catalog.text,
	token pg_catalog.text,
	system pg_catalog.text,
	kind pg_catalog.text,
	detail pg_catalog.json DEFAULT NULL,
	name pg_catalog.text DEFAULT NULL,
	request_id approval.ulid DEFAULT NULL,
	parent_step pg_catalog.text DEFAULT NULL,
	started_at pg_catalog.timestamptz DEFAULT NULL,
	duration pg_catalog.interval DEFAULT NULL,
	input_tokens pg_catalog.int8 DEFAULT NULL,
	output_tokens pg_catalog.int8 DEFAULT NULL,
	cost pg_catalog.numeric DEFAULT NULL,
	error pg_catalog.text DEFAULT NULL,
	traceparent pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.step
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_record_step';
REVOKE ALL ON FUNCTION approval.record_step FROM PUBLIC;
COMMENT ON FUNCTION approval.record_step IS
'Notes what happened in the run. kind: model_call, tool_call, retrieval, workflow or note. system: who did it (openai, n8n, a server of the registry); name: what of it (a model, a tool, a collection). request_id: the request of this run by which a tool call was allowed, name being its tool (NULL: filled in), system its server; a tool_call without one that was consumed shows in the view capabilities as one that no gate has seen. detail of a retrieval: {"chunks":[{"id":…,"score":…},…]}, chunks being [] where nothing was found. error: what went wrong, NULL for nothing. duration: from started_at to now if NULL. input_tokens and output_tokens (at most 10^12 each) and cost (in the application''s currency, at most 30 digits) add up to those of the run. parent_step: the step_id of an earlier step of the run; traceparent: the header of W3C Trace Context that the work was done under: the span in it becomes the parent if it is of this trace and no parent_step is given, and one of another trace is kept as a link. The traceparent in the answer is that of the step. Steps have no key: one sent twice stands twice. Also for executors who were given the token. system, name: 1 to 255 bytes; detail: approval.max_action_size; error: 65536 bytes. Required: run_id, token, system, kind, name for a tool_call without a request (22004 for NULL), and detail for a retrieval (22023). Errors: PT404 not_found (of run or request), PT409 run_claimed, run_ended, PT410 run_lease_expired, PT422 iteration_limit, too_large, 22023 for anything else out of its range.';

CREATE FUNCTION approval.validate_result(
	tool pg_catalog.text,
	result pg_catalog.json DEFAULT NULL,
	server pg_catalog.text DEFAULT '',
	tenant pg_catalog.text DEFAULT NULL)
RETURNS pg_catalog.bool
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_validate_result';
REVOKE ALL ON FUNCTION approval.validate_result FROM PUBLIC;
COMMENT ON FUNCTION approval.validate_result IS
'Whether a result of the tool is one: true, or an error. Nothing (NULL, null, {}, [], a text in which there is nothing to read) is PT422 empty_result for every tool; the others are those of the tool''s option results, of which what is required has to be true, and what is refused must not be. Both rows of a tool hold, the tenant''s and that for every tenant. complete() asks the same of what is reported as succeeded, where the tool has such conditions. Required: tool (22004 for NULL). Errors: PT422 empty_result, degraded_result (DETAIL: tool, problem, condition with its place in the list from 1, why with its reason).';

CREATE FUNCTION approval.set_run_limits(
	limits pg_catalog.json,
	actor pg_catalog.text DEFAULT NULL,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS approval.policy_change
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'approval_set_run_limits';
REVOKE ALL ON FUNCTION approval.set_run_limits FROM PUBLIC;
COMMENT ON FUNCTION approval.set_run_limits IS
'How many iterations runs get: {"max_iterations":8,"iterations_per_day":100}, the second for all runs of one conversation in 24 hours. A member that is absent or null is left to the settings approval.run_iterations and approval.run_iterations_per_day. Where a tenant''s limits and those for every tenant (*) disagree, the smaller holds. Runs that have been started keep the budget they got. Required: limits (22004 for NULL). Errors: PT422 bad_policy (DETAIL: place, problem), not_canonical, PT403 actor_not_allowed.';

CREATE FUNCTION approval.run_transitions(
	OUT from_status pg_catalog.text,
	OUT to_status pg_catalog.text,
	OUT verb pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_run_transitions';
REVOKE ALL ON FUNCTION approval.run_transitions FROM PUBLIC;
COMMENT ON FUNCTION approval.run_transitions IS
'The legal moves of a run: from which status to which, and by what. from_status is NULL at birth. awaiting_approval is not stored: it holds while a call of the run is pending.';

CREATE FUNCTION approval.trace(
	run_id pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL,
	OUT seq pg_catalog.int8,
	OUT at pg_catalog.timestamptz,
	OUT trace_run_id pg_catalog.text,
	OUT source pg_catalog.text,
	OUT kind pg_catalog.text,
	OUT system pg_catalog.text,
	OUT name pg_catalog.text,
	OUT actor pg_catalog.text,
	OUT login pg_catalog.text,
	OUT status pg_catalog.text,
	OUT request_id approval.ulid,
	OUT step_id pg_catalog.text,
	OUT parent_step pg_catalog.text,
	OUT link pg_catalog.text,
	OUT iteration pg_catalog.int4,
	OUT started_at pg_catalog.timestamptz,
	OUT duration pg_catalog.interval,
	OUT input_tokens pg_catalog.int8,
	OUT output_tokens pg_catalog.int8,
	OUT cost pg_catalog.numeric,
	OUT error pg_catalog.text,
	OUT detail pg_catalog.json)
RETURNS SETOF pg_catalog.record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100 AS 'MODULE_PATHNAME', 'approval_trace';
REVOKE ALL ON FUNCTION approval.trace FROM PUBLIC;
COMMENT ON FUNCTION approval.trace IS
'The whole story of a run and of the runs below it in one list, in the order in which it was written down (seq, which is also in that order across a crash). source: run (its own moves and iterations), step, handle, request, decision or execution; kind: that of the step (src/step.h) or of the event (docs/events.md). trace_run_id: of which run. status, of an event: what the request''s was then, with its outcome. detail: what was recorded with a step; of an event tool_call_id, resource, hashes, verdict and note. A run_id that only proposals bear has a trace too. Readers see what run_of() shows them, and of proposals what they may see. Required: run_id (22004 for NULL). Errors: PT404 not_found.';
