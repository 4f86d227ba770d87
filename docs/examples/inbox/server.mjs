#!/usr/bin/env node
// The inbox's server: the page, its lists, decisions, and the stream.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { bridge } from './lib/bridge.mjs';
import { configuration } from './lib/config.mjs';
import { reviewerPool } from './lib/db.mjs';
import { pageFiles } from './lib/files.mjs';
import { checkHost, checkPost, readJson, sendJson, sendRefusal, setHeaders, text } from './lib/http.mjs';
import { people } from './lib/people.mjs';
import { Refusal } from './lib/refusal.mjs';
import { page, recent, some, whole } from './lib/requests.mjs';
import { sessions } from './lib/sessions.mjs';
import { act, decide, decideMany, isVerb } from './lib/verbs.mjs';

const LOGIN_MOST = 4096;

const config = configuration();
const log = (line) => process.stderr.write(`inbox: ${line}\n`);
const db = reviewerPool(config);
const stream = bridge(config, log);
const { authenticate, find } = people(config.state);
const open = sessions(config.state, find, { secure: config.origin?.startsWith('https:') ?? false });
const files = pageFiles(fileURLToPath(new URL('public', import.meta.url)));

function signedIn(request) {
  const session = open.of(request);
  if (!session) throw new Refusal(401, 'sign_in');
  return session;
}

function shown({ person, csrf }) {
  return { name: person.name, actor: person.actor, tenants: person.tenants, csrf, live: stream.connected() };
}

async function login(request, response) {
  const { name, password } = await readJson(request, LOGIN_MOST);
  const person = await authenticate(text(name) ?? '', text(password) ?? '');
  if (person === 'blocked') throw new Refusal(429, 'tries');
  if (!person) throw new Refusal(401, 'wrong_password');
  open.end(request);
  stream.check();
  const cookie = open.begin(person);
  request.headers.cookie = cookie;
  sendJson(response, 200, shown(open.of(request)), { 'set-cookie': cookie });
}

function logout(request, response) {
  sendJson(response, 200, {}, { 'set-cookie': open.end(request) });
  stream.check();
}

// GET only reads: whoever follows links in mails decides nothing.
async function get(request, response, url) {
  const [, , what, id, more] = url.pathname.split('/');
  const session = signedIn(request);

  if (more !== undefined) throw new Refusal(404, 'not_found');
  if (what === 'session') sendJson(response, 200, shown(session));
  else if (what === 'stream') await stream.stream(request, response, session.person, () => open.of(request) !== null);
  else if (what === 'recent') sendJson(response, 200, await recent(db, session.person));
  else if (what === 'requests' && id) sendJson(response, 200, await whole(db, session.person, id, url.searchParams.get('tenant') ?? ''));
  else if (what === 'requests' && url.searchParams.has('ids')) sendJson(response, 200, await some(db, session.person, url.searchParams.get('ids').split(',')));
  else if (what === 'requests') sendJson(response, 200, await page(db, session.person, url.searchParams));
  else throw new Refusal(404, 'not_found');
}

async function post(request, response, url) {
  const [, , what, id, verb] = url.pathname.split('/');

  checkPost(request, config);
  if (what === 'login') return login(request, response);
  const session = signedIn(request);
  if (!open.shownBy(request, session)) throw new Refusal(403, 'csrf');
  if (what === 'logout') return logout(request, response);
  const body = await readJson(request);
  if (what === 'decisions') return sendJson(response, 200, await decideMany(db, session.person, body));
  if (what === 'requests' && verb === 'decide') return sendJson(response, 200, await decide(db, session.person, id, body));
  if (what === 'requests' && isVerb(verb)) return sendJson(response, 200, await act(db, session.person, id, verb, body));
  throw new Refusal(404, 'not_found');
}

function addressOf(request) {
  if (!URL.canParse(request.url, 'http://inbox')) throw new Refusal(400, 'bad_request');
  return new URL(request.url, 'http://inbox');
}

function file(response, path) {
  const found = files.get(path);
  if (!found) throw new Refusal(404, 'not_found');
  response.writeHead(200, { 'content-type': found.type, 'cache-control': 'no-cache' });
  response.end(found.content);
}

async function answer(request, response) {
  setHeaders(response);
  try {
    checkHost(request, config);
    const url = addressOf(request);
    if (url.pathname.startsWith('/api/')) {
      if (request.method === 'GET') await get(request, response, url);
      else if (request.method === 'POST') await post(request, response, url);
      else throw new Refusal(405, 'method');
    } else if (request.method === 'GET' || request.method === 'HEAD') file(response, url.pathname);
    else throw new Refusal(405, 'method');
  } catch (e) {
    sendRefusal(response, e, log);
  }
}

const server = createServer(answer);
server.once('error', (e) => {
  log(e.code === 'EADDRINUSE' ? `port ${config.port} is in use; INBOX_PORT (make inbox PORT=...) chooses another` : e.message);
  process.exit(1);
});
server.listen(config.port, config.host, () => {
  process.stdout.write(`inbox: http://${config.host}:${server.address().port}/\n`);
});
await stream.start();
const anyway = setInterval(() => stream.readAnyway(), config.readAnyway);

let ending = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    if (ending) return;
    ending = true;
    clearInterval(anyway);
    server.close();
    await stream.stop();
    server.closeAllConnections();
    await db.end();
  });
}
