// A whole n8n: its command line, its server, and what it writes down of executions.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../tap.mjs';

const app = process.env.N8N_APP;
const home = process.env.N8N_HOME;
const { parse } = createRequire(join(app, 'n8n/package.json'))('flatted');

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const postgres = (id, name, user) => ({
  id, name, type: 'postgres',
  data: { host: process.env.PGHOST, port: Number(process.env.PGPORT), database: process.env.PGDATABASE, user, password: 'none', ssl: 'disable', maxConnections: 20, sshTunnel: false },
});

export class WholeN8n {
  constructor(db, files, callerKey) {
    Object.assign(this, { db, files, callerKey });
  }

  credentials() {
    return [
      postgres('approvalAgent', 'approval agent', 'agent'), postgres('approvalExecutor', 'approval executor', 'executor'),
      postgres('approvalDoorbell', 'approval doorbell', 'doorbell'),
      { id: 'approvalCaller', name: 'approval caller', type: 'httpHeaderAuth', data: { name: 'X-Caller-Key', value: this.callerKey } },
    ];
  }

  async environment() {
    const port = await freePort();
    this.base = `http://127.0.0.1:${port}`;
    this.env = {
      ...process.env, N8N_USER_FOLDER: home, N8N_ENCRYPTION_KEY: randomBytes(16).toString('hex'),
      DB_TYPE: 'postgresdb', DB_POSTGRESDB_HOST: process.env.PGHOST, DB_POSTGRESDB_PORT: process.env.PGPORT,
      DB_POSTGRESDB_DATABASE: 'n8n', DB_POSTGRESDB_USER: 'postgres', DB_POSTGRESDB_PASSWORD: 'none',
      N8N_HOST: '127.0.0.1', N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(port), WEBHOOK_URL: `${this.base}/`,
      N8N_RUNNERS_BROKER_PORT: String(await freePort()), N8N_LOG_LEVEL: 'warn',
      // nothing leaves this machine
      N8N_DIAGNOSTICS_ENABLED: 'false', N8N_VERSION_NOTIFICATIONS_ENABLED: 'false', N8N_TEMPLATES_ENABLED: 'false',
      N8N_PERSONALIZATION_ENABLED: 'false', N8N_DYNAMIC_BANNERS_ENABLED: 'false', N8N_LICENSE_AUTO_RENEW_ENABLED: 'false', EXTERNAL_FRONTEND_HOOKS_URLS: '',
    };
  }

  async command(...args) {
    const { stdout } = await promisify(execFile)(process.execPath, [join(app, 'n8n/bin/n8n'), ...args], { env: this.env, maxBuffer: 1 << 26 });
    return stdout;
  }

  // As somebody does who imports the files by hand
  async install() {
    await this.environment();
    const folder = join(home, 'import');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(home, 'credentials.json'), JSON.stringify(this.credentials()));
    for (const { file, ...workflow } of this.files) writeFileSync(join(folder, file), JSON.stringify(workflow));
    await this.command('import:credentials', `--input=${join(home, 'credentials.json')}`);
    await this.command('import:workflow', '--separate', `--input=${folder}`);
    for (const { id } of this.files) await this.command('publish:workflow', `--id=${id}`);
  }

  async start() {
    const log = openSync(join(home, 'log'), 'a');
    this.process = spawn(process.execPath, [join(app, 'n8n/bin/n8n'), 'start'], { env: this.env, stdio: ['ignore', log, log] });
    await until('n8n is ready', async () => {
      if (this.process.exitCode !== null) throw new Error(`n8n ended, see ${join(home, 'log')}`);
      return fetch(`${this.base}/healthz/readiness`).then((answer) => answer.ok, () => false);
    }, 200);
    await until('its triggers listen', async () => Number((await this.db.one('postgres',
      "SELECT count(*) FROM pg_stat_activity WHERE usename IN ('executor', 'doorbell') AND query LIKE 'LISTEN%'")).count) >= 2, 200);
  }

  async stop() {
    if (!this.process || this.process.exitCode !== null) return;
    this.process.kill('SIGTERM');
    await once(this.process, 'exit');
  }

  async own(sql, values) {
    return this.db.one('postgres@n8n', sql, values);
  }

  async state(id) {
    const row = await this.own('SELECT e.status, d.data FROM execution_entity AS e JOIN execution_data AS d ON d."executionId" = e.id WHERE e.id = $1', [id]);
    const { lastNodeExecuted: lastNode, error } = parse(row.data).resultData;
    return { status: row.status, lastNode, error: error?.message };
  }

  async latest(name) {
    return (await this.own('SELECT max(e.id) AS id FROM execution_entity AS e JOIN workflow_entity AS w ON w.id = e."workflowId" WHERE w.name = $1', [name])).id;
  }
}
