// What one principal sees of the gateway.
import { Server } from '@modelcontextprotocol/server';
import { META, RESUME, toolName, without } from './names.mjs';
import { serveRuns } from './runs.mjs';

const resumeTool = {
  name: RESUME,
  description: 'Goes on with a call that waited for a person: executes it if it was approved, and says what became of it.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'The handle in the answer to the call.' },
      wait: { type: 'integer', minimum: 0, maximum: 30, description: 'How many seconds to wait for a decision.' },
    },
    required: ['handle'],
  },
};

// The reviewed definition.  Left out is what the pin does not cover, what the server
// claims about its own harmlessness, and the form of a result that "pending" has not.
function listed({ server, tool, class: kind, capability, definition }) {
  const reviewed = JSON.parse(definition);
  return {
    ...without(reviewed, '_meta', 'icons', 'outputSchema'),
    name: toolName(server, tool),
    annotations: {
      ...(reviewed.annotations?.title && { title: reviewed.annotations.title }),
      readOnlyHint: kind !== 'action',
      destructiveHint: kind === 'action',
    },
    _meta: { [META.class]: kind, ...(capability && { [META.capability]: capability }) },
  };
}

async function listTools(gate, upstreams, principal) {
  const tools = await gate.tools(principal);
  const shown = tools.filter((tool) => tool.definition !== null && !tool.frozen && upstreams.has(tool.server));
  return { tools: [...shown.map(listed), resumeTool] };
}

export function serverFor({ gate, upstreams, call }, { principal, body }) {
  const server = new Server({ name: 'approval-gateway', version: '0.1.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => listTools(gate, upstreams, principal));
  server.setRequestHandler('tools/call', (request, ctx) => call(request, ctx, { principal, body }));
  serveRuns(server, gate, principal);
  return server;
}
