// A server made by hand, which says on the wire whatever a test makes it say.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const cached = { ttlMs: 0, cacheScope: 'private' };

const act = { name: 'act', description: 'Acts.', inputSchema: { type: 'object' } };

const honest = {
  'server/discover': () => ({ ...cached, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
  'tools/list': () => ({ ...cached, tools: [act] }),
  'tools/call': () => said('acted'),
};

export const said = (words) => ({ content: [{ type: 'text', text: words }] });

// says[METHOD](params, { req, res }) is the result or error, or undefined if it has answered by itself.
export async function startLiar() {
  const state = { says: {}, seen: [], count: (wanted) => state.seen.filter((method) => method === wanted).length };

  const http = createServer(async (req, res) => {
    const { id, method, params } = JSON.parse(await text(req));
    state.seen.push(method);
    const answer = await (state.says[method] ?? honest[method])(params, { req, res });
    if (answer === undefined) return;
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, ...(answer.code ? { error: answer } : { result: { resultType: 'complete', ...answer } }) }));
  });
  await new Promise((resolve) => { http.listen(0, '127.0.0.1', resolve); });
  state.url = `http://127.0.0.1:${http.address().port}/mcp`;
  return state;
}
