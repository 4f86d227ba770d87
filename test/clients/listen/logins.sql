-- Another customer, somebody who reads the whole trail to compare with, and somebody
-- whom nothing was granted.
CREATE ROLE acme LOGIN;
GRANT approval_requester TO acme;
SELECT approval.register_login('acme', 'service', 'agent:acme', tenants => '{acme}');
CREATE ROLE book LOGIN;
GRANT approval_auditor TO book;
SELECT approval.register_login('book', 'service', 'service:book', tenants => '{*}');
CREATE ROLE stranger LOGIN;
