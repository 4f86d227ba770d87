// The way to a server behind: what it may send, and how long it may take.
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const MAX_ANSWER = 4 * 1024 * 1024;
const GOODBYE_MS = 1000;

// One server that talks without end must not take the gateway from all the others.
function limited() {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size > MAX_ANSWER) controller.error(Object.assign(new Error('too large'), { code: 'ANSWER_TOO_LARGE' }));
      else controller.enqueue(chunk);
    },
  });
}

async function limitedFetch(url, init) {
  const response = await fetch(url, init);
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limited()), { status, statusText, headers });
}

export function transportTo({ url, token_env: tokenEnv }) {
  const token = tokenEnv && process.env[tokenEnv];
  if (tokenEnv && !token) throw new Error(`the environment has no ${tokenEnv}`);
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: limitedFetch,
    requestInit: token ? { headers: { authorization: `Bearer ${token}` } } : {},
  });
}

// A server of an older revision keeps a session until it is told.  That it cannot be
// told harms nobody, and nobody waits for it.
export async function closeBoth(client, transport) {
  if (transport.sessionId) {
    const late = new Promise((resolve) => { setTimeout(resolve, GOODBYE_MS).unref(); });
    await Promise.race([transport.terminateSession().catch(() => {}), late]);
  }
  await client.close();
}

// The texts of errors are the server's, and may have our token in them.
export function logError(where, error) {
  const known = [error.name, error.code ?? error.cause?.code, error.data?.status].filter((word) => word !== undefined);
  console.error(`${where}: ${known.join(' ')}`);
}
