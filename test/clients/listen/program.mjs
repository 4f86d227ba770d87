// One of the listeners, as somebody runs it: what it prints and what it says.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const example = 'docs/examples/listen';
const commands = {
  'listen.mjs': [process.execPath],
  'listen.py': ['/usr/bin/python3'],
  'listen.php': ['php'],
};
export const names = Object.keys(commands);
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export class Program {
  constructor(name, file = `${name}.cursor`) {
    this.name = name;
    this.file = join(process.env.STATE, file);
    this.printed = [];
    this.said = '';
    this.parts = 0;
  }

  get events() { return this.printed.filter((line) => line.event !== 'resync'); }
  get resyncs() { return this.printed.filter((line) => line.event === 'resync'); }
  get cursor() { return existsSync(this.file) ? readFileSync(this.file, 'utf8').trim() : null; }
  set cursor(text) { writeFileSync(this.file, text); }

  // Nobody's patience: only the bell, or a new connection, makes it read.
  start(user = 'listener') {
    const [command, ...words] = [...commands[this.name], join(example, this.name), this.file];
    const env = { ...process.env, PGUSER: user, READ_EVERY: '3600' };
    this.child = spawn(command, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this.child);
    this.how = undefined;
    let line = '';
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (line + text).split('\n');
      line = lines.pop();
      this.printed.push(...lines.map((one) => JSON.parse(one)));
      this.parts++;
      this.heard?.();
    });
    this.child.stderr.setEncoding('utf8').on('data', (text) => { this.said += text; });
    this.ended = new Promise((resolve) => this.child.on('close', (code, signal) => resolve(signal ?? code)));
    this.ended.then((how) => { this.how = how; });
    return this;
  }

  async kill(signal = 'SIGKILL') {
    this.child.kill(signal);
    const how = await this.ended;
    running.delete(this.child);
    return how;
  }

  // As soon as it has printed for the nth time.
  async at(n) {
    const wanted = this.parts + n;
    await new Promise((resolve) => {
      this.heard = () => { if (this.parts >= wanted) resolve(); };
      this.ended.then(resolve);
    });
    this.heard = undefined;
  }

  // It gets no further than a pipe holds.  A part may be less than a line.
  async held() {
    await this.at(2);
    this.child.stdout.pause();
  }

  letGo() {
    this.child.stdout.resume();
  }
}
