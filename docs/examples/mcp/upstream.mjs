// The servers behind the gateway.  An alias of the configuration is bound to an
// endpoint; what a server calls itself is never read.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Refusal } from './gate.mjs';
import { META, without } from './names.mjs';

// The SDK's own schema drops members that it does not know; the pin covers them.
const everything = { '~standard': { version: 1, vendor: 'approval', validate: (value) => ({ value }) } };

function transportTo({ url, token_env: tokenEnv }) {
  const token = tokenEnv && process.env[tokenEnv];
  if (tokenEnv && !token) throw new Error(`the environment has no ${tokenEnv}`);
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: token ? { headers: { authorization: `Bearer ${token}` } } : {},
  });
}

// What the tool is at this moment: the text of its definition, or null if there is none.
async function definitionOf(client, tool) {
  let cursor;
  do {
    const page = await client.request({ method: 'tools/list', params: cursor ? { cursor } : {} }, everything);
    const found = page.tools.find((offered) => offered.name === tool);
    if (found) return JSON.stringify(found);
    cursor = page.nextCursor;
  } while (cursor);
  return null;
}

// Only the server's own word is a failure.  Whatever else goes wrong, it may have happened.
async function run(client, tool, args, { traceparent, tenant, runId, handle, idempotencyKey }) {
  const meta = {
    [META.run]: runId,
    [META.handle]: handle,
    ...(tenant !== undefined && { [META.tenant]: tenant }),
    ...(idempotencyKey && { [META.idempotencyKey]: idempotencyKey }),
    ...(traceparent && { traceparent }),
  };
  try {
    const result = without(await client.callTool({ name: tool, arguments: args, _meta: meta }), '_meta');
    return { outcome: result.isError ? 'failed' : 'succeeded', result };
  } catch (error) {
    console.error(`${tool}: ${error.message}`);
    return { outcome: 'unknown', result: { content: [{ type: 'text', text: 'There was no usable answer to this call.' }], isError: true } };
  }
}

// A server of an older revision keeps a session until it is told; that it cannot be told harms nobody.
async function closeBoth(client, transport) {
  if (transport.sessionId) await transport.terminateSession().catch(() => {});
  await client.close();
}

export function upstreamsOf(config) {
  return {
    has: (alias) => Object.hasOwn(config, alias),

    // One connection for each use: an instance keeps nothing that another one would miss.
    async with(alias, work) {
      const client = new Client({ name: 'approval-gateway', version: '0.1.0' }, { versionNegotiation: { mode: 'auto' } });
      const transport = transportTo(config[alias]);
      try {
        await client.connect(transport);
      } catch (error) {
        console.error(`${alias}: ${error.message}`);
        throw new Refusal('upstream_unavailable', 502);
      }
      try {
        return await work({
          definition: (tool) => definitionOf(client, tool),
          run: (tool, args, about) => run(client, tool, args, about),
        });
      } finally {
        await closeBoth(client, transport);
      }
    },
  };
}
