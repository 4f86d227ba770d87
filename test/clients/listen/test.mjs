// Whatever happens to connections, server and programs: what they have printed is what
// the trail has, each event once.
import pg from 'pg';
import { after, ask, backlog, cluster, ends, key, life, proposed, recorded, same, traffic } from './database.mjs';
import { Program, names } from './program.mjs';
import { page } from './page.mjs';
import { follower } from './follower.mjs';
import { done, is, like, note, ok, until } from '../tap.mjs';

const name = process.env.CLUSTER;
const programs = names.map((each) => new Program(each));

// What can come only from a program that is there.
const waitFor = (what, program, condition) =>
  until(`${program.name}: ${what}`, async () => program.how !== undefined || await condition());

const behind = async (program) => program.cursor === null || (await after(program.cursor)).length > 0;

// Nothing is between printing and storing any more.
async function idle(listeners = programs) {
  for (const program of listeners) await waitFor('it has stored its cursor', program, async () => !await behind(program));
}

// It has all, or has stored that it has and prints no more.
function enough(program, wanted) {
  let before = -1;
  return async () => {
    const printed = program.events.length;
    if (printed >= wanted) return true;
    const stored = !await behind(program);
    const still = stored && printed === before;
    before = stored ? printed : -1;
    return still && program.events.length === printed;
  };
}

async function caughtUp(what, listeners = programs) {
  const wanted = await recorded();
  for (const program of listeners) {
    await waitFor(what, program, enough(program, wanted.length));
    same(program.events.map(key), wanted, `${program.name}: ${what}: ${wanted.length} events, each once`);
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
  return n === programs.filter((program) => program.how === undefined).length;
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
    const stop = await traffic();
    is(await terminate(), programs.length, 'their backends are terminated');
    await connected();
    await stop();
  }
  await caughtUp('through pg_terminate_backend');
}

// Nobody rings for who is not connected.
async function gap() {
  for (const [away, back, said] of [['CONNECTION LIMIT 0', 'CONNECTION LIMIT -1', /too many connections/], ['NOLOGIN', 'LOGIN', /not permitted to log in/]]) {
    await ask('postgres', `ALTER ROLE listener ${away}`);
    await terminate();
    for (const program of programs) await waitFor('refused', program, () => said.test(program.said));
    await life();
    await proposed('acme');
    await ask('postgres', `ALTER ROLE listener ${back}`);
    await caughtUp(`what happened while the server said ${said}`);
  }
}

async function restarted() {
  for (const [how, end] of Object.entries(ends)) {
    const stop = await traffic();
    await end(name);
    await cluster('start', name);
    await connected();
    await stop();
    await caughtUp(`through ${how}`);
  }
}

async function workerRings() {
  await cluster('stop', name);
  await cluster('start', name, '--fsync', 'off', '--preload');
  await connected();
  is((await ask('postgres', 'SHOW shared_preload_libraries'))[0].shared_preload_libraries, 'approval', 'from here on the worker rings');
  await life();
  await caughtUp('what the worker rang for');
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
  for (const each of names) {
    const program = new Program(each, `${each}.work`);
    const again = new Set();
    for (let parts = 1; parts <= 4; parts++) {
      program.start();
      await Promise.race([program.at(parts), idle([program])]);
      await program.kill();
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

// What it has stored does not come again either.
async function restartedAtWork() {
  for (const [how, end] of Object.entries(ends)) {
    const listeners = names.map((each) => new Program(each, `${each}.${how}`));
    for (const program of listeners) program.start();
    await Promise.all(listeners.map((program) => program.held()));
    await end(name);
    await cluster('start', name);
    for (const program of listeners) {
      is([program.events.length > 0, await behind(program)], [true, true], `${program.name} is at work`);
      program.letGo();
    }
    await caughtUp(`a backlog, through ${how}`, listeners);
    for (const program of listeners) await program.kill();
  }
}

// What could not be handled is not stored.
async function readerGone() {
  for (const each of names) {
    const program = new Program(each, `${each}.reader`);
    [{ cursor_text: program.cursor }] = await ask('listener', "SELECT cursor_text FROM approval.feed('now')");
    program.start().child.stdout.destroy();
    const { id } = await proposed();
    ok(await program.ended > 0, `${each}: who cannot print ends`, program.said);
    program.start();
    await waitFor('the event', program, enough(program, 1));
    is(program.events.map(key), [`${id}/1/proposed`], `${each}: and prints it when it can`);
    await program.kill();
  }
}

async function hopeless() {
  for (const each of names) {
    const program = new Program(each, `${each}.stranger`).start('stranger');
    ok(await program.ended > 0, `${each}: a login without the right ends it`);
    like(program.said, /permission denied/, `${each}: and it says so`);
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
      await waitFor('resync', program, () => program.resyncs.length > 0);
      is(program.resyncs.map((line) => line.waiting.map((row) => row.id).sort()), [waiting], `${program.name}: a cursor ${what}: the inbox anew`);
    }
    await idle();
    const mine = await recorded();
    await life();
    const wanted = (await recorded()).filter((event) => !mine.includes(event));
    for (const program of programs) {
      await waitFor('on', program, enough(program, wanted.length));
      same(program.events.map(key), wanted, `${program.name}: and on from there`);
      is(program.resyncs.length, 1, `${program.name}: once`);
    }
  }
}

function harmless() {
  for (const program of programs) {
    is(program.how, undefined, `${program.name} has not ended`);
    is(program.said.split('\n').filter((line) => !/^(away: .*)?$/.test(line)), [], `${program.name} complained about lost connections only`);
  }
}

await beforeAndAfterTheStart();
await lateCommit();
await terminated();
await gap();
await restarted();
await workerRings();
await restarted();
await killed();
await backlog(8, 500);
await caughtUp('a backlog');
await killedAtWork();
await restartedAtWork();
await readerGone();
await hopeless();
await resync();
harmless();
await follower(name);
await page();
for (const program of programs) await program.kill();
done();
