-- What the workflows need besides the extension and the logins of
-- demo/logins.sql.  Run it once, as a superuser, in the database that has them.

-- The doorbell rings in a chat: its login reads, and can do nothing else.
CREATE ROLE doorbell LOGIN;
GRANT approval_auditor TO doorbell;
SELECT approval.register_login('doorbell', 'service', 'service:doorbell');

-- How far each login has read the feed.  A login sees and moves its own row only.
CREATE SCHEMA n8n;
GRANT USAGE ON SCHEMA n8n TO executor, doorbell;
CREATE TABLE n8n.cursors (
    login name PRIMARY KEY DEFAULT session_user,
    cursor_text text NOT NULL
);
ALTER TABLE n8n.cursors ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_row ON n8n.cursors USING (login = session_user);
GRANT SELECT, INSERT, UPDATE ON n8n.cursors TO executor, doorbell;
