/*
 * Differences of JSON documents, for people.
 */
CREATE FUNCTION approval.diff(
	before pg_catalog.json,
	after pg_catalog.json,
	OUT path pg_catalog.text,
	OUT change pg_catalog.text,
	OUT before_value pg_catalog.json,
	OUT after_value pg_catalog.json)
RETURNS SETOF pg_catalog.record
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_diff';
REVOKE ALL ON FUNCTION approval.diff FROM PUBLIC;
COMMENT ON FUNCTION approval.diff IS
'Where two JSON documents differ: one row for each path ($.a.b[0]) with change added, removed or changed. Objects are compared by key and arrays by index; where one side is another kind of value, the whole is one change. Numbers compare exactly. What the first document has comes first, in the order of its keys (shorter ones first), then what was added. At most 1000 rows, then one with path ... and change truncated. A NULL document is one that does not exist: all of the other is one change at $; two NULLs give no rows. Errors: PT422 not_canonical.';

CREATE FUNCTION approval.preview_diff(preview pg_catalog.json) RETURNS pg_catalog.json
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_preview_diff';
REVOKE ALL ON FUNCTION approval.preview_diff FROM PUBLIC;
COMMENT ON FUNCTION approval.preview_diff IS
'What an agent''s preview {"before", "after"} says would change: a JSON array of {"change", "path", "before", "after"}, at most 100 and then {"change":"truncated"}; of a value longer than 2000 bytes the head, as a string. NULL for NULL, and for whatever cannot be compared: no object, neither member, no canonical form, nested deeper than 200. Never raises: the preview is an agent''s, and unverified.';
