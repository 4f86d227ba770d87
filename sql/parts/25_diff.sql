/*
 * Where two documents differ, for people and for what shows them things.
 *
 * Not STRICT: NULL is a document that is not there.
 */
CREATE FUNCTION approval.diff(
	before pg_catalog.json,
	after pg_catalog.json,
	OUT path pg_catalog.text,
	OUT change pg_catalog.text,
	OUT before_value pg_catalog.json,
	OUT after_value pg_catalog.json)
RETURNS SETOF pg_catalog.record
	LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 10 AS 'MODULE_PATHNAME', 'approval_diff';
REVOKE ALL ON FUNCTION approval.diff FROM PUBLIC;
COMMENT ON FUNCTION approval.diff IS
'Where two JSON documents differ, in the order of their canonical form (RFC 8785): members by the UTF-16 code units of their keys, elements by index. change is added, removed or changed; path is a JSON path (`$.items[0].price`), in which a key longer than 200 bytes is clipped and what comes after 1000 bytes is left out, each with `...` in its place. Two objects, or two arrays, are compared member by member or index by index; anything else that differs is one row with both values, whole and in canonical form. Numbers are compared by their exact value, strings by their bytes. NULL is a document that is not there, so that all of the other one is added or removed at `$`, in one row; JSON null is a value like any other. A value that is not there is NULL. After 1000 rows one with the path `...` and the change truncated is the last. Errors: PT422 not_canonical as of approval.canonical(), 54001 for nesting that is too deep, 54000 for documents that jsonb cannot hold (256 MB).';

CREATE FUNCTION approval.preview_diff(preview pg_catalog.json) RETURNS pg_catalog.json
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_preview_diff';
REVOKE ALL ON FUNCTION approval.preview_diff FROM PUBLIC;
COMMENT ON FUNCTION approval.preview_diff IS
'What a preview says that an action would change: for {"before":…,"after":…} a JSON array with one object {"path":…,"change":…,"before":…,"after":…} for each row of approval.diff(), in its order; empty if nothing differs. Without before everything is added, without after removed; a value that is not there is left out, and JSON null is a value. A value of more than 2000 bytes of JSON is replaced by a string: the beginning of its JSON text and `... (N bytes)`. After 100 entries {"change":"truncated"} is the last. It says what the agent claims, not what is so. NULL for a preview that is NULL or not an object, has neither member, has no canonical form as of approval.canonical(), is nested more than 200 deep or is larger than 4 MB. No preview makes it fail.';
