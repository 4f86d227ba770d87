// What a person can do, each one call of a verb in that person's name.
import { text } from './http.mjs';
import { Refusal } from './refusal.mjs';
import { mayUse } from './requests.mjs';

// name: the statement and its parameters, after id, actor and tenant.
const VERBS = {
  claim: ['SELECT status FROM approval.claim($1, actor => $2, tenant => $3)', () => []],
  release: ['SELECT status FROM approval.release($1, actor => $2, tenant => $3)', () => []],
  assign: ['SELECT status FROM approval.assign($1, $4, actor => $2, tenant => $3)', (b) => [text(b.assignee) || null]],
  comment: ['SELECT status FROM approval.comment($1, $4, actor => $2, tenant => $3)', (b) => [text(b.note)]],
  extend: ['SELECT status FROM approval.extend($1, $4, actor => $2, tenant => $3)', (b) => [text(b.expires_in)]],
  revoke: ['SELECT status FROM approval.revoke($1, $4, actor => $2, tenant => $3)', (b) => [text(b.note)]],
  reconcile: ['SELECT status FROM approval.reconcile($1, $4, $5, actor => $2, tenant => $3)', (b) => [text(b.outcome), text(b.note)]],
};

export function isVerb(name) {
  return Object.hasOwn(VERBS, name);
}

export async function act(db, person, id, name, body) {
  const [sql, parameters] = VERBS[name];
  const { rows: [row] } = await db.query(sql, [id, person.actor, mayUse(person, text(body.tenant)), ...parameters(body)]);
  return { status: row.status };
}

// On exactly what was shown: seen is the review_hash that the page had.  Corrected
// arguments are JSON text, so that no number changes on its way.
export async function decide(db, person, id, body) {
  if (!body.seen) throw new Refusal(400, 'bad_request');
  const { rows: [a] } = await db.query(
    `SELECT ok, reason, http_status, detail, server_now, request ->> 'status' AS status, request ->> 'approvals' AS approvals,
            request ->> 'approvals_needed' AS approvals_needed
     FROM approval.try_decide($1, $2, $3, actor => $4, arguments => $5, result => $6, note => $7, tenant => $8)`,
    [id, text(body.verdict), text(body.seen), person.actor, text(body.arguments), text(body.result), text(body.note),
      mayUse(person, text(body.tenant))]);
  if (!a.ok) throw new Refusal(a.http_status, a.reason, a.detail, a.server_now);
  return { status: a.status, approvals: Number(a.approvals), approvals_needed: Number(a.approvals_needed) };
}

function entryOf(decision) {
  const entry = Object.fromEntries(['id', 'seen', 'verdict', 'result'].map((name) => [name, text(decision?.[name])]));
  if (!entry.seen) throw new Refusal(400, 'bad_request');
  if (!entry.result) delete entry.result;
  return entry;
}

// A selection: what can be decided is, and every other row says why not.
export async function decideMany(db, person, body) {
  if (!Array.isArray(body.decisions)) throw new Refusal(400, 'bad_request');
  const { rows } = await db.query(
    `SELECT id::text, answer, ok, reason, http_status, detail, status, decided_by, clock_timestamp() AS server_now
     FROM approval.try_decide_many($1, actor => $2, tenant => $3)`,
    [JSON.stringify(body.decisions.map(entryOf)), person.actor, mayUse(person, text(body.tenant))]);
  return {
    answers: rows.map(({ detail, http_status, reason, server_now, ...row }) => ({
      ...row, reason, words: row.ok ? null : new Refusal(http_status ?? 409, reason, detail ?? {}, server_now).words,
    })),
  };
}
