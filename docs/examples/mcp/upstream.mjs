// The servers behind the gateway.  An alias of the configuration is bound to an
// endpoint; what a server calls itself is never read.
import { Client } from '@modelcontextprotocol/client';
import { Refusal } from './gate.mjs';
import { META, without } from './names.mjs';
import { closeBoth, logError, transportTo } from './wire.mjs';

// The SDK's own schema drops members that it does not know; the pin covers them.
const everything = { '~standard': { version: 1, vendor: 'approval', validate: (value) => ({ value }) } };

const MAX_PAGES = 100;

// A server that wants to be called again with an answer is not: one permit is one call.
const options = { versionNegotiation: { mode: 'auto' }, inputRequired: { autoFulfill: false } };

// What the tool is at this moment: the text of its definition, or null if there is none.
async function definitionOf(client, tool) {
  let cursor;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { tools, nextCursor } = await client.request({ method: 'tools/list', params: cursor ? { cursor } : {} }, everything);
    const found = tools.find((offered) => offered.name === tool);
    if (found) return JSON.stringify(found);
    if (!nextCursor) return null;
    cursor = nextCursor;
  }
  throw new RangeError('the list has no end');
}

// Nothing was sent that could have done anything.
async function orUnavailable(alias, work) {
  try {
    return await work();
  } catch (error) {
    logError(alias, error);
    throw new Refusal('upstream_unavailable', 502);
  }
}

// What a result of a tool is.  Whatever else a server puts there is not passed on as the gateway's.
const resultOf = ({ content, structuredContent, isError }) => ({
  content,
  ...(structuredContent !== undefined && { structuredContent }),
  ...(isError !== undefined && { isError }),
});

// Only the server's own word is a failure.  Whatever else goes wrong, it may have happened.
async function run(client, tool, args, { traceparent, tenant, runId, handle, idempotencyKey, definition }) {
  const meta = {
    [META.run]: runId,
    [META.handle]: handle,
    ...(tenant !== undefined && { [META.tenant]: tenant }),
    ...(idempotencyKey && { [META.idempotencyKey]: idempotencyKey }),
    ...(traceparent && { traceparent }),
  };
  try {
    // Without a definition the SDK may look for one, and make the call once more.
    const toolDefinition = without(JSON.parse(definition), 'outputSchema');
    const result = resultOf(await client.callTool({ name: tool, arguments: args, _meta: meta }, { toolDefinition }));
    return { outcome: result.isError ? 'failed' : 'succeeded', result };
  } catch (error) {
    logError(tool, error);
    return { outcome: 'unknown', result: { content: [{ type: 'text', text: 'There was no usable answer to this call.' }], isError: true } };
  }
}

export function upstreamsOf(config) {
  return {
    has: (alias) => Object.hasOwn(config, alias),

    // One connection for each use: an instance keeps nothing that another one would miss.
    async with(alias, work) {
      const client = new Client({ name: 'approval-gateway', version: '0.1.0' }, options);
      const transport = transportTo(config[alias]);
      try {
        await orUnavailable(alias, () => client.connect(transport));
        return await work({
          definition: (tool) => orUnavailable(alias, () => definitionOf(client, tool)),
          run: (tool, args, about) => run(client, tool, args, about),
        });
      } finally {
        await closeBoth(client, transport);
      }
    },
  };
}
