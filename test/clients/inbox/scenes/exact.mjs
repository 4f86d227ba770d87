// What is shown is what is decided on, however it is dressed.
import { is, like, ok, until } from '../../tap.mjs';
import { cardText, decide, example, mail, openCard, press, propose, row, says, sql, statusOf } from '../harness.mjs';

const refund = (amount, more) => propose('refund', { order: 'A-1', amount, currency: 'EUR', customer: { id: 'c-7' } }, more);
const argumentsOf = (page) => page.locator('.card section').first().locator('tr')
  .evaluateAll((rows) => rows.map((tr) => [...tr.children].map((cell) => cell.innerText.trim())));

export async function whatLooksAlike(inbox, browsers) {
  const args = { a: 1, b: '1', c: 'null', d: null, e: '', f: ' x', g: '"1"', h: [], i: '[]', 'j.k': 'outer', j: { k: 'inner' },
    'to\nsubject': 'kim\nHello', '': 'nameless', l: 'plain', resource: 'mine', m: 'a\u2800b' };
  const { id } = await propose('unheard of', args, { resource: 'theirs', on_behalf_of: 'user:kim, checked' });
  const page = await browsers.person('alice');
  await openCard(page, id);
  is(Object.fromEntries(await argumentsOf(page)), {
    a: '1', b: '"1"', c: '"null"', d: 'null', e: '""', f: '" x"', g: '""1""', h: '[]', i: '"[]"', '"j.k"': 'outer', 'j.k': 'inner',
    '"to\\nsubject"': 'kim\nHello', '""': 'nameless', l: 'plain', resource: 'mine', m: 'a\\u{2800}b',
  }, 'no text reads as a number, as nothing, or as a member of something else');
  like(await cardText(page), /Bound to the resource theirs/, 'the resource is no argument');
  like(await cardText(page), /as it says on behalf of user:kim, checked/, 'and for whom is what the agent says');
}

// The page's own words, one for every reason that the gate has, and the gate's beside them.
export async function whyAPersonIsAsked(inbox, browsers) {
  const { reasons } = await import(`${example}/public/reasons.js`);
  const all = await sql('inbox_reviewer', 'SELECT gate_reason FROM approval.gate_reasons() ORDER BY 1');
  is(Object.keys(reasons).sort(), all.map((row) => row.gate_reason), 'there are words for every reason');
  const { id } = await mail(1);
  const page = await browsers.person('alice');
  await openCard(page, id);
  like(await cardText(page), /Why a person is asked\s+This tool asks a person unless a rule says otherwise/, 'a reviewer reads why');
  await page.click('.card details:has(.raw) summary');
  like(await cardText(page), /review: default, no rule matched, and the tool has a default mode/, 'and can read it as the gate says it');
  is(await page.locator('.card .scroll h2').innerText(), (await statusOf(id)).summary, 'the heading is what the gate says, with the tool before it');
  is(await page.locator('.card .scroll h2 .prefix').innerText(), 'shop/send_mail: ', 'which is quieter');
}

export async function outOfSight(inbox, browsers) {
  const { id } = await propose('send_mail', { to: 'kim@example.com', subject: 'Hello', body: `Dear Kim${'\n'.repeat(5000)}send it all to eve` });
  const many = await propose('many', Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`argument${i}`, i])));
  const page = await browsers.person('alice');
  await openCard(page, id);
  like(await cardText(page), /body\s+5026 characters in 5001 lines/, 'how much there is to read is said');
  ok(await page.locator('.card th:has-text("subject")').isVisible(), 'a long one pushes nothing away');
  await page.waitForSelector('.card dl >> visible=true');
  is(await page.locator('.below').count(), 0, 'all arguments are in view');
  await openCard(page, many.id);
  await page.waitForSelector('.below');
  await page.locator('.card th:has-text("argument199")').scrollIntoViewIfNeeded();
  await page.locator('.card dl').scrollIntoViewIfNeeded();
  await page.waitForSelector('.below', { state: 'detached' });
  ok(true, 'where they are not, the card says that they go on');
}

// Somebody corrects the request while a form or a question about it is open.
export async function changedBehindADialog(inbox, browsers) {
  for (const [act, button] of [['edit', 'Approve with these'], ['reject', 'Reject']]) {
    const { id } = await refund(3000);
    const page = await browsers.person('alice');
    await openCard(page, id);
    await press(page, act);
    await decide(id, 'approve', 'user:bob', { args: { order: 'A-1', amount: 2500, currency: 'EUR', customer: { id: 'c-7' } } });
    await says(page, /This was changed while you looked/);
    await page.click(`dialog[open] button:has-text("${button}"):enabled`);
    await says(page, /This changed after it was shown to you/);
    const after = await statusOf(id);
    is([after.status, after.arguments.amount], ['pending', 2500], `${act}: what was not shown is not decided on`);
    await browsers.leave();
  }
}

export async function numbersAsTyped(inbox, browsers) {
  const { id } = await refund(50);
  const page = await browsers.person('alice');
  await openCard(page, id);
  await press(page, 'edit');
  await page.fill('dialog[open] label:has-text("amount") input', '0.1000000000000000055');
  await page.click('dialog[open] button:has-text("As JSON")');
  like(await page.inputValue('dialog[open] textarea'), /"amount": 0\.1000000000000000055,\n/, 'as JSON, a number is what was typed');
  await page.click('dialog[open] button:has-text("Approve with these"):enabled');
  await says(page, /have no exact form at \$\.amount/, 'dialog[open]');
  is((await statusOf(id)).status, 'pending', 'and is not rounded');
}

export async function enterTwice(inbox, browsers) {
  const { id } = await propose('pay', { amount: 5 });
  const page = await browsers.person('alice');
  await openCard(page, id);
  await page.waitForSelector('[data-act="edit"]:enabled');
  await page.keyboard.press('e');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open] button:has-text("Approve with these"):enabled');
  is((await statusOf(id)).status, 'pending', 'Enter twice opens the form and does not send it');
}

// The browser's clock is a day ahead, and nothing has told it the time.
export async function wrongClock(inbox, browsers) {
  const page = await browsers.person(null);
  await page.context().addInitScript(() => { const now = Date.now.bind(Date); Date.now = () => now() + 86_400_000; });
  await page.reload();
  await browsers.signIn(page, 'alice');
  await says(page, /Nothing waits for you/, '.list');
  const { id } = await mail(1);
  await page.waitForSelector(row(id));
  // Deadlines are looked at once a second.
  await page.waitForTimeout(2500);
  is(await page.locator(`${row(id)}:not(.closed)`).count(), 1, 'time is the server\'s, from the first request on');
  await openCard(page, id);
  await says(page, /3 h 59 min left to decide|4 h left to decide/);
}

export async function strangeAddress(inbox, browsers) {
  const { id } = await mail(2);
  const page = await browsers.person('alice');
  for (const address of ['#%', '#%E0%A4/x', `#%/${id}`, '#/', '#acme/a/b']) await page.evaluate((to) => { location.hash = to; }, address);
  await page.evaluate((to) => { location.hash = to; }, `#acme/${id}`);
  await says(page, /Letter 2/);
  ok(true, 'an address that means nothing harms nothing');
}

export async function selectionOfTwoTenants(inbox, browsers) {
  const mine = await mail(3);
  const theirs = await mail(4, { tenant: 'globex' });
  const page = await browsers.person('alice');
  await page.waitForSelector(row(theirs.id));
  await page.click('.bulk > button:has-text("All")');
  await page.click('.bulk > button:has-text("Reject")');
  await decide(theirs.id, 'approve', 'user:carol', { tenant: 'globex' });
  await until('it is closed', async () => (await page.locator(`${row(theirs.id)}.closed`).count()) === 1);
  await page.click('dialog[open] button.primary:enabled');
  await says(page, /Letter 4[^–]*– user:carol approved this/, 'dialog[open] .chosen');
  is((await statusOf(mine.id)).status, 'rejected', 'each of a selection says what became of it');
}
