// Runs for orchestrators that have no login of their own: methods beside the
// protocol's, so that they are no tools and no model can call them.
import { randomUUID } from 'node:crypto';
import { ProtocolError } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { Refusal } from './gate.mjs';
import { within } from './names.mjs';

const REFUSED = -32050;

// Names of arguments as the gate has them; [] stands for verbs that return a list.
const verbs = {
  start_run: 'conversation_id run_id parent_run_id parent_token agent max_iterations traceparent',
  claim_run: 'run_id lease token claimed_by',
  next_iteration: 'run_id token',
  record_step: 'run_id token system kind detail name request_id parent_step duration input_tokens output_tokens cost error traceparent',
  release_run: 'run_id token',
  complete_run: 'run_id token answer',
  fail_run: 'run_id token reason',
  run_of: 'run_id',
  'outcomes[]': 'conversation_id run_id open_only',
};

const ofThePrincipal = ['conversation_id', 'run_id', 'parent_run_id'];

const schemaOf = (names) => z.strictObject(Object.fromEntries([...names, '_meta'].map((name) => [name, z.json().optional()])));

function valueOf(name, value, principal) {
  if (ofThePrincipal.includes(name) && typeof value === 'string') return within(principal, value);
  return name === 'detail' ? JSON.stringify(value) : value;
}

// Outcomes come with arguments and results, which are JSON for the client.
const jsonColumns = ['arguments', 'result', 'record', 'detail', 'metadata'];
const opened = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) =>
  [name, jsonColumns.includes(name) && value !== null ? JSON.parse(value) : value]));

async function call(gate, verb, names, params, principal) {
  const given = names.filter((name) => params[name] !== undefined && params[name] !== null);
  const list = [...given, 'tenant'].map((name, i) => `${name} => $${i + 1}`);
  const values = [...given.map((name) => valueOf(name, params[name], principal)), principal.tenant];
  try {
    return (await gate.rows(`SELECT * FROM approval.${verb}(${list.join(', ')})`, values)).map(opened);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new ProtocolError(REFUSED, error.reason, { reason: error.reason, http: error.http });
  }
}

export function serveRuns(server, gate, principal) {
  for (const [key, text] of Object.entries(verbs)) {
    const [verb, list] = key.split('[');
    const names = text.split(' ');
    server.setRequestHandler(`approval/${verb}`, { params: schemaOf(names) }, async (params) => {
      const made = verb === 'start_run' ? { run_id: randomUUID() } : {};
      const rows = await call(gate, verb, names, { ...made, ...params }, principal);
      return list ? { rows } : { row: rows[0] };
    });
  }
}
