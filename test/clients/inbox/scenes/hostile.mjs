// Agents, other sites, and colleagues who try.
import { is, like, ok, until } from '../../tap.mjs';
import { decide, mail, openCard, press, propose, raw, row, says, sql, statusOf } from '../harness.mjs';

const ATTACKS = ['<img src=x onerror=alert(1)>', '"><script>alert(2)</script>', '{{constructor.constructor("alert(3)")()}}', "javascript:alert(4)",
  '\u202egnp.exe', '<svg/onload=alert(5)>', '</title><style>*{display:none}</style>', '\u200b\u2066hidden\u2069'];

export async function everyFieldOfTheAgent(inbox, browsers) {
  const x = (i) => ATTACKS[i % ATTACKS.length];
  const calls = [];
  for (let i = 0; i < ATTACKS.length; i++) {
    const args = { to: x(i), subject: x(i + 1), body: x(i + 2), [x(i + 3)]: { [x(i + 4)]: [x(i + 5)] } };
    calls.push(await propose('send_mail', args, {
      tool_call_id: `${x(i)}-${i}`, conversation_id: x(i + 1), resource: x(i + 2), run_id: x(i + 3), agent_reason: x(i + 4), on_behalf_of: x(i + 5), assignee: x(i + 6),
      preview: JSON.stringify({ before: { [x(i)]: x(i + 1) }, after: { [x(i)]: x(i + 2), more: x(i + 3) } }), metadata: JSON.stringify({ [x(i)]: x(i) }), reply_to: x(i),
    }));
    calls.push(await propose(x(i), args, { server: x(i + 1), preview: JSON.stringify([x(i)]) }));
  }
  const page = await browsers.person('alice');
  await says(page, new RegExp(`Waiting\\s+${calls.length}`), '.top');
  for (const { id } of calls) {
    await page.evaluate((at) => { location.hash = `#acme/${at}`; }, id);
    await says(page, /asked for this/);
    await page.click('.card details:has(.raw) summary');
  }
  const { id } = calls[0];
  await openCard(page, id);
  like(await page.locator('.card').innerText(), /<img src=x onerror=alert\(1\)>/, 'markup is text');
  await openCard(page, calls[8].id);
  const text = await page.locator('.card').innerText();
  like(text, /\\u\{202e\}gnp\.exe/, 'characters that turn text around are shown as such');
  is(/[\u202a-\u202e\u2066-\u2069\u200b]/.test(await page.locator('.frame').innerText()), false, 'and none of them is in the page');
  is(await page.locator('.agent .unverified').count() >= 2, true, 'what the agent wrote is marked');
  is(await page.locator('.card a, .card img, .card script, .card svg').count(), 0, 'no element is of its making');

  // What executors and reviewers write.
  await press(page, 'edit');
  await page.keyboard.press('Escape');
  await decide(id, 'approve', 'user:bob');
  const after = await statusOf(id);
  const [permit] = await sql('executor', "SELECT * FROM approval.consume($1, 'send_mail', $2, 'job-x', server => 'shop', resource => $3, tenant => 'acme')",
    [id, JSON.stringify(after.arguments), after.resource]);
  await sql('executor', "SELECT outcome FROM approval.complete($1, 'job-x', $2, 'succeeded', $3, tenant => 'acme')",
    [id, permit.token, JSON.stringify({ html: ATTACKS[0], bidi: ATTACKS[4] })]);
  await sql('inbox_reviewer', "SELECT status FROM approval.comment($1, $2, actor => $3, tenant => 'acme')", [id, ATTACKS[1], `user:${ATTACKS[5]}`]);
  await page.evaluate((at) => { location.hash = `#acme/${at}`; }, id);
  await says(page, /<svg\/onload=alert\(5\)>/);
  ok(true, 'results, remarks and names are text too');
}

export async function otherSites(inbox, browsers) {
  const call = await mail(1);
  const page = await browsers.person('alice');
  await page.waitForSelector(row(call.id));
  const cookies = await page.context().cookies();
  is(cookies.map((c) => [c.httpOnly, c.sameSite]), [[true, 'Strict']], 'the session is in a cookie that scripts and other sites do not get');
  const cookie = cookies.map((c) => `${c.name}=${c.value}`).join('; ');
  const { csrf } = JSON.parse((await raw(inbox, 'GET', '/api/session', { headers: { cookie } })).text);
  const path = `/api/requests/${call.id}/decide`;
  const body = JSON.stringify({ tenant: 'acme', verdict: 'approve', seen: call.review_hash });
  const headers = { cookie, origin: inbox.address, 'content-type': 'application/json', 'x-csrf-token': csrf };
  const tried = async (changes, method = 'POST', more = path) =>
    (await raw(inbox, method, more, { headers: Object.fromEntries(Object.entries({ ...headers, ...changes }).filter(([, v]) => v !== null)), body: method === 'GET' ? undefined : body })).status;

  is(await tried({ 'x-csrf-token': null }), 403, 'without its token nothing is decided');
  is(await tried({ 'x-csrf-token': 'a'.repeat(43) }), 403, 'nor with another');
  is(await tried({ origin: 'https://evil.example' }), 403, 'nor from another site');
  is(await tried({ origin: null }), 403, 'nor from nowhere');
  is(await tried({ 'content-type': 'text/plain' }), 400, 'nor with what a form can send');
  is(await tried({ cookie: null }), 401, 'nor without a session');
  is(await tried({}, 'GET'), 404, 'GET decides nothing: mail scanners follow links');
  is(await tried({}, 'GET', `${path}?verdict=approve&seen=${call.review_hash}&tenant=acme`), 404, 'whatever is in the address');
  is(await tried({}, 'PUT'), 405, 'and there are no other ways');
  is((await statusOf(call.id)).status, 'pending', 'it waits as it was');
  const front = await raw(inbox, 'GET', '/');
  like(front.headers.get('content-security-policy'), /default-src 'none'.*script-src 'self';.*frame-ancestors 'none'/, 'no other site can frame the page');
  is(/unsafe/.test(front.headers.get('content-security-policy')), false, 'and it needs no eval and no scripts in its text');
  is((await raw(inbox, 'GET', '/../lib/config.mjs')).status, 404, 'only its files are served');
  is((await raw(inbox, 'GET', '//')).status, 400, 'an address that is none is not understood');
  for (const [to, wrong] of [[path, { seen: { toString: 1 } }], ['/api/decisions', { decisions: [null] }]]) {
    is((await raw(inbox, 'POST', to, { headers, body: JSON.stringify({ tenant: 'acme', verdict: 'approve', ...wrong }) })).status, 400, 'nor is what has another type');
  }
  is(await tried({}), 200, 'the page itself may');
  is((await statusOf(call.id)).status, 'approved', 'and that decides');
  const seen = await page.evaluate(() => [document.documentElement.outerHTML, location.href, JSON.stringify(localStorage), document.cookie].join('\n'));
  is([cookies[0].value, csrf].filter((secret) => seen.includes(secret)), [], 'no secret in page, address or storage');
}

export async function passwords(inbox) {
  const login = (name, password) => raw(inbox, 'POST', '/api/login', {
    headers: { origin: inbox.address, 'content-type': 'application/json' }, body: JSON.stringify({ name, password }),
  });
  is((await login('dora', 'x')).status, 401, 'an unknown name');
  is(JSON.parse((await login('dora', 'x')).text).words, JSON.parse((await login('carol', 'x')).text).words, 'is told what a wrong password is told');
  is((await login('__proto__', 'x')).status, 401, 'and so is one that means something to JavaScript');
  for (let i = 0; i < 5; i++) await login('carol', 'wrong');
  is((await login('carol', 'correct horse c')).status, 429, 'after several tries the right one does not count for a while');
}

export async function otherTenants(inbox, browsers) {
  const mine = await mail(10);
  const foreign = await mail(11, { tenant: 'globex' });
  const bob = await browsers.person('bob');
  await bob.waitForSelector(row(mine.id));
  const ask = (path, options) => bob.evaluate(async ([p, o]) => {
    const response = await fetch(p, o);
    return [response.status, (await response.text()).replaceAll(/[0-9A-Z]{26}/g, 'ID')];
  }, [path, options]);
  const unknown = await ask('/api/requests/00000000000000000000000000?tenant=acme');
  is(unknown[0], 404, 'what does not exist is not found');
  is((await ask(`/api/requests/${foreign.id}?tenant=globex`))[0], 404, 'and so is what is of another tenant');
  is((await ask(`/api/requests/${foreign.id}?tenant=acme`)), unknown, 'with the same words under a name of his own');
  is((await ask('/api/requests?tenant=globex'))[0], 404, 'nor can he list them');
  is((await ask(`/api/requests?ids=${foreign.id}`))[1], '{"waiting":[],"closed":[]}', 'nor ask for them by id');
  await bob.evaluate(() => { window.heard = []; const s = new EventSource('/api/stream'); s.addEventListener('events', (e) => window.heard.push(...JSON.parse(e.data))); });
  await decide(foreign.id, 'approve', 'user:carol', { tenant: 'globex' });
  const after = await mail(12);
  await bob.waitForSelector(row(after.id));
  await bob.waitForFunction((id) => window.heard.some((e) => e.id === id), after.id);
  is(await bob.evaluate(() => [...new Set(window.heard.map((e) => e.tenant))]), ['acme'], 'and hears nothing of them');
}

export async function refusalsInWords(inbox, browsers) {
  const large = await propose('refund', { order: 'A-1', amount: 3000, currency: 'EUR', customer: { id: 'c-7' } });
  const gone = await mail(20);
  const stale = await propose('refund', { order: 'A-2', amount: 3000, currency: 'EUR', customer: { id: 'c-7' } });
  const late = await mail(21, { expires_in: '2 s' });
  const own = await mail(22, { on_behalf_of: 'user:bob' });
  const page = await browsers.person('bob');
  await page.waitForSelector(row(own.id));
  const { csrf } = await page.evaluate(async () => (await fetch('/api/session')).json());
  const post = (id, body) => page.evaluate(async ([i, b, token]) => {
    const response = await fetch(`/api/requests/${i}/decide`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-csrf-token': token },
      body: JSON.stringify({ tenant: 'acme', verdict: 'approve', ...b }) });
    const { words } = await response.json();
    return `${response.status} ${words}`;
  }, [id, body, csrf]);

  const carol = await decide(large.id, 'approve', 'user:carol');
  is([carol.http_status, carol.reason], [403, 'not_eligible'], 'the gate asks for a manager');
  like(await post(own.id, { seen: own.review_hash }), /^403 .*in your name\. Somebody else has to decide\./, '403: his own');
  like(await post('00000000000000000000000000', { seen: own.review_hash }), /^404 There is no such request/, '404');
  await decide(gone.id, 'approve', 'user:alice');
  like(await post(gone.id, { seen: gone.review_hash, verdict: 'reject' }), /^409 user:alice approved this (just now|\d+ seconds? ago)\./, '409: who, and when');
  await decide(stale.id, 'approve', 'user:alice', { args: { order: 'A-2', amount: 2500, currency: 'EUR', customer: { id: 'c-7' } } });
  like(await post(stale.id, { seen: stale.review_hash }), /^412 This changed after it was shown/, '412');
  await until('its time is over', async () => (await statusOf(late.id)).status === 'expired');
  like(await post(late.id, { seen: late.review_hash }), /^410 The time to decide is over/, '410');
  like(await post(large.id, { seen: large.review_hash, arguments: '{"a":' }), /^400 /, '400');
  is((await statusOf(large.id)).approvals, 0, 'and none of that decided anything');
}
