// What the three services have in common: they answer the gateway and nobody else,
// and take the tenant from it, never from an argument that a model has written.
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

const digest = (text) => createHash('sha256').update(text).digest();

function isTheGateway(req) {
  return timingSafeEqual(digest(req.headers.authorization ?? ''), digest(`Bearer ${process.env.SERVICE_TOKEN}`));
}

// What the gateway says beside the arguments.
function contextOf(ctx) {
  const meta = ctx.mcpReq._meta ?? {};
  const tenant = meta['approval/tenant'];
  if (!tenant) throw new Error('no tenant');
  return { tenant, runId: meta['approval/run_id'], handle: meta['approval/handle'], idempotencyKey: meta['approval/idempotency_key'] };
}

export const told = (text, structuredContent) => ({ content: [{ type: 'text', text }], structuredContent });
export const failed = (text) => ({ content: [{ type: 'text', text }], isError: true });

// A tool is { name, description, inputSchema, run(args, context) }.
export function serve(serverName, tool) {
  if (!process.env.SERVICE_TOKEN) throw new Error('the environment has no SERVICE_TOKEN');
  const handle = toNodeHandler(createMcpHandler(() => {
    const server = new McpServer({ name: serverName, version: '1.0.0' });
    const { name, run, ...about } = tool;
    server.registerTool(name, about, (args, ctx) => run(args, contextOf(ctx)));
    return server;
  }));
  const http = createServer((req, res) => {
    if (isTheGateway(req)) handle(req, res);
    else res.writeHead(401).end();
  });
  http.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`);
  });
}
