// What docs/listen.md tells to type, typed, while things happen.
import { spawn } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, decided, proposed } from './database.mjs';
import { is, ok } from '../tap.mjs';

const text = readFileSync('docs/listen.md', 'utf8');
const directory = process.env.STATE;

// Until it has ended, or, for what does not end by itself, has said what it should.
function type(command, pattern) {
  const child = spawn('bash', ['-c', command], { cwd: directory, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(happening);
      resolve(said);
    };
    const happening = setInterval(() => decided('chat-17').catch(() => {}), 200);
    child.stdout.setEncoding('utf8').on('data', (part) => {
      said += part;
      if (pattern.test(said) && child.exitCode === null && child.signalCode === null) process.kill(-child.pid);
    });
    child.on('close', end);
  });
}

export async function page() {
  const shown = text.match(/```sql\n(WITH feed AS MATERIALIZED[^`]*)```/)[1];
  is(readFileSync('docs/examples/listen/follow.sql', 'utf8').replace(/^--.*\n/gm, ''), shown, 'the page shows follow.sql');
  is(readFileSync('docs/examples/listen/setup.sql', 'utf8').replace(/^--.*\n/gm, ''),
    text.match(/```sql\n(CREATE ROLE listener[^`]*)```/)[1], 'and setup.sql');

  symlinkSync(join(process.cwd(), 'docs'), join(directory, 'docs'));
  const [{ cursor_text: cursor }] = await ask('listener', "SELECT cursor_text FROM approval.feed('now')");
  writeFileSync(join(directory, 'cursor'), `${cursor}\n`);
  await proposed();

  const commands = [...text.matchAll(/<!-- says (\S+) -->\n```sh\n([^`]*)```/g)];
  is(commands.length, text.match(/```sh\n/g).length, 'every line to type says what comes');
  for (const [, says, command] of commands) {
    const pattern = new RegExp(says, 'm');
    const said = await type(command, pattern);
    ok(pattern.test(said), `psql: ${command.split('\n')[0]}`, { said, says });
  }
}
