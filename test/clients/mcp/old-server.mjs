// A server made with the SDK of before, with sessions, as workflow engines have it.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { text } from 'node:stream/consumers';

// Lists its tools with members that no schema knows.
function addHidden(server, state) {
  server.server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'lookup', description: 'A workflow.', inputSchema: { type: 'object', properties: {} }, ...state.extra }],
  }));
}

export async function startOldServer() {
  const sessions = new Map();
  const state = { calls: [], extra: undefined, deaf: false, sessions };

  async function open() {
    const server = new McpServer({ name: 'flows', version: '1' });
    server.registerTool('lookup', { description: 'A workflow.', inputSchema: {} }, async (_args, extra) => {
      state.calls.push(extra?._meta ?? {});
      return { content: [{ type: 'text', text: 'from the workflow' }], ...state.claims };
    });
    addHidden(server, state);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
  }

  const http = createServer(async (req, res) => {
    if (state.deaf && req.method === 'DELETE') return;
    const body = req.method === 'POST' ? JSON.parse(await text(req)) : undefined;
    const known = sessions.get(req.headers['mcp-session-id']);
    const transport = known ?? (isInitializeRequest(body) && await open());
    if (!transport) res.writeHead(400).end();
    else await transport.handleRequest(req, res, body);
  });
  await new Promise((resolve) => { http.listen(0, '127.0.0.1', resolve); });
  state.url = `http://127.0.0.1:${http.address().port}/mcp`;
  return state;
}
