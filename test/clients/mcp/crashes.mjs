// What is left when somebody dies in the middle.
import { is, like, ok, until } from '../tap.mjs';
import { gateAnswer, refund, resume } from './setup.mjs';
import { killed } from './world.mjs';

async function killedWhilePending({ as, alice, startGateway, approve, shop }) {
  const doomed = await startGateway();
  const call = refund();
  const { handle } = gateAnswer(await (await as(alice, {}, doomed)).callTool(call));
  await killed(doomed.child);
  const client = await as(alice);
  is(gateAnswer(await client.callTool(call)).handle, handle, 'the same call through another instance is the same request');
  await approve(handle);
  const paid = shop.refunds.length;
  is((await client.callTool(call))._meta['approval/outcome'], 'succeeded', 'and once it is approved, calling it again goes on with it');
  is(shop.refunds.length, paid + 1, 'once');
  await client.close();
}

async function toldToEndWhileExecuting({ as, alice, startGateway, approve, shop, request }) {
  const leaving = await startGateway();
  const client = await as(alice, {}, leaving);
  const { handle } = gateAnswer(await client.callTool(refund()));
  await approve(handle);
  let gone;
  shop.afterRefund = async () => {
    gone = killed(leaving.child, 'SIGTERM');
    await new Promise((resolve) => { setTimeout(resolve, 500); });
  };
  const answer = await client.callTool(resume(handle));
  shop.afterRefund = undefined;
  is([answer._meta['approval/outcome'], (await request(handle)).outcome], ['succeeded', 'succeeded'], 'an instance that is told to end reports what it runs');
  await client.close();
  await gone;
  is(leaving.child.exitCode, 0, 'and ends');
}

async function theClientLeavesWhileExecuting({ as, alice, approve, shop, request }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  await approve(handle);
  shop.afterRefund = () => client.close();
  await client.callTool(resume(handle)).catch(() => {});
  shop.afterRefund = undefined;
  is(await until('the report', async () => {
    const { outcome } = await request(handle);
    return outcome !== 'in_flight' && outcome;
  }), 'succeeded', 'a client that hangs up does not stop what runs');
}

// Begins an execution and kills the instance in the middle of it.
async function killedWhileExecuting({ as, alice, startGateway, shop }, call, handle) {
  const doomed = await startGateway();
  const client = await as(alice, {}, doomed);
  let hits = 0;
  const entered = new Promise((resolve) => {
    shop.afterRefund = () => { hits++; resolve(); return new Promise(() => {}); };
  });
  client.callTool(resume(handle)).catch(() => {});
  await entered;
  await killed(doomed.child);
  shop.afterRefund = () => { hits++; };
  return () => hits;
}

async function killedBetweenConsumeAndComplete(world) {
  const { as, alice, approve, shop, admin, web, request } = world;
  await admin.row(`SELECT verb FROM approval.update_tool('refund', '{"lease": "1 second"}', server => 'payments')`);
  const client = await as(alice);
  const call = refund();
  const { handle } = gateAnswer(await client.callTool(call));
  await approve(handle);
  const hits = await killedWhileExecuting(world, call, handle);
  const open = await client.callTool(call);
  ok(['in_flight', 'unknown'].includes(gateAnswer(open).outcome), 'the same call after the crash is not executed again', open);
  const unknown = await until('the lease', async () => {
    const answer = await client.callTool(call);
    return gateAnswer(answer).outcome === 'unknown' && answer;
  });
  is(unknown.isError, true, 'once the lease is over, nobody knows what became of it');
  like(unknown.content[0].text, /Nobody knows/, 'and the model is told so');
  await client.callTool(resume(handle));
  is(hits(), 1, 'the server was called once');
  await web.row("SELECT outcome FROM approval.reconcile($1, 'succeeded', 'The bank says so.', actor => 'user:7')", handle);
  const settled = await client.callTool(call);
  is([settled._meta['approval/outcome'], settled.isError], ['succeeded', false], 'a person settles it');
  is([hits(), (await request(handle)).reconciled_by], [1, 'user:7'], 'and nothing runs after that');
  shop.afterRefund = undefined;
  await admin.row(`SELECT verb FROM approval.update_tool('refund', '{"lease": null}', server => 'payments')`);
  await client.close();
}

async function theDatabaseIsAwayForAMoment({ as, alice, approve, shop, admin, request }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  await approve(handle);
  shop.afterRefund = () => admin.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mcp'");
  const answer = await client.callTool(resume(handle));
  shop.afterRefund = undefined;
  is([answer._meta['approval/outcome'], (await request(handle)).outcome], ['succeeded', 'succeeded'],
    'an execution is recorded although its connection was ended meanwhile');
  await client.close();
}

async function theDatabaseIsAwayForLong({ as, alice, approve, shop, admin }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  await approve(handle);
  shop.afterRefund = async () => {
    await admin.row('ALTER ROLE mcp NOLOGIN');
    await admin.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mcp'");
  };
  const answer = await client.callTool(resume(handle));
  shop.afterRefund = undefined;
  await admin.row('ALTER ROLE mcp LOGIN');
  is([answer.isError, gateAnswer(answer).outcome], [true, 'unknown'], 'what was executed and could not be recorded is not called "not executed"');
  const again = gateAnswer(await client.callTool(resume(handle)));
  is([again.status, again.outcome], ['consumed', 'in_flight'], 'and is not executed again');
  await client.close();
}

async function theServerDiesAfterTheEffect({ as, alice, approve, shop, payments, request }) {
  const client = await as(alice);
  const call = refund();
  const { handle } = gateAnswer(await client.callTool(call));
  await approve(handle);
  const paid = shop.refunds.length;
  shop.afterRefund = () => payments.closeAllConnections();
  const answer = await client.callTool(resume(handle));
  shop.afterRefund = undefined;
  is([answer.isError, gateAnswer(answer).outcome, (await request(handle)).outcome], [true, 'unknown', 'unknown'],
    'a connection that broke after the payment is no failure, but unknown');
  await client.callTool(call);
  await client.callTool(resume(handle));
  is(shop.refunds.length, paid + 1, 'and it is not tried again');
  await client.close();
}

export default [
  theServerDiesAfterTheEffect, killedWhilePending, toldToEndWhileExecuting,
  theClientLeavesWhileExecuting, killedBetweenConsumeAndComplete, theDatabaseIsAwayForAMoment, theDatabaseIsAwayForLong,
];
