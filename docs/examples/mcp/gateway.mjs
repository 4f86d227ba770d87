// The gate in front of MCP servers.
//
//   PGUSER=mcp PGDATABASE=shop node gateway.mjs gateway.json
//
// It keeps nothing: run as many instances as you like behind one address.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
  bearerAuthChallengeResponse, createMcpHandler, OAuthError, OAuthErrorCode, verifyBearerToken,
} from '@modelcontextprotocol/server';
import { callsOf } from './calls.mjs';
import { readConfig } from './config.mjs';
import { openGate } from './gate.mjs';
import { serverFor } from './server.mjs';
import { upstreamsOf } from './upstream.mjs';

const MAX_BODY = 4 * 1024 * 1024;

// Only the digests of tokens are kept.  A deployment that has an issuer of tokens verifies those here instead.
function verifierOf(principals) {
  const byDigest = new Map(principals.map((principal) => [principal.token_sha256, principal]));
  return {
    async verifyAccessToken(token) {
      const principal = byDigest.get(createHash('sha256').update(token).digest('hex'));
      if (!principal) throw new OAuthError(OAuthErrorCode.InvalidToken, 'unknown token');
      const { name, tenant, expires } = principal;
      return { token, clientId: name, scopes: [], expiresAt: Date.parse(expires) / 1000, extra: { principal: { name, tenant } } };
    },
  };
}

async function bodyOf(req) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > MAX_BODY) throw new RangeError('too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function send(res, response) {
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.end(await response.text());
}

function refuse(res, status) {
  res.writeHead(status).end();
}

// The body is kept as it came, since the arguments in it are what will be hashed.
async function serve(req, res, { handle, verifier, comesFromHere }) {
  if (!comesFromHere(req, res)) return;
  const auth = await verifyBearerToken(req.headers.authorization, { verifier });
  const body = req.method === 'POST' ? await bodyOf(req) : undefined;
  const parsed = body === undefined ? undefined : JSON.parse(body);
  if (Array.isArray(parsed)) throw new SyntaxError('one message at a time');
  req.auth = { ...auth, extra: { ...auth.extra, body } };
  await handle(req, res, parsed);
}

function answerError(error, res) {
  if (res.headersSent) return res.destroy();
  if (error instanceof OAuthError) return send(res, bearerAuthChallengeResponse(error));
  if (error instanceof SyntaxError) return refuse(res, 400);
  if (error instanceof RangeError) return refuse(res, 413);
  console.error(error);
  return refuse(res, 500);
}

const config = readConfig(process.argv[2]);
const gate = openGate();
const upstreams = upstreamsOf(config.upstreams);
const parts = { gate, upstreams, call: callsOf(gate, upstreams) };
const onerror = (error) => console.error(`gateway: ${error.message}`);
const handler = createMcpHandler((ctx) => serverFor(parts, ctx.authInfo.extra), { onerror });
const context = {
  handle: toNodeHandler(handler, { onerror }),
  verifier: verifierOf(config.principals),
  comesFromHere: originValidation(config.origins),
};

const http = createServer((req, res) => {
  serve(req, res, context).catch((error) => answerError(error, res));
});
http.listen(config.listen.port, config.listen.host, () => {
  console.log(`listening on http://${config.listen.host}:${http.address().port}/mcp`);
});

// What runs is reported first: an execution that is cut off here would be nobody's to tell.
process.on('SIGTERM', async () => {
  await new Promise((resolve) => { http.close(resolve); });
  await handler.close();
  await gate.close();
  process.exit(0);
});
