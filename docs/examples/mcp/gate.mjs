// The verbs of the gate that the gateway calls, over its own login.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const JSON_OID = 114;
// Each holds a connection.  Less than the pool has, or else nothing could be reported while agents wait.
const MAX_WAITS = 5;

// JSON stays the text that it is: {} is {}, and no number is rounded on its way.
const types = {
  getTypeParser: (oid, format) => (oid === JSON_OID ? (text) => text : pg.types.getTypeParser(oid, format)),
};

const columns = `id, conversation_id, tool_call_id, run_id, server, tool, arguments, definition, on_behalf_of, mode, status,
  cause, outcome, summary, gate_reason, denial, expires_at, use_by, lease_until, result, metadata ->> 'traceparent' AS traceparent`;

// The gate said no: reason and status of DETAIL, never a text of somebody else.
export class Refusal extends Error {
  constructor(reason, http) {
    super(reason);
    this.reason = reason;
    this.http = http;
  }
}

function asRefusal(error) {
  if (error.code?.startsWith('PT')) {
    const { reason, http } = JSON.parse(error.detail);
    return new Refusal(reason, http);
  }
  if (error.code?.startsWith('22')) return new Refusal('bad_call', 400);
  return error;
}

export const notFound = () => new Refusal('not_found', 404);

export function openGate(options = {}) {
  const pool = new pg.Pool({ ...options, types });
  // A connection that breaks while nobody uses it is replaced by the next query.
  pool.on('error', (error) => console.error(`gate: ${error.message}`));

  async function rows(sql, values) {
    try {
      return (await pool.query(sql, values)).rows;
    } catch (error) {
      throw asRefusal(error);
    }
  }
  const row = async (sql, values) => (await rows(sql, values))[0];

  let waits = 0;
  async function waitFor(handle, seconds, principal) {
    waits++;
    try {
      await rows('SELECT id FROM approval.wait($1, timeout => make_interval(secs => $2), tenant => $3)',
        [handle, seconds, principal.tenant]);
    } finally {
      waits--;
    }
  }

  return {
    rows,

    // The arguments are cut out of the body by PostgreSQL, which keeps their text.
    propose: (call) => row(
      `SELECT ${columns}, metadata ->> 'attempt' = $1::text AS fresh
       FROM approval.propose($2, $3, coalesce($4::json #> '{params,arguments}', '{}'), conversation_id => $5, server => $6,
                             definition => $7, run_id => $8, run_token => $9, on_behalf_of => $10, agent_reason => $11,
                             metadata => json_build_object('attempt', $1::text, 'traceparent', $13::text), tenant => $12)`,
      [call.attempt, call.toolCallId, call.tool, call.body, call.conversation, call.server, call.definition, call.runId,
        call.runToken, call.principal.name, call.reason, call.principal.tenant, call.traceparent]),

    // An executor sees all requests of its tenants, so whose this one is has to be asked for.
    async find(handle, principal) {
      if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i.test(handle)) throw notFound();
      const found = await row(
        `SELECT ${columns} FROM approval.request_of($1, tenant => $2)
         WHERE requester_login = session_user AND on_behalf_of = $3`, [handle, principal.tenant, principal.name]);
      if (!found) throw notFound();
      return found;
    },

    // Whoever comes when too many wait already sees the decision when the time is up.
    wait: (handle, seconds, principal) => (waits < MAX_WAITS ? waitFor(handle, seconds, principal) : sleep(seconds * 1000)),

    comment: (handle, note, principal) => rows(
      'SELECT id FROM approval.comment($1, $2, tenant => $3)', [handle, note, principal.tenant]),

    consume: (action, executionId, principal) => row(
      `SELECT token, idempotency_key, run_id
       FROM approval.consume($1, $2, $3, $4, server => $5, definition => $6, tenant => $7)`,
      [action.id, action.tool, action.arguments, executionId, action.server, action.definition, principal.tenant]),

    complete: (handle, executionId, token, outcome, result, principal) => row(
      `SELECT ${columns} FROM approval.complete($1, $2, $3, $4, $5, tenant => $6)`,
      [handle, executionId, token, outcome, result, principal.tenant]),

    validate: (server, tool, result, principal) => rows(
      'SELECT approval.validate_result($1, $2, server => $3, tenant => $4)', [tool, result, server, principal.tenant]),

    tools: (principal) => rows(
      'SELECT server, tool, class, capability, definition, frozen FROM approval.tools_for(tenant => $1) ORDER BY server, tool',
      [principal.tenant]),

    close: () => pool.end(),
  };
}
