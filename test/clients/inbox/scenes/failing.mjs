// What breaks, and comes back.
import { is, like, ok, until } from '../../tap.mjs';
import { cluster, decide, mail, openCard, press, raw, row, says, waitingIds } from '../harness.mjs';

const listed = (page) => page.locator('.list li:not(.closed)').evaluateAll((items) => items.map((li) => li.dataset.id));

// The page is the one that was loaded once, and shows what waits, all of it.
async function showsWhatWaits(page, what) {
  await page.waitForSelector('.live.live');
  const wanted = JSON.stringify(await waitingIds());
  await until(what, async () => JSON.stringify(await listed(page)) === wanted);
  ok(await page.evaluate(() => window.sameAsBefore === true), `${what}: the page shows what waits, without a reload`);
}

export async function bridgeKilled(inbox, browsers) {
  const calls = [await mail(1), await mail(2), await mail(3)];
  const page = await browsers.person('alice');
  await page.waitForSelector(row(calls[2].id));
  await page.evaluate(() => { window.sameAsBefore = true; });
  await openCard(page, calls[1].id);
  await inbox.stop('SIGKILL');
  await page.waitForSelector('.live.away');
  ok(true, 'the page says that it is cut off');
  await press(page, 'approve');
  await says(page, /cannot be reached just now\. Perhaps it has heard you/);
  // Rows that are closed stay while somebody points at the list.
  await page.hover('.list');
  // Meanwhile the world goes on.
  await decide(calls[0].id, 'approve', 'user:bob');
  const more = [await mail(4), await mail(5)];
  await decide(more[0].id, 'reject', 'user:bob');
  await inbox.start();
  await showsWhatWaits(page, 'a bridge that was killed');
  like(await page.locator(row(calls[0].id)).innerText(), /user:bob approved this/, 'what was decided meanwhile says by whom');
  await press(page, 'approve');
  await says(page, /You approved this/);
  ok(true, 'nobody had to sign in again');
}

export async function serverRestarted(inbox, browsers) {
  for (const how of ['restart', 'crash']) {
    const calls = [await mail(10), await mail(11)];
    const page = await browsers.person('alice');
    await page.waitForSelector(row(calls[1].id));
    await page.evaluate(() => { window.sameAsBefore = true; });
    await openCard(page, calls[0].id);
    if (how === 'restart') cluster('stop');
    else cluster('crash');
    await page.waitForSelector('.live.away');
    await press(page, 'approve');
    await says(page, /database cannot be reached just now\. Nothing was decided/);
    cluster('start');
    await mail(12);
    await showsWhatWaits(page, `a server after a ${how}`);
    await press(page, 'approve');
    await says(page, /You approved this/);
    await page.hover('.list');
    await decide(calls[1].id, 'approve', 'user:bob');
    await until('the doorbell rings again', async () => (await page.locator(`${row(calls[1].id)}.closed`).count()) === 1);
    ok(true, `a server after a ${how}: and it is live again`);
  }
}

// The server is there for the stream, and not for what the stream speaks of.
export async function oneReadFails(inbox, browsers) {
  const page = await browsers.person('alice');
  await says(page, /Nothing waits for you/, '.list');
  let failed = 0;
  await page.route('**/api/requests?ids=*', (route) => {
    if (failed++ > 0) return route.continue();
    return route.fulfill({ status: 503, contentType: 'application/json', body: JSON.stringify({ http: 503, words: 'Not now.' }) });
  });
  const { id } = await mail(30);
  await page.waitForSelector('.notice:has-text("Not now.")');
  await page.waitForSelector(row(id));
  await page.waitForSelector('.notice', { state: 'detached' });
  ok(true, 'what could not be read is read again');
}

// What a browser that was away is told, by the id it had.
export async function lastEventId(inbox, browsers) {
  const page = await browsers.person('alice');
  const listen = (id) => page.evaluate(async (lastId) => {
    const response = await fetch('/api/stream', { headers: lastId ? { 'last-event-id': lastId } : {} });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    while (!/event: ready\n.*\n/.test(text)) text += decoder.decode((await reader.read()).value, { stream: true });
    await reader.cancel();
    const messages = text.split('\n\n').map((m) => Object.fromEntries(m.split('\n').filter(Boolean).map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)])));
    return { kinds: messages.map((m) => m.event).filter(Boolean), id: messages.at(-2).id ?? messages.findLast((m) => m.id)?.id,
      events: messages.filter((m) => m.event === 'events').flatMap((m) => JSON.parse(m.data)) };
  }, id);
  const first = await listen(null);
  is([first.kinds, first.events], [['ready'], []], 'without an id it begins now');
  const calls = [await mail(20), await mail(21)];
  await decide(calls[0].id, 'approve', 'user:bob');
  const second = await listen(first.id);
  is(second.events.map((e) => [e.id, e.event]), [[calls[0].id, 'proposed'], [calls[1].id, 'proposed'], [calls[0].id, 'approved']], 'with one it goes on there, each event once');
  is((await listen(second.id)).events, [], 'and nothing comes twice');
  const heard = [];
  const made = [];
  let last = second;
  for (let i = 0; i < 20; i++) {
    made.push((await mail(30 + i)).id);
    last = await listen(last.id);
    heard.push(...last.events.map((e) => e.id));
  }
  is(heard, made, 'nor where the bridge has not read yet what a browser catches up with');
  is(Object.keys(second.events[0]).sort(), ['actor', 'at', 'event', 'id', 'status', 'tenant'], 'events have no arguments');
  ok((await listen('made up')).kinds.includes('resync'), 'an id that means nothing leads to reading anew');
  is((await raw(inbox, 'GET', '/api/stream')).status, 401, 'nobody listens without having signed in');
}
