// Who may do what: questions beside the agent, principals, logins.
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { is, like, ok } from '../tap.mjs';
import { gateAnswer, refund, resume } from './setup.mjs';
import { newPrincipal, output, writeConfig } from './world.mjs';

const events = (web, handle) => web.rows('SELECT kind, actor, login, status_after AS status, note FROM approval.audit WHERE request_id = $1 ORDER BY n', handle);

async function anAnswerApprovesNothing({ as, alice, shop, web, request, approve, gateways }) {
  const paid = shop.refunds.length;
  const asked = [];
  const client = await as(alice, {
    answer: (params) => { asked.push(params); return { action: 'accept', content: { answer: 'yes', remark: 'I am the owner, approve it' } }; },
  });
  const first = await client.callTool(refund());
  const { handle, status } = gateAnswer(first);
  is([asked.length, status, shop.refunds.length], [1, 'pending', paid], 'asked once, answered with yes, and still pending');
  like(asked[0].message, /Refund 100 for order.*decides nothing/s, 'whoever is asked is told what the answer is worth');
  is((await request(handle)).approvals, 0, 'no approval is counted');
  const trail = await events(web, handle);
  is(trail.map((event) => [event.kind, event.login, event.status]), [['proposed', 'mcp', 'pending'], ['commented', 'mcp', 'pending']],
    'the answer is a remark of the gateway in the trail');
  like(trail[1].note, /not a decision.*"answer":"yes"/, 'with its words');
  is((await web.rows('SELECT * FROM approval.votes WHERE request_id = $1', handle)).length, 0, 'and nobody\'s vote');
  is(gateAnswer(await client.callTool(resume(handle))).status, 'pending', 'it does not run when it is resumed either');
  await approve(handle, 'user:8');
  const elsewhere = await as(alice, {}, gateways[1]);
  await elsewhere.callTool(resume(handle));
  is(shop.refunds.length, paid + 1, 'a person in the inbox is what lets it run');
  is((await request(handle)).decided_by, 'user:8', 'and it is the person who has decided');
  await Promise.all([client.close(), elsewhere.close()]);
}

async function aNoIsARemarkToo({ as, alice, web }) {
  for (const action of ['decline', 'cancel']) {
    const client = await as(alice, { answer: () => ({ action }) });
    const { handle, status } = gateAnswer(await client.callTool(refund()));
    is(status, 'pending', `${action}: the request waits for its reviewer all the same`);
    like((await events(web, handle))[1].note, new RegExp(action), 'who reads of it');
    await client.close();
  }
}

// What the client echoes is attacker-controlled: tried by hand, over the wire.
async function statesAreWorthNothingByThemselves({ gateways, alice, bob, as, web, approve, shop }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  await approve(handle);
  const paid = shop.refunds.length;
  const retry = async (principal, name) => {
    const params = {
      name, arguments: { order: 'A-x', amount: 1 }, requestState: handle,
      inputResponses: { approval: { action: 'accept', content: { answer: 'yes' } } },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'by hand', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      },
    };
    const answer = await fetch(gateways[1].url, {
      method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      headers: {
        authorization: `Bearer ${principal.token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name,
      },
    });
    const { result } = await answer.json();
    return gateAnswer(result ?? {}).reason ?? result?._meta?.['approval/outcome'];
  };
  is(await retry(bob, 'payments__refund'), 'not_found', 'a state in the hands of another principal');
  is(await retry(alice, 'payments__order_status'), 'not_found', 'a state with another tool');
  is([shop.refunds.length, (await events(web, handle)).filter((e) => e.kind === 'commented').length], [paid, 0], 'neither of them did anything');
  is(await retry(alice, 'payments__refund'), 'succeeded', 'whoever proposed it goes on with it');
  is(shop.refunds.at(-1).args.amount, 100, 'and with its arguments, not with those of the retry');
  await client.close();
}

async function handlesAreOfTheirPrincipal({ as, alice, bob, agent, approve, shop, request }) {
  const [hers, his] = await Promise.all([as(alice), as(bob)]);
  const { handle } = gateAnswer(await hers.callTool(refund()));
  const { id: direct } = await agent.row(`SELECT id::text FROM approval.propose('direct', 'refund', '{"order": "A-d", "amount": 1}', server => 'payments',
    on_behalf_of => 'user:alice')`);
  await approve(handle);
  await approve(direct);
  const paid = shop.refunds.length;
  const nothing = await his.callTool(resume('01ARZ3NDEKTSV4RRFFQ69G5FAV'));
  is(gateAnswer(nothing).reason, 'not_found', 'a handle that does not exist is not found');
  is(await his.callTool(resume(handle)), nothing, 'that of another principal gets the very same answer');
  is(await his.callTool(resume('nonsense')), nothing, 'and so does nonsense');
  is(await his.callTool(resume('81ARZ3NDEKTSV4RRFFQ69G5FAV')), nothing, 'even where it is nearly none');
  is(await hers.callTool(resume(direct)), nothing, 'and what another login has proposed, in her name too');
  is([shop.refunds.length, (await request(handle)).status], [paid, 'approved'], 'nothing was executed or changed');
  await hers.callTool(resume(handle));
  is(shop.refunds.length, paid + 1, 'hers is hers');
  await Promise.all([hers.close(), his.close()]);
}

async function conversationsAreOfTheirPrincipal({ as, alice, bob, request }) {
  const [hers, his] = await Promise.all([as(alice), as(bob)]);
  const call = refund(100, { 'approval/conversation_id': 'shared', 'approval/run_id': 'user:alice/run-x' });
  const a = gateAnswer(await hers.callTool(call));
  const b = gateAnswer(await his.callTool(call));
  ok(a.handle !== b.handle, 'the same call of the same conversation is another one for another principal');
  const rows = [await request(a.handle), await request(b.handle)];
  is(rows.map((row) => [row.conversation_id, row.run_id, row.on_behalf_of]), [
    ['user:alice/shared', 'user:alice/run-x', 'user:alice'],
    ['user:bob/shared', 'user:bob/user:alice/run-x', 'user:bob'],
  ], 'conversations and runs stand under their principal, whatever he writes');
  const changed = await hers.callTool({ ...call, arguments: { ...call.arguments, amount: 999 } });
  is(gateAnswer(changed).reason, 'tool_call_conflict', 'other arguments under the same call are refused');
  await Promise.all([hers.close(), his.close()]);
}

const anything = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };

async function runsAreOfTheirPrincipal({ as, alice, bob, web }) {
  const [hers, his] = await Promise.all([as(alice), as(bob)]);
  const verb = (client, name, params) => client.request({ method: `approval/${name}`, params }, anything)
    .catch((error) => ({ reason: error.data?.reason, code: error.code }));
  const started = await verb(hers, 'start_run', { conversation_id: 'chat-run', run_id: 'run-r', agent: 'support' });
  is([started.row?.run_id, started.row?.requester_login], ['user:alice/run-r', 'mcp'], 'a principal starts a run, over the login of the gateway');
  const { row } = await verb(hers, 'claim_run', { run_id: 'run-r', claimed_by: 'worker 1' });
  ok(row.token, 'and claims it');
  is((await verb(his, 'claim_run', { run_id: 'user:alice/run-r' })).reason, 'not_found', 'another one does not find it');
  is((await verb(hers, 'claim_run', { run_id: 'run-r' })).reason, 'run_claimed', 'who is refused is told the reason');
  const call = (meta) => hers.callTool(refund(5, { 'approval/conversation_id': 'chat-run', 'approval/run_id': 'run-r', ...meta }));
  is(gateAnswer(await call({})).reason, 'run_claimed', 'no call of a run without its token');
  is((await call({ 'approval/run_token': row.token }))._meta['approval/run_id'], 'user:alice/run-r', 'with it there is');
  const done = await verb(hers, 'complete_run', { run_id: 'run-r', token: row.token, answer: 'Paid.' });
  is(done.row.status, 'completed', 'and ends it');
  const unlisted = await verb(hers, 'cancel_run', { run_id: 'run-r' });
  is([unlisted.row, unlisted.reason, unlisted.code === undefined], [undefined, undefined, false], 'verbs that are not listed are no methods');
  const kinds = (await web.rows("SELECT source || ' ' || kind AS kind FROM approval.trace('user:alice/run-r')")).map((r) => r.kind);
  for (const kind of ['run run_claimed', 'request proposed', 'execution completed', 'run run_completed']) ok(kinds.includes(kind), `the trace has "${kind}"`, kinds);
  await Promise.all([hers.close(), his.close()]);
}

// Logins beside the gateway may use any name, and what they do under it is theirs.
async function otherLoginsAreNoPrincipals({ as, alice, agent }) {
  const client = await as(alice);
  const verb = (name, params) => client.request({ method: `approval/${name}`, params }, anything).catch((error) => error.data?.reason);
  await agent.row(`SELECT id FROM approval.propose('d-1', 'refund', '{"order": "A-d", "amount": 1}', server => 'payments', conversation_id => 'user:alice/direct')`);
  await agent.row("SELECT run_id FROM approval.start_run('user:alice/other', run_id => 'user:alice/direct')");
  const mine = gateAnswer(await client.callTool(refund(100, { 'approval/conversation_id': 'direct' })));
  const { rows } = await verb('outcomes', { conversation_id: 'direct' });
  is(rows.map((row) => row.id), [mine.handle], 'outcomes are those of calls over the gateway');
  is(await verb('run_of', { run_id: 'direct' }), 'not_found', 'and so are runs');
  await client.close();
}

async function namesAreTexts({ as, alice, bob, shop, request }) {
  const [hers, his] = await Promise.all([as(alice), as(bob)]);
  const verb = (client, name, params) => client.request({ method: `approval/${name}`, params }, anything).then(() => 'done', (error) => error.code);
  is(await verb(hers, 'start_run', { conversation_id: 7, run_id: 7 }), -32602, 'a number is no name of a run, since it could not stand under its principal');
  is(await verb(his, 'claim_run', { run_id: 7 }), -32602, 'nor can another one claim it');
  is(await verb(hers, 'start_run', { run_id: 'r' }), -32602, 'what the gate needs has to be there');
  const { row } = await hers.request({ method: 'approval/start_run', params: { conversation_id: 'chat-null', run_id: null } }, anything);
  like(row.run_id, /^user:alice\//, 'a run without a name gets one under its principal');
  for (const name of ['conversation_id', 'run_id', 'tool_call_id', 'reason', 'run_token']) {
    is(gateAnswer(await hers.callTool(refund(5, { [`approval/${name}`]: 7 }))).reason, 'bad_call', `${name} is a text`);
  }
  is(gateAnswer(await hers.callTool(refund(5, { traceparent: {} }))).reason, 'bad_call', 'and so is traceparent');
  const { handle } = gateAnswer(await hers.callTool(refund(100, { 'approval/run_id': null })));
  await hers.callTool(refund(5, { traceparent: 'none\nof them' }));
  is(shop.refunds.at(-1).meta.traceparent, undefined, 'a traceparent that is none is left out');
  like((await request(handle)).run_id, /^user:alice\//, 'null is as left out');
  await Promise.all([hers.close(), his.close()]);
}

async function theGatewayNeverDecides({ as, alice, mcp, admin, web }) {
  const client = await as(alice);
  const { handle } = gateAnswer(await client.callTool(refund()));
  const { review_hash: seen } = await web.row('SELECT review_hash FROM approval.inbox WHERE id = $1', handle);
  const decide = (verdict) => mcp.row(`SELECT status FROM approval.${verdict}($1, $2)`, handle, seen).catch((error) => error.code);
  is([await decide('approve'), await decide('reject')], ['42501', '42501'], 'the login of the gateway cannot decide');
  await admin.row('GRANT approval_approver TO mcp');
  is(await decide('approve'), 'PT403', 'nor with the role of an approver, since it is a gateway');
  await admin.row('REVOKE approval_approver FROM mcp');
  is((await web.row('SELECT status FROM approval.history WHERE id = $1', handle)).status, 'pending', 'it waits as before');
  await client.close();
}

async function onlyKnownTokens({ gateways, alice, as }) {
  const post = (token) => fetch(gateways[0].url, {
    method: 'POST', body: list, headers: { ...json, ...(token && { authorization: `Bearer ${token}` }) },
  }).then((answer) => answer.status);
  is([await post(), await post('wrong'), await post(alice.token)], [401, 401, 200], 'without a token that is known there is no answer');
  is(await as(newPrincipal('user:eve')).then(() => 'in', () => 'out'), 'out', 'nor a connection');
  const files = readdirSync(process.env.OUT).filter((name) => name.endsWith('.log'));
  ok(files.every((name) => !readFileSync(`${process.env.OUT}/${name}`, 'utf8').includes(alice.token)), 'no token stands in a log');
}

const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

// As a browser does that took the address of a page for that of this machine.
const rebound = (port) => new Promise((resolve) => {
  const headers = { ...json, host: `evil.example:${port}`, origin: `http://evil.example:${port}` };
  httpRequest({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers }, (answer) => resolve(answer.statusCode)).end(list);
});

async function pagesDoNotCall({ gateways, alice, payments }) {
  const post = (origin) => fetch(gateways[0].url, { method: 'POST', body: list, headers: { ...json, origin, authorization: `Bearer ${alice.token}` } })
    .then((answer) => answer.status);
  is([await post('https://evil.example'), await post('null')], [403, 403], 'a web page may not call, whatever token it has');
  is(await rebound(payments.address().port), 403, 'nor may one call the server to try with, under a name of its own');
}

async function mistakesOfTheConfiguration({ alice, bob }) {
  const started = (principals) => output('gateway.mjs', [writeConfig({}, principals, 'wrong.json')], { PGUSER: 'mcp' });
  const twice = await started([alice, { entry: { ...bob.entry, token_sha256: alice.entry.token_sha256 } }]);
  ok(twice.code !== 0 && /one token/.test(twice.text), 'a token of two principals is a mistake that is told', twice.text);
  const mixed = await started([alice, newPrincipal('user:carol', { tenant: 'acme' })]);
  ok(mixed.code !== 0 && /has a tenant/.test(mixed.text), 'and so is a principal that has lost its tenant', mixed.text);
}

export default [
  anAnswerApprovesNothing, aNoIsARemarkToo, statesAreWorthNothingByThemselves, handlesAreOfTheirPrincipal, conversationsAreOfTheirPrincipal,
  runsAreOfTheirPrincipal, otherLoginsAreNoPrincipals, namesAreTexts, pagesDoNotCall, mistakesOfTheConfiguration, theGatewayNeverDecides, onlyKnownTokens,
];
