-- What reviewers call.  The actor comes from the token, never from the body: whoever
-- could name it in the body could decide as anybody.

CREATE SCHEMA api;
COMMENT ON SCHEMA api IS 'Reviewing what agents ask for.';
GRANT USAGE ON SCHEMA api TO api_reviewer;

CREATE VIEW api.inbox WITH (security_invoker) AS
SELECT id, review_hash, tool, server, arguments, summary, agent_reason, requested_by, on_behalf_of, expires_at
  FROM approval.inbox;
COMMENT ON VIEW api.inbox IS 'What waits for a decision. Send review_hash back as seen.';
GRANT SELECT ON api.inbox TO api_reviewer;

CREATE FUNCTION api.reviewer() RETURNS text LANGUAGE sql STABLE AS $$
	SELECT 'user:' || (pg_catalog.current_setting('request.jwt.claims', true)::json ->> 'sub')
$$;
COMMENT ON FUNCTION api.reviewer() IS 'Who the token says is calling; NULL if it does not say.';

CREATE FUNCTION api.approve(id approval.ulid, seen approval.digest, note text DEFAULT NULL)
RETURNS approval.request LANGUAGE sql AS $$
	SELECT * FROM approval.approve(approve.id, approve.seen, actor => api.reviewer(), note => approve.note)
$$;
COMMENT ON FUNCTION api.approve(approval.ulid, approval.digest, text) IS
'Approves a request. seen is the review_hash that was shown.';

CREATE FUNCTION api.reject(id approval.ulid, seen approval.digest, result text DEFAULT NULL, note text DEFAULT NULL)
RETURNS approval.request LANGUAGE sql AS $$
	SELECT * FROM approval.reject(reject.id, reject.seen, actor => api.reviewer(), result => reject.result, note => reject.note)
$$;
COMMENT ON FUNCTION api.reject(approval.ulid, approval.digest, text, text) IS
'Rejects a request. result is the text for the model; without one its loop stops.';

CREATE FUNCTION api.edit(id approval.ulid, seen approval.digest, arguments json, note text DEFAULT NULL)
RETURNS approval.request LANGUAGE sql AS $$
	SELECT * FROM approval.edit(edit.id, edit.seen, edit.arguments, actor => api.reviewer(), note => edit.note)
$$;
COMMENT ON FUNCTION api.edit(approval.ulid, approval.digest, json, text) IS
'Approves with other arguments, which are the only ones that can be executed then.';

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA api FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA api TO api_reviewer;
