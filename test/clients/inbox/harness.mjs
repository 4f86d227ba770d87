// The server under test, browsers that use it, and the sides that they do not play.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { chromium } from 'playwright-core';
import { note, until } from '../tap.mjs';

const out = process.env.INBOX_OUT;
export const example = process.env.INBOX_EXAMPLE;
export const passwords = { alice: 'correct horse a', bob: 'correct horse b', carol: 'correct horse c' };
const logFile = join(out, 'inbox.log');

pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (t) => t);

// Each call has a connection of its own: servers stop in between.
export async function sql(user, text, parameters = [], database = process.env.PGDATABASE) {
  const client = new pg.Client({ user, database });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, parameters)).rows;
  } finally {
    await client.end();
  }
}

let calls = 0;
export async function propose(tool, args, { tool_call_id, ...more } = {}) {
  const all = { conversation_id: `chat-${++calls}`, server: 'shop', tenant: 'acme', ...more };
  const names = Object.keys(all);
  const [row] = await sql('agent',
    `SELECT id::text, tenant, status, review_hash::text FROM approval.propose($1, $2, $3, ${names.map((n, i) => `${n} => $${i + 4}`).join(', ')})`,
    [tool_call_id ?? `call-${calls}`, tool, JSON.stringify(args), ...names.map((n) => all[n])]);
  return row;
}

export const mail = (n, more) => propose('send_mail', { to: 'kim@example.com', subject: `Letter ${n}`, body: 'Hello' }, more);

export async function decide(id, verdict, actor, { tenant = 'acme', args = null } = {}) {
  return (await sql('inbox_reviewer',
    `SELECT a.* FROM approval.request_of($1, $5) r, approval.try_decide($1, $2, r.review_hash, actor => $3, arguments => $4, tenant => $5) a`,
    [id, verdict, actor, args && JSON.stringify(args), tenant]))[0];
}

export async function statusOf(id, tenant = 'acme') {
  return (await sql('inbox_reviewer', 'SELECT * FROM approval.request_of($1, $2)', [id, tenant]))[0];
}

export async function waitingIds(tenants = ['acme', 'globex']) {
  const rows = await sql('inbox_reviewer', "SELECT id::text FROM approval.inbox WHERE tenant = ANY ($1) AND status = 'pending' ORDER BY sort_key", [tenants]);
  return rows.map((row) => row.id);
}

// Nothing waits any more.
export async function empty() {
  await sql('agent', "SELECT count(approval.cancel(id, 'cleared', tenant)) FROM approval.history WHERE status IN ('pending', 'approved')");
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const everybody = { alice: 'acme,globex', bob: 'acme', carol: 'acme,globex' };

export class Inbox {
  constructor(database = process.env.PGDATABASE, tenants = everybody) {
    Object.assign(this, { database, tenants, state: join(out, `state-${database}`) });
  }

  async begin() {
    mkdirSync(out, { recursive: true });
    this.port = await freePort();
    this.address = `http://127.0.0.1:${this.port}`;
    for (const [name, tenants] of Object.entries(this.tenants)) {
      execFileSync('node', [join(example, 'people.mjs'), name, `user:${name}`, tenants], { input: passwords[name], env: this.environment() });
    }
    await this.start();
  }

  environment() {
    return { ...process.env, PGDATABASE: this.database, INBOX_STATE: this.state, INBOX_PORT: String(this.port), INBOX_READ_ANYWAY: '600000' };
  }

  async start() {
    this.process = this.program('server.mjs');
    await until('the inbox listens', () => fetch(`${this.address}/icon.svg`).then((r) => r.ok, () => false));
  }

  // What it says is kept, to be searched for secrets.
  program(file, ...args) {
    const child = spawn('node', [join(example, file), ...args], { env: this.environment() });
    child.stdout.on('data', (d) => appendFileSync(logFile, d));
    child.stderr.on('data', (d) => appendFileSync(logFile, d));
    return child;
  }

  async stop(signal = 'SIGTERM', child = this.process) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  log() {
    return readFileSync(logFile, 'utf8');
  }
}

export function cluster(...args) {
  execFileSync('tools/cluster', [args[0], process.env.INBOX_CLUSTER, ...args.slice(1)], { stdio: 'ignore' });
}

export class Browsers {
  async begin(inbox) {
    this.inbox = inbox;
    this.browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
    this.contexts = [];
    this.strange = [];
  }

  // Somebody at a machine of their own.
  async person(name, { inbox = this.inbox, ...options } = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
    const page = await context.newPage();
    // The suite's own limit is the only one.
    page.setDefaultTimeout(0);
    page.setDefaultNavigationTimeout(0);
    page.on('pageerror', (e) => this.strange.push(`page error: ${e.message}`));
    page.on('dialog', (d) => { this.strange.push(`dialog: ${d.message()}`); d.dismiss(); });
    page.on('console', (m) => { if (/Content.Security|Vue warn|TypeError/i.test(m.text())) this.strange.push(`console: ${m.text()}`); });
    page.on('request', (r) => { if (!r.url().startsWith(inbox.address) && !r.url().startsWith('data:')) this.strange.push(`request: ${r.url()}`); });
    await page.goto(`${inbox.address}/`);
    if (name) await this.signIn(page, name);
    this.contexts.push(context);
    return page;
  }

  async signIn(page, name) {
    await page.fill('input[name=name]', name);
    await page.fill('input[name=password]', passwords[name]);
    await page.click('button:has-text("Sign in")');
    await page.waitForSelector('.live.live');
  }

  async leave() {
    for (const context of this.contexts.splice(0)) await context.close();
  }

  async end() {
    await this.browser.close();
  }
}

export const row = (id) => `.list li[data-id="${id}"]`;

export async function openCard(page, id) {
  await page.click(`${row(id)} .row`);
  await page.waitForSelector('.card .scroll h2');
}

export const cardText = (page) => page.locator('.card').innerText();

// Until the page says so; what it said instead is told if the suite ends the test.
export async function says(page, pattern, selector = '.card') {
  let last = '';
  const told = setInterval(() => note(`still waiting for ${pattern}, have: ${last.slice(0, 500)}`), 60_000);
  try {
    await until(String(pattern), async () => {
      last = await page.locator(selector).first().innerText().catch(() => '');
      return pattern.test(last);
    });
  } finally {
    clearInterval(told);
  }
  return last;
}

export async function press(page, act) {
  await page.click(`[data-act="${act}"]:enabled`);
}

export async function picture(page, name) {
  await page.screenshot({ path: join(out, `inbox-${name}.png`) });
}

// A request as a script of another origin, or a mail scanner, would make it.
export async function raw(inbox, method, path, { headers = {}, body } = {}) {
  const response = await fetch(`${inbox.address}${path}`, { method, headers, body, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
