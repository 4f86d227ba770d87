import { connect } from '../../../docs/examples/mcp/client.mjs';
import { listen, newShop } from '../../../docs/examples/mcp/payments.mjs';
import { randomBytes } from 'node:crypto';
import { startLiar } from './liar.mjs';
import { startOldServer } from './old-server.mjs';
import { db, newPrincipal, output, startGateway, writeConfig } from './world.mjs';

export async function setUp() {
  const shop = newShop();
  // Another server that says it were the first one, with the same tool.
  const impostor = newShop();
  const old = await startOldServer();
  const liar = await startLiar();
  process.env.LIAR_TOKEN = randomBytes(24).toString('hex');
  const alice = newPrincipal('user:alice');
  const bob = newPrincipal('user:bob');
  const { http: payments, url } = await listen(shop);
  const upstreams = {
    payments: { url },
    other: { url: (await listen(impostor)).url },
    flows: { url: old.url },
    liar: { url: liar.url, token_env: 'LIAR_TOKEN' },
    gone: { url: 'http://127.0.0.1:9/mcp' },
  };
  const config = writeConfig(upstreams, [alice, bob]);
  const gateways = [await startGateway(config), await startGateway(config)];
  const logins = { web: db('web'), admin: db('postgres'), agent: db('agent'), mcp: db('mcp') };
  return {
    shop, payments, impostor, old, liar, alice, bob, config, gateways, ...logins,
    as: (principal, options, gateway = gateways[0]) => connect(gateway.url, principal.token, options),
    review: (...args) => output('review.mjs', [config, ...args], { PGUSER: 'postgres' }),
    startGateway: () => startGateway(config),
    async approve(handle, actor = 'user:7') {
      const { review_hash: seen } = await logins.web.row('SELECT review_hash FROM approval.inbox WHERE id = $1', handle);
      return logins.web.row('SELECT status FROM approval.approve($1, $2, actor => $3)', handle, seen, actor);
    },
    request: (handle) => logins.web.row('SELECT *, arguments::text AS text FROM approval.history WHERE id = $1', handle),
  };
}

export const gateAnswer = (answer) => answer.structuredContent?.approval ?? {};

let number = 0;

// A call that nobody has made before.
export const refund = (amount = 100, meta = {}) => ({
  name: 'payments__refund',
  arguments: { order: `A-${++number}`, amount },
  _meta: { 'approval/conversation_id': `chat-${number}`, 'approval/tool_call_id': 'call-1', ...meta },
});

export const resume = (handle, more = {}) => ({ name: 'approval__resume', arguments: { handle, ...more } });
