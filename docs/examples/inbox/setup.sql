-- What the inbox of this example needs beside the extension: a login for each side,
-- the tools of a little shop, and who reviews what.  Run it once, as a superuser.

-- The agent only asks.  It works for two customers of ours.
CREATE ROLE agent LOGIN;
GRANT approval_requester TO agent;
SELECT approval.register_login('agent', 'service', 'agent:support', tenants => '{acme,globex}');

-- The executor runs what was approved, and nothing else.
CREATE ROLE executor LOGIN;
GRANT approval_executor TO executor;
SELECT approval.register_login('executor', 'service', 'service:shop', tenants => '{acme,globex}');

-- The inbox authenticates people by itself and says who decides.
CREATE ROLE inbox_reviewer LOGIN;
GRANT approval_approver TO inbox_reviewer;
SELECT approval.register_login('inbox_reviewer', 'delegate', tenants => '{acme,globex}');

-- The bridge listens and reads the feed.  It can decide nothing.
CREATE ROLE inbox_bridge LOGIN;
GRANT approval_auditor TO inbox_bridge;
SELECT approval.register_login('inbox_bridge', 'service', 'service:inbox', tenants => '{acme,globex}');

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
