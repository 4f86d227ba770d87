-- What an administrator does to the tables, and what verbs make of it.
\set ns altered
\ir include/gate.psql
SELECT no_plan();

-- Columns that are not ours, or no longer: refused, not written to.
SAVEPOINT s;
ALTER TABLE approval.events ALTER COLUMN origin TYPE text;
SELECT is(t.says('agent', $$approval.propose('a1', 'refund', '{}')$$), '55000', 'a column of another type');
ROLLBACK TO s;
ALTER TABLE approval.requests ALTER COLUMN metadata TYPE jsonb;
SELECT is(t.says('agent', $$approval.propose('a1', 'refund', '{}')$$), '55000', 'json that became jsonb');
ROLLBACK TO s;
ALTER TABLE approval.requests DROP COLUMN metadata CASCADE;
SELECT is(t.says('agent', $$approval.propose('a1', 'refund', '{}')$$), '55000', 'a column that is gone');
ROLLBACK TO s;
ALTER TABLE approval.decisions ADD COLUMN extra int;
SELECT t.request('pending') AS id \gset
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'id', t.seen(:'id'))), '55000', 'a column more');
ALTER TABLE approval.decisions DROP COLUMN extra;
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'id', t.seen(:'id'))), 'ok', 'and it works again without it');
SELECT ok((approval.verify_request(:'id')).ok, 'with everything in its place');

-- Triggers and constraints of an administrator hold for verbs as well.
CREATE TABLE t.fired (name text, op text, new_status text);
CREATE FUNCTION t.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	INSERT INTO t.fired VALUES (TG_NAME, TG_OP, NEW.status);
	RETURN NEW;
END $$;
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE ON approval.requests FOR EACH ROW EXECUTE FUNCTION t.note();
CREATE TRIGGER after_row AFTER INSERT OR UPDATE ON approval.requests FOR EACH ROW EXECUTE FUNCTION t.note();
SELECT t.request('approved') AS id \gset
SELECT bag_eq('SELECT * FROM t.fired', $$VALUES ('before_row', 'INSERT', 'pending'), ('after_row', 'INSERT', 'pending'),
	('before_row', 'UPDATE', 'approved'), ('after_row', 'UPDATE', 'approved')$$, 'row triggers fire');
ALTER TABLE approval.requests ADD CONSTRAINT no_evil CHECK (tool <> 'evil');
SELECT is(t.says('agent', $$approval.propose('a2', 'evil', '{}')$$), '23514', 'a CHECK holds');
SELECT is(t.says('agent', $$approval.propose('a3', 'good', '{}')$$), 'ok', 'for what it forbids');

-- A trigger that swallows the row must not leave a permit behind.
CREATE FUNCTION t.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER swallow BEFORE UPDATE ON approval.requests FOR EACH ROW EXECUTE FUNCTION t.swallow();
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', ''run'')', :'id')), '09000', 'a swallowed consumption is an error');
SELECT is((t.stored(:'id')).status, 'approved', 'of which nothing is left');
DROP TRIGGER swallow ON approval.requests;
SELECT is(t.says('runner', format('approval.consume(%L, ''refund'', ''{"order":"A-1","amount":50}'', ''run'')', :'id')), 'PT409 already_consumed', 'and this transaction gets no second one');

-- Whoever changes logins, every session hears of it.
SET session_replication_role = replica;
UPDATE approval.logins SET kind = 'service' WHERE actor = 'user:alice';
RESET session_replication_role;
SELECT t.request('pending') AS id \gset
SELECT is(t.says('alice', format('approval.approve(%L, %L)', :'id', t.seen(:'id'))), 'PT403 not_eligible', 'an applied change too');

SELECT * FROM finish();
ROLLBACK;
