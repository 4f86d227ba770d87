-- What belongs to the parts of the example.  Run it once, as a superuser, after
-- demo/logins.sql and docs/examples/mcp/logins.sql.  Each part has a login of its own and sees its own table.

CREATE ROLE knowledge LOGIN;
CREATE SCHEMA knowledge;
CREATE TABLE knowledge.documents (
    tenant text NOT NULL,
    id text NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || body)) STORED,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX ON knowledge.documents USING gin (words);
GRANT USAGE ON SCHEMA knowledge TO knowledge;
GRANT SELECT ON knowledge.documents TO knowledge;

CREATE ROLE orders LOGIN;
CREATE SCHEMA orders;
CREATE TABLE orders.orders (
    tenant text NOT NULL,
    id text NOT NULL,
    status text,
    total numeric NOT NULL,
    PRIMARY KEY (tenant, id)
);
GRANT USAGE ON SCHEMA orders TO orders;
GRANT SELECT ON orders.orders TO orders;

CREATE ROLE payments LOGIN;
CREATE SCHEMA payments;
CREATE TABLE payments.refunds (
    id bigint GENERATED ALWAYS AS IDENTITY,
    idempotency_key text PRIMARY KEY,
    tenant text NOT NULL,
    order_id text NOT NULL,
    amount numeric NOT NULL,
    run_id text,
    request_id text
);
GRANT USAGE ON SCHEMA payments TO payments;
GRANT SELECT, INSERT ON payments.refunds TO payments;

-- The orchestrator has no role of the gate at all: it reaches it through the gateway.
CREATE ROLE orchestrator LOGIN;
CREATE SCHEMA agent;
CREATE TABLE agent.messages (
    run_id text NOT NULL,
    n integer NOT NULL,
    fence integer NOT NULL,
    message json NOT NULL,
    PRIMARY KEY (run_id, n)
);
GRANT USAGE ON SCHEMA agent TO orchestrator;
GRANT SELECT, INSERT ON agent.messages TO orchestrator;

INSERT INTO knowledge.documents (tenant, id, title, body) VALUES
    ('acme', 'acme-returns', 'Returns', 'Customers of Acme may return a parcel within 30 days. The return is free.'),
    ('acme', 'acme-gifts', 'Gift cards', 'Gift cards are never paid out in cash.'),
    ('globex', 'globex-returns', 'Returns', 'Customers of Globex may return a parcel within 14 days, at their own cost.');

INSERT INTO orders.orders (tenant, id, status, total) VALUES
    ('acme', 'A-1001', 'delivered', 129.90),
    ('acme', 'A-1002', 'on its way', 20),
    ('globex', 'G-1', 'delivered', 50);
