// What a client is told.  Everything is an ordinary result of a tool, which every
// revision of the protocol can carry.
import { inputRequired } from '@modelcontextprotocol/server';
import { META, RESUME } from './names.mjs';

// Only the gateway writes _meta, so that a server cannot speak for the gate there.
const metaOf = (row) => ({
  [META.handle]: row.id,
  [META.run]: row.run_id,
  [META.status]: row.status,
  [META.outcome]: row.outcome ?? null,
});

function ofTheGate(row, text, { more = {}, isError = false } = {}) {
  const { id: handle, status, outcome, summary } = row;
  return {
    content: [{ type: 'text', text }],
    structuredContent: { approval: { handle, status, outcome: outcome ?? null, summary, ...more } },
    isError,
    _meta: metaOf(row),
  };
}

export const pending = (row) => ofTheGate(row,
  `Not executed yet: a person has to approve this. Call ${RESUME} with the handle ${row.id} later.`,
  { more: { expires_at: row.expires_at } });

const ends = {
  rejected: 'a reviewer said no',
  expired: 'nobody decided in time, or the approval was not used in time',
  cancelled: 'it was withdrawn',
  revoked: 'the approval was taken back',
};

const whyEnded = ({ status, cause }) => (status === 'rejected' && cause === 'policy' ? 'it is not allowed' : ends[status]);

export const ended = (row) => ofTheGate(row,
  `Not executed: ${whyEnded(row)}.${row.denial ? ` ${row.denial}` : ''}`, { more: { denial: row.denial }, isError: true });

const openOutcomes = {
  in_flight: 'It is being executed. Ask again later, and do not call it anew.',
  unknown: 'Nobody knows whether it was executed. A person has to find out; do not call it anew.',
  untracked: 'It was answered when it was called.',
};

// A result that is stored is given again, however often somebody asks.
export function consumed(row) {
  if (row.outcome === 'succeeded' || row.outcome === 'failed') return executed(row, row.result && JSON.parse(row.result));
  return ofTheGate(row, openOutcomes[row.outcome], { isError: row.outcome === 'unknown' });
}

const reconciled = (row) => ({
  content: [{ type: 'text', text: `A person settled it: ${row.outcome}.` }],
  isError: row.outcome === 'failed',
});

export function executed(row, result) {
  const answer = Array.isArray(result?.content) ? result : reconciled(row);
  return { ...answer, _meta: metaOf(row) };
}

export const refused = (refusal) => ({
  content: [{ type: 'text', text: `Not executed: ${refusal.reason}` }],
  structuredContent: { approval: { status: 'refused', reason: refusal.reason, http: refusal.http } },
  isError: true,
  _meta: { [META.status]: 'refused' },
});

// The question travels with the answer, and the reply comes back with the next call.
export const QUESTION = 'approval';

export const question = (row) => inputRequired({
  requestState: row.id,
  inputRequests: {
    [QUESTION]: inputRequired.elicit({
      message: `${row.summary}\n\nA reviewer decides about this. What you answer is shown to the reviewer, and decides nothing.`,
      requestedSchema: {
        type: 'object',
        properties: {
          answer: { type: 'string', title: 'Do you want this?', enum: ['yes', 'no'] },
          remark: { type: 'string', title: 'Anything the reviewer should know?' },
        },
        required: ['answer'],
      },
    }),
  },
});
