// How names of clients become names in the gate, and back.
const separator = '__';

export const RESUME = `approval${separator}resume`;

export const toolName = (server, tool) => `${server}${separator}${tool}`;

// The alias has no underscore, so that the first separator is the one.
export function splitName(name) {
  const at = name.indexOf(separator);
  return at < 0 ? { server: '', tool: name } : { server: name.slice(0, at), tool: name.slice(at + separator.length) };
}

// Conversations and runs of a principal stand under its name: it cannot name those of others.
export function within(principal, id) {
  const prefix = `${principal.name}/`;
  return id.startsWith(prefix) ? id : prefix + id;
}

// The members of _meta.
export const META = {
  conversation: 'approval/conversation_id',
  run: 'approval/run_id',
  runToken: 'approval/run_token',
  toolCall: 'approval/tool_call_id',
  reason: 'approval/reason',
  handle: 'approval/handle',
  status: 'approval/status',
  outcome: 'approval/outcome',
  tenant: 'approval/tenant',
  idempotencyKey: 'approval/idempotency_key',
  class: 'approval/class',
  capability: 'approval/capability',
};

// Those that a client may send.
export const FROM_CLIENTS = [META.conversation, META.run, META.runToken, META.toolCall, META.reason, 'traceparent'];

export const without = (object, ...names) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
