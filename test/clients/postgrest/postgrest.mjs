// PostgREST without its HTTP parser and its tokens: a request in, claims already verified,
// the same messages to the server, and the same status and JSON out.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { begin, callWithBody, callWithQuery, readOf, routines, setAll } from './statements.mjs';

const examples = new URL('../../../docs/examples/postgrest/', import.meta.url);
const jsonType = 114;
const unknownType = 705;

function readConfig(name) {
  const text = readFileSync(new URL(`${name}.conf`, examples), 'utf8');
  const config = Object.fromEntries([...text.matchAll(/^([\w-]+) = "?([^"\n]*)"?$/gm)].map((found) => [found[1], found[2]]));
  const uri = new URL(config['db-uri'].replace('@/', '@localhost/'));
  return { login: uri.username, database: uri.pathname.slice(1), schema: config['db-schemas'], anonymous: config['db-anon-role'] };
}

// node-postgres takes the types of parameters and the parsers of columns from one property.
const prepared = (text, types, values) => ({
  name: createHash('md5').update(text).digest('hex'),
  text,
  values,
  types: Object.assign(types, { getTypeParser: () => (value) => value.toString() }),
});

// The rules of PostgREST for codes that can come up here.
export function statusOf(code, authenticated) {
  if (code === '42501') return authenticated ? 403 : 401;
  if (code.startsWith('PT')) return /^\d+$/.test(code.slice(2)) ? Number(code.slice(2)) : 500;
  const classes = { '08': 503, '09': 500, '25': 500, '28': 403, '40': 500, '53': 503, '54': 500, '55': 500, '57': 500, '58': 500, P0: 500, XX: 500 };
  const codes = { 23503: 409, 23505: 409, 25006: 405, '42883': 404, '42P01': 404, '57P01': 503, P0001: 400 };
  return codes[code] ?? classes[code.slice(0, 2)] ?? 400;
}

const failure = (status, code, message, details = null, hint = null) => ({ status, body: { code, message, details, hint } });

function failed(error, authenticated) {
  if (!error.code || error.code.length !== 5) return failure(503, 'PGRST001', 'Database client error. Retrying the connection.', error.message);
  return { ...failure(statusOf(error.code, authenticated), error.code, error.message, error.detail ?? null, error.hint ?? null), reasonPhrase: error.message };
}

export class PostgREST {
  static async start(name) {
    const instance = new PostgREST();
    Object.assign(instance, readConfig(name));
    await instance.connect();
    return instance;
  }

  async connect() {
    this.pool = new pg.Pool({ user: this.login, database: this.database, max: 10 });
    this.pool.on('error', () => {});
    const client = await this.pool.connect();
    await client.query("select set_config('search_path', '', false)");
    this.routines = (await client.query(routines, [this.schema])).rows;
    client.release(true);
  }

  async reconnect() {
    await this.end();
    await this.connect();
  }

  end() { return this.pool.end(); }

  // The one function with exactly these arguments, but for those that have defaults.
  find(name, given) {
    const fits = (routine) => routine.name === name && given.every((key) => routine.parameters.some((p) => p.name === key))
      && routine.parameters.every((p) => !p.required || given.includes(p.name));
    return this.routines.filter(fits);
  }

  plan(method, path, body) {
    const url = new URL(path, 'http://localhost');
    const [, rpc, name] = /^\/(rpc\/)?(\w+)$/.exec(url.pathname);
    const query = [...url.searchParams];
    if (!rpc) {
      const values = query.map(([, value]) => value.replace(/^eq\./, ''));
      return { mode: 'ONLY', statement: prepared(readOf(this.schema, name, query.map(([key]) => key)), values.map(() => unknownType), values) };
    }
    const given = method === 'GET' ? query.map(([key]) => key) : Object.keys(JSON.parse(body));
    const [routine, another] = this.find(name, given);
    if (!routine) return { refusal: failure(404, 'PGRST202', `Could not find the function ${this.schema}.${name}(${given.join(', ')}) in the schema cache`) };
    if (another) return { refusal: failure(300, 'PGRST203', 'Could not choose the best candidate function') };
    const parameters = routine.parameters.filter((p) => given.includes(p.name));
    if (method === 'GET') {
      const values = parameters.map((p) => url.searchParams.get(p.name));
      return { mode: 'ONLY', statement: prepared(callWithQuery(this.schema, routine, parameters), values.map(() => unknownType), values) };
    }
    const values = parameters.length ? [Buffer.from(body)] : [];
    return { mode: routine.volatility === 'v' ? 'WRITE' : 'ONLY', statement: prepared(callWithBody(this.schema, routine, parameters), values.map(() => jsonType), values) };
  }

  async request(claims, method, path, body = '{}', hooks = {}) {
    const role = claims?.role ?? this.anonymous;
    if (!role) return failure(401, 'PGRST302', 'Anonymous access is disabled');
    const { mode, statement, refusal } = this.plan(method, path, body);
    if (refusal) return refusal;
    const set = [`"${this.schema}", "public"`, role, JSON.stringify({ ...claims, role }), method, new URL(path, 'http://localhost').pathname, '{}', '{}'];
    let client;
    try {
      client = await this.pool.connect();
      client.on('error', () => {});
      const { body: text } = await this.transaction(client, mode, set, statement, hooks);
      client.release();
      return { status: 200, body: JSON.parse(text), text };
    } catch (error) {
      await client?.query('ABORT').then(() => client.release(), () => client.release(true));
      return failed(error, Boolean(claims?.role));
    }
  }

  async transaction(client, mode, set, statement, { beforeCommit }) {
    await client.query(begin(mode));
    await client.query(prepared(setAll, set.map(() => unknownType), set));
    const { rows: [row] } = await client.query(statement);
    await beforeCommit?.(client);
    await client.query('COMMIT');
    return row;
  }

  post(claims, name, args, hooks) {
    return this.request(claims, 'POST', `/rpc/${name}`, typeof args === 'string' ? args : JSON.stringify(args), hooks);
  }
}
