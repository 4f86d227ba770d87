// Signing in and out, and what a session that is over can still do.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { is, ok, until } from '../../tap.mjs';
import { example, mail, openCard, passwords, raw, row, says, sql } from '../harness.mjs';

const login = (inbox, name, password) => raw(inbox, 'POST', '/api/login', {
  headers: { origin: inbox.address, 'content-type': 'application/json' }, body: JSON.stringify({ name, password }),
});

async function signedIn(inbox, name) {
  const answer = await login(inbox, name, passwords[name]);
  return {
    cookie: answer.headers.get('set-cookie').split(';')[0], origin: inbox.address, 'content-type': 'application/json',
    'x-csrf-token': JSON.parse(answer.text).csrf,
  };
}

// The stream, read to its end.
async function streamOf(inbox, headers) {
  const response = await fetch(`${inbox.address}/api/stream`, { headers: { cookie: headers.cookie } });
  const stream = { over: false };
  response.text().catch(() => {}).then(() => { stream.over = true; });
  return stream;
}

export async function signedOut(inbox) {
  const headers = await signedIn(inbox, 'alice');
  const other = await signedIn(inbox, 'alice');
  const stream = await streamOf(inbox, headers);
  const stays = await streamOf(inbox, other);
  is((await raw(inbox, 'POST', '/api/logout', { headers })).status, 200, 'somebody signs out');
  await until('the stream ends', () => stream.over);
  is((await raw(inbox, 'GET', '/api/session', { headers: { cookie: headers.cookie } })).status, 401, 'and the stream ends with the session');
  is(stays.over, false, 'another session of the same person goes on');
  await raw(inbox, 'POST', '/api/login', { headers: other, body: JSON.stringify({ name: 'alice', password: passwords.alice }) });
  is((await raw(inbox, 'GET', '/api/session', { headers: other })).status, 401, 'signing in again ends the session before');
}

export async function signedOutInAnotherTab(inbox, browsers) {
  const page = await browsers.person('alice');
  const second = await page.context().newPage();
  await second.goto(`${inbox.address}/`);
  await second.waitForSelector('.live.live');
  await page.click('button:has-text("Sign out")');
  await second.waitForSelector('.sign-in');
  ok(true, 'the other tabs ask to sign in, too');
  await browsers.signIn(page, 'bob');
  await second.reload();
  await second.waitForSelector('.me:has-text("bob")');
  ok(true, 'and belong to whoever does');
}

export async function anotherPassword(inbox, browsers) {
  const page = await browsers.person('carol');
  const call = await mail(1);
  await page.waitForSelector(row(call.id));
  execFileSync('node', [join(example, 'people.mjs'), 'carol', 'user:carol', 'acme,globex'],
    { input: passwords.carol, env: inbox.environment() });
  await page.click(`${row(call.id)} .row`);
  await page.waitForSelector('.sign-in');
  ok(true, 'a new password ends what was open with the old one');
}

export async function manyGuessesAtOnce(inbox) {
  const answers = await Promise.all(Array.from({ length: 30 }, () => login(inbox, 'erin', 'guess')));
  is(answers.filter(({ status }) => status === 401).length, 5, 'of thirty guesses at once five are looked at');
}

// Cursors that are somebody else's, or no cursors at all, and more streams than anybody needs.
export async function strangeStreams(inbox) {
  const headers = await signedIn(inbox, 'bob');
  const asked = async (id) => {
    const response = await fetch(`${inbox.address}/api/stream`, { headers: { cookie: headers.cookie, 'last-event-id': id } });
    const reader = response.body.getReader();
    let text = '';
    while (!/event: ready/.test(text)) text += Buffer.from((await reader.read()).value).toString();
    await reader.cancel();
    return text;
  };
  const [{ old }] = await sql('inbox_bridge', "SELECT cursor_text AS old FROM approval.feed('now')");
  await mail(4, { tenant: 'globex' });
  await mail(5);
  ok(/acme/.test(await asked(old)), 'a cursor from elsewhere tells what is the person\'s own');
  for (const id of [old, '0', '-1', '1'.repeat(5000), 'now', '%00', "'; --"]) ok(!/globex/.test(await asked(id)), `an id of ${id.length} characters tells nothing of others`);
  const streams = await Promise.all(Array.from({ length: 60 }, () => fetch(`${inbox.address}/api/stream`, { headers: { cookie: headers.cookie } })));
  is(streams.filter(({ status }) => status === 429).length, 10, 'of sixty streams of one person ten are refused');
  await raw(inbox, 'POST', '/api/logout', { headers });
  await Promise.all(streams.map((response) => response.text().catch(() => {})));
  ok(true, 'and all end with the session');
}

// Eight tabs of one browser, which opens six connections to a server.
export async function manyTabs(inbox, browsers) {
  const first = await browsers.person('alice');
  const tabs = [first];
  for (let i = 0; i < 7; i++) {
    const tab = await first.context().newPage();
    await tab.goto(`${inbox.address}/`);
    await tab.waitForSelector('.live.live');
    tabs.push(tab);
  }
  const call = await mail(2);
  for (const tab of tabs) await tab.waitForSelector(row(call.id));
  ok(true, 'eight tabs are live');
  await first.close();
  const next = await mail(3);
  for (const tab of tabs.slice(1)) await tab.waitForSelector(row(next.id));
  ok(true, 'and stay so when the one that listened for all is closed');
  await openCard(tabs[7], next.id);
  await says(tabs[7], /asked for this/);
}
