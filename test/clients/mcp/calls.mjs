// From the call to the answer.
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { is, like, ok } from '../tap.mjs';
import { gateAnswer, refund, resume } from './setup.mjs';

async function policyRunsWhatItAllows({ as, alice, shop, request }) {
  const client = await as(alice);
  is(client.getNegotiatedProtocolVersion(), '2026-07-28', 'the client speaks the revision without sessions');
  const read = await client.callTool({ name: 'payments__order_status', arguments: { order: 'A-7' } });
  is(read.structuredContent, { order: 'A-7', status: 'delivered' }, 'a read runs inline');
  const row = await request(read._meta['approval/handle']);
  is([row.mode, row.status, row.outcome], ['inline', 'consumed', 'untracked'], 'and is logged');

  const call = refund(12);
  const answer = await client.callTool(call);
  is(answer.structuredContent, { refund: shop.refunds.at(-1).id }, 'a small refund runs at once');
  is([answer._meta['approval/status'], answer._meta['approval/outcome']], ['consumed', 'succeeded'], 'approved by policy, consumed and completed');
  const paid = shop.refunds.length;
  is((await client.callTool(call)).structuredContent, answer.structuredContent, 'the same call again gets the stored result');
  is(shop.refunds.length, paid, 'and pays nothing');
  await client.close();
}

async function argumentsStayWhatTheyAre({ as, alice, shop, request, approve, gateways }) {
  const client = await as(alice);
  const empty = gateAnswer(await client.callTool({ name: 'payments__refund', arguments: {} }));
  is((await request(empty.handle)).text, '{}', 'no arguments are {}');
  await approve(empty.handle);
  await client.callTool(resume(empty.handle));
  is(shop.refunds.at(-1).args, {}, 'and {} for the server too');

  const nested = { order: 'A-n', amount: 30, tags: {}, lines: [], rate: 1.10 };
  const { handle } = gateAnswer(await client.callTool({ name: 'payments__refund', arguments: nested }));
  await approve(handle);
  await client.callTool(resume(handle));
  is(shop.refunds.at(-1).args, nested, 'objects and lists that are empty stay what they are');

  const raw = async (args) => {
    const answer = await fetch(gateways[0].url, {
      method: 'POST', body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"payments__refund","arguments":${args}}}`,
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    });
    return answer.text();
  };
  like(await raw('{"order":"A-1","amount":9007199254740993}'), /not_canonical/, 'a number that JavaScript would round is refused, and not rounded');
  like(await raw('{"order":"A-1","amount":5000,"amount":5}'), /not_canonical/, 'so is a key that stands twice');
  await client.close();
}

async function pendingAndResumed({ as, alice, shop, approve, gateways, request }) {
  const client = await as(alice);
  const call = refund(100, { 'approval/run_id': 'run-1', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' });
  const first = await client.callTool(call);
  const { handle, status } = gateAnswer(first);
  is([status, first.isError], ['pending', false], 'the rest waits for a person');
  like(gateAnswer(first).summary, /Refund 100 for order "A-/, 'the answer says what is waited for');
  is(gateAnswer(await client.callTool(resume(handle))).status, 'pending', 'it still waits when it is asked for too early');
  await approve(handle);

  const paid = shop.refunds.length;
  const elsewhere = await as(alice, {}, gateways[1]);
  const answer = await elsewhere.callTool(resume(handle));
  is([answer.structuredContent?.refund, shop.refunds.length], [shop.refunds.at(-1).id, paid + 1], 'another instance executes it');
  const { meta } = shop.refunds.at(-1);
  is([meta['approval/run_id'], meta['approval/handle'], meta.traceparent], ['user:alice/run-1', handle, call._meta.traceparent],
    'the server is told the correlation id, the request and the trace');
  is(answer._meta['approval/run_id'], 'user:alice/run-1', 'and so is the client');
  is((await client.callTool(resume(handle))).structuredContent, answer.structuredContent, 'the first instance has the same result');
  is((await client.callTool(call)).structuredContent, answer.structuredContent, 'the same call too');
  const row = await request(handle);
  is([row.outcome, row.executor_login, row.requester_login, row.requested_by, row.on_behalf_of],
    ['succeeded', 'mcp', 'mcp', 'service:mcp', 'user:alice'], 'the gate has it, for the one who asked');
  await Promise.all([client.close(), elsewhere.close()]);
}

async function waitingIsForADecision({ as, alice, approve }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  const waiting = client.callTool(resume(handle, { wait: 30 }));
  await approve(handle);
  is((await waiting)._meta['approval/outcome'], 'succeeded', 'who waits is answered by the decision');
  await client.close();
}

async function waitingHoldsNobodyUp({ as, alice, bob }) {
  const [hers, his] = await Promise.all([as(alice), as(bob)]);
  const { handle } = gateAnswer(await hers.callTool(refund()));
  const begun = Date.now();
  const waiting = Array.from({ length: 25 }, () => hers.callTool(resume(handle, { wait: 8 })));
  await his.callTool(refund(5));
  const took = Date.now() - begun;
  ok(took < 5000, 'however many wait, others are served meanwhile', took);
  is(new Set((await Promise.all(waiting)).map((answer) => gateAnswer(answer).status)), new Set(['pending']), 'and whoever waits is answered');
  await Promise.all([hers.close(), his.close()]);
}

async function twoResumesAtOnce({ as, alice, shop, approve, gateways, request }) {
  const clients = await Promise.all(gateways.map((gateway) => as(alice, {}, gateway)));
  for (let round = 1; round <= 5; round++) {
    const { handle } = gateAnswer(await clients[0].callTool(refund()));
    await approve(handle);
    const paid = shop.refunds.length;
    // The server answers when both have come as far as they get.
    let entered;
    const inside = new Promise((resolve) => { entered = resolve; });
    let leave;
    const hold = new Promise((resolve) => { leave = resolve; });
    shop.afterRefund = () => { entered(); return hold; };
    const both = clients.map((client) => client.callTool(resume(handle)));
    await inside;
    const loser = await Promise.race(both);
    leave();
    const answers = await Promise.all(both);
    shop.afterRefund = undefined;
    is(shop.refunds.length, paid + 1, `two instances resume at once: one payment (${round})`);
    is([gateAnswer(loser).status, gateAnswer(loser).outcome, loser.isError], ['consumed', 'in_flight', false], 'the slower one is told that it is running');
    is(answers.filter((answer) => answer.structuredContent.refund).length, 1, 'the faster one has the result');
    is((await request(handle)).outcome, 'succeeded', 'which is recorded');
  }
  await Promise.all(clients.map((client) => client.close()));
}

async function whatIsNotApprovedDoesNotRun({ as, alice, shop, web, request }) {
  const client = await as(alice);
  const paid = shop.refunds.length;
  const denied = await client.callTool(refund(9000));
  is([denied.isError, gateAnswer(denied).status], [true, 'rejected'], 'what policy denies is an error for the model');
  like(denied.content[0].text, /^Not executed: it is not allowed\. .*made by the bank/, 'with the reason of the rule, and nobody who said it');
  const { handle } = gateAnswer(await client.callTool(refund()));
  const { review_hash: seen } = await request(handle);
  await web.row("SELECT status FROM approval.reject($1, $2, actor => 'user:7', result => 'The parcel is on its way.')", handle, seen);
  const answer = await client.callTool(resume(handle));
  like(answer.content[0].text, /on its way/, 'what a reviewer rejects is one too, with the text for the model');
  is([answer.isError, shop.refunds.length], [true, paid], 'nothing was paid');
  await client.close();
}

async function correctionsAreWhatRuns({ as, alice, shop, web, request }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund(300)));
  const { review_hash: seen } = await request(handle);
  await web.row(`SELECT status FROM approval.edit($1, $2, '{"order": "A-e", "amount": 250}', actor => 'user:7')`, handle, seen);
  await client.callTool(resume(handle));
  is(shop.refunds.at(-1).args, { order: 'A-e', amount: 250 }, 'the corrected arguments are what is executed');
  await client.close();
}

async function badResultsAreNoSuccess({ as, alice, shop, approve, request }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  await approve(handle);
  shop.afterRefund = (made) => { made.id = 'pending'; };
  const answer = await client.callTool(resume(handle));
  shop.afterRefund = undefined;
  is([answer.isError, gateAnswer(answer).outcome, (await request(handle)).cause], [true, 'unknown', 'bad_result'],
    'a success without the result of one is nobody\'s success');
  await client.close();
}

async function inlineIsAskedAnew({ as, alice, shop, web, admin }) {
  const client = await as(alice);
  const call = { name: 'payments__order_status', arguments: { order: 'A-8' }, _meta: { 'approval/tool_call_id': 'read-1', 'approval/conversation_id': 'chat-r' } };
  await client.callTool(call);
  const reads = shop.reads.length;
  is((await client.callTool(call)).structuredContent?.status, 'delivered', 'a read may be repeated');
  is(shop.reads.length, reads + 1, 'and is read again');
  await web.row("SELECT verb FROM approval.freeze_tool('order_status', 'a leak', server => 'payments', actor => 'user:8')");
  const answer = await client.callTool(call);
  is([gateAnswer(answer).reason, shop.reads.length], ['tool_frozen', reads + 1], 'but not with the permission of before');
  await admin.row("SELECT verb FROM approval.unfreeze_tool('order_status', 'fixed', server => 'payments')");
  await client.close();
}

async function theOlderClient({ gateways, alice, approve, shop }) {
  const client = new OldClient({ name: 'old', version: '1' });
  await client.connect(new OldTransport(new URL(gateways[0].url), { requestInit: { headers: { authorization: `Bearer ${alice.token}` } } }));
  ok((await client.listTools()).tools.some((tool) => tool.name === 'payments__refund'), 'the older SDK lists the tools');
  const answer = await client.callTool({ name: 'payments__refund', arguments: { order: 'A-old', amount: 77 } });
  const { handle, status } = gateAnswer(answer);
  is([status, answer.isError, answer.content[0].type], ['pending', false, 'text'], 'and gets "pending" as a normal result');
  await approve(handle);
  const done = await client.callTool(resume(handle));
  is([done.structuredContent?.refund, shop.refunds.at(-1).args.order], [shop.refunds.at(-1).id, 'A-old'], 'and goes on with the handle');
  await client.close();
}

async function whatIsNotThere({ as, alice }) {
  const client = await as(alice);
  const reason = async (name) => gateAnswer(await client.callTool({ name, arguments: {} })).reason;
  is(await reason('payments__nothing'), 'no_such_tool', 'a tool that the server does not have');
  is(await reason('nobody__refund'), 'no_such_tool', 'an alias that is not configured');
  is(await reason('gone__refund'), 'upstream_unavailable', 'a server that does not answer');
  await client.close();
}

export default [
  policyRunsWhatItAllows, argumentsStayWhatTheyAre, pendingAndResumed, waitingIsForADecision, waitingHoldsNobodyUp, twoResumesAtOnce,
  whatIsNotApprovedDoesNotRun, correctionsAreWhatRuns, badResultsAreNoSuccess, inlineIsAskedAnew, theOlderClient, whatIsNotThere,
];
