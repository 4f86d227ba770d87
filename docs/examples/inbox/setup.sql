-- A little shop to try the inbox with: a login for each side, tools, and who reviews what.
-- Run it once, as a superuser, in a database that has nothing but the extension.  Before
-- a database of your own put logins.sql alone.  Roles may be there from another database.

-- The agent only asks.  It works for two customers of ours.
SELECT 'CREATE ROLE agent LOGIN' WHERE to_regrole('agent') IS NULL \gexec
GRANT approval_requester TO agent;
SELECT approval.register_login('agent', 'service', 'agent:support', tenants => '{acme,globex}');

-- The executor runs what was approved, and nothing else.
SELECT 'CREATE ROLE executor LOGIN' WHERE to_regrole('executor') IS NULL \gexec
GRANT approval_executor TO executor;
SELECT approval.register_login('executor', 'service', 'service:shop', tenants => '{acme,globex}');

-- The logins of the inbox itself.
\set tenants '{acme,globex}'
\ir logins.sql

-- The tools, for every tenant.
SELECT approval.register_login(session_user, 'person', 'user:admin', tenants => '{*}');

SELECT approval.register_tool('refund', 'action', tenant => '*', server => 'shop', options => $$ {
    "risk": "high",
    "summary_template": "Refund {amount} {currency} for order {order} to customer {customer}",
    "expects": {"amount": "nonnegative", "currency": "string", "order": "string", "customer": "object"},
    "rules": [
        {"condition": "$.amount <= 20",    "mode": "auto", "reason": "small refund"},
        {"condition": "$.amount <= 2000",  "mode": "review", "reason": "a refund that a person looks at"},
        {"condition": "$.amount > 50000",  "mode": "deny", "reason": "The bank makes refunds of this size."},
        {"mode": "review", "approvals_needed": 2, "reviewer_group": "managers", "reason": "a large refund takes two managers"}
    ]} $$);
SELECT approval.register_tool('send_mail', 'action', tenant => '*', server => 'shop', options => $$ {
    "risk": "medium", "default_mode": "review", "decide_within": "4 hours",
    "summary_template": "Send a mail to {to}: {subject}",
    "expects": {"to": "string", "subject": "string", "body": "string"}} $$);
SELECT approval.register_tool('change_price', 'action', tenant => '*', server => 'shop', options => $$ {
    "risk": "low", "default_mode": "review",
    "summary_template": "Set the price of {sku} to {price} {currency}",
    "expects": {"sku": "string", "price": "nonnegative", "currency": "string"},
    "edits": "tighten", "edit_paths": ["$.price"]} $$);
SELECT approval.register_tool('delete_customer', 'action', tenant => '*', server => 'shop', options => $$ {
    "risk": "critical", "default_mode": "review", "reviewers": {"managers": 1, "privacy": 1}, "edits": "none",
    "decide_within": "2 days",
    "summary_template": "Delete customer {customer} and everything about them",
    "expects": {"customer": "string"}} $$);

SELECT approval.add_member('managers', 'user:alice', tenant => '*');
SELECT approval.add_member('managers', 'user:bob', tenant => '*');
SELECT approval.add_member('privacy', 'user:carol', tenant => '*');
