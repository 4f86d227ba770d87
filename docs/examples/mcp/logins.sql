-- The login of the gateway.  Run it once, as a superuser, after demo/logins.sql.
-- Another database of this server may have made the role.  It asks and it executes, it may say what a tool is at this moment, and it never decides.
SELECT 'CREATE ROLE mcp LOGIN' WHERE to_regrole('mcp') IS NULL \gexec
GRANT approval_requester, approval_executor TO mcp;
SELECT approval.register_login('mcp', 'gateway', 'service:mcp');
