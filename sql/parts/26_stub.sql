CREATE FUNCTION approval.diff(before pg_catalog.json, after pg_catalog.json, OUT path text, OUT change text, OUT before_value json, OUT after_value json) RETURNS SETOF pg_catalog.record LANGUAGE sql IMMUTABLE AS $$ SELECT '$'::text, 'changed'::text, before, after $$;
CREATE FUNCTION approval.preview_diff(preview pg_catalog.json) RETURNS pg_catalog.json LANGUAGE sql IMMUTABLE AS $$ SELECT NULL::json $$;
GRANT EXECUTE ON FUNCTION approval.diff, approval.preview_diff TO PUBLIC;
