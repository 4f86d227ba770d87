// Everything around n8n: the provider, the mail service and a chat, on
// loopback, and the logins of the database.
import http from 'node:http';
import pg from 'pg';
import { until } from '../tap.mjs';

async function read(req) {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
}

// A service that keeps what it is sent, and answers what the test says.
export class Service {
  constructor(answer = () => [200, {}]) {
    this.requests = [];
    this.answer = answer;
  }

  async start() {
    this.server = http.createServer(async (req, res) => {
      const body = await read(req);
      this.requests.push({ method: req.method, path: req.url, headers: req.headers, body, json: /^[{[]/.test(body) ? JSON.parse(body) : undefined });
      const [code, json] = this.answer(this.requests.at(-1));
      if (code === 0) return req.socket.destroy();
      return res.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}/`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  // What it was asked to do for one request of the gate
  of(id) {
    return this.requests.filter((r) => r.json?.reference === id || r.headers['idempotency-key']?.includes(id) || r.body.includes(id));
  }
}

export class Database {
  constructor() {
    this.pools = {};
  }

  async as(user, sql, values = []) {
    const [login, database] = user.split('@');
    this.pools[user] ??= new pg.Pool({ user: login, database: database ?? process.env.PGDATABASE, max: 2 });
    return (await this.pools[user].query(sql, values)).rows;
  }

  async one(user, sql, values) {
    return (await this.as(user, sql, values))[0];
  }

  // How a request stands, as the executor sees it
  request(conversation, call) {
    return this.one('executor', 'SELECT * FROM approval.request_for($1, $2)', [conversation, call]).catch(() => undefined);
  }

  proposed(conversation, call) {
    return until(`${call} is proposed`, () => this.request(conversation, call));
  }

  async approve(request, more = '', values = []) {
    return this.one('web', `SELECT * FROM approval.decide($1, 'approve', $2, actor => 'user:7'${more})`, [request.id, request.review_hash, ...values]);
  }

  reject(request) {
    return this.one('web', "SELECT * FROM approval.reject($1, $2, actor => 'user:7')", [request.id, request.review_hash]);
  }

  async stop() {
    await Promise.all(Object.values(this.pools).map((pool) => pool.end()));
  }
}

export const post = (url, body, headers = {}) => fetch(url, {
  method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers },
});

export async function makeServices() {
  const provider = await new Service(() => [200, { refund_id: 're_1' }]).start();
  const [mails, chat, canary] = await Promise.all([new Service().start(), new Service().start(), new Service().start()]);
  const settings = {
    provider_url: provider.url, mail_url: mails.url, inbox_url: 'https://inbox.example.com/#', chat_urls: JSON.stringify([chat.url]),
  };
  return { db: new Database(), provider, mails, chat, canary, settings };
}
