-- The login of the gateway.  Run it once, as a superuser, after demo/logins.sql.
-- It asks and it executes, it may say what a tool is at this moment, and it never decides.
CREATE ROLE mcp LOGIN;
GRANT approval_requester, approval_executor TO mcp;
SELECT approval.register_login('mcp', 'gateway', 'service:mcp');
