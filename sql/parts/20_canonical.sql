
/*
 * Canonical JSON and the hashes.
 *
 * Not STRICT: a NULL that gives NULL would end as a hash that nobody checks.
 */
CREATE FUNCTION approval.jcs(document pg_catalog.json) RETURNS pg_catalog.text
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_jcs';
REVOKE ALL ON FUNCTION approval.jcs(pg_catalog.json) FROM PUBLIC;
COMMENT ON FUNCTION approval.jcs(pg_catalog.json) IS
'The canonical form of a JSON text by RFC 8785 (JCS). Numbers become the text of their nearest double. Errors: PT422 not_canonical for what RFC 8785 has no form for (duplicate keys, lone surrogates, numbers beyond the doubles), with the JSON path in DETAIL; 22004 for NULL; 54001 for nesting that is too deep.';

CREATE FUNCTION approval.canonical(document pg_catalog.json) RETURNS pg_catalog.text
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_canonical';
REVOKE ALL ON FUNCTION approval.canonical(pg_catalog.json) FROM PUBLIC;
COMMENT ON FUNCTION approval.canonical(pg_catalog.json) IS
'The canonical form of a JSON text by RFC 8785 (JCS), for what will be hashed: also refuses U+0000 and numbers whose exact decimal value does not survive a double and back (send those as strings). Errors: PT422 not_canonical with the JSON path in DETAIL; 22004 for NULL; 54001 for nesting that is too deep.';

CREATE FUNCTION approval.hash_action(
	tool pg_catalog.text,
	arguments pg_catalog.json,
	server pg_catalog.text DEFAULT '',
	resource pg_catalog.text DEFAULT NULL,
	definition approval.digest DEFAULT NULL,
	tenant pg_catalog.text DEFAULT ''
) RETURNS approval.digest
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_hash_action';
REVOKE ALL ON FUNCTION approval.hash_action(pg_catalog.text, pg_catalog.json, pg_catalog.text, pg_catalog.text, approval.digest, pg_catalog.text) FROM PUBLIC;
COMMENT ON FUNCTION approval.hash_action(pg_catalog.text, pg_catalog.json, pg_catalog.text, pg_catalog.text, approval.digest, pg_catalog.text) IS
'The action_hash: SHA-256 of the RFC 8785 form of {"v":1,"tenant":…,"server":…,"tool":…,"definition":…,"resource":…,"arguments":{…}}. A top-level [] in arguments is taken as {}. resource and definition may be NULL and then are null. Errors: 22004 for any other NULL; PT422 bad_arguments for arguments that are not an object, PT422 not_canonical as of approval.canonical().';

CREATE FUNCTION approval.hash_review(
	action approval.digest,
	summary pg_catalog.text,
	preview pg_catalog.json DEFAULT NULL,
	reason pg_catalog.text DEFAULT NULL,
	requester pg_catalog.text DEFAULT NULL,
	on_behalf_of pg_catalog.text DEFAULT NULL
) RETURNS approval.digest
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_hash_review';
REVOKE ALL ON FUNCTION approval.hash_review(approval.digest, pg_catalog.text, pg_catalog.json, pg_catalog.text, pg_catalog.text, pg_catalog.text) FROM PUBLIC;
COMMENT ON FUNCTION approval.hash_review(approval.digest, pg_catalog.text, pg_catalog.json, pg_catalog.text, pg_catalog.text, pg_catalog.text) IS
'The review_hash: SHA-256 of the RFC 8785 form of {"v":1,"action":…,"summary":…,"preview":…,"reason":…,"requester":…,"on_behalf_of":…}, where action is in hexadecimal and preview is the SHA-256 of its text as it stands. All but action and summary may be NULL and then are null. Errors: 22004 for NULL in those two.';

CREATE FUNCTION approval.tool_digest(definition pg_catalog.json) RETURNS approval.digest
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_tool_digest';
REVOKE ALL ON FUNCTION approval.tool_digest(pg_catalog.json) FROM PUBLIC;
COMMENT ON FUNCTION approval.tool_digest(pg_catalog.json) IS
'The digest that pins a tool definition: SHA-256 of the canonical form (as of approval.canonical()) of the object without its outermost members _meta and icons, whose contents are not looked at. Errors: 22004 for NULL; PT422 bad_arguments for anything but an object, PT422 not_canonical.';
