-- Who may what.  Run it as the administrator, after database.sql.
-- Two customers share this database; the administrator has all tenants.
SELECT approval.register_login(session_user, 'person', 'user:admin', tenants => '{*}');
SELECT approval.register_login('mcp', 'gateway', 'service:mcp', tenants => '{acme,globex}');
SELECT approval.register_login('web', 'delegate', tenants => '{acme,globex}');

-- Every capability has one owner and one tool.
SELECT verb FROM approval.register_tool('search', 'knowledge', server => 'knowledge', tenant => '*', options => $$ {
    "default_mode": "inline",
    "expects": {"query": "string"},
    "results": [{"requires": "$.structuredContent.chunks.type() == \"array\"", "reason": "an answer says what was found, or that nothing was"}],
    "capability": "knowledge.policies", "owner": "team support"} $$);

SELECT verb FROM approval.register_tool('lookup', 'live_data', server => 'orders', tenant => '*', options => $$ {
    "default_mode": "inline",
    "expects": {"order": "string"},
    "results": [{"requires": "$.structuredContent.status.type() == \"string\"", "reason": "an order has a status"}],
    "capability": "orders.status", "owner": "team shop"} $$);

SELECT verb FROM approval.register_tool('refund', 'action', server => 'payments', tenant => '*', options => $$ {
    "summary_template": "Refund {amount} for order {order}",
    "expects": {"amount": "nonnegative", "order": "string"},
    "rules": [
        {"condition": "$.amount <= 25", "mode": "auto", "reason": "small refund"},
        {"mode": "review"}
    ],
    "results": [{"requires": "$.structuredContent.refund starts with \"re_\"", "reason": "a refund has a number"}],
    "executors": ["mcp"],
    "capability": "payments.refund", "owner": "team payments"} $$);
