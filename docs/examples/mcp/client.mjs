// Calls a tool of the gateway.
//
//   GATEWAY_TOKEN=... node client.mjs http://127.0.0.1:8800/mcp                                   the tools
//   GATEWAY_TOKEN=... node client.mjs http://127.0.0.1:8800/mcp payments__refund '{"amount": 20}' a call
import { pathToFileURL } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

// answer: what to do with a question of the gateway, if there is somebody who can be asked.
export async function connect(url, token, { answer, mode = 'auto' } = {}) {
  const client = new Client({ name: 'approval-example', version: '0.1.0' }, {
    versionNegotiation: { mode },
    capabilities: answer ? { elicitation: { form: {} } } : {},
  });
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  }));
  return client;
}

async function main([url, name, args = '{}']) {
  const client = await connect(url, process.env.GATEWAY_TOKEN);
  const answer = name ? await client.callTool({ name, arguments: JSON.parse(args) }) : await client.listTools();
  console.log(JSON.stringify(answer, null, 2));
  await client.close();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main(process.argv.slice(2));
