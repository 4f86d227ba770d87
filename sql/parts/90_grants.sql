/*
 * The public API's grants: who may call what.  All of them stand here.
 * Nothing is granted to PUBLIC but type I/O, casts and operator functions.
 */
GRANT EXECUTE ON FUNCTION
	approval.propose, approval.cancel
TO approval_requester;

GRANT EXECUTE ON FUNCTION
	approval.decide, approval.try_decide, approval.approve, approval.reject, approval.edit,
	approval.revoke, approval.revoke_by, approval.reconcile
TO approval_approver;

GRANT EXECUTE ON FUNCTION
	approval.consume, approval.try_consume, approval.resume, approval.heartbeat,
	approval.complete, approval.try_complete
TO approval_executor;

GRANT EXECUTE ON FUNCTION
	approval.register_login
TO approval_admin;

/* reading: rows are filtered by who asks */
GRANT EXECUTE ON FUNCTION
	approval.request_of, approval.request_for, approval.pending, approval.outcomes, approval.channel,
	approval.caller_tenants, approval.caller_reads,
	approval.errors, approval.transitions,
	approval.jcs, approval.canonical, approval.hash_action, approval.hash_review, approval.tool_digest,
	approval.new_ulid
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT EXECUTE ON FUNCTION
	approval.verify_request
TO approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT SELECT ON approval.history, approval.refusals
TO approval_requester, approval_approver, approval_executor, approval_auditor, approval_admin;

GRANT SELECT ON approval.inbox, approval.audit, approval.votes
TO approval_approver, approval_auditor, approval_admin;

/* what the views and our own statements call as the owner of the tables */
GRANT EXECUTE ON FUNCTION approval.caller_tenants, approval.caller_reads,
	approval.sound_request, approval.sound_verdict
TO approval_owner;
