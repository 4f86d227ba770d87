// What every answer has, and what a request must have.
import { Refusal, refusalOf } from './refusal.mjs';

const BODY_MOST = 2 << 20;

const headers = {
  'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'cache-control': 'no-store',
};

export function setHeaders(response) {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

export function sendJson(response, status, value, more = {}) {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...more });
  response.end(JSON.stringify(value));
}

export function sendRefusal(response, error, log) {
  const refusal = refusalOf(error);
  if (refusal.http >= 500) log(`${refusal.reason}: ${error.code ?? error.name}`);
  if (response.headersSent) response.end();
  else {
    const { http, reason, words, detail } = refusal;
    sendJson(response, http, { http, reason, words, detail });
  }
}

// Another site, or a name that was made to lead here, gets nothing.
export function checkHost(request, config) {
  const host = request.headers.host ?? '';
  const name = host.replace(/:\d+$/, '');
  const known = config.origin ? host === new URL(config.origin).host : ['127.0.0.1', 'localhost', '[::1]', config.host].includes(name);
  if (!known) throw new Refusal(403, 'host');
}

// Only our own page posts: same origin, JSON (which a form cannot send).
export function checkPost(request, config) {
  const origin = config.origin ?? `http://${request.headers.host}`;
  if (request.headers.origin !== origin) throw new Refusal(403, 'origin');
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw new Refusal(400, 'bad_request');
}

// Text that somebody sent, or nothing.
export function text(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'object') throw new Refusal(400, 'bad_request');
  return String(value);
}

export async function readJson(request, most = BODY_MOST) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > most) throw new Refusal(413, 'too_large');
    parts.push(part);
  }
  try {
    const body = JSON.parse(Buffer.concat(parts).toString('utf8') || '{}');
    if (body !== null && typeof body === 'object' && !Array.isArray(body)) return body;
  } catch {
    // not JSON: refused as anything else that is no object
  }
  throw new Refusal(400, 'bad_request');
}
