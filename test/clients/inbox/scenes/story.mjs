// What a newcomer does: an agent asks, a person approves, it is run.
import { is, like, ok, until } from '../../tap.mjs';
import { decide, Inbox, openCard, picture, press, row, says, sql, waitingIds } from '../harness.mjs';

export async function askedApprovedRun(inbox, browsers) {
  const page = await browsers.person('alice');
  await says(page, /Nothing waits for you/, '.list');
  const executor = inbox.program('executor.mjs');
  const agent = inbox.program('agent.mjs', '--every', '0.1', '--count', '12');

  await page.waitForSelector('.list li >> nth=5');
  ok(true, 'proposals of the bundled agent arrive by themselves');
  // One that one person may approve.
  const [{ id, tenant }] = await sql('inbox_reviewer', `SELECT id::text, tenant FROM approval.inbox
    WHERE tool IN ('send_mail', 'change_price') OR tool = 'refund' AND approvals_needed = 1 ORDER BY sort_key LIMIT 1`);
  await openCard(page, id);
  const summary = await page.locator('.card .scroll h2').innerText();
  await picture(page, 'card');
  await press(page, 'approve');
  const text = await says(page, /Done/);
  like(text, /What the executor reported/, 'it is run, and the card shows what came of it');
  await says(page, /asked for this[\s\S]*approved[\s\S]*began to run it[\s\S]*reported what happened/);
  ok(true, 'and all that happened, in order');
  is(await page.locator('.card .scroll h2').innerText(), summary, 'it is the same card still');
  const [run] = await sql('postgres', "SELECT count(*)::int AS n FROM approval.events WHERE tenant = $1 AND request_id = $2 AND kind = 'consumed'", [tenant, id]);
  is(run.n, 1, 'it was used once');

  await page.click('button:has-text("Recent")');
  await page.click(`.recent li[data-id="${id}"] .row`);
  await says(page, /Done/);
  ok(true, 'what is done can be found again');
  await inbox.stop('SIGTERM', executor);
  await inbox.stop('SIGKILL', agent);
}

export async function beforeADatabaseThatIsThere(_, browsers) {
  const inbox = new Inbox('theirs', { alice: '' });
  await inbox.begin();
  const page = await browsers.person('alice', { inbox });
  const [{ id }] = await sql('agent', `SELECT id::text FROM approval.propose('call-1', 'refund', '{"amount": 5}')`, [], 'theirs');
  await page.waitForSelector(row(id));
  await openCard(page, id);
  await page.reload();
  await page.waitForSelector('.card .scroll h2');
  await press(page, 'approve');
  await says(page, /You approved this/);
  const [{ ok: run }] = await sql('executor', `SELECT ok FROM approval.try_consume($1, 'refund', '{"amount": 5}', 'job-1')`, [id], 'theirs');
  ok(run, 'with two more logins, a database without tenants has an inbox');
  await page.click('button:has-text("Recent")');
  await page.waitForSelector(`.recent li[data-id="${id}"]`);
  await page.context().close();
  await inbox.stop();
}

export async function anAgentThatKnowsWhenToStop(inbox) {
  const agent = inbox.program('agent.mjs', '--every', '0.05', '--most', '3');
  let said = '';
  agent.stdout.on('data', (data) => { said += data; });
  await until('it stops', () => /3 calls wait for a person/.test(said));
  const waiting = await waitingIds();
  is(waiting.length, 3, 'an agent whose calls wait asks for no more');
  await decide(waiting[0], 'reject', 'user:alice', { tenant: (await sql('inbox_reviewer', 'SELECT tenant FROM approval.inbox WHERE id = $1', [waiting[0]]))[0].tenant });
  await until('it goes on', async () => (await waitingIds()).at(-1) !== waiting[2]);
  ok(true, 'until one of them is decided');
  await until('it stops again', () => said.match(/3 calls wait for a person/g).length === 2);
  ok(true, 'and says so once each time');
  await inbox.stop('SIGKILL', agent);
}
