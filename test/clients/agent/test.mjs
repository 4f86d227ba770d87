import { done, is, like, note, ok, until } from '../tap.mjs';
import { connectGateway } from '../../../docs/examples/agent/gateway.mjs';
import { Worker } from '../../../docs/examples/agent/worker.mjs';
import { killed } from '../mcp/world.mjs';
import { setUp } from './setup.mjs';

const world = await setUp();
const { kim, lee, web, admin, ask, work, startWorker, approve, refunds, tools, trace } = world;

const evidence = (rows) => rows.filter((row) => row.kind === 'retrieval').map((row) => row.detail.chunks.map((chunk) => chunk.id));

async function aPolicyQuestionReachesTheHandbook() {
  const run = await ask(kim, 'How long may I return a parcel?');
  const { text } = await work(run, kim);
  is(text, 'completed: Customers of Acme may return a parcel within 30 days. The return is free. [acme-returns]', 'the answer is that of the handbook, with its source');
  is(await tools(run), ['knowledge.search'], 'nothing but the knowledge tool was called');
  is(evidence(await trace(run)), [['acme-returns']], 'the evidence stands on the run, and is that of this tenant');
  const other = await ask(lee, 'How long may I return a parcel?');
  like((await work(other, lee)).text, /^completed: Customers of Globex .* \[globex-returns\]$/, 'another customer has another handbook');
  is((await work(run, lee)).text, 'refused: not_found', 'and does not find the run of the first');
}

async function nothingFoundIsSaid() {
  const run = await ask(kim, 'What are your opening hours?');
  is((await work(run, kim)).text, 'completed: I found nothing about that in our handbook.', 'nothing found is said plainly');
  is(evidence(await trace(run)), [[]], 'and that nothing was found is the evidence');
}

async function anAccountQuestionReachesTheLiveSystem() {
  const first = await ask(kim, 'Where is A-1002?');
  is((await work(first, kim)).text, 'completed: Order A-1002 is on its way.', 'an order is looked up');
  is(await tools(first), ['orders.lookup'], 'in the live system, and nowhere else');
  await admin.rows("UPDATE orders.orders SET status = 'delivered' WHERE id = 'A-1002'");
  const second = await ask(kim, 'Where is A-1002?');
  is((await work(second, kim)).text, 'completed: Order A-1002 is delivered.', 'as it is at that moment');
  const foreign = await ask(kim, 'Where is G-1?');
  is((await work(foreign, kim)).text, 'completed: I could not look up G-1: There is no such order.', 'an order of another tenant does not exist');
}

async function halfAResultIsNotShownAsOne() {
  await admin.rows("INSERT INTO orders.orders (tenant, id, status, total) VALUES ('acme', 'A-9', NULL, 1)");
  const run = await ask(kim, 'Where is A-9?');
  is((await work(run, kim)).text, 'completed: I could not look up A-9: Not executed: degraded_result', 'what the validator refuses does not reach the model as a result');
}

async function anActionFiresTheGate() {
  const run = await ask(kim, 'Please refund A-1001.');
  const first = await work(run, kim);
  const handle = /^waits for a person: (\w+)$/m.exec(first.text)?.[1];
  like(first.text, /\nawaiting_approval$/, 'the run waits, and the worker has given it back and ended');
  is(await tools(run), ['orders.lookup', 'payments.refund'], 'the order was looked up, the refund proposed');
  is(await refunds('A-1001'), [], 'nothing is paid');
  const shown = await web.row('SELECT summary, server, class, on_behalf_of, tenant FROM approval.inbox WHERE id = $1', handle);
  is([shown.class, shown.on_behalf_of, shown.tenant], ['action', 'user:kim', 'acme'], 'a person sees it in the inbox');
  like(shown.summary, /Refund 129.9 for order "A-1001"/, 'with the total that the live system had');
  await approve(handle);
  const second = await work(run, kim, 1);
  like(second.text, /^completed: The refund of A-1001 is made: re_\d+\.$/, 'another worker, over another gateway, goes on once it is approved');
  is((await refunds('A-1001')).map((refund) => refund.amount), [129.9], 'and it is paid, once');
  is((await work(run, kim)).code, 1, 'there is nothing left to do for a third one');
  return { run, handle };
}

async function oneIdJoinsAllOfIt({ run, handle }) {
  const rows = await trace(run);
  const has = (source, kind, more = () => true) => ok(rows.some((row) => row.source === source && row.kind === kind && more(row)),
    `the trace has ${source} ${kind}`, rows.map((row) => `${row.source} ${row.kind} ${row.name ?? ''}`));
  has('run', 'run_started');
  has('run', 'run_claimed');
  has('step', 'model_call', (row) => row.name === 'scripted');
  has('request', 'proposed', (row) => row.name === 'lookup');
  has('request', 'proposed', (row) => row.name === 'refund');
  has('decision', 'approved', (row) => row.actor === 'user:7');
  has('execution', 'consumed');
  has('execution', 'completed');
  has('run', 'run_completed');
  is(rows.filter((row) => row.kind === 'run_claimed').length, 2, 'both workers are in it');
  is((await refunds('A-1001')).map((refund) => [refund.run_id, refund.request_id]), [[run, handle]], 'the payment system has the same id');
  const [{ n }] = await admin.rows('SELECT count(*)::int AS n FROM agent.messages WHERE run_id = $1', run);
  is(n, 6, 'and so has the conversation');
  like((await web.row("SELECT approval.timeline($1, 'text', tenant => 'acme') AS text", run)).text, /refund/, 'it can be read as a story');
}

async function aNoIsTold() {
  const run = await ask(kim, 'Please refund A-1001.');
  const handle = /person: (\w+)/.exec((await work(run, kim)).text)[1];
  const { review_hash: seen } = await web.row('SELECT review_hash FROM approval.inbox WHERE id = $1', handle);
  await web.row("SELECT status FROM approval.reject($1, $2, actor => 'user:7', result => 'It was refunded last week.', tenant => 'acme')", handle, seen);
  like((await work(run, kim)).text, /^completed: The refund of A-1001 was not made\..*refunded last week/, 'a rejection is told to the customer');
}

async function aSmallOneRunsByItself() {
  const run = await ask(kim, 'Please refund A-1002.');
  like((await work(run, kim)).text, /^completed: The refund of A-1002 is made/, 'policy lets a small refund run, with nobody waiting');
}

async function whatNobodyKnowsIsNotDenied() {
  const results = (start) => admin.rows("SELECT verb FROM approval.update_tool('refund', $1, server => 'payments', tenant => '*')",
    JSON.stringify({ results: [{ requires: `$.structuredContent.refund starts with "${start}"`, reason: 'a refund has a number' }] }));
  await results('other');
  const run = await ask(kim, 'Please refund A-1002.');
  is((await work(run, kim)).text, 'completed: Whether A-1002 was refunded is not known yet. We find out.', 'a payment that nobody is sure of is not called "not made"');
  await results('re_');
}

async function oneKeyIsOnePayment() {
  const params = { name: 'refund', arguments: { order: 'A-1', amount: 5 }, _meta: { 'approval/tenant': 'acme', 'approval/idempotency_key': 'twice' } };
  const pay = () => fetch(world.upstreams.payments.url, {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: { authorization: `Bearer ${process.env.PAYMENTS_TOKEN}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  }).then((answer) => answer.text());
  await admin.rows('ALTER TABLE payments.refunds ADD CHECK (idempotency_key <> \'twice\' OR pg_sleep(0.5) IS NOT NULL)');
  const answers = await Promise.all([pay(), pay()]);
  ok(answers.every((answer) => /"refund":"re_\d+"/.test(answer)), 'sent twice at once, both are told of the payment', answers);
  is((await refunds('A-1')).length, 1, 'and there is one');
}

async function aRunWithoutAQuestionEnds() {
  const gateway = await connectGateway(world.gateways[0].url, kim.token);
  const { run_id: run } = await gateway.run('start_run', { conversation_id: 'died' });
  await gateway.close();
  like((await work(run, kim)).text, /^failed$/, 'a run whose question was never saved ends');
}

async function evidenceIsOfTheHandbook() {
  const steps = [];
  const gateway = { run: async (verb) => { steps.push(verb); } };
  const worker = new Worker({ gateway, messages: { add: async () => {} } });
  Object.assign(worker, { held: {}, messages: [] });
  await worker.keep({ id: 'c', tool: 'orders.status' }, { structuredContent: { chunks: 'mine', query: 'x' } });
  is([steps, worker.messages.length], [[], 1], 'chunks of another tool are no evidence, and do not stop the worker');
}

// Held with a lease of seconds, and patient enough to be there when it is killed.
const patient = { LEASE: '8', PATIENCE: '100000' };

async function startWaiting(order) {
  await admin.rows("INSERT INTO orders.orders (tenant, id, status, total) VALUES ('acme', $1, 'delivered', 80)", order);
  const run = await ask(kim, `Please refund ${order}.`);
  const worker = startWorker(run, kim, 0, patient);
  const line = await until('the question', () => worker.lines.find((text) => text.startsWith('waits for a person')));
  return { run, worker, handle: line.split(': ')[1] };
}

// As a scheduler does: again, until nobody holds the run.
const takeOver = (run) => until('the lease', async () => {
  const { code, text } = await work(run, kim, 1, { PATIENCE: '60' });
  return code !== 75 && text;
}, 200);

async function aKilledWorkersRunIsResumed() {
  const { run, worker, handle } = await startWaiting('K-1');
  const early = await work(run, kim, 1);
  is([early.code, early.text], [75, 'refused: run_claimed'], 'a run that somebody holds is not to be had');
  await killed(worker.child);
  await approve(handle);
  like(await takeOver(run), /completed: The refund of K-1 is made/, 'kill -9 while it waited: another instance goes on with the run');
  is((await refunds('K-1')).length, 1, 'and pays once');
  is((await tools(run)).filter((tool) => tool === 'payments.refund').length, 1, 'for one request: the call was not proposed anew');
  const claims = (await trace(run)).filter((row) => row.kind === 'run_claimed');
  is(new Set(claims.map((row) => row.name)).size, 2, 'the trace has both holders');
}

async function aWorkerThatWakesUpDoesNoHarm() {
  const { run, worker, handle } = await startWaiting('K-2');
  worker.child.kill('SIGSTOP');
  await approve(handle);
  like(await takeOver(run), /completed: The refund of K-2 is made/, 'a worker that hangs is taken over from');
  worker.child.kill('SIGCONT');
  is(await worker.exit, 1, 'when it wakes up it ends');
  // Its connection may not have outlived the sleep.
  like(worker.lines.at(-1), /^refused: (run_|fetch failed)/, 'since it is refused');
  is((await refunds('K-2')).length, 1, 'and nothing is paid twice');
}

async function everyCapabilityHasOneOwner() {
  const second = await admin.rows(`SELECT verb FROM approval.register_tool('pay_back', 'action',
    '{"capability": "payments.refund", "owner": "team growth"}', server => 'growth', tenant => '*')`).catch((error) => error.code);
  is(second, 'PT422', 'a second tool for the same thing is refused');
  const rows = await web.rows("SELECT DISTINCT capability, owner, via, bypass FROM approval.capabilities ORDER BY capability");
  is(rows, [
    { capability: 'knowledge.policies', owner: 'team support', via: 'request', bypass: null },
    { capability: 'orders.status', owner: 'team shop', via: 'request', bypass: null },
    { capability: 'payments.refund', owner: 'team payments', via: 'request', bypass: null },
  ], 'and every call of this test went through the tool of the owner');
}

async function nobodyReachesAServiceBesideTheGateway() {
  for (const [name, { url }] of Object.entries(world.upstreams)) {
    const answer = await fetch(url, { method: 'POST', body: '{}', headers: { authorization: `Bearer ${kim.token}` } });
    is(answer.status, 401, `${name} answers the gateway only`);
  }
  const [{ roles }] = await admin.rows(`SELECT count(*)::int AS roles FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
    WHERE m.member = 'orchestrator'::regrole`);
  is(roles, 0, 'the orchestrator has no role of the gate');
}

const refunded = {};

for (const test of [
  aPolicyQuestionReachesTheHandbook, nothingFoundIsSaid, anAccountQuestionReachesTheLiveSystem, halfAResultIsNotShownAsOne,
  anActionFiresTheGate, oneIdJoinsAllOfIt, aNoIsTold, aSmallOneRunsByItself,
  whatNobodyKnowsIsNotDenied, oneKeyIsOnePayment, aRunWithoutAQuestionEnds, evidenceIsOfTheHandbook, aKilledWorkersRunIsResumed,
  aWorkerThatWakesUpDoesNoHarm, everyCapabilityHasOneOwner, nobodyReachesAServiceBesideTheGateway,
]) {
  note(test.name);
  Object.assign(refunded, await test(refunded));
}
done();
process.exit();
