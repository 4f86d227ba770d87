// Finding, reading and working through what waits.
import axe from 'axe-core';
import { is, like, ok, until } from '../../tap.mjs';
import { decide, mail, openCard, picture, press, propose, row, says, sql, statusOf } from '../harness.mjs';

async function accessible(page, what) {
  // Through the debugger's own world: the page's policy forbids added scripts.
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  is(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`), [], `axe-core finds nothing in ${what}`);
  ok(passes.length > 0, `having looked at ${what}`);
}

const ids = (page) => page.locator('.list li:not(.closed)').evaluateAll((items) => items.map((li) => li.dataset.id));

export async function filters(inbox, browsers) {
  const a = await mail(1);
  const b = await propose('change_price', { sku: 'S-1', price: 9, currency: 'EUR' }, { tenant: 'globex', assignee: 'user:carol' });
  const c = await propose('refund', { order: 'A-1', amount: 300, currency: 'EUR', customer: { id: 'c-7' } });
  const page = await browsers.person('alice');
  await page.waitForSelector(row(c.id));
  const only = async (name, value, wanted) => {
    await page.selectOption(`select[name=${name}]`, value);
    await until(`${name}=${value}`, async () => JSON.stringify(await ids(page)) === JSON.stringify(wanted));
    ok(true, `${name} ${value}: ${wanted.length} of 3`);
    await page.click('.filters button:has-text("Clear")');
    await page.waitForSelector(row(a.id));
  };
  await only('tool', 'send_mail', [a.id]);
  await only('tenant', 'globex', [b.id]);
  await only('risk', 'high', [c.id]);
  await only('assignee', 'user:carol', [b.id]);
  await only('status', 'pending', [a.id, b.id, c.id]);
  await page.selectOption('select[name=status]', 'unknown');
  await page.waitForSelector(row(a.id), { state: 'detached' });
  is(await page.locator(row(b.id)).count(), 0, 'status unknown: none of these');
  // What comes in while a filter is on is looked at, too.
  await page.click('.filters button:has-text("Clear")');
  await page.selectOption('select[name=tool]', 'send_mail');
  await page.waitForSelector(row(b.id), { state: 'detached' });
  const d = await propose('change_price', { sku: 'S-2', price: 9, currency: 'EUR' });
  const e = await mail(2);
  await page.waitForSelector(row(e.id));
  is(await page.locator(row(d.id)).count(), 0, 'news obey the filter');
}

export async function keyboard(inbox, browsers) {
  const calls = [await mail(10), await mail(11), await mail(12)];
  const page = await browsers.person('alice');
  await page.waitForSelector(row(calls[2].id));
  await page.keyboard.press('j');
  await page.waitForSelector(`${row(calls[0].id)}.current`);
  await page.keyboard.press('j');
  await page.waitForSelector(`${row(calls[1].id)}.current`);
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.waitForSelector('.card .scroll h2:has-text("Letter 11")');
  await page.keyboard.press('x');
  ok(await page.locator(`${row(calls[1].id)} input`).isChecked(), 'x selects');
  await page.waitForSelector('[data-act="approve"]:enabled');
  await page.keyboard.press('a');
  is(await page.evaluate(() => document.activeElement.dataset.act), 'approve', 'a points at the button');
  is((await statusOf(calls[1].id)).status, 'pending', 'and does not press it');
  await page.keyboard.press('Enter');
  await says(page, /You approved this/);
  ok(true, 'Enter does');
  await page.keyboard.press('j');
  await page.waitForSelector('.card .scroll h2:has-text("Letter 12")');
  await page.keyboard.press('c');
  is(await page.evaluate(() => document.activeElement.dataset.act), 'comment', 'c points at Remark, in the menu');
  await page.keyboard.press('Escape');
  is([await page.locator('.more[open]').count(), await page.locator('.card').count()], [0, 1], 'Escape closes the menu, and not the card');
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open] :text("Shortcuts of one letter")');
  await page.uncheck('dialog[open] input[type=checkbox]');
  await page.click('dialog[open] button:has-text("Close")');
  await page.keyboard.press('j');
  await page.keyboard.press('Escape');
  await page.waitForSelector('.card', { state: 'detached' });
  await page.keyboard.press('j');
  is(await page.locator('.card').count(), 0, 'shortcuts of one letter can be switched off');
}

export async function bulk(inbox, browsers) {
  const calls = [];
  for (let i = 0; i < 4; i++) calls.push(await mail(20 + i));
  const price = await propose('change_price', { sku: 'S-1', price: 9, currency: 'EUR' });
  const page = await browsers.person('alice');
  await page.waitForSelector(row(price.id));
  await page.click('.bulk > button:has-text("All")');
  await says(page, /5 selected/, '.bulk');
  ok(await page.locator('.bulk > button:has-text("Approve")').isDisabled(), 'several tools are not approved at once');
  await page.uncheck(`${row(price.id)} input`);
  await page.click('.bulk > button:has-text("Approve")');
  like(await page.locator('dialog[open] .chosen').innerText(), /Letter 20[\s\S]*Letter 21[\s\S]*Letter 22[\s\S]*Letter 23/, 'what will be approved is shown once more');
  // One of them is decided, and one is changed, while the dialog is open.
  await sql('inbox_reviewer', "SELECT * FROM approval.reject($1, $2, actor => 'user:bob', tenant => 'acme')", [calls[0].id, calls[0].review_hash]);
  await page.click('dialog[open] button.primary:enabled');
  await says(page, /Letter 20[^–]*– user:bob rejected this/, 'dialog[open] .chosen');
  const after = await Promise.all(calls.map(async (c) => (await statusOf(c.id)).status));
  is(after, ['rejected', 'approved', 'approved', 'approved'], 'the others are approved, and that one says why not');
  await page.click('dialog[open] button:has-text("Close")');
  is((await statusOf(price.id)).status, 'pending', 'what was not selected waits');
}

export async function recentDecisions(inbox, browsers) {
  const calls = [await mail(60), await mail(61), await mail(62), await mail(63), await mail(64, { tenant: 'globex' })];
  const [a, b, c, waits, theirs] = calls.map((call) => call.id);
  await decide(c, 'approve', 'user:bob');
  await decide(theirs, 'reject', 'user:carol', { tenant: 'globex' });
  await decide(a, 'reject', 'user:bob');
  await sql('agent', "SELECT approval.cancel($1, tenant => 'acme')", [b]);
  const page = await browsers.person('alice');
  await page.click('button:has-text("Recent")');
  await page.waitForSelector(`.recent li[data-id="${c}"]`);
  const shown = (await ids(page)).slice(0, 4);
  is(shown, [b, a, theirs, c], 'recent is what was decided or closed last, newest first');
  is(await page.locator(`.recent li[data-id="${waits}"]`).count(), 0, 'and nothing that waits');
  await decide(waits, 'approve', 'user:bob');
  await until('it comes', async () => (await ids(page))[0] === waits);
  like(await page.locator('.recent li').first().innerText(), /user:bob approved this\s+\d s ago/, 'news come to the top, with when they were decided');
  await page.hover(`.recent li[data-id="${a}"]`);
  const { id: last } = await mail(65);
  await decide(last, 'approve', 'user:bob');
  await page.waitForTimeout(1500);
  is((await ids(page))[0], waits, 'but not while somebody points at the list');
  await page.hover('.top h1');
  await until('it comes', async () => (await ids(page))[0] === last);
  const bob = await browsers.person('bob');
  await bob.click('button:has-text("Recent")');
  await bob.waitForSelector(`.recent li[data-id="${c}"]`);
  is(await bob.locator(`.recent li[data-id="${theirs}"]`).count(), 0, 'other tenants are not there');
}

export async function expiry(inbox, browsers) {
  const { id } = await mail(30, { expires_in: '6 s' });
  const page = await browsers.person('alice');
  await page.evaluate(() => {
    window.shown = new Set();
    new MutationObserver(() => {
      const timer = document.querySelector('.card [role=timer]');
      if (timer) window.shown.add(timer.innerText);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await openCard(page, id);
  await page.hover('.list');
  await says(page, /The time to decide is over/, '.card [role=timer]');
  const shown = await page.evaluate(() => [...window.shown]);
  const seconds = shown.map((t) => Number(/^(\d+) s left/.exec(t)?.[1])).filter((n) => n >= 0);
  ok(seconds.length >= 3 && seconds.every((n, i) => i === 0 || n < seconds[i - 1]), 'the time left counts down', shown);
  await page.waitForSelector('[data-act="approve"]', { state: 'detached' });
  like(await page.locator(row(id)).innerText(), /The time to decide is over/, 'and the card closes itself');
  is((await statusOf(id)).status, 'expired', 'it has expired');
}

export async function phone(inbox, browsers) {
  const { id } = await propose('change_price', { sku: 'S-1', price: 9, currency: 'EUR' }, {
    agent_reason: 'A competitor sells it for less.', preview: JSON.stringify({ before: { sku: 'S-1', price: 10, stock: 4 }, after: { sku: 'S-1', price: 9, stock: 4 } }),
  });
  await mail(40);
  const page = await browsers.person('alice', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  await page.waitForSelector(row(id));
  ok(await fits(), 'the list fits a phone');
  is(await page.locator('.top').evaluate((top) => top.getBoundingClientRect().height < 60), true, 'and its head takes one row');
  await picture(page, 'phone-list');
  await page.tap(`${row(id)} .row`);
  await page.waitForSelector('[data-act="approve"]:enabled');
  ok(await fits(), 'and so does a card');
  ok(!(await page.locator('.list').isVisible()), 'which has the screen for itself');
  await accessible(page, 'a card on a phone');
  await picture(page, 'phone-card');
  const sizes = await page.locator('.actions > .buttons button').evaluateAll((all) => all.map((b) => b.getBoundingClientRect().height));
  is(await page.locator('.actions').evaluate((bar) => bar.getBoundingClientRect().height < 70), true, 'all that can be done takes one row, and nothing is empty above it');
  ok(Math.min(...sizes) >= 40, 'buttons are large enough for a thumb', sizes);
  await page.tap('[data-act="approve"]');
  await says(page, /You approved this/);
  await page.tap('button:has-text("Back to the list")');
  await page.waitForSelector('.list');
  ok(true, 'and there is a way back');
}

export async function accessibility(inbox, browsers) {
  const one = await propose('change_price', { sku: 'S-1', price: 9, currency: 'EUR' }, {
    agent_reason: 'A competitor sells it for less.', preview: JSON.stringify({ before: { price: 10 }, after: { price: 9 } }),
  });
  await mail(50);
  const large = await propose('refund', { order: 'A-1', amount: 3000, currency: 'EUR', customer: { id: 'c-7' } });
  for (const colorScheme of ['light', 'dark']) {
    const stranger = await browsers.person(null, { colorScheme });
    await stranger.waitForSelector('.sign-in');
    await accessible(stranger, `signing in, ${colorScheme}`);
    const page = await browsers.person('alice', { colorScheme });
    await page.waitForSelector(row(large.id));
    await accessible(page, `the list, ${colorScheme}`);
    await openCard(page, large.id);
    await page.waitForSelector('[data-act="approve"]:enabled');
    await accessible(page, `a card with a quorum, ${colorScheme}`);
    await openCard(page, one.id);
    await page.waitForSelector('[data-act="approve"]:enabled');
    await accessible(page, `a card with a preview, ${colorScheme}`);
    await picture(page, colorScheme);
    await page.click('.more summary');
    await accessible(page, `the menu, ${colorScheme}`);
    await page.keyboard.press('Escape');
    await press(page, 'edit');
    await accessible(page, `the form, ${colorScheme}`);
    await picture(page, `edit-${colorScheme}`);
    await page.keyboard.press('Escape');
    await press(page, 'reject');
    await accessible(page, `a question, ${colorScheme}`);
    const [red] = await page.locator('dialog[open] button.primary').evaluateAll(([b]) => [getComputedStyle(b).backgroundColor]);
    is(red, { light: 'rgb(180, 35, 24)', dark: 'rgb(255, 154, 143)' }[colorScheme], 'the button that rejects is red');
    await page.keyboard.press('Escape');
    await page.check(`${row(one.id)} input`);
    await page.click('.bulk > button:has-text("Approve")');
    await accessible(page, `the selection, ${colorScheme}`);
    await page.keyboard.press('Escape');
    await page.click('button:has-text("Recent")');
    await page.waitForSelector('.recent li');
    await accessible(page, `what was recent, ${colorScheme}`);
  }
}
