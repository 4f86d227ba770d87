// The listener that is one SQL statement: killed at any moment, each event counts once.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { ask, cluster, key, recorded, same, traffic } from './database.mjs';
import { ok, until } from '../tap.mjs';

const step = 'docs/examples/listen/follow.sql';

const follow = () => spawnSync('psql', ['-XAtq', '-U', 'listener', '-f', step], { encoding: 'utf8' });

export async function follower(name) {
  const [, tables] = /```sql\n(CREATE TABLE gate_cursor[^`]*)```/.exec(readFileSync('docs/listen.md', 'utf8'));
  await ask('postgres', tables);
  const stop = await traffic();
  for (let i = 0; i < 6; i++) {
    const child = spawn('bash', ['-c', `while psql -XAtq -U listener -f ${step}; do :; done >/dev/null 2>&1`], { detached: true });
    const before = (await ask('postgres', 'SELECT count(*)::int AS n FROM gate_events'))[0].n;
    await until('it has begun', async () => (await ask('postgres', 'SELECT count(*)::int AS n FROM gate_events'))[0].n > before);
    if (i === 3) {
      await cluster('crash', name);
      await cluster('start', name);
    }
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
  }
  await stop();
  // What was killed may still be at work in the server.
  await until('nobody follows', async () =>
    (await ask('postgres', "SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'listener' AND application_name = 'psql'"))[0].n === 0);
  let answer;
  do {
    answer = follow();
    ok(answer.status === 0 && /^[tf]\|f$/m.test(answer.stdout), 'follow.sql: a step', answer);
  } while (answer.stdout.startsWith('t'));
  const stored = (await ask('postgres', "SELECT id, n, event ->> 'event' AS event FROM gate_events")).map(key);
  same(stored, await recorded(), 'follow.sql: each event once, killed at any moment');
}
