// A little n8n: webhooks, resume URLs and triggers of the workflow files, with
// the answers that n8n gives.
import http from 'node:http';
import { Execution, load } from './engine.mjs';
import { startTrigger } from './postgres.mjs';

const kind = (node) => node.type.replace('n8n-nodes-base.', '');

async function bodyOf(req) {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}

export class LightN8n {
  constructor(files, callerKey) {
    Object.assign(this, { files, callerKey, executions: new Map(), triggers: [], fired: {} });
  }

  async start() {
    this.server = http.createServer((req, res) => this.answer(req, res).catch((e) => {
      res.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ message: e.message }));
    }));
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.base = `http://127.0.0.1:${this.server.address().port}`;
    for (const file of this.files) await this.publish(file);
  }

  async publish(file) {
    const workflow = load(file);
    for (const node of Object.values(workflow.nodes)) {
      if (kind(node) !== 'postgresTrigger') continue;
      this.triggers.push(await startTrigger(workflow, node, (items) => {
        this.fired[file.name] = (this.fired[file.name] ?? 0) + 1;
        this.begin(file, node.name, items);
      }));
    }
  }

  async stop() {
    for (const { closeFunction } of this.triggers) await closeFunction().catch(() => {});
    this.server.closeAllConnections();
    this.server.close();
  }

  begin(file, trigger, items, respond) {
    const execution = new Execution(this, file, String(this.executions.size + 1));
    this.executions.set(execution.id, execution);
    execution.respond = respond;
    execution.done = execution.begin(trigger, items);
    return execution;
  }

  // What the schedule does when its minute has come.
  tick(name) {
    const file = this.files.find((f) => f.name === name);
    const trigger = file.nodes.find((node) => kind(node) === 'scheduleTrigger');
    return this.begin(file, trigger.name, [{ json: {} }]).done;
  }

  // Nothing runs at this moment.
  settled() {
    return Promise.all([...this.executions.values()].map((execution) => execution.done));
  }

  // The limit of the Wait node is reached.
  timeUp(id) {
    return this.executions.get(id).resume();
  }

  async state(id) {
    const { status, lastNode, error } = this.executions.get(id);
    return { status, lastNode, error: error?.message };
  }

  latest(name) {
    return [...this.executions.values()].filter((e) => e.file.name === name).at(-1)?.id;
  }

  async answer(req, res) {
    const url = new URL(req.url, this.base);
    const [, place, ...rest] = url.pathname.split('/');
    const send = (code, json = {}) => res.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    const body = await bodyOf(req);
    if (place === 'webhook') return this.webhook(req, rest.join('/'), body, send);
    if (place === 'webhook-waiting') return this.waiting(req, rest, url.searchParams.get('signature') ?? '', body, send);
    return send(404);
  }

  webhook(req, path, body, send) {
    for (const file of this.files) {
      const node = file.nodes.find((n) => kind(n) === 'webhook' && n.parameters.path === path);
      if (!node || req.method !== node.parameters.httpMethod) continue;
      if (node.parameters.authentication === 'headerAuth' && req.headers['x-caller-key'] !== this.callerKey) return send(403);
      const items = [{ json: { headers: req.headers, params: {}, query: {}, body } }];
      const late = node.parameters.responseMode === 'responseNode';
      this.begin(file, node.name, items, late ? send : undefined);
      return late || send(200, { message: 'Workflow was started' });
    }
    return send(404);
  }

  waiting(req, [id, suffixInPath], signature, body, send) {
    const [token, suffixInToken] = signature.split('/');
    const execution = this.executions.get(id);
    if (!execution) return send(404, { message: `The execution "${id}" does not exist.` });
    if (token !== execution.token) return send(401, { error: 'Invalid token' });
    if (execution.status === 'running') return send(409, { message: `The execution "${id}" is running already.` });
    if (execution.status !== 'waiting') return send(409, { message: `The execution "${id} has finished already.` });
    const { httpMethod, options } = execution.waiting.node.parameters;
    if (req.method !== httpMethod || (suffixInPath ?? suffixInToken ?? '') !== options.webhookSuffix) return send(404);
    execution.done = execution.resume([{ json: { headers: req.headers, params: {}, query: { signature }, body } }]);
    return send(200, { message: 'Workflow was started' });
  }
}
