// What the inbox reads.  Every statement names the tenants of the person.
import { Refusal } from './refusal.mjs';
import { groupsOf, VOTES } from './votes.mjs';

const COMPACT = `id::text, tenant, server, tool, class, risk, status, outcome, left(summary, 400) AS summary, length(summary) > 400 AS clipped, review_hash::text,
  requested_by, on_behalf_of, edited_by, approvals, approvals_needed, reviewer_group, escalated_to, proposed_at, expires_at, sort_key, clock_timestamp() AS server_now`;
const FILTERS = ['status', 'risk', 'tool', 'assignee'];
const PAGE = 1000;

export function mayUse(person, tenant) {
  if (!person.tenants.includes(tenant)) throw new Refusal(404, 'not_found');
  return tenant;
}

// Only what inbox_page() knows, and never a tenant that is not the person's.
export function filtersOf(query, person) {
  const filters = { tenant: query.get('tenant') ? [mayUse(person, query.get('tenant'))] : person.tenants };
  for (const name of FILTERS) if (query.get(name)) filters[name] = query.get(name);
  return filters;
}

export async function page(db, person, query) {
  const most = Math.min(Math.max(Number.parseInt(query.get('max') ?? '100', 10) || 100, 1), PAGE);
  const { rows } = await db.query(
    `SELECT ${COMPACT}, assignee, claimed_by FROM approval.inbox_page($1, $2, $3)`,
    [JSON.stringify(filtersOf(query, person)), query.get('after') ?? '', most]);
  return { rows, more: rows.length === most };
}

// Rows that an event spoke of: those that wait as the list has them, and what became of the others.
export async function some(db, person, ids) {
  const asked = ids.filter((id) => /^[0-9A-Za-z]{26}$/.test(id)).slice(0, 200);
  if (asked.length === 0) return { waiting: [], closed: [] };
  const [waiting, closed] = await Promise.all([
    db.query(`SELECT ${COMPACT}, assignee, claimed_by FROM approval.inbox WHERE tenant = ANY ($1) AND id = ANY ($2::approval.ulid[])`,
      [person.tenants, asked]),
    db.query(`SELECT ${COMPACT}, decided_by, decided_at, reconciled_by FROM approval.history
      WHERE tenant = ANY ($1) AND id = ANY ($2::approval.ulid[])`, [person.tenants, asked]),
  ]);
  const there = new Set(waiting.rows.map((row) => row.id));
  return { waiting: waiting.rows, closed: closed.rows.filter((row) => !there.has(row.id)) };
}

// What people have decided, and what ended otherwise.  No index is by time, but identifiers are, so
// both look at requests that were asked lately; of decisions there are fewer than of events.
const ENDS = `
SELECT e.request_id::text AS id, max(e.at) AS closed_at FROM (
  SELECT tenant, request_id, at FROM approval.votes WHERE request_id >= approval.ulid_from(now() - interval '30 days')
  UNION ALL
  SELECT tenant, request_id, at FROM approval.audit
  WHERE request_id >= approval.ulid_from(now() - interval '2 days') AND kind IN ('cancelled', 'revoked', 'expired')) e
WHERE e.tenant = ANY ($1) GROUP BY e.tenant, e.request_id ORDER BY closed_at DESC LIMIT 200`;

export async function recent(db, person) {
  const ends = new Map((await db.query(ENDS, [person.tenants])).rows.map((row, i) => [row.id, { ...row, i }]));
  const { rows } = await db.query(
    `SELECT ${COMPACT}, decided_by, decided_at FROM approval.history
     WHERE tenant = ANY ($1) AND id = ANY ($2::approval.ulid[]) AND status <> 'pending'`, [person.tenants, [...ends.keys()]]);
  const inOrder = rows.sort((a, b) => ends.get(a.id).i - ends.get(b.id).i).slice(0, 100);
  return { rows: inOrder.map((row) => ({ ...row, closed_at: ends.get(row.id).closed_at })) };
}

// Arguments, preview and result leave as the text that is stored: what is shown is what is hashed.
const WHOLE = `
SELECT r.id::text, r.tenant, r.conversation_id, r.tool_call_id, r.run_id, r.server, r.tool, r.class, r.risk, r.effect, r.mode,
       r.resource, r.arguments::text, r.proposed_arguments::text, r.action_hash::text, r.review_hash::text, r.summary,
       r.preview::text, r.metadata::text, r.agent_reason, r.gate_reason, g.meaning AS gate_meaning, r.rule, r.rule_reason, r.policy_version,
       r.requester_login, r.requested_by, r.on_behalf_of, r.assignee, r.claimed_by, r.claimed_until, r.edited_by,
       r.status, r.cause, r.outcome, r.denial, r.result::text, r.decided_by, r.decided_at, r.completed_at, r.reconciled_by,
       r.approvals, r.approvals_needed, r.rejections, r.rejections_needed, r.reviewer_group, r.reviewers, r.escalated_at, r.escalate_to,
       r.proposed_at, r.expires_at, r.use_by, r.attempt, clock_timestamp() AS server_now,
       approval.preview_diff(r.preview) AS preview_diff,
       (SELECT coalesce(json_agg(json_build_object('path', d.path, 'change', d.change, 'before', d.before_value::text, 'after', d.after_value::text)), '[]')
        FROM approval.diff(r.proposed_arguments, r.arguments) d WHERE r.proposed_arguments IS NOT NULL) AS correction,
       (SELECT coalesce(json_agg(json_build_object('n', a.n, 'at', a.at, 'kind', a.kind, 'actor', a.actor, 'note', a.note) ORDER BY a.n), '[]')
        FROM approval.audit a WHERE a.tenant = r.tenant AND a.request_id = r.id) AS events,
       ${VOTES} AS votes,
       ${groupsOf('$3')} AS my_groups,
       (SELECT bool_or(t.edits = 'none') IS NOT TRUE FROM approval.registry t
        WHERE t.tenant IN (r.tenant, '*') AND t.server = r.server AND t.tool = r.tool) AS editable
FROM approval.request_of($1, $2) r LEFT JOIN approval.gate_reasons() g ON g.gate_reason = r.gate_reason`;

export async function whole(db, person, id, tenant) {
  const { rows: [row] } = await db.query(WHOLE, [id, mayUse(person, tenant), person.actor]);
  return row;
}
