/*
 * The public API's grants: who may call what.  All of them stand here.
 * Nothing is granted to PUBLIC but type I/O, casts and operator functions.
 */
GRANT EXECUTE ON FUNCTION
	approval.propose, approval.cancel
TO approval_requester;

/* runs: by the orchestrator; an executor records what it did, and reports */
GRANT EXECUTE ON FUNCTION
	approval.start_run, approval.claim_run, approval.release_run, approval.next_iteration,
	approval.complete_run, approval.fail_run, approval.attach_handle
TO approval_requester;

GRANT EXECUTE ON FUNCTION
	approval.record_step, approval.callback, approval.validate_result
TO approval_requester, approval_executor;

GRANT EXECUTE ON FUNCTION
	approval.cancel_run
TO approval_requester, approval_approver;

GRANT EXECUTE ON FUNCTION
	approval.run_of, approval.trace, approval.timeline, approval.trace_otlp, approval.run_transitions,
	approval.diagram_text, approval.plain_text, approval.timeline_format, approval.otlp_attributes, approval.unix_nano
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.set_run_limits
TO approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.decide, approval.try_decide, approval.approve, approval.reject, approval.edit,
	approval.decide_all, approval.try_decide_all, approval.decide_many, approval.try_decide_many,
	approval.claim, approval.release, approval.assign, approval.extend,
	approval.revoke, approval.revoke_by, approval.reconcile
TO approval_approver;

GRANT EXECUTE ON FUNCTION
	approval.consume, approval.try_consume, approval.resume, approval.heartbeat,
	approval.complete, approval.try_complete
TO approval_executor;

/* the gate may be shut by whoever reviews; only an administrator opens it */
GRANT EXECUTE ON FUNCTION
	approval.freeze_tool, approval.freeze_tenant, approval.disallow
TO approval_approver, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.register_login, approval.register_tool, approval.update_tool, approval.set_rules,
	approval.review_tool, approval.retire_tool, approval.unfreeze_tool, approval.unfreeze_tenant,
	approval.add_member, approval.remove_member, approval.allow, approval.expire_due
TO approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.explain, approval.simulate
TO approval_admin, approval_auditor;

/* reading: rows are filtered by who asks */
GRANT EXECUTE ON FUNCTION
	approval.request_of, approval.request_for, approval.pending, approval.outcomes, approval.channel,
	approval.caller_tenants, approval.caller_reads,
	approval.errors, approval.transitions, approval.gate_reasons, approval.ulid_from,
	approval.jcs, approval.canonical, approval.hash_action, approval.hash_review, approval.tool_digest,
	approval.new_ulid, approval.diff, approval.preview_diff
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

/* following, and waiting */
GRANT EXECUTE ON FUNCTION
	approval.feed
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.wait, approval.wait_conversation
TO approval_requester, approval_approver, approval_executor;

GRANT EXECUTE ON FUNCTION
	approval.wake_worker
TO approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.worker_state, approval.oldest_transaction
TO approval_auditor, approval_admin;

GRANT SELECT ON approval.worker_stats, approval.health
TO approval_auditor, approval_admin;

/* remarks: requesters on their own proposals */
GRANT EXECUTE ON FUNCTION
	approval.comment
TO approval_requester, approval_approver;

GRANT EXECUTE ON FUNCTION
	approval.inbox_page
TO approval_approver, approval_auditor, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.verify_policy
TO approval_approver, approval_auditor, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.verify_request
TO approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT SELECT ON approval.history, approval.refusals, approval.run_list, approval.handle_list
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.tools_for, approval.find_tools, approval.caller_roles, approval.tool_words
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT SELECT ON approval.tool_list
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT SELECT ON approval.registry, approval.tool_changes, approval.standing_grants, approval.frozen,
	approval.group_members, approval.policy_audit, approval.tool_health, approval.capabilities, approval.run_budgets
TO approval_approver, approval_auditor, approval_admin;

GRANT SELECT ON approval.inbox, approval.audit, approval.votes, approval.reviewer_stats, approval.review_times, approval.stuck
TO approval_approver, approval_auditor, approval_admin;

/* what the views and our own statements call as the owner of the tables */
GRANT EXECUTE ON FUNCTION approval.caller_tenants, approval.caller_reads, approval.caller_roles,
	approval.worker_state, approval.oldest_transaction, approval.tool_words, approval.ulid_from, approval.preview_diff,
	approval.sound_request, approval.sound_verdict, approval.sound_run
TO approval_owner;
