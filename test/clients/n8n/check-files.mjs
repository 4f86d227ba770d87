// What has to hold for every workflow file before anything is run.
import { createRequire } from 'node:module';
import { is, ok } from '../tap.mjs';
import { load } from './engine.mjs';
import { kinds } from './kinds.mjs';

const { NodeHelpers } = createRequire(import.meta.url)('n8n-workflow');
const kindOf = (node) => node.type.replace('n8n-nodes-base.', '');
const known = [...Object.keys(kinds), 'wait', 'webhook', 'scheduleTrigger', 'postgresTrigger', 'stickyNote'];
const credentialTypes = { postgres: ['postgres'], postgresTrigger: ['postgres'], webhook: ['httpHeaderAuth'] };
const hours = (text) => Number(/(\d+) hours/.exec(text)[1]);

function texts(value) {
  if (typeof value === 'string') return [value];
  return value && typeof value === 'object' ? Object.values(value).flatMap(texts) : [];
}

function checkWorkflow(file) {
  const workflow = load(file);
  const issues = Object.values(workflow.nodes).flatMap((node) => {
    const type = workflow.nodeTypes.getByNameAndVersion(node.type, node.typeVersion);
    return type ? Object.values(NodeHelpers.getNodeParametersIssues(type.description.properties, node, type.description) ?? {}) : [];
  });
  is(issues, [], `${file.file}: a workflow, and its Postgres nodes have no issues`);
  const names = file.nodes.map((node) => node.name);
  const ends = Object.values(file.connections).flatMap(({ main }) => main.flat().map((to) => to.node));
  is([...new Set(names)].length, new Set(file.nodes.map((node) => node.id)).size, `${file.file}: names and ids are unique`);
  is([...Object.keys(file.connections), ...ends].filter((name) => !names.includes(name)), [], `${file.file}: every connection has two ends`);
  is(file.nodes.map(kindOf).filter((kind) => !known.includes(kind)), [], `${file.file}: only nodes that this test can run`);
}

function checkSecrets(file) {
  const wrong = file.nodes.filter((node) => node.credentials).filter((node) => Object.entries(node.credentials).some(([type, credential]) =>
    !credentialTypes[kindOf(node)]?.includes(type) || Object.keys(credential).sort().join() !== 'id,name'));
  is(wrong.map((node) => node.name), [], `${file.file}: credentials are names, and nothing of their content`);
  const urls = texts(file.nodes).flatMap((text) => text.match(/\w+:\/\/[^\s'")\]]+/g) ?? []);
  is(urls.filter((url) => !/^(http:\/\/127\.0\.0\.1:9\/\w+|https:\/\/inbox\.example\.com\/#)$/.test(url)), [], `${file.file}: no addresses but those to be set`);
  ok(file.active === false && Object.keys(file.pinData).length === 0, `${file.file}: comes unpublished, and with no data of anybody`);
}

function checkPostgres(file) {
  const nodes = file.nodes.filter((node) => kindOf(node) === 'postgres');
  const bad = (test) => nodes.filter((node) => !test(node.parameters)).map((node) => node.name);
  is(bad(({ options }) => options.queryBatching === 'independently'), [], `${file.file}: every Postgres node has the query batching "Independently"`);
  is(bad(({ options }) => /^=\{\{ \[ .* \] \}\}$/s.test(options.queryReplacement)), [], `${file.file}: its parameters are one array`);
  is(bad(({ query }) => !query.includes('{{') && /^(SELECT|INSERT)\b/.test(query)), [], `${file.file}: its query is text without expressions`);
}

function checkWaits(file) {
  const waits = file.nodes.filter((node) => kindOf(node) === 'wait');
  for (const wait of waits) {
    const { httpMethod, limitWaitTime, resumeAmount, resumeUnit, options } = wait.parameters;
    is([httpMethod, options.webhookSuffix, limitWaitTime, resumeUnit], ['POST', 'approval', true, 'hours'], `${file.file}: its Wait node takes a POST, has a suffix and a limit`);
    const proposals = file.nodes.filter((node) => /expires_in/.test(node.parameters.query ?? ''));
    ok(proposals.length === 1 && hours(proposals[0].parameters.query) < resumeAmount, `${file.file}: a proposal expires before the limit`);
    const next = file.connections[wait.name].main.flat().map(({ node }) => file.nodes.find((n) => n.name === node));
    ok(next.length === 1 && !texts(next[0].parameters).some((text) => /\$json|\$input|\$binary/.test(text)) && !texts(file.nodes).some((text) => text.includes(`$('${wait.name}')`)),
      `${file.file}: nothing reads what was posted to the Wait node`);
  }
}

function checkBranch(file) {
  const consumes = file.nodes.filter((node) => /consume\(/.test(node.parameters.query ?? ''));
  for (const node of consumes) {
    ok(/FROM approval\.try_consume\(/.test(node.parameters.query) && kindOf(file.nodes.find((n) => n.name === file.connections[node.name].main[0][0].node)) === 'switch',
      `${file.file}: the branch is what try_consume says`);
  }
  const outside = file.nodes.filter((node) => kindOf(node) === 'httpRequest');
  ok(outside.every((node) => node.parameters.method === 'POST' && !/[?]/.test(node.parameters.url.replace(/\$json\?|\?\./g, ''))), `${file.file}: calls are POSTs, and put nothing into a URL`);
}

export function checkFiles(files) {
  for (const file of files) {
    for (const check of [checkWorkflow, checkSecrets, checkPostgres, checkWaits, checkBranch]) check(file);
  }
  checkVariants(files);
  is(new Set(files.map((file) => file.id)).size, files.length, 'every file has an id of its own');
}

// Both ways to wait: what is around the waiting is the same.
function checkVariant(file, loop) {
  const without = (f) => f.nodes.filter((node) => !['Wait for the decision', 'Still pending?', 'Propose', 'Propose the mail', 'Note'].includes(node.name))
    .map(({ name, type, parameters, onError }) => [name, type, onError, JSON.stringify(parameters).replace(/-loop|"id":"[^"]*",?/g, '')]);
  is(without(loop), without(file), `${loop.file}: but for the waiting, it is ${file.file}`);
}

function checkVariants(files) {
  for (const loop of files.filter(({ file }) => file.endsWith('-loop.json'))) {
    checkVariant(files.find(({ file }) => file === loop.file.replace('-loop', '')), loop);
  }
}

// A node that no scenario has run is a node that nobody has tried.
export function checkCoverage(files, executions) {
  const name = (file, node) => `${file.file.replace('-loop', '')}: ${node}`;
  const ran = new Set(executions.flatMap((e) => [...Object.keys(e.data.resultData.runData), e.lastNode].map((node) => name(e.file, node))));
  const all = files.flatMap((file) => file.nodes.filter((node) => kindOf(node) !== 'stickyNote').map((node) => name(file, node.name)));
  is(all.filter((node) => !ran.has(node)), [], 'every node was run');
}
