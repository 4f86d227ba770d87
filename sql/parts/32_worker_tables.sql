/*
 * What the worker keeps.  Of no meaning in another database, so none of it is
 * dumped.
 */
CREATE TABLE approval.set_aside (
	tenant			pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	request_id		approval.ulid NOT NULL,
	since			pg_catalog.timestamptz NOT NULL,
	tries			pg_catalog.int4 NOT NULL,
	retry_at		pg_catalog.timestamptz NOT NULL,
	sqlstate		pg_catalog.text NOT NULL,
	problem			pg_catalog.text NOT NULL,
	CONSTRAINT set_aside_pkey PRIMARY KEY (tenant, request_id)
);

CREATE TABLE approval.positions (
	name			pg_catalog.text NOT NULL,
	value			pg_catalog.text NOT NULL,
	CONSTRAINT positions_pkey PRIMARY KEY (name)
) WITH (fillfactor = 10);

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['set_aside', 'positions']
	LOOP
		EXECUTE pg_catalog.format('ALTER TABLE approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
	END LOOP;
END
$do$;

/* cursors of an extension that was dropped say nothing about this one */
INSERT INTO approval.positions (name, value)
VALUES ('epoch', pg_catalog.floor(pg_catalog.random() OPERATOR(pg_catalog.*) 9007199254740992::pg_catalog.float8)::pg_catalog.int8::pg_catalog.text);

COMMENT ON TABLE approval.set_aside IS 'Requests that could not be put away when their time had come, with the error and when they are tried again. Shown in the view stuck.';
COMMENT ON TABLE approval.positions IS 'How far the worker has announced events, and a number that is another one since rows were loaded that no verb wrote.';
