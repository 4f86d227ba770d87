// Three services, two gateways, and orchestrators as they are needed.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { db, newPrincipal, output, run, startGateway, writeConfig } from '../mcp/world.mjs';

const agent = '../agent/';

async function startService(name) {
  const token = randomBytes(24).toString('hex');
  process.env[`${name.toUpperCase()}_TOKEN`] = token;
  const child = run(`${agent}${name}.mjs`, [], { PGUSER: name, SERVICE_TOKEN: token });
  child.stderr.pipe(process.stderr);
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { url: /^listening on (.*)$/.exec(line)[1], token_env: `${name.toUpperCase()}_TOKEN` };
}

async function pin(config, tool, server) {
  const env = { PGUSER: 'postgres', APPROVAL_TENANT: '*' };
  const shown = await output('review.mjs', [config, server, tool], env);
  const pinned = await output('review.mjs', [config, server, tool, /^digest (\w+)$/m.exec(shown.text)[1]], env);
  if (pinned.code !== 0) throw new Error(pinned.text);
}

// An orchestrator that is still at it: what it says, line by line.
function startWorker(env, runId) {
  const child = run(`${agent}orchestrator.mjs`, ['work', runId], env);
  const lines = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  const exit = once(child, 'close').then(([code]) => code);
  return { child, lines, exit };
}

export async function setUp() {
  const upstreams = {};
  for (const name of ['knowledge', 'orders', 'payments']) upstreams[name] = await startService(name);
  const kim = newPrincipal('user:kim', { tenant: 'acme' });
  const lee = newPrincipal('user:lee', { tenant: 'globex' });
  const config = writeConfig(upstreams, [kim, lee]);
  await pin(config, 'search', 'knowledge');
  await pin(config, 'lookup', 'orders');
  await pin(config, 'refund', 'payments');
  const gateways = [await startGateway(config), await startGateway(config)];
  const web = db('web');
  const admin = db('postgres');
  const env = (who, gateway = 0, more = {}) =>
    ({ PGUSER: 'orchestrator', GATEWAY_URL: gateways[gateway].url, GATEWAY_TOKEN: who.token, ...more });
  const orchestrator = async (args, ...about) => {
    const { code, text } = await output(`${agent}orchestrator.mjs`, args, env(...about));
    return { code, text: text.trim() };
  };
  let conversations = 0;
  return {
    kim, lee, web, admin, gateways, upstreams,
    ask: async (who, question) => (await orchestrator(['ask', `chat-${++conversations}`, question], who)).text,
    work: (runId, who, ...about) => orchestrator(['work', runId], who, ...about),
    startWorker: (runId, who, ...about) => startWorker(env(who, ...about), runId),
    async approve(handle, tenant = 'acme') {
      const { review_hash: seen } = await web.row('SELECT review_hash FROM approval.inbox WHERE id = $1', handle);
      return web.row("SELECT status FROM approval.approve($1, $2, actor => 'user:7', tenant => $3)", handle, seen, tenant);
    },
    refunds: (order) => admin.rows('SELECT order_id, amount::float8 AS amount, run_id, request_id FROM payments.refunds WHERE order_id = $1', order),
    tools: async (runId) => (await web.rows('SELECT server, tool FROM approval.history WHERE run_id = $1 ORDER BY proposed_at', runId))
      .map(({ server, tool }) => `${server}.${tool}`),
    trace: (runId, tenant = 'acme') => web.rows('SELECT source, kind, name, actor, detail FROM approval.trace($1, tenant => $2) ORDER BY seq', runId, tenant),
  };
}
