#!/usr/bin/env node
// Runs what was approved, once each: consume, do it, complete.  The shop is pretended.
import { hostname } from 'node:os';
import pg from 'pg';

const TOOLS = {
  refund: async (a, key) => ({ refund: `re_${key.slice(-10)}`, amount: a.amount, currency: a.currency }),
  send_mail: async (a, key) => ({ message: `msg_${key.slice(-10)}`, to: a.to }),
  change_price: async (a) => ({ sku: a.sku, price: a.price }),
  delete_customer: async (a) => ({ customer: a.customer, deleted: true }),
};

const connection = { user: process.env.EXECUTOR_LOGIN ?? 'executor', application_name: 'executor' };
const pool = new pg.Pool({ ...connection, max: 2 });
pool.on('error', () => {});
const say = (line) => process.stdout.write(`executor: ${line}\n`);

// What is shown to consume is what is run: the text of the arguments, as approved.
async function run({ id, tenant, server, tool, resource, args }) {
  const execution = `${hostname()}-${process.pid}-${id}`;
  const { rows: [attempt] } = await pool.query(
    'SELECT ok, reason, permit FROM approval.try_consume($1, $2, $3, $4, server => $5, resource => $6, tenant => $7)',
    [id, tool, args, execution, server, resource, tenant]);
  if (!attempt.ok) return say(`${id} is not run: ${attempt.reason}`);
  const { token, idempotency_key: key } = attempt.permit;
  let outcome = 'succeeded';
  let result;
  try {
    result = await TOOLS[tool](JSON.parse(args), key);
  } catch (e) {
    outcome = 'failed';
    result = { error: e.message };
  }
  await pool.query('SELECT outcome FROM approval.complete($1, $2, $3, $4, $5, tenant => $6)',
    [id, execution, token, outcome, JSON.stringify(result), tenant]);
  say(`${tool} ${outcome}`);
}

// All that is approved and not used, whatever was heard of it.
async function sweep() {
  const { rows } = await pool.query(
    `SELECT id::text, tenant, server, tool, resource, arguments::text AS args FROM approval.history
     WHERE status = 'approved' AND server = 'shop' AND tool = ANY ($1) ORDER BY sort_key LIMIT 100`, [Object.keys(TOOLS)]);
  for (const row of rows) await run(row).catch((e) => say(`${row.id}: ${e.code ?? e.message}`));
}

let sweeping = null;
let again = false;
function ring() {
  again = true;
  sweeping ??= (async () => {
    while (again) {
      again = false;
      await sweep().catch(() => {});
    }
    sweeping = null;
  })();
}

// A notification says "look"; a connection that broke is made again, and looks too.
function listen() {
  const client = new pg.Client(connection);
  client.on('notification', ring);
  client.on('error', () => {});
  client.once('end', () => setTimeout(listen, 500));
  client.connect().then(() => client.query('LISTEN approval')).then(ring, () => client.end());
}

listen();
setInterval(ring, 10_000);
say('ready');
