import { execFileSync } from 'node:child_process';
import pg from 'pg';
import { PostgREST } from './postgrest.mjs';

export const asAgent = { role: 'api_agent' };
export const asExecutor = { role: 'api_executor' };
export const reviewer = (sub) => ({ role: 'api_reviewer', sub });

let admin;
export async function connectAdmin() {
  admin = new pg.Client({ user: process.env.PGUSER ?? 'postgres', database: 'shop' });
  admin.on('error', () => {});
  await admin.connect();
  return admin;
}

export const sql = async (text, values) => (await admin.query(text, values)).rows;

export async function crash() {
  await admin.end();
  execFileSync('tools/cluster', ['crash', process.env.CLUSTER], { stdio: 'ignore' });
  execFileSync('tools/cluster', ['start', process.env.CLUSTER], { stdio: 'ignore' });
  await connectAdmin();
}

export async function startInstances() {
  const [agent, web, executor] = await Promise.all(['agent', 'web', 'executor'].map((name) => PostgREST.start(name)));
  return { agent, web, executor };
}

let calls = 0;
export const refund = (amount = 129.9) => ({ order: 'A-1001', amount });
export const proposal = (more = {}) => ({ tool_call_id: `call-${++calls}`, tool: 'refund', arguments: refund(), conversation_id: 'chat-1', ...more });

export async function proposed(agent, more) {
  const { body } = await agent.post(asAgent, 'propose', proposal(more));
  return { id: body.id, seen: body.review_hash };
}

export async function approved(agent, web, more) {
  const { id, seen } = await proposed(agent, more);
  const { body } = await web.post(reviewer('7'), 'approve', { id, seen });
  return { id: body.id, tool: 'refund', arguments: refund(), execution_id: `job-${id}` };
}
