#!/usr/bin/env node
// A pretended support agent.  It proposes what real ones do, and says what it makes of
// the answers; it ends once all its calls are decided.
//
//   node agent.mjs [--every SECONDS] [--count N] [--most N]
//
// It asks for nothing while --most of its calls wait (20).
import { parseArgs } from 'node:util';
import { randomUUID } from 'node:crypto';
import pg from 'pg';

const { values } = parseArgs({
  options: { every: { type: 'string', default: '8' }, count: { type: 'string', default: '0' }, most: { type: 'string', default: '20' } },
});
const every = Number(values.every) * 1000;
const count = Number(values.count) || Infinity;
const most = Number(values.most);

const customers = ['c-1044', 'c-2210', 'c-3187', 'c-4020'];
const pick = (list) => list[Math.floor(Math.random() * list.length)];
const cents = (least, most) => Math.round((least + Math.random() * (most - least)) * 100) / 100;
const order = () => `A-${1000 + Math.floor(Math.random() * 9000)}`;

// Each makes one call: the tool, its arguments, and what the agent says about it.
const stories = [
  () => ({ tool: 'refund', arguments: { order: order(), amount: cents(1, 400), currency: 'EUR', customer: { id: pick(customers) } },
    reason: 'The parcel arrived damaged, and the customer sent photos.' }),
  () => ({ tool: 'refund', arguments: { order: order(), amount: cents(2001, 5000), currency: 'EUR', customer: { id: pick(customers), since: 2019 } },
    reason: 'The whole delivery was lost. The carrier confirmed it.' }),
  () => ({ tool: 'send_mail', arguments: { to: 'kim@example.com', subject: 'Your refund', body: 'Dear Kim,\n\nyour refund is on its way.\n\nThe shop' },
    reason: 'The customer asked for a confirmation.' }),
  () => {
    const before = cents(10, 100);
    const price = Math.round(before * 90) / 100;
    const sku = `SKU-${Math.floor(Math.random() * 900) + 100}`;
    return { tool: 'change_price', arguments: { sku, price, currency: 'EUR' }, reason: 'A competitor sells it for less.',
      preview: { before: { sku, price: before, stock: 14 }, after: { sku, price, stock: 14 } } };
  },
  () => ({ tool: 'delete_customer', arguments: { customer: pick(customers) }, reason: 'The customer asked to be forgotten.',
    preview: { before: { orders: 12, mails: 40 }, after: null } }),
];

// A connection that is made again when it breaks.
const pool = new pg.Pool({ user: process.env.AGENT_LOGIN ?? 'agent', application_name: 'agent', max: 2 });
pool.on('error', () => {});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (line) => process.stdout.write(`agent: ${line}\n`);

async function patiently(sql, parameters) {
  for (;;) {
    try {
      return (await pool.query(sql, parameters)).rows;
    } catch (e) {
      // The gate's own answers are answers; a server that is away comes back.
      if (/^PT/.test(e.code ?? '')) throw e;
      await pause(1000);
    }
  }
}

// The same id again is the same call: a retry proposes nothing twice.
async function propose({ tool, arguments: args, reason, preview }, conversation, tenant) {
  const [row] = await patiently(
    `SELECT id::text, status, summary, denial FROM approval.propose('call-1', $1, $2, conversation_id => $3, server => 'shop',
       agent_reason => $4, preview => $5, on_behalf_of => 'user:kim', tenant => $6)`,
    [tool, JSON.stringify(args), conversation, reason, preview ? JSON.stringify(preview) : null, tenant]);
  say(`${row.status === 'pending' ? 'asked for' : row.status}: ${row.summary}`);
  return row;
}

// What became of the calls that wait: the feed has every event once.
async function follow(open) {
  let [{ cursor_text: cursor }] = await patiently("SELECT cursor_text FROM approval.feed('now')", []);
  for (;;) {
    const [answer] = await patiently('SELECT * FROM approval.feed($1)', [cursor]);
    cursor = answer.cursor_text;
    // After a resync every call that waits is looked at.
    const ids = answer.resync ? [...open.keys()] : answer.events.map((event) => event.id);
    for (const id of new Set(ids)) if (open.has(id)) await goOn(id, open);
    if (!answer.more) await pause(1000);
  }
}

async function goOn(id, open) {
  const { conversation, tenant, summary } = open.get(id);
  const [call] = await patiently('SELECT status, denial, stop FROM approval.outcomes($1, tenant => $2)', [conversation, tenant]);
  if (call.status === 'pending') return;
  open.delete(id);
  if (call.status !== 'rejected') say(`${call.status}: ${summary}`);
  else say(call.stop ? `stopped: ${summary}` : `was told "${call.denial}": ${summary}`);
}

// Calls of an earlier start count as well.
async function waitForRoom() {
  for (let said = false; ; said = true) {
    const [{ n }] = await patiently(
      "SELECT count(*)::int AS n FROM (SELECT FROM approval.history WHERE status = 'pending' LIMIT $1) AS waiting", [most]);
    if (n < most) return;
    if (!said) say(`${most} calls wait for a person; I ask for nothing more until some are decided`);
    await pause(1000);
  }
}

const open = new Map();
follow(open);
for (let i = 0; i < count; i++) {
  await waitForRoom();
  const tenant = pick(['acme', 'globex']);
  const conversation = `chat-${randomUUID()}`;
  try {
    const row = await propose(pick(stories)(), conversation, tenant);
    if (row.status === 'pending') open.set(row.id, { conversation, tenant, summary: row.summary });
  } catch (e) {
    say(`refused: ${JSON.parse(e.detail).reason}`);
  }
  if (i + 1 < count) await pause(every);
}
while (open.size > 0) await pause(1000);
process.exit();
