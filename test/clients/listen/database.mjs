// What happens at the gate, and what of it is recorded.
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { ok, until } from '../tap.mjs';

export async function ask(user, sql, values = []) {
  const client = new pg.Client({ user });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

export const cluster = (...words) => promisify(execFile)('tools/cluster', words);

// The ways of a server to end.
export const ends = {
  'a fast shutdown': (name) => cluster('stop', name),
  'an immediate shutdown': async (name) => {
    const [{ pid }] = await ask('postgres', "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid");
    process.kill(pid, 'SIGQUIT');
    await until('the server is no more', () => cluster('status', name).then(() => false, () => true));
  },
  'a crash': (name) => cluster('crash', name),
};

export const key = (event) => `${event.id}/${event.n}/${event.event}`;

export async function recorded() {
  const rows = await ask('book', 'SELECT request_id AS id, n, kind AS event FROM approval.audit');
  return rows.map(key).sort();
}

// The same events, and each as often.
export function same(found, wanted, what) {
  const many = (list) => list.reduce((n, event) => n.set(event, (n.get(event) ?? 0) + 1), new Map());
  const [f, w] = [many(found), many(wanted)];
  const differ = [...new Set([...found, ...wanted])].filter((event) => f.get(event) !== w.get(event));
  return ok(found.length === wanted.length && differ.length === 0, what, { found: found.length, wanted: wanted.length, differ: differ.slice(0, 20) });
}

// What the feed has after a cursor.
export async function after(cursor) {
  const events = [];
  for (let more = true; more;) {
    const [answer] = await ask('listener', 'SELECT * FROM approval.feed($1, max_rows => 10000)', [cursor]);
    events.push(...answer.events);
    ({ cursor_text: cursor, more } = answer);
  }
  return events.map(key);
}

let calls = 0;

export async function proposed(user = 'agent', conversation = '') {
  const sql = "SELECT id, review_hash FROM approval.propose($1, 'refund', '{\"amount\": 129.90}', $2)";
  return (await ask(user, sql, [`call-${++calls}`, conversation]))[0];
}

export async function decided(conversation = '') {
  const { id, review_hash: seen } = await proposed('agent', conversation);
  await ask('web', "SELECT * FROM approval.approve($1, $2, actor => 'user:7')", [id, seen]);
  return id;
}

// Four events of one request.
export async function life() {
  const id = await decided();
  const [permit] = await ask('executor', "SELECT token FROM approval.consume($1, 'refund', '{\"amount\": 129.90}', 'job')", [id]);
  await ask('executor', "SELECT * FROM approval.complete($1, 'job', $2, 'succeeded', '{\"refund\": \"re_1\"}')", [id, permit.token]);
}

// Many events in transactions of their own.
export async function backlog(transactions, rows) {
  for (let i = 0; i < transactions; i++) {
    await ask('agent', `SELECT count(*) FROM generate_series(1, $2) i,
      LATERAL approval.propose($1 || '-' || i, 'refund', '{}', conversation_id => $1) p`, [`backlog-${++calls}`, rows]);
  }
}

// Lives all the time, through whatever happens to the server.
export async function traffic() {
  let going = true;
  let lived = 0;
  const lost = (e) => !(e instanceof pg.DatabaseError) || ['08', '57'].includes(e.code?.slice(0, 2));
  async function go() {
    while (going) {
      try {
        await life();
        lived++;
      } catch (e) {
        if (!lost(e)) throw e;
        await sleep(10);
      }
    }
  }
  const ended = Promise.all([go(), go()]);
  await until('agents and people are at work', () => lived > 0);
  return () => {
    going = false;
    return ended;
  };
}
