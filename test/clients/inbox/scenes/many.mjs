// Two hundred at once, and ten thousand.
import { is, note, ok, until } from '../../tap.mjs';
import { mail, row, says, sql, waitingIds } from '../harness.mjs';

const listed = (page) => page.locator('.list li').evaluateAll((items) => items.map((li) => li.dataset.id));

// Every row, as somebody sees them who scrolls through the list.
async function scrolledThrough(page) {
  const all = new Set();
  await page.locator('.list').evaluate((box) => { box.scrollTop = 0; });
  for (let end = false; !end;) {
    await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
    for (const id of await listed(page)) all.add(id);
    end = await page.locator('.list').evaluate((box) => {
      const last = box.scrollTop + box.clientHeight >= box.scrollHeight - 1;
      box.scrollTop += box.clientHeight;
      return last;
    });
  }
  return [...all];
}

const proposeMany = (from, to) => sql('agent', `SELECT count(p.id)::int AS n FROM generate_series($1::int, $2::int) AS i,
  LATERAL approval.propose('many-' || i, 'send_mail', json_build_object('to', 'kim@example.com', 'subject', 'Letter ' || i, 'body', 'Hello'),
    conversation_id => 'many-' || i, server => 'shop', tenant => 'acme') p`, [from, to]);

export async function twoHundredAtOnce(inbox, browsers) {
  const first = [await mail(1), await mail(2), await mail(3)];
  const page = await browsers.person('alice');
  await page.hover(row(first[1].id));
  const before = await page.locator(row(first[1].id)).boundingBox();
  await page.evaluate((id) => {
    window.places = new Set();
    const look = () => {
      const top = document.querySelector(`.list li[data-id="${id}"]`)?.getBoundingClientRect().top;
      window.places.add(top);
      requestAnimationFrame(look);
    };
    look();
  }, first[1].id);
  await Promise.all([0, 1, 2, 3].map((i) => proposeMany(i * 50 + 1, i * 50 + 50)));
  await says(page, /Waiting\s+203/, '.top');
  is(await page.locator(row(first[1].id)).boundingBox(), before, 'two hundred come, and the row under the pointer stays');
  is(await page.evaluate(() => window.places.size), 1, 'at every frame');
  const all = await scrolledThrough(page);
  is(all, await waitingIds(), 'all of them are listed, oldest first');
}

export async function tenThousand(inbox, browsers) {
  for (let i = 0; i < 10; i++) await proposeMany(1001 + i * 1000, 2000 + i * 1000);
  const page = await browsers.person('alice');
  await says(page, /Waiting\s+10000/, '.top');
  const nodes = await page.locator('.list li').count();
  ok(nodes > 5 && nodes < 60, 'ten thousand wait, and only those in view are in the page', nodes);

  const frames = await page.evaluate(() => new Promise((resolve) => {
    const box = document.querySelector('.list');
    const times = [];
    let last = performance.now();
    const step = () => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      box.scrollTop += 700;
      if (times.length < 300) requestAnimationFrame(step);
      else resolve({ times: times.slice(1).sort((a, b) => a - b), drawn: document.querySelectorAll('.list li').length, top: box.scrollTop });
    };
    requestAnimationFrame(step);
  }));
  note(`scrolling by 700 pixels a frame through 10,000: median ${frames.times[149].toFixed(1)} ms, 95 % ${frames.times[284].toFixed(1)} ms, worst ${frames.times.at(-1).toFixed(1)} ms`);
  ok(frames.top > 200_000 && frames.drawn < 60, 'scrolling draws what is in view', [frames.top, frames.drawn]);
  const shown = await page.locator('.list li').first().getAttribute('data-id');
  const all = await waitingIds();
  ok(all.indexOf(shown) > 2000, 'which is far down the list', shown);
  await page.locator('.list').evaluate((box) => { box.scrollTop = box.scrollHeight; });
  await until('the end', async () => (await listed(page)).includes(all.at(-1)));
  ok(true, 'down to the last one');

  // One arrives and one goes while all of these wait.
  const one = await mail(99);
  await page.waitForSelector(row(one.id));
  ok(true, 'and news arrive as ever');
}
