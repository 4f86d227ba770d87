// What the test needs around it: logins, gateways as processes, and upstream servers in this one.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const out = process.env.OUT;
export const example = fileURLToPath(new URL('../../../docs/examples/mcp/', import.meta.url));

const started = new Set();

// Ends with the test, however that ends.
process.on('exit', () => started.forEach((child) => child.kill('SIGKILL')));

export function db(login) {
  const pool = new pg.Pool({ user: login });
  return {
    async rows(sql, ...values) { return (await pool.query(sql, values)).rows; },
    async row(sql, ...values) { return (await pool.query(sql, values)).rows[0]; },
    end: () => pool.end(),
  };
}

export function newPrincipal(name, more = {}) {
  const token = randomBytes(24).toString('hex');
  const entry = { name, token_sha256: createHash('sha256').update(token).digest('hex'), expires: '2099-01-01T00:00:00Z', ...more };
  return { name, token, entry };
}

export function writeConfig(upstreams, principals, name = 'gateway.json') {
  const file = `${out}/${name}`;
  writeFileSync(file, JSON.stringify({ listen: { host: '127.0.0.1', port: 0 }, upstreams, principals: principals.map((p) => p.entry) }));
  return file;
}

export function run(script, args, env = {}) {
  const child = spawn(process.execPath, [`${example}${script}`, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}

let gateways = 0;

export async function startGateway(config) {
  const child = run('gateway.mjs', [config], { PGUSER: 'mcp' });
  child.stderr.pipe(createWriteStream(`${out}/gateway-${++gateways}.log`));
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (.*)$/.exec(line)?.[1];
    if (url) return { url, child };
  }
  throw new Error(`the gateway has not started, see ${out}/gateway-${gateways}.log`);
}

export async function killed(child, signal = 'SIGKILL') {
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

// A script that runs to its end.
export async function output(script, args, env) {
  const child = run(script, args, env);
  let text = '';
  child.stdout.on('data', (data) => { text += data; });
  child.stderr.on('data', (data) => { text += data; });
  const [code] = await once(child, 'close');
  return { code, text };
}
