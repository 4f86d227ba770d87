// What only the little n8n can be made to do: limits reached, schedules at
// will, an execution that runs twice.
import pg from 'pg';
import { cardAt } from '../../../docs/examples/inbox/public/address.js';
import { is, ok, until } from '../tap.mjs';
import { Execution } from './engine.mjs';
import { kinds } from './kinds.mjs';
import { again, ask, executionOf, orderedRefund, terminateTrigger, waitingRefund } from './scenarios.mjs';
import { post } from './world.mjs';

const resumer = 'approval: resumer';
// Whether the login has still to read of it
const ahead = async ({ db }, login, id, event) => (await db.as(login, `SELECT FROM n8n.cursors AS c,
  LATERAL approval.feed(c.cursor_text, max_rows => 10000) AS f, LATERAL json_array_elements(f.events) AS e
  WHERE c.login = session_user AND e ->> 'id' = $1 AND e ->> 'event' = $2`, [id, event])).length > 0;
// Of two readings at once the slower one leaves the cursor, so that it may take another one.
const passes = (world, name, login, id, event) => until('the cursor passes it', async () => {
  await world.n8n.tick(name);
  return !await ahead(world, login, id, event);
});
const policy = ({ db }, options) => db.as('postgres', "SELECT FROM approval.register_tool('refund', 'action', $1)", [JSON.stringify(options)]);
const later = ({ db }, options) => db.as('postgres', "SELECT FROM approval.update_tool('refund', $1)", [JSON.stringify(options)]);

export async function once(world) {
  const { db, n8n, provider } = world;
  const request = await waitingRefund(world);
  const original = n8n.executions.get(executionOf(request));
  const copies = Array.from({ length: 5 }, () => original.copy());
  await db.approve(request);
  await Promise.all([
    n8n.tick(resumer), n8n.tick(resumer),
    ...Array.from({ length: 5 }, () => post(request.reply_to, { approved: true })),
    ...copies.map((copy) => copy.resume([{ json: { body: { approved: true } } }])),
  ]);
  await until('the workflow ends', () => original.status === 'success');
  const ends = [original, ...copies].map((execution) => execution.lastNode).sort();
  is(ends, ['Complete', ...Array(5).fill('Used already')], 'trigger, schedule, posts and five copies of the execution at once: one gets the permit');
  is(provider.of(request.id).length, 1, 'executed once');
}

export async function expired(world) {
  const { db, n8n, provider } = world;
  const propose = n8n.files.find((f) => f.file === 'refund.json').nodes.find((node) => node.name === 'Propose').parameters;
  const { query } = propose;
  propose.query = query.replace("'20 hours'", "'1 second'");
  const request = await waitingRefund(world);
  propose.query = query;
  await until('it is too late', async () => (await again(world, request)).status === 'expired');
  const tooLate = await db.one('web', "SELECT reason FROM approval.try_decide($1, 'approve', $2, actor => 'user:7')", [request.id, request.review_hash]);
  is(tooLate.reason, 'expired', 'nobody decides after the deadline');
  const id = executionOf(request);
  if (n8n.executions.get(id).status === 'waiting') await n8n.timeUp(id);
  await until('the workflow ends', () => n8n.executions.get(id).status === 'success');
  is([n8n.executions.get(id).lastNode, provider.of(request.id).length], ['Expired', 0], 'expired: a branch of its own, and nothing is executed');
  await policy(world, { use_within: '1 second' });
  const late = await waitingRefund(world);
  n8n.executions.get(executionOf(late)).status = 'running';
  await db.approve(late);
  await until('the approval lapses', async () => (await again(world, late)).status === 'expired');
  n8n.executions.get(executionOf(late)).status = 'waiting';
  await n8n.timeUp(executionOf(late));
  is([n8n.executions.get(executionOf(late)).lastNode, provider.of(late.id).length], ['Expired', 0], 'approved, and not used in time: the same branch');
  await later(world, { use_within: '1 hour' });
}

export async function noWait(world) {
  await later(world, { default_mode: 'auto' });
  await ask(world, 'refund', 'auto-1', { order: 'A-1' });
  const request = await world.db.proposed('auto-1', 'auto-1');
  const execution = world.n8n.executions.get(executionOf(request));
  await execution.done;
  is([execution.lastNode, 'Wait for the decision' in execution.data.resultData.runData], ['Complete', false], 'approved by policy: nobody waits');
  await later(world, { default_mode: 'deny' });
  await ask(world, 'refund', 'deny-1', { order: 'A-1' });
  const denied = world.n8n.executions.get(executionOf(await world.db.proposed('deny-1', 'deny-1')));
  await denied.done;
  is([denied.status, denied.lastNode], ['success', 'Not approved'], 'denied by policy: not approved');
  await later(world, { default_mode: null });
}

export async function twice(world) {
  const { db, n8n, provider } = world;
  const request = await waitingRefund(world);
  await ask(world, 'refund', request.tool_call_id, { order: 'A-1001', amount: 129.9 });
  const second = n8n.latest('approval: refund');
  await until('the second one waits too', () => n8n.executions.get(second).status === 'waiting');
  await db.approve(request);
  await until('it is done', async () => (await again(world, request)).outcome === 'succeeded');
  await n8n.timeUp(second);
  is([n8n.executions.get(second).lastNode, provider.of(request.id).length], ['Used already', 1], 'asked for twice: one request, executed once');
}

export async function busy(world) {
  const { db, n8n } = world;
  const request = await waitingRefund(world);
  const execution = n8n.executions.get(executionOf(request));
  execution.status = 'running';
  await db.approve(request);
  await n8n.tick(resumer);
  ok(await ahead(world, 'executor', request.id, 'approved'), 'an execution that is not waiting yet: the cursor stays before its approval');
  execution.status = 'waiting';
  await n8n.tick(resumer);
  await until('it is woken up', () => execution.status === 'success');
  await passes(world, resumer, 'executor', request.id, 'approved');
  is(execution.lastNode, 'Complete', 'the next reading wakes it up, and the cursor moves');
}

export async function forgotten(world) {
  const { db, n8n } = world;
  const request = await waitingRefund(world);
  const execution = n8n.executions.get(executionOf(request));
  execution.status = 'error';
  await db.approve(request);
  await passes(world, resumer, 'executor', request.id, 'approved');
  execution.status = 'waiting';
  await n8n.tick(resumer);
  is(execution.status, 'waiting', 'what the cursor has passed is not woken up');
  await db.as('postgres', "DELETE FROM n8n.cursors WHERE login = 'executor'");
  await n8n.tick(resumer);
  await until('it is woken up', () => execution.status === 'success');
  is(execution.lastNode, 'Complete', 'without a cursor everything that may still wait is woken up');
}

// The node of the file, with several items at once
export async function batches(world) {
  const { db, n8n } = world;
  const file = n8n.files.find((f) => f.name === 'approval: refund');
  const node = structuredClone(file.nodes.find((n) => n.name === 'Try to consume'));
  const consume = async (queryBatching) => {
    const requests = [];
    for (const n of [1, 2, 3]) {
      requests.push(await db.approve(await db.one('agent', "SELECT * FROM approval.propose($1, 'refund', '{\"order\": \"A-1\"}')", [`${queryBatching}-${n}`])));
    }
    node.parameters.options = { queryBatching, queryReplacement: "={{ [ $json.id, '{\"order\": \"A-1\"}', 'job' ] }}" };
    const execution = new Execution(n8n, { ...file, nodes: [node], connections: {} }, '0');
    const items = requests.map(({ id }) => ({ json: { id } }));
    const [found] = await kinds.postgres(execution, execution.step(execution.workflow.getNode(node.name), items, null));
    return found.map(({ json }) => json.ok ?? JSON.parse(json.error.description).reason);
  };
  is(await consume('independently'), [true, true, true], 'several items, "Independently": each is consumed');
  ok((await consume('single')).every((x) => x !== true), 'as a "Single Query" they would be one transaction, and none is');
  ok((await consume('transaction')).every((x) => x !== true), 'as a "Transaction" neither');
}

export async function provider(world) {
  const { n8n, db } = world;
  const answers = [[[422, { error: 'closed account' }], 'failed', { error: 'closed account' }], [[503, { error: 'busy' }], 'unknown', { error: 'busy' }],
    [[0], 'unknown', { problem: 'no answer' }]];
  for (const [answer, outcome, result] of answers) {
    world.provider.answer = () => answer;
    const request = await waitingRefund(world);
    await db.approve(request);
    await until('it is completed', async () => !['in_flight', null].includes((await again(world, request)).outcome));
    const now = await again(world, request);
    is([now.outcome, now.result], [outcome, result], `the provider says ${answer[0] || 'nothing'}: ${outcome}`);
    await until('the workflow ends', () => n8n.executions.get(executionOf(request)).status === 'success');
  }
  world.provider.answer = () => [422, {}];
  await ask(world, 'refund-three-days', 'refused-1', { order: 'A-1' });
  const request = await db.proposed('refused-1', 'refused-1');
  await until('it waits', () => n8n.executions.get(executionOf(request)).status === 'waiting');
  await db.approve(request);
  const run = () => db.one('agent', "SELECT status, reason FROM approval.run_of('refund-refused-1')");
  await until('the run ends', async () => (await run()).status === 'failed');
  is(await run(), { status: 'failed', reason: 'the refund was not made: it failed at the provider' }, 'and a run ends with the reason');
  world.provider.answer = () => [200, { refund_id: 're_1' }];
}

export async function notApprovedInRun(world) {
  const { db, n8n } = world;
  await ask(world, 'refund-three-days', 'no-1', { order: 'A-1' });
  const request = await db.proposed('no-1', 'no-1');
  await until('it waits', () => n8n.executions.get(executionOf(request)).status === 'waiting');
  await db.reject(request);
  const run = () => db.one('agent', "SELECT status, reason FROM approval.run_of('refund-no-1')");
  await until('the run ends', async () => (await run()).status === 'failed');
  is((await run()).reason, 'the refund was not made: rejected', 'three days: a refund that is rejected ends the run');
}

// Between the permit and the order: somebody else has the run
export async function runTaken(world) {
  const { db, n8n, provider: refunds } = world;
  await ask(world, 'refund-three-days', 'taken-1', { order: 'A-1' });
  const request = await db.proposed('taken-1', 'taken-1');
  const execution = n8n.executions.get(executionOf(request));
  await until('it waits', () => execution.status === 'waiting');
  await db.as('agent', "SELECT FROM approval.claim_run('refund-taken-1', lease => '1 hour')");
  await db.approve(request);
  await until('it is completed', async () => (await again(world, request)).outcome !== null && (await again(world, request)).outcome !== 'in_flight');
  await until('the workflow ends', () => execution.status === 'error');
  is([(await again(world, request)).outcome, refunds.of(request.id).length, JSON.parse(execution.error.message).reason], ['failed', 0, 'run_claimed'],
    'three days: a run that somebody else has taken: not ordered, and recorded as that');
}

export async function twiceInRun(world) {
  const { n8n, db, provider: refunds } = world;
  const ask1 = () => ask(world, 'refund-three-days', 'two-1', { order: 'A-1' });
  await ask1();
  const request = await db.proposed('two-1', 'two-1');
  await until('it waits', () => n8n.executions.get(executionOf(request)).status === 'waiting');
  await ask1();
  const second = n8n.latest('approval: refund of three days');
  await until('the second one waits too', () => n8n.executions.get(second).status === 'waiting');
  await db.approve(request);
  await until('it is completed', async () => (await again(world, request)).outcome === 'succeeded');
  await n8n.timeUp(second);
  is([n8n.executions.get(second).lastNode, refunds.of(request.id).length], ['Used already', 1], 'three days: asked for twice, ordered once');
}

// What becomes of the mail, by what is done while it waits
async function mailOf(world, act) {
  const { db, n8n } = world;
  const { call, request, secret } = await orderedRefund(world);
  await post(`${n8n.base}/webhook/refund-callback`, { reference: request.id, metadata: { secret }, status: 'succeeded', event_id: 'e' });
  const mail = await db.proposed(call, `${call}-mail`);
  const execution = n8n.executions.get(executionOf(mail));
  await until('it waits', () => execution.status === 'waiting');
  await act(mail);
  await until('the workflow ends', () => ['success', 'error'].includes(execution.status));
  const run = await db.one('agent', 'SELECT status, answer FROM approval.run_of($1)', [`refund-${call}`]);
  return { execution, run, mail: await again(world, mail) };
}

export async function mailEnds(world) {
  const { db, mails } = world;
  const no = await mailOf(world, (mail) => db.reject(mail));
  is([no.execution.lastNode, no.run], ['End without a mail', { status: 'completed', answer: 'The refund has been made. The mail was not sent: rejected' }],
    'a mail that is rejected: the run is completed without it');
  mails.answer = () => [0];
  const dead = await mailOf(world, (mail) => db.approve(mail));
  mails.answer = () => [200, {}];
  is([dead.execution.lastNode, dead.mail.outcome, dead.run.status], ['A person has to look', 'unknown', 'running'], 'a mail that may have been sent: a person has to look');
  const frozen = await mailOf(world, async (mail) => {
    await db.as('postgres', "SELECT FROM approval.register_tool('mail', 'action', '{}')");
    await db.as('postgres', "SELECT FROM approval.freeze_tool('mail')");
    await db.approve(mail);
  });
  is([frozen.execution.lastNode, JSON.parse(frozen.execution.error.message).reason], ['Refused', 'tool_frozen'], 'a tool that is frozen meanwhile: refused, with DETAIL');
  await db.as('postgres', "SELECT FROM approval.unfreeze_tool('mail')");
}

// The callback is recorded, and n8n is gone before it goes on
export async function missed(world) {
  const { db, n8n, mails } = world;
  await db.as('postgres', "SELECT FROM approval.update_tool('mail', '{\"default_mode\": \"auto\"}')");
  const { call, request, secret } = await orderedRefund(world);
  await n8n.tick('approval: mail after the refund');
  is(mails.of(call).length, 0, 'no callback yet: the schedule has nothing to do');
  await db.as('agent', "SELECT FROM approval.callback('payments', $1, $2, 'succeeded', '{}')", [request.id, secret]);
  // one run at each tick, and those that cannot go on take their turn too
  await until('the schedule goes on with it', async () => {
    await n8n.tick('approval: mail after the refund');
    return (await db.one('agent', 'SELECT status FROM approval.run_of($1)', [`refund-${call}`])).status === 'completed';
  });
  is(mails.of(call).length, 1, 'a callback whose workflow died: the schedule goes on with it');
  await n8n.tick('approval: mail after the refund');
  is(mails.of(call).length, 1, 'and not twice');
}

// approval.max_wait is a second here
export async function loops(world) {
  const { db, n8n } = world;
  await ask(world, 'refund-three-days-loop', 'loop-1', { order: 'A-1' });
  const request = await db.proposed('loop-1', 'loop-1');
  const execution = n8n.executions.get(n8n.latest('approval: refund of three days (approval.wait)'));
  const rounds = () => execution.data.resultData.runData['Wait for the decision']?.length ?? 0;
  await until('it has asked three times', () => rounds() >= 3);
  is([execution.status, (await again(world, request)).status], ['running', 'pending'], 'approval.wait: while nobody decides, it is asked again');
  await db.reject(request);
  await execution.done;
  is(execution.lastNode, 'End the run', 'and a rejection ends the run');
}

export async function deafChat(world) {
  const { db, n8n, chat } = world;
  const doorbell = 'approval: doorbell';
  chat.answer = () => [503, {}];
  const request = await db.one('agent', "SELECT * FROM approval.propose('chat-down', 'refund', '{}')");
  await n8n.tick(doorbell);
  ok(await ahead(world, 'doorbell', request.id, 'proposed'), 'a chat that is down: the cursor stays before the proposal');
  const tried = chat.of(request.id).length;
  chat.answer = () => [200, {}];
  await passes(world, doorbell, 'doorbell', request.id, 'proposed');
  await n8n.settled();
  const rung = chat.of(request.id).length;
  ok(rung > tried, 'and it rings later');
  await n8n.tick(doorbell);
  is(chat.of(request.id).length, rung, 'and not for ever');
}

export async function tenants(world) {
  const { db, n8n, chat } = world;
  const register = (login, actor) => db.as('postgres', 'SELECT approval.register_login($1, $2, $3, tenants => $4)', [login, 'service', actor, ['', 'a/b & co']]);
  await register('agent', 'agent:support');
  await register('doorbell', 'service:doorbell');
  const request = await db.one('agent', "SELECT * FROM approval.propose('ring-tenant', 'refund', '{}', tenant => 'a/b & co')");
  await n8n.tick('approval: doorbell');
  const [message] = await until('the chat rings', () => chat.of(request.id).length > 0 && chat.of(request.id));
  const link = message.json.text.split('\n').find((line) => line.endsWith(request.id));
  is(link, `https://inbox.example.com/#a%2Fb%20%26%20co/${request.id}`, "a tenant's request: the link has the tenant and the id");
  is(cardAt(new URL(link).hash), { tenant: 'a/b & co', id: request.id }, 'and the inbox opens that card');
}

// Last: nothing starts the triggers again
export async function deaf(world) {
  const { db, n8n, provider: refunds } = world;
  const request = await waitingRefund(world);
  await n8n.tick(resumer);
  ok(n8n.fired[resumer] > 0, 'the Postgres Trigger has fired before');
  await terminateTrigger(world);
  const fired = n8n.fired[resumer];
  const listener = new pg.Client({ user: 'web' });
  await listener.connect();
  const heard = new Promise((resolve) => listener.on('notification', resolve));
  await listener.query('LISTEN approval');
  await db.approve(request);
  await heard;
  await listener.end();
  is([n8n.fired[resumer], n8n.executions.get(executionOf(request)).status], [fired, 'waiting'], 'the doorbell has rung, and the trigger is deaf');
  await n8n.tick(resumer);
  await until('it is executed', async () => (await again(world, request)).outcome === 'succeeded');
  is([refunds.of(request.id).length, n8n.fired[resumer]], [1, fired], "the resumer's schedule wakes the workflow up");
}
