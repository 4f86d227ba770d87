-- The three logins of an application: who asks, who decides, who acts.
-- Run it once, as a superuser, in the database that has the extension.

-- The agent only asks.  Its SQL may be written by a model: it can do nothing else.
CREATE ROLE agent LOGIN;
GRANT approval_requester TO agent;
SELECT approval.register_login('agent', 'service', 'agent:support');

-- The web application authenticates people by itself and says who decides.
CREATE ROLE web LOGIN;
GRANT approval_approver TO web;
SELECT approval.register_login('web', 'delegate');

-- The executor runs what was approved, and holds the keys to the payment system.
CREATE ROLE executor LOGIN;
GRANT approval_executor TO executor;
SELECT approval.register_login('executor', 'service', 'service:payments');
