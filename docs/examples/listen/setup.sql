-- The login of a listener: it reads the feed and the inbox of its tenants, and can
-- change nothing.  Run it once, as a superuser, in the database that has the extension.
CREATE ROLE listener LOGIN;
GRANT approval_auditor TO listener;
SELECT approval.register_login('listener', 'service', 'service:listener', tenants => '{*}');
