// What has to hold in the little n8n of the light test and in the whole one.
import { is, like, ok, until } from '../tap.mjs';
import { post } from './world.mjs';

let calls = 0;
export const executionOf = (request) => /webhook-waiting\/(\w+)/.exec(request.reply_to)[1];

export const ended = ({ n8n }, id) => until(`execution ${id} ends`, async () => {
  const state = await n8n.state(id);
  return ['success', 'error'].includes(state.status) && state;
});
const waits = ({ n8n }, id) => until(`execution ${id} waits`, async () => {
  const { status, lastNode, error } = await n8n.state(id);
  if (['success', 'error'].includes(status)) throw new Error(`instead of waiting, execution ${id} has ended at ${lastNode}: ${error}`);
  return status === 'waiting';
});
const counted = async ({ db }, sql, values) => Number((await db.one('postgres', sql, values)).count);

export function ask({ n8n }, path, call, args, conversation = call) {
  return post(`${n8n.base}/webhook/${path}`,
    { tool_call_id: call, conversation_id: conversation, args, reason: 'The parcel arrived damaged.' },
    { 'x-caller-key': n8n.callerKey });
}

// A refund that has been asked for, and whose workflow waits
export async function waitingRefund(world, args = { order: 'A-1001', amount: 129.9 }) {
  const call = `call-${++calls}`;
  const answer = await ask(world, 'refund', call, args);
  if (answer.status !== 200) throw new Error(`the webhook says ${answer.status}`);
  const request = await world.db.proposed(call, call);
  await waits(world, executionOf(request));
  return request;
}

export const again = ({ db }, request) => db.request(request.conversation_id, request.tool_call_id);

export async function approved(world) {
  const { db, provider } = world;
  const request = await waitingRefund(world);
  is(request.status, 'pending', 'a refund waits for a person');
  like(request.reply_to, /^http:\/\/[^/]+\/webhook-waiting\/\w+\?signature=[0-9a-f]+\/approval$/, 'reply_to is the resume URL, with the suffix of the Wait node');
  await db.approve(request);
  const state = await ended(world, executionOf(request));
  is([state.status, state.lastNode], ['success', 'Complete'], 'approved: the workflow is woken up and goes on to its end');
  const sent = provider.of(request.id);
  is(sent.map((r) => r.json), [{ reference: request.id, refund: { order: 'A-1001', amount: 129.9 } }], 'the provider is asked once');
  ok(sent[0].headers['idempotency-key']?.length > 0, 'with an idempotency key');
  const { status, outcome, result, execution_id } = await again(world, request);
  is([status, outcome, result, execution_id], ['consumed', 'succeeded', { refund_id: 're_1' }, executionOf(request)], 'and the result is recorded');
}

export async function forged(world) {
  const { db, provider } = world;
  const request = await waitingRefund(world);
  const id = executionOf(request);
  const refused = () => counted(world, "SELECT count(*) FROM approval.refusals WHERE request_id = $1 AND reason = 'not_approved'", [request.id]);
  const stranger = await post(request.reply_to.replace(/=[0-9a-f]+/, '=00'), { approved: true });
  is([stranger.status, await refused()], [401, 0], 'a POST without the token does not even wake the workflow up');
  is([(await fetch(request.reply_to)).status, await refused()], [404, 0], 'and neither does a GET with it, as of a preview of links');
  for (let i = 1; i <= 2; i++) {
    const answer = await post(request.reply_to, { approved: true, ok: true, status: 'approved', detail: { status: 'approved' }, permit: { id: request.id } });
    is(answer.status, 200, `forged POST ${i} to the resume URL is taken`);
    await until('try_consume is refused', async () => (await refused()) === i);
    await waits(world, id);
  }
  is([(await again(world, request)).status, provider.of(request.id).length], ['pending', 0], 'but the request is pending, nothing was executed, and the workflow waits again');
  await db.approve(request);
  is((await ended(world, id)).lastNode, 'Complete', 'the decision goes through afterwards');
  is(provider.of(request.id).length, 1, 'executed once');
}

export async function rejected(world) {
  const request = await waitingRefund(world);
  await world.db.reject(request);
  const state = await ended(world, executionOf(request));
  is([state.status, state.lastNode, world.provider.of(request.id).length], ['success', 'Not approved', 0], 'rejected: a branch of its own, and nothing is executed');
}

// Deaf, and nobody tells n8n
export async function terminateTrigger({ db }) {
  const { pids } = await db.one('postgres', `SELECT array_agg(pid) AS pids FROM pg_stat_activity
    WHERE usename = 'executor' AND query LIKE 'LISTEN%' AND pg_terminate_backend(pid)`);
  ok(pids?.length >= 1, "the backend of the trigger's connection is terminated");
  await until('it is gone', async () => (await db.as('postgres', 'SELECT FROM pg_stat_activity WHERE pid = ANY ($1)', [pids])).length === 0);
}

// What n8n, SQL and JSON each have syntax for
export const nasty = {
  order: "A,1001, 'x'; \"y\"", amount: 129.9, small: 1e-7, nested: { list: [1, 'two, three', null, true, {}], empty: {} },
  dollar: "$1 $2 '$1' $$ ${order} $<order> :name $1:raw", braces: '{{ $json.x }} ={{ 1 + 1 }} {{ process.env.PATH }}',
  lines: 'a\nb\tc\\n \\ \\\\', unicode: 'Zoë 💸 ￿ ±', comment: '/* */ -- ; DROP TABLE n8n.cursors', array: '[1,2]', object: '{"a":1}', blank: '', equals: '=1',
};

export async function unharmed(world) {
  const request = await waitingRefund(world, nasty);
  is(request.arguments, nasty, 'commas, quotes, $1 and {{ }} are proposed as they are');
  await world.db.approve(request);
  is((await ended(world, executionOf(request))).lastNode, 'Complete', 'consumed as they are');
  is(world.provider.of(request.id).map((r) => r.json.refund), [nasty], 'and executed as they are');
}

export async function mismatch(world) {
  const request = await waitingRefund(world);
  await world.db.approve(request, ', arguments => $3', ['{"order": "A-1001", "amount": 100}']);
  const state = await ended(world, executionOf(request));
  is([state.status, state.lastNode], ['error', 'Refused'], 'arguments that a reviewer has corrected: the workflow ends in its error branch');
  const { reason, http, differs } = JSON.parse(state.error);
  is([reason, http, differs], ['hash_mismatch', 412, ['$.amount']], 'with DETAIL of PT412');
  is([(await again(world, request)).status, world.provider.of(request.id).length], ['approved', 0], 'and nothing is executed');
}

export async function conflict(world) {
  const request = await waitingRefund(world);
  await world.db.reject(request);
  await ended(world, executionOf(request));
  const before = await world.n8n.latest('approval: refund');
  await ask(world, 'refund', request.tool_call_id, { order: 'another' });
  const id = await until('another execution', async () => {
    const now = await world.n8n.latest('approval: refund');
    return now !== before && now;
  });
  const state = await ended(world, id);
  is([state.lastNode, JSON.parse(state.error).reason], ['Refused', 'tool_call_conflict'], "a plain verb's refusal goes to the error output, with DETAIL");
}

export async function elsewhere(world) {
  const { db, n8n, canary } = world;
  const targets = [canary.url, `${n8n.base}/webhook-waiting/../webhook/refund`, `${n8n.base}/webhook-waiting/1?signature=ab/approval&x=1`,
    `${n8n.base}.example.com/webhook-waiting/1/approval`, `${canary.url}webhook-waiting/1/approval`];
  const requests = [];
  for (const target of targets) {
    requests.push(await db.one('agent', "SELECT * FROM approval.propose($1, 'refund', '{}', reply_to => $2)", [`elsewhere-${++calls}`, target]));
  }
  for (const request of requests) await db.approve(request);
  await approved(world);
  is(canary.requests.length, 0, 'the resumer posts to the Wait nodes of this n8n, and nowhere else');
}

const charge = (reference, secret, status, event) => ({ reference, metadata: { secret }, status, event_id: event, refund_id: 're_1' });

// Asked for, approved, ordered at the provider: then days pass
export async function orderedRefund(world, loop = '') {
  const { db, provider } = world;
  const call = `days-${++calls}`;
  await ask(world, `refund-three-days${loop}`, call, { order: call, amount: 40, mail: 'kim@example.com' });
  const request = await db.proposed(call, call);
  if (!loop) await waits(world, executionOf(request));
  await db.approve(request, ', arguments => $3', [JSON.stringify({ order: call, amount: 39.5, mail: 'kim@example.com' })]);
  await until('it is completed', async () => (await again(world, request)).outcome === 'succeeded');
  const [order] = provider.of(request.id);
  return { call, request, secret: order.json.metadata.secret, refund: order.json.refund };
}

const run = ({ db }, call) => db.one('agent', 'SELECT status, answer, reason FROM approval.run_of($1)', [`refund-${call}`]);
const handle = ({ db }, id) => db.one('agent', 'SELECT outcome, result FROM approval.handle_list WHERE handle = $1', [id]);

export async function threeDays(world, loop = '') {
  const { n8n, db, mails } = world;
  const kind = loop ? 'approval.wait' : 'Wait node';
  const { call, request, secret, refund } = await orderedRefund(world, loop);
  is(refund, { order: call, amount: 39.5, mail: 'kim@example.com' }, `three days (${kind}): ordered with the arguments as a reviewer has corrected them`);
  is([(await run(world, call)).status, (await handle(world, request.id)).outcome], ['running', null], 'the run goes on, nobody holds it, and the handle has no answer yet');

  const url = `${n8n.base}/webhook/refund-callback${loop}`;
  is((await post(url, charge(request.id, 'guessed', 'succeeded', 'e0'))).status, 404, 'a callback without the secret is refused');
  is((await post(url, charge(request.id, secret, 'processing', 'e1'))).status, 200, 'one that says nothing final is not recorded');
  is((await handle(world, request.id)).outcome, null, 'nothing of it is kept');
  is((await post(url, charge(request.id, secret, 'succeeded', 'e2'))).status, 200, 'days later the provider calls back');
  is(await handle(world, request.id), { outcome: 'succeeded', result: { refund: 're_1' } }, 'which is recorded');

  const mail = await db.proposed(call, `${call}-mail`);
  is([mail.status, mail.arguments], ['pending', { to: 'kim@example.com', template: 'refunded', order: call }], 'the mail is proposed, and waits for a person');
  is(mails.of(call).length, 0, 'no mail before that');
  if (!loop) await waits(world, executionOf(mail));
  await db.approve(mail);
  await until('the run ends', async () => (await run(world, call)).status === 'completed');
  is(mails.of(call).map((m) => m.json), [mail.arguments], 'then it is sent');
  is((await again(world, mail)).outcome, 'succeeded', 'and the run is completed');

  is((await post(url, charge(request.id, secret, 'succeeded', 'e2'))).status, 200, 'the provider delivers twice');
  is((await post(url, charge(request.id, secret, 'failed', 'e3'))).status, 409, 'or says something else');
  is([mails.of(call).length, (await run(world, call)).status], [1, 'completed'], 'one mail');
}

export async function failedRefund(world) {
  const { n8n, mails } = world;
  const { call, request, secret } = await orderedRefund(world);
  await post(`${n8n.base}/webhook/refund-callback`, charge(request.id, secret, 'failed', 'e1'));
  await until('the run ends', async () => (await run(world, call)).status === 'failed');
  is([(await run(world, call)).reason, mails.of(call).length], ['the provider could not refund', 0], 'the provider calls back with a failure: the run fails, and there is no mail');
}

export async function rings(world) {
  const { chat, db } = world;
  const request = await db.one('agent', "SELECT * FROM approval.propose($1, 'refund', $2, agent_reason => $3, reply_to => $4)",
    [`ring-${++calls}`, '{"order": "<b>A-9</b>"}', 'Click http://evil.example.com', 'http://127.0.0.1:1/secret']);
  const [message] = await until('the chat rings', () => chat.of(request.id).length > 0 && chat.of(request.id));
  like(message.json.text, new RegExp(`^[0-9]+ waiting for a decision:(\\n(https://inbox\\.example\\.com/#/[0-9A-Z]{26}|…))+$`),
    'the chat gets links to the inbox, and nothing that an agent wrote');
  await db.reject(request);
  return request;
}
