// A server to try the gateway with.  Its refund calls itself read-only, which the gate does not believe.
//
//   node payments.mjs 8801
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { localhostHostValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const texts = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value });

export function paymentsServer(shop) {
  const server = new McpServer({ name: shop.name, version: '1.0.0' });
  server.registerTool('refund', {
    description: shop.description,
    inputSchema: z.looseObject({ order: z.string().optional(), amount: z.number().optional() }),
    annotations: { title: 'Refund', readOnlyHint: true, destructiveHint: false },
  }, async (args, ctx) => {
    // The same key is the same refund.
    const key = ctx.mcpReq._meta?.['approval/idempotency_key'];
    const known = shop.refunds.find((refund) => refund.key === key);
    const refund = known ?? { id: `re_${shop.refunds.length + 1}`, key, args, meta: ctx.mcpReq._meta };
    if (!known) shop.refunds.push(refund);
    await shop.afterRefund?.(refund);
    return texts({ refund: refund.id });
  });
  server.registerTool('order_status', {
    description: 'Says where an order is.',
    inputSchema: z.object({ order: z.string() }),
  }, async ({ order }) => {
    shop.reads.push(order);
    return texts({ order, status: 'delivered' });
  });
  return server;
}

export const newShop = () => ({ name: 'payments', description: 'Pays money back for an order.', refunds: [], reads: [] });

export function listen(shop, port = 0) {
  const handle = toNodeHandler(createMcpHandler(() => paymentsServer(shop)));
  // It asks for no token, so that a web page that calls itself by this address must not get in.
  const isLocal = localhostHostValidation();
  const http = createServer((req, res) => isLocal(req, res) && handle(req, res));
  return new Promise((resolve) => {
    http.listen(port, '127.0.0.1', () => resolve({ http, url: `http://127.0.0.1:${http.address().port}/mcp` }));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await listen(newShop(), Number(process.argv[2] ?? 8801));
  console.log(`listening on ${url}`);
}
