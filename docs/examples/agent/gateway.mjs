// All that the orchestrator knows of tools, permission and runs.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const everything = { '~standard': { version: 1, vendor: 'approval', validate: (value) => ({ value }) } };

export async function connectGateway(url, token) {
  const client = new Client({ name: 'orchestrator', version: '0.1.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  }));
  const names = new Map();
  for (const { name, _meta } of (await client.listTools()).tools) names.set(_meta?.['approval/capability'], name);

  return {
    // A verb of the gate about runs.  What it refuses is an error with the reason.
    async run(verb, params) {
      const answer = await client.request({ method: `approval/${verb}`, params }, everything);
      return answer.row ?? answer.rows;
    },

    call: (capability, args, meta) => client.callTool({ name: names.get(capability) ?? capability, arguments: args, _meta: meta }),

    resume: (handle, wait) => client.callTool({ name: 'approval__resume', arguments: { handle, wait } }),

    close: () => client.close(),
  };
}
