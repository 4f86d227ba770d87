-- What the administrator says about the tools behind the alias "payments".
-- What they say about themselves counts for nothing.
SELECT verb FROM approval.register_tool('refund', 'action', server => 'payments', options => $$ {
    "summary_template": "Refund {amount} for order {order}",
    "expects": {"amount": "nonnegative", "order": "string"},
    "rules": [
        {"condition": "$.amount <= 20", "mode": "auto", "reason": "small refund"},
        {"condition": "$.amount > 5000", "mode": "deny", "reason": "Refunds of this size are made by the bank."},
        {"mode": "review"}
    ],
    "results": [{"requires": "$.structuredContent.refund starts with \"re_\"", "reason": "a refund has a number"}],
    "executors": ["mcp"],
    "capability": "payments.refund", "owner": "team payments"} $$);

SELECT verb FROM approval.register_tool('order_status', 'live_data', server => 'payments', options => $$ {
    "default_mode": "inline",
    "capability": "orders.status", "owner": "team shop"} $$);
