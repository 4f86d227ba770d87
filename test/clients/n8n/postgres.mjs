// n8n's own Postgres and Postgres Trigger nodes, with what they need of n8n.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const top = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const from = (path) => require(join(process.env.N8N_NODES ?? join(top, 'build/n8n/package'), 'dist/nodes/Postgres', path));

const types = {
  'n8n-nodes-base.postgres': new (from('Postgres.node.js').Postgres)(),
  'n8n-nodes-base.postgresTrigger': new (from('PostgresTrigger.node.js').PostgresTrigger)(),
};

export const nodeTypes = {
  getByName: (type) => types[type],
  getByNameAndVersion: (type, version) => types[type]?.getNodeType?.(version) ?? types[type],
};

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const get = (object, path) => path.split('.').reduce((found, key) => found?.[key], object);

// Each credential is a login of the private server.
export const logins = { approvalAgent: 'agent', approvalExecutor: 'executor', approvalDoorbell: 'doorbell' };

const credentials = (node) => async () => ({
  host: process.env.PGHOST, port: Number(process.env.PGPORT), database: process.env.PGDATABASE,
  user: logins[node.credentials.postgres.id], password: '', maxConnections: 20, ssl: 'disable', sshTunnel: false,
});

const helpers = {
  constructExecutionMetaData: (items, { itemData }) => items.map((item) => ({ ...item, pairedItem: itemData })),
  returnJsonArray: (items) => [items].flat().map((json) => ({ json })),
};

export function executePostgres(execution, step) {
  const parameter = (path, index, fallback) => {
    const found = execution.value(get(step.node.parameters, path), step, index);
    return found === undefined ? fallback : found;
  };
  const context = {
    helpers,
    logger: silent,
    getNode: () => step.node,
    getInputData: () => step.items,
    getNodeParameter: parameter,
    evaluateExpression: (text, index) => execution.value(`=${text}`, step, index),
    continueOnFail: () => ['continueErrorOutput', 'continueRegularOutput'].includes(step.node.onError),
    getCredentials: credentials(step.node),
    addExecutionHints() {},
  };
  const type = nodeTypes.getByNameAndVersion(step.node.type, step.node.typeVersion);
  return type.execute.call(context);
}

// Resolves once the node listens, and is rejected if it cannot.
export function startTrigger(workflow, node, emit) {
  return types['n8n-nodes-base.postgresTrigger'].trigger.call({
    helpers,
    logger: silent,
    emit: ([items]) => emit(items),
    getNode: () => node,
    getMode: () => 'trigger',
    getNodeParameter: (path, fallback) => get(node.parameters, path) ?? fallback,
    getCredentials: credentials(node),
  });
}
