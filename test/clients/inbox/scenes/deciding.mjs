// Decisions, and who was faster.
import pg from 'pg';
import { is, like, ok, until } from '../../tap.mjs';
import { cardText, decide, example, mail, openCard, press, propose, row, says, sql, statusOf } from '../harness.mjs';

const { missing } = await import(`${example}/public/panel.js`);
const refund = (amount, more) => propose('refund', { order: 'A-1', amount, currency: 'EUR', customer: { id: 'c-7' } }, more);

export async function reloadKeepsTheCard(inbox, browsers) {
  const { id } = await mail(1);
  const page = await browsers.person('alice');
  await openCard(page, id);
  const before = await page.locator('.card .scroll h2').innerText();
  await page.reload();
  await page.waitForSelector('.card .scroll h2');
  is(await page.locator('.card .scroll h2').innerText(), before, 'after a reload the card is there');
  ok(await page.locator(row(id)).isVisible(), 'and so is its row');
  await press(page, 'approve');
  await says(page, /You approved this/);
  is((await statusOf(id)).decided_by, 'user:alice', 'and it works');
}

// Both wait for a lock that a third session holds until both are there.
export async function twoDecideAtOnce(inbox, browsers) {
  const { id } = await mail(2);
  const alice = await browsers.person('alice');
  const bob = await browsers.person('bob');
  await openCard(alice, id);
  await openCard(bob, id);
  const holder = new pg.Client({ user: 'postgres' });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM approval.requests WHERE id = $1 FOR UPDATE', [id]);
  await press(alice, 'approve');
  await press(bob, 'approve');
  await until('both wait', async () => (await holder.query("SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'inbox' AND wait_event_type = 'Lock'")).rows[0].n === 2);
  await holder.query('ROLLBACK');
  await holder.end();
  const told = await Promise.all([alice, bob].map((page) => says(page, /You approved this|user:(alice|bob) approved this/)));
  const won = told.filter((text) => /You approved this/.test(text)).length;
  is(won, 1, 'of two at once one wins');
  like(told.find((text) => !/You approved this/.test(text)), /user:(alice|bob) approved this (just now|\d+ seconds? ago)\./, 'and the other is told who was faster, and when');
  is((await sql('inbox_reviewer', 'SELECT actor FROM approval.votes WHERE request_id = $1', [id])).length, 1, 'one decision is stored');
}

export async function oneWatches(inbox, browsers) {
  const calls = [];
  for (let i = 0; i < 5; i++) calls.push(await mail(10 + i));
  const alice = await browsers.person('alice');
  const bob = await browsers.person('bob');
  await openCard(alice, calls[1].id);
  await openCard(bob, calls[1].id);
  await alice.hover(row(calls[3].id));
  const before = await alice.locator(row(calls[3].id)).boundingBox();
  await press(bob, 'approve');
  await says(alice, /user:bob approved this/, '.card .line');
  is(await alice.locator('[data-act="approve"]').count(), 0, 'an open card closes when somebody else decides');
  like(await alice.locator(row(calls[1].id)).innerText(), /user:bob approved this[\s\S]*Letter/, 'its row says who');
  await mail(20);
  await says(alice, /Letter 20/, '.list');
  is(await alice.locator(row(calls[3].id)).boundingBox(), before, 'and nothing has moved under the pointer');
  await decide(calls[4].id, 'approve', 'user:bob');
  await until('two are closed', async () => (await alice.locator('.list li.closed').count()) === 2);
  await alice.mouse.move(900, 400);
  await alice.locator('.card .scroll h2').focus();
  await until('closed rows leave', async () => (await alice.locator('.list li.closed').count()) === 1);
  ok(true, 'closed rows leave when nobody points at the list, but for the one whose card is open');
}

export async function buttonsArmLate(inbox, browsers) {
  const a = await mail(30);
  const page = await browsers.person('alice');
  await page.evaluate(() => {
    const seen = new Map();
    window.armedAfter = null;
    new MutationObserver(() => {
      const button = document.querySelector('[data-act="approve"]');
      if (!button) return;
      if (!seen.has(button)) seen.set(button, { at: performance.now(), off: button.disabled });
      const first = seen.get(button);
      if (!button.disabled && window.armedAfter === null) window.armedAfter = first.off ? performance.now() - first.at : -1;
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await openCard(page, a.id);
  await page.waitForSelector('[data-act="approve"]:enabled');
  const after = await until('armed', () => page.evaluate(() => window.armedAfter));
  ok(after >= 490, 'buttons work half a second after the card is shown', after);
  // A change of what is shown disarms them again, and says so.
  const b = await propose('change_price', { sku: 'S-1', price: 9, currency: 'EUR' });
  await page.waitForSelector(row(b.id));
  await openCard(page, b.id);
  await page.waitForSelector('[data-act="approve"]:enabled');
  await decide(b.id, 'approve', 'user:bob', { args: { sku: 'S-2', price: 9, currency: 'EUR' } });
  like(await says(page, /This was changed while you looked/), /Corrected by user:bob[\s\S]*\$\.sku/, 'a card that was changed says so, and by whom');
  await press(page, 'approve');
  await says(page, /You approved this/);
  is((await statusOf(b.id)).arguments.sku, 'S-2', 'what is approved then is what it shows then');
}

export async function rejecting(inbox, browsers) {
  const [a, b] = [await mail(40, { conversation_id: 'chat-r' }), await mail(41, { conversation_id: 'chat-s' })];
  const page = await browsers.person('alice');
  await openCard(page, a.id);
  await press(page, 'reject');
  await page.fill('dialog textarea', 'Ask the customer first.');
  await page.click('dialog[open] button:has-text("Reject")');
  await says(page, /You rejected this/);
  await openCard(page, b.id);
  await press(page, 'reject');
  await page.click('dialog[open] button:has-text("Reject")');
  await says(page, /You rejected this/);
  const [told] = await sql('agent', "SELECT denial, stop FROM approval.outcomes('chat-r', tenant => 'acme')");
  const [stopped] = await sql('agent', "SELECT denial, stop FROM approval.outcomes('chat-s', tenant => 'acme')");
  is(told, { denial: 'Ask the customer first.', stop: false }, 'a rejection with a text is for the model');
  is(stopped, { denial: null, stop: true }, 'one without stops the agent');
}

export async function editing(inbox, browsers) {
  const { id } = await refund(120.5, { conversation_id: 'chat-e' });
  const page = await browsers.person('alice');
  await openCard(page, id);
  await press(page, 'edit');
  await page.fill('dialog[open] label:has-text("amount") input', '90.25');
  await page.fill('dialog[open] fieldset fieldset label:has-text("id") textarea', 'c-8');
  await page.click('dialog[open] button:has-text("Approve with these")');
  const text = await says(page, /You approved this/);
  like(text, /Corrected by user:alice[\s\S]*\$\.amount[\s\S]*120\.5[\s\S]*90\.25/, 'the card shows what was corrected');
  const after = await statusOf(id);
  is([after.status, after.arguments], ['approved', { order: 'A-1', amount: 90.25, currency: 'EUR', customer: { id: 'c-8' } }], 'the form keeps what it did not touch');

  const other = await refund(50);
  await openCard(page, other.id);
  await press(page, 'edit');
  await page.fill('dialog[open] label:has-text("amount") input', '0.1000000000000000055');
  await page.click('dialog[open] button:has-text("Approve with these")');
  await says(page, /have no exact form at \$\.amount/, 'dialog[open]');
  await page.fill('dialog[open] label:has-text("amount") input', 'ten');
  await page.click('dialog[open] button:has-text("Approve with these")');
  await says(page, /"ten" is not a number/, 'dialog[open]');
  is((await statusOf(other.id)).status, 'pending', 'a number that is not exact changes nothing');
  await page.keyboard.press('Escape');
  const fixed = await propose('delete_customer', { customer: 'c-9' });
  await openCard(page, fixed.id);
  await page.waitForSelector('[data-act="approve"]:enabled');
  is(await page.locator('[data-act="edit"]').count(), 0, 'what may not be edited has no such button');
}

export async function quorum(inbox, browsers) {
  const { id } = await refund(3000);
  const alice = await browsers.person('alice');
  const bob = await browsers.person('bob');
  await openCard(alice, id);
  await openCard(bob, id);
  like(await cardText(alice), /0 of 2 approvals\.\s+2 of managers\.\s+You are in managers\. Still missing: 2 of managers\./, 'who has to agree is on the card');
  await press(alice, 'approve');
  await says(alice, /Your vote counts: 1 of 2/);
  like(await says(alice, /You have approved/), /user:alice approved, for managers[\s\S]*You have approved\. Still missing: 1 of managers\./, 'one is told what one has done, and who is missing');
  is(await alice.locator('[data-act="approve"]').innerText(), 'You approved', 'the button says it too');
  ok(await alice.locator('[data-act="approve"]').isDisabled(), 'and cannot be pressed again');
  ok(await alice.locator('[data-act="reject"]').isEnabled(), 'though one may change one\'s mind');
  like(await says(bob, /1 of 2 approvals/), /user:alice approved/, 'others see who has voted');
  is(await bob.locator('.card progress').getAttribute('value'), '1', 'others see the vote');
  await press(bob, 'approve');
  await says(bob, /You approved this/);
  is((await statusOf(id)).approvals, 2, 'two have agreed');
}

// A correction voids approvals, and the same person may approve again.
export async function votesThatCountNoMore(inbox, browsers) {
  const { id } = await refund(3000);
  await decide(id, 'approve', 'user:alice');
  const alice = await browsers.person('alice');
  await openCard(alice, id);
  await says(alice, /You have approved/);
  await decide(id, 'approve', 'user:bob', { args: { order: 'A-1', amount: 2900, currency: 'EUR', customer: { id: 'c-7' } } });
  like(await says(alice, /counts no more/), /user:alice approved; this counts no more[\s\S]*You are in managers\. Still missing: 1 of managers\./,
    'an approval of what was corrected since counts no more, and the card says so');
  await press(alice, 'approve');
  await says(alice, /You approved this/);

  const other = await propose('delete_customer', { customer: 'c-9' });
  await decide(other.id, 'approve', 'user:alice');
  await openCard(alice, other.id);
  like(await says(alice, /You have approved/), /Still missing: 1 of privacy\./, 'of several groups the card names the one that is missing');
  await sql('postgres', "SELECT FROM approval.revoke_by('user:alice', 'stolen', tenant => 'acme')");
  await alice.reload();
  like(await says(alice, /Who has to agree/), /counts no more[\s\S]*Still missing: 1 of managers, 1 of privacy\./, 'what was taken back counts no more either');
}

// Of people who fit several seats, and more of them than there are.
export async function whoIsMissing() {
  const voters = (...groups) => groups.map((g, i) => ({ actor: `user:${i}`, verdict: 'approve', stands: true, groups: g }));
  const of = (reviewers, votes, more) => {
    const { n, of: groups, either } = missing({ reviewers, votes, ...more });
    return `${n}: ${groups.map(([group, open]) => (either ? group : `${open} ${group}`)).join(either ? ' or ' : ', ')}`;
  };
  is([
    of({ a: 1, b: 1 }, voters(['a'], ['a'])), of({ a: 1, b: 1 }, voters(['a', 'b'])), of({ a: 1, b: 1 }, voters(['a', 'b'], ['a'])),
    of({ a: 2, b: 1 }, voters(['c'])), of({ a: 1, '*': 1 }, voters(['c'])), of(null, voters([]), { approvals_needed: 2 }),
    of({ a: 1, b: 1 }, voters(['boss'], ['boss']), { escalated_at: 'then', escalate_to: 'boss' }),
    of({ a: 1, b: 1 }, [{ ...voters(['a'])[0], stands: false }, { ...voters(['b'])[0], verdict: 'reject' }]),
  ], ['1: 1 b', '1: a or b', '0: ', '3: 2 a, 1 b', '1: 1 a', '1: 1 *', '0: ', '2: 1 a, 1 b'], 'each voter takes one seat, and whichever is needed');
}

export async function takingBackAndSettling(inbox, browsers) {
  const { id } = await mail(50);
  const lost = await mail(51);
  const page = await browsers.person('alice');
  await openCard(page, id);
  await press(page, 'approve');
  await page.click('button:has-text("Take back"):enabled');
  await page.click('dialog[open] button:has-text("Take back")');
  await says(page, /The approval was taken back/);
  is((await statusOf(id)).status, 'revoked', 'an approval can be taken back');

  // An executor that was never heard of again.
  await decide(lost.id, 'approve', 'user:bob');
  await sql("executor", "SELECT * FROM approval.consume($1, 'send_mail', $2, 'job-1', server => 'shop', lease => '1 s', tenant => 'acme')",
    [lost.id, JSON.stringify({ to: "kim@example.com", subject: "Letter 51", body: "Hello" })]);
  await page.waitForSelector(`${row(lost.id)} :text("outcome unknown")`);
  await openCard(page, lost.id);
  await page.click('button:has-text("It did not"):enabled');
  await page.fill('dialog[open] textarea', 'Nothing in the mail log.');
  await page.click('dialog[open] button:has-text("It did not")');
  await says(page, /It failed/);
  is((await statusOf(lost.id)).reconciled_by, 'user:alice', 'an outcome that nobody knows is settled here');
}

export async function workingTogether(inbox, browsers) {
  const { id } = await mail(60);
  const alice = await browsers.person('alice');
  const bob = await browsers.person('bob');
  await openCard(alice, id);
  await alice.click('button:text-is("Claim")');
  await bob.waitForSelector(`${row(id)} :text("claimed by")`);
  await openCard(bob, id);
  await bob.click('button:text-is("Claim")');
  await says(bob, /user:alice has claimed it/);
  ok(true, 'a claim is seen, and a second one is told whose it is');
  await bob.click('.more summary');
  await bob.click('[data-act="comment"]');
  await bob.fill('dialog[open] textarea', 'Looks fine to me.');
  await bob.click('dialog[open] button:has-text("Add")');
  await says(alice, /Looks fine to me/);
  await bob.click('.more summary');
  await bob.click('button:has-text("Assign")');
  await bob.fill('dialog[open] input', 'user:carol');
  await bob.click('dialog[open] button:has-text("Assign")');
  await says(alice, /for user:carol/, row(id));
  ok(true, 'remarks and assignments reach the others at once');
  const before = (await statusOf(id)).expires_at;
  await bob.click('.more summary');
  await bob.click('button:has-text("Give 24 hours from now")');
  await says(bob, /There are 24 hours/);
  ok((await statusOf(id)).expires_at > before, 'there is more time');
}
