-- The two logins of the inbox, for any database that has the extension.  Run it once, as
-- a superuser; tenants says whose requests people decide on, and is left out where there
-- are no tenants:
--
--   psql -v tenants='{acme,globex}' -f logins.sql
\if :{?tenants}
\else
\set tenants '{""}'
\endif

-- The inbox authenticates people by itself and says who decides.
SELECT 'CREATE ROLE inbox_reviewer LOGIN' WHERE to_regrole('inbox_reviewer') IS NULL \gexec
GRANT approval_approver TO inbox_reviewer;
SELECT approval.register_login('inbox_reviewer', 'delegate', tenants => :'tenants');

-- The bridge listens and reads the feed.  It can decide nothing.
SELECT 'CREATE ROLE inbox_bridge LOGIN' WHERE to_regrole('inbox_bridge') IS NULL \gexec
GRANT approval_auditor TO inbox_bridge;
SELECT approval.register_login('inbox_bridge', 'service', 'service:inbox', tenants => :'tenants');
