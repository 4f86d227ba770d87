// Whatever happens to connections, server and programs: what they have printed is what
// the trail has, each event once.
import pg from 'pg';
import { after, ask, backlog, cluster, key, life, proposed, recorded, same, traffic } from './database.mjs';
import { Program, names } from './program.mjs';
import { page } from './page.mjs';
import { follower } from './follower.mjs';
import { done, is, note, ok, until } from '../tap.mjs';

const name = process.env.CLUSTER;
const programs = names.map((each) => new Program(each));

// It has all, or has stored that it has and prints no more, or is no more.
function enough(program, wanted) {
  let before = -1;
  return async () => {
    const printed = program.events.length;
    if (printed >= wanted || program.how !== undefined) return true;
    const stored = program.cursor !== null && (await after(program.cursor)).length === 0;
    const still = stored && printed === before;
    before = stored ? printed : -1;
    return still && program.events.length === printed;
  };
}

async function caughtUp(what, listeners = programs) {
  const wanted = await recorded();
  for (const program of listeners) {
    await until(what, enough(program, wanted.length));
    same(program.events.map(key), wanted, `${program.name}: ${what}: ${wanted.length} events, each once`);
  }
}

// Nothing is between printing and storing any more.
async function idle(listeners = programs) {
  for (const program of listeners) {
    await until(`${program.name} has stored its cursor`, async () =>
      program.how !== undefined || (program.cursor !== null && (await after(program.cursor)).length === 0));
  }
}

async function terminate() {
  const rows = await ask('postgres', "SELECT pid, pg_terminate_backend(pid) AS gone FROM pg_stat_activity WHERE usename = 'listener'");
  const pids = rows.filter((row) => row.gone).map((row) => row.pid);
  await until('they are gone', async () => (await ask('postgres', 'SELECT FROM pg_stat_activity WHERE pid = ANY ($1)', [pids])).length === 0);
  return pids.length;
}

const connected = () => until('all listen', async () => {
  const [{ n }] = await ask('postgres', `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE usename = 'listener' AND application_name = 'listen' AND query NOT IN ('', 'LISTEN approval')`);
  return n === programs.length;
});

async function beforeAndAfterTheStart() {
  await life();
  await proposed('acme');
  for (const program of programs) program.start();
  await caughtUp('what was there before');
  await connected();
  await life();
  await proposed('acme');
  await caughtUp('what the bell told, of all tenants');
}

// A cursor is no place in the order of numbers: what commits late is not skipped.
async function lateCommit() {
  const late = new pg.Client({ user: 'agent' });
  await late.connect();
  await late.query('BEGIN');
  await late.query("SELECT id FROM approval.propose('late', 'refund', '{}')");
  await life();
  await caughtUp('what was committed while an earlier transaction was open');
  await late.query('COMMIT');
  await late.end();
  await caughtUp('what was committed late');
}

async function terminated() {
  for (let i = 0; i < 3; i++) {
    await connected();
    const stop = traffic();
    is(await terminate(), programs.length, 'their backends are terminated');
    await connected();
    await stop();
  }
  await caughtUp('through pg_terminate_backend');
}

// Nobody rings for who is not connected.
async function gap() {
  await ask('postgres', 'ALTER ROLE listener CONNECTION LIMIT 0');
  await terminate();
  for (const program of programs) {
    await until('refused', () => /too many connections/.test(program.said));
  }
  await life();
  await proposed('acme');
  await ask('postgres', 'ALTER ROLE listener CONNECTION LIMIT -1');
  await caughtUp('what happened while they were away');
}

async function restarted() {
  const stop = traffic();
  cluster('stop', name);
  cluster('start', name, '--fsync', 'off', '--preload');
  await connected();
  is((await stop()).every((lived) => lived > 0), true, 'agents and people were at work all the time');
  await caughtUp('through a stop and a start');
  is((await ask('postgres', 'SHOW shared_preload_libraries'))[0].shared_preload_libraries, 'approval', 'from here on the worker rings');
  await life();
  await caughtUp('what the worker rang for');
}

async function crashed() {
  for (let i = 0; i < 2; i++) {
    const stop = traffic();
    await life();
    cluster('crash', name);
    cluster('start', name);
    await connected();
    await stop();
    await caughtUp('through a crash');
  }
}

async function killed() {
  await idle();
  for (const program of programs) is(await program.kill(), 'SIGKILL', `${program.name} is killed`);
  await life();
  await proposed('acme');
  for (const program of programs) program.start();
  await caughtUp('through being killed');
}

// Two things cannot be done at once: killed between printing and storing, a program
// prints again, and nothing but, what it had not stored.
async function killedAtWork() {
  await backlog(8, 500);
  await caughtUp('a backlog');
  for (const each of names) {
    const program = new Program(each, `${each}.work`);
    const again = new Set();
    for (let chunks = 1; chunks <= 4; chunks++) {
      await program.start().killAt(chunks);
      const before = new Set(program.events.map(key));
      for (const event of await after(program.cursor)) if (before.has(event)) again.add(event);
    }
    program.start();
    const wanted = await recorded();
    await idle([program]);
    await program.kill();
    const printed = program.events.map(key);
    const twice = printed.filter((event, i) => printed.indexOf(event) !== i);
    same([...new Set(printed)], wanted, `${each}: killed at work, it leaves nothing out`);
    ok(twice.every((event) => again.has(event)), `${each}: and repeats only what it had not stored`, twice.filter((event) => !again.has(event)));
    note(`${each}: ${twice.length} of ${printed.length} lines again`);
  }
}

// As of another database: the list anew, and on from there.
async function resync() {
  const waiting = (await ask('book', 'SELECT id FROM approval.inbox')).map((row) => row.id).sort();
  for (const [what, cursor] of [['of another server', process.env.FOREIGN_CURSOR], ['that is none', 'garbage']]) {
    for (const program of programs) {
      await program.kill();
      program.cursor = cursor;
      program.printed = [];
      program.start();
      await until('resync', () => program.resyncs.length > 0);
      is(program.resyncs.map((line) => line.waiting.map((row) => row.id).sort()), [waiting], `${program.name}: a cursor ${what}: the inbox anew`);
    }
    await idle();
    const mine = await recorded();
    await life();
    const wanted = (await recorded()).filter((event) => !mine.includes(event));
    for (const program of programs) {
      await until('on', () => program.events.length >= wanted.length);
      same(program.events.map(key), wanted, `${program.name}: and on from there`);
      is(program.resyncs.length, 1, `${program.name}: once`);
    }
  }
}

function harmless() {
  for (const program of programs) {
    is(program.how === undefined || program.how === 'SIGKILL', true, `${program.name} never ended by itself`);
    is(program.said.split('\n').filter((line) => !/^(away: .*)?$/.test(line)), [], `${program.name} complained about lost connections only`);
  }
}

await beforeAndAfterTheStart();
await lateCommit();
await terminated();
await gap();
await restarted();
await crashed();
await killed();
await killedAtWork();
await resync();
harmless();
await follower(name);
await page();
for (const program of programs) await program.kill();
done();
