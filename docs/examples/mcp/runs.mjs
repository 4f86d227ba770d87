// Runs for orchestrators that have no login of their own: methods beside the
// protocol's, so that they are no tools and no model can call them.
import { randomUUID } from 'node:crypto';
import { ProtocolError } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { Refusal, notFound } from './gate.mjs';
import { within } from './names.mjs';

const REFUSED = -32050;
const refusedWith = ({ reason, http }) => new ProtocolError(REFUSED, reason, { reason, http });

// Names of arguments as the gate has them, those with ? may be left out; [] stands for verbs that return a list.
const verbs = {
  start_run: 'conversation_id run_id? parent_run_id? parent_token? agent? max_iterations? traceparent?',
  claim_run: 'run_id lease? token? claimed_by?',
  next_iteration: 'run_id token',
  record_step: `run_id token system kind detail? name? request_id? parent_step? duration? input_tokens? output_tokens? cost?
    error? traceparent?`,
  release_run: 'run_id token',
  complete_run: 'run_id token answer',
  fail_run: 'run_id token reason',
  run_of: 'run_id',
  'outcomes[]': 'conversation_id run_id? open_only?',
};

// A name that is no text could not be put under its principal.
const ofThePrincipal = ['conversation_id', 'run_id', 'parent_run_id'];

function typeOf(name) {
  if (ofThePrincipal.includes(name)) return z.string();
  return name === 'detail' ? z.json() : z.union([z.string(), z.number(), z.boolean()]);
}

function schemaOf(text) {
  const members = text.split(/\s+/).map((word) => {
    const name = word.replace('?', '');
    return [name, name === word ? typeOf(name) : typeOf(name).nullish()];
  });
  return z.strictObject({ ...Object.fromEntries(members), _meta: z.json().optional() });
}

function valueOf(name, value, principal) {
  if (ofThePrincipal.includes(name)) return within(principal, value);
  return name === 'detail' ? JSON.stringify(value) : value;
}

// Outcomes come with arguments and results, which are JSON for the client.
const jsonColumns = ['arguments', 'result', 'record', 'detail', 'metadata'];
const opened = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) =>
  [name, jsonColumns.includes(name) && value !== null ? JSON.parse(value) : value]));

// An executor sees what other logins have under such a name, too.
const ours = {
  run_of: 'v.requester_login = session_user',
  outcomes: 'EXISTS (SELECT FROM approval.request_of(v.id, tenant => $1) AS r WHERE r.requester_login = session_user)',
};

async function call(gate, verb, { _meta, ...params }, principal) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined);
  const list = ['tenant', ...given.map(([name]) => name)].map((name, i) => `${name} => $${i + 1}`);
  const values = [principal.tenant, ...given.map(([name, value]) => valueOf(name, value, principal))];
  try {
    return (await gate.rows(`SELECT v.* FROM approval.${verb}(${list.join(', ')}) AS v WHERE ${ours[verb] ?? true}`, values)).map(opened);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw refusedWith(error);
  }
}

export function serveRuns(server, gate, principal) {
  for (const [key, text] of Object.entries(verbs)) {
    const [verb, list] = key.split('[');
    server.setRequestHandler(`approval/${verb}`, { params: schemaOf(text) }, async (params) => {
      // A run that is given no name gets one under its principal too.
      const made = verb === 'start_run' ? { run_id: params.run_id ?? randomUUID() } : {};
      const rows = await call(gate, verb, { ...params, ...made }, principal);
      if (list) return { rows };
      if (rows.length === 0) throw refusedWith(notFound());
      return { row: rows[0] };
    });
  }
}
