// Prints what happens at the gate, each event once, as a line of JSON.
//
//   node listen.mjs [CURSOR_FILE]
//
// Connects as libpq's variables say (PGHOST, PGUSER, ...).
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

const file = process.argv[2] ?? 'cursor';
// A bell can be missed; nobody waits longer than this.
const every = Number(process.env.READ_EVERY ?? 30) * 1000;
const feedSql = 'SELECT cursor_text, events, more, resync FROM approval.feed($1, max_rows => 1000)';
const inboxSql = `SELECT coalesce(json_agg(i), '[]') AS waiting
  FROM (SELECT id, tenant, conversation_id, server, tool, summary, review_hash, status, expires_at
          FROM approval.inbox ORDER BY sort_key) i`;

const print = promisify(process.stdout.write.bind(process.stdout));

class Away extends Error {}

// Everything that another connection may cure, and nothing else.
function passing(e) {
  return !(e instanceof pg.DatabaseError) || ['08', '53', '57'].includes(e.code?.slice(0, 2));
}

async function ask(client, sql, values) {
  return (await client.query(sql, values).catch((e) => { throw passing(e) ? new Away(e.message) : e; })).rows[0];
}

function storedCursor() {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (e) {
    if (e.code !== 'ENOENT') throw e;
    return null;
  }
}

let cursor = storedCursor();

// The old cursor or the new one, whatever happens in between.
function store(text) {
  const next = openSync(`${file}.new`, 'w', 0o600);
  writeSync(next, `${text}\n`);
  fsyncSync(next);
  closeSync(next);
  renameSync(`${file}.new`, file);
  cursor = text;
}

// What a program of your own does with events stands here.  If it throws, the events are
// not done, and the program ends.
async function handle(events) {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  if (lines !== '') await print(lines);
}

async function feed(client) {
  return ask(client, feedSql, [cursor]).catch(async (e) => {
    // Text that is no cursor of the feed: as if it were of another database.
    if (e.code !== '22023') throw e;
    return { ...await ask(client, feedSql, ['now']), resync: true };
  });
}

async function readOn(client) {
  for (;;) {
    const answer = await feed(client);
    if (answer.resync) await handle([{ event: 'resync', ...await ask(client, inboxSql) }]);
    await handle(answer.events);
    if (answer.cursor_text !== cursor) store(answer.cursor_text);
    if (!answer.more) return;
  }
}

// A function that waits for a ring since it was last called.  The end of the
// connection rings too: the next query finds out.
function doorbell(client) {
  let rung = false;
  let wake = () => {};
  const ring = () => {
    rung = true;
    wake();
  };
  for (const event of ['notification', 'error', 'end']) client.on(event, ring);
  return async () => {
    const timer = setTimeout(ring, every);
    if (!rung) await new Promise((resolve) => { wake = resolve; });
    clearTimeout(timer);
    rung = false;
  };
}

for (let failures = 0; ;) {
  const client = new pg.Client({ application_name: 'listen', keepAlive: true, connectionTimeoutMillis: 10_000, query_timeout: 60_000 });
  const bell = doorbell(client);
  try {
    await client.connect().catch((e) => { throw new Away(e.message); });
    // Listen first: what is committed while the feed is read rings.
    await ask(client, 'LISTEN approval');
    for (;;) {
      await readOn(client);
      failures = 0;
      await bell();
    }
  } catch (e) {
    if (!(e instanceof Away)) throw e;
    console.error(`away: ${e.message}`);
  } finally {
    client.end().catch(() => {});
  }
  // 0.1 s to 10 s, and not all listeners at once.
  await sleep(Math.min(10_000, 100 * 2 ** failures++) * (0.5 + Math.random() / 2));
}
