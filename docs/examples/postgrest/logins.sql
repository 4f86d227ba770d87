-- Three instances of PostgREST, one for each side: who asks, who decides, who acts.
-- Run it once, as a superuser, in the database that has the extension.
--
-- Each instance connects with a login of its own, and that login is who calls.
-- The role without a login is what its tokens switch to, and has the grants.

CREATE ROLE rest_agent LOGIN NOINHERIT;
CREATE ROLE api_agent NOLOGIN;
GRANT api_agent TO rest_agent;
GRANT approval_requester TO api_agent;
SELECT approval.register_login('rest_agent', 'service', 'agent:support');

CREATE ROLE rest_web LOGIN NOINHERIT;
CREATE ROLE api_reviewer NOLOGIN;
GRANT api_reviewer TO rest_web;
GRANT approval_approver TO api_reviewer;
SELECT approval.register_login('rest_web', 'delegate');

CREATE ROLE rest_executor LOGIN NOINHERIT;
CREATE ROLE api_executor NOLOGIN;
GRANT api_executor TO rest_executor;
GRANT approval_executor TO api_executor;
SELECT approval.register_login('rest_executor', 'service', 'service:payments');

-- PostgREST answers after its COMMIT, so that no permit leaves which could be
-- rolled back.  For this login only, and for nothing else that connects with it.
ALTER ROLE rest_executor SET approval.commit_first = off;
