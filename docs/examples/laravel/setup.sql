-- What this example needs beside the extension and the logins of demo/logins.sql: the policy of its
-- tool, and the tables of the application.  Run it once, as a superuser.

-- The payment system takes an idempotency key, so that a refund whose worker died may be tried again.
SELECT verb FROM approval.register_tool('refund', 'action', $$ {
    "summary_template": "Refund {amount} for order {order}",
    "expects": {"order": "string", "amount": "nonnegative"},
    "idempotent": true,
    "max_attempts": 3,
    "executors": ["executor"],
    "rules": [
        {"condition": "$.amount <= 20", "mode": "auto", "reason": "small refund"},
        {"mode": "review"}
    ]} $$);

CREATE SCHEMA shop;
GRANT USAGE ON SCHEMA shop TO agent, executor, web;
SET search_path = shop;

-- A message and its answer.  A conversation has one turn at a time.
CREATE TABLE turns (
    run_id text PRIMARY KEY,
    conversation_id text NOT NULL,
    message text NOT NULL,
    asked_by text NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    queued_at timestamptz DEFAULT clock_timestamp(),
    paused_at timestamptz,
    ended_at timestamptz,
    status text,
    answer text
);
CREATE UNIQUE INDEX ON turns (conversation_id) WHERE ended_at IS NULL;
GRANT SELECT, INSERT ON turns TO web;
GRANT SELECT, UPDATE ON turns TO agent;

-- The calls that the model wanted, with their arguments as the text that it wrote.
CREATE TABLE replies (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text NOT NULL REFERENCES turns,
    tool_call_id text NOT NULL,
    tool text NOT NULL,
    arguments text NOT NULL,
    UNIQUE (run_id, tool_call_id)
);
GRANT SELECT, INSERT ON replies TO agent;

-- Permits in use, for the executor alone.
CREATE TABLE executions (
    request_id text PRIMARY KEY,
    execution_id text NOT NULL,
    token text NOT NULL,
    given_up text
);
GRANT SELECT, INSERT, UPDATE ON executions TO executor;

-- Laravel's own: the queue and the users.
CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    payload text NOT NULL,
    attempts smallint NOT NULL,
    reserved_at integer,
    available_at integer NOT NULL,
    created_at integer NOT NULL
);
CREATE INDEX ON jobs (queue);
GRANT SELECT, INSERT ON jobs TO web;
GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO agent;

CREATE TABLE users (
    id bigint PRIMARY KEY,
    api_token text NOT NULL UNIQUE
);
GRANT SELECT, INSERT, UPDATE ON users TO web;
