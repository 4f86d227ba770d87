// PostgREST in front of the gate, at the level of the protocol.
import { done, is, like, ok, until } from '../tap.mjs';
import { checkSchema, openApiOf, strays } from './openapi.mjs';
import { PostgREST, statusOf } from './postgrest.mjs';
import { approved, asAgent, asExecutor, connectAdmin, crash, proposal, proposed, refund, reviewer, sql, startInstances } from './world.mjs';

const admin = await connectAdmin();
await sql("ALTER ROLE rest_agent SET approval.min_decide_within = '1 s'");
const { agent, web, executor } = await startInstances();

async function verbs() {
  const first = await agent.post(asAgent, 'propose', proposal());
  is([first.status, first.body.status, first.body.arguments], [200, 'pending', refund()], 'a proposal is answered with its row');
  const { id, review_hash: seen } = first.body;
  const { body: inbox } = await web.request(reviewer('7'), 'GET', `/inbox?id=eq.${id}`);
  is(inbox.map((row) => [row.review_hash, row.arguments]), [[seen, refund()]], 'a reviewer reads it in the view');

  const approval = await web.post(reviewer('7'), 'approve', { id, seen });
  is([approval.status, approval.body.status, approval.body.decided_by], [200, 'approved', 'user:7'], 'and approves it, as whom the token says');

  const second = await proposed(agent);
  const no = await web.post(reviewer('8'), 'reject', { ...second, result: 'Ask the customer first.' });
  is([no.status, no.body.status, no.body.denial, no.body.decided_by], [200, 'rejected', 'Ask the customer first.', 'user:8'], 'another one is rejected');

  const third = await proposed(agent);
  const edit = await web.post(reviewer('7'), 'edit', { ...third, arguments: refund(100) });
  is([edit.status, edit.body.status, edit.body.arguments, edit.body.proposed_arguments], [200, 'approved', refund(100), refund()], 'a third one is approved with other arguments');

  const seenByAgent = await agent.request(asAgent, 'GET', `/rpc/request_of?id=${third.id}`);
  is([seenByAgent.status, seenByAgent.body.arguments], [200, refund(100)], 'the agent reads what was approved, with GET');
  const { body: outcomes } = await agent.post(asAgent, 'outcomes', { conversation_id: 'chat-1' });
  is(outcomes.map((row) => row.status), ['approved', 'rejected', 'approved'], 'and a set of rows is an array');
  const again = await web.post(reviewer('7'), 'approve', { id, seen });
  is([again.status, again.body.id], [200, id], 'the same decision again is the same answer');
}

async function decideItself() {
  const raw = await PostgREST.start('web');
  raw.schema = 'approval';
  await raw.reconnect();
  for (const [verdict, more, status] of [['approve', {}, 'approved'], ['reject', { result: 'No.' }, 'rejected'], ['approve', { arguments: refund(50) }, 'approved']]) {
    const request = await proposed(agent);
    const { body } = await raw.post(reviewer('7'), 'decide', { ...request, verdict, actor: 'user:9', ...more });
    is([body.status, body.decided_by], [status, 'user:9'], `decide of the schema approval itself: ${JSON.stringify({ verdict, ...more })}`);
  }
  const request = await proposed(agent);
  const { status, body } = await raw.post(reviewer('7'), 'try_decide', { ...request, seen: '0'.repeat(64), verdict: 'approve', actor: 'user:9' });
  is([status, body.ok, body.reason, body.http_status], [200, false, 'stale_view', 412], 'a try_ function is a 200 whose body says no');
  const { body: requestIs } = await raw.post(reviewer('7'), 'request_of', { id: request.id });
  is(requestIs.status, 'pending', 'and nothing was decided');
  await raw.end();
}

async function theBodyStaysAsItCame() {
  const wide = await agent.post(asAgent, 'propose', '{"tool_call_id": "wide", "tool": "refund", "arguments": {"amount": 9007199254740993}}');
  is([wide.status, JSON.parse(wide.body.details).reason], [422, 'not_canonical'], 'a number that a double would round is refused, not rounded');
  const empty = await agent.post(asAgent, 'propose', '{"tool_call_id": "empty", "tool": "list", "arguments": {}}');
  like(empty.text, /"arguments":\{\}/, '{} stays {}');
  const text = await agent.post(asAgent, 'propose', '{"tool_call_id": "text", "tool": "list", "arguments": {"text": "„ü“ 🙂"}}');
  is(text.body.arguments, { text: '„ü“ 🙂' }, 'and text stays text');
}

function isRefusal(answer, status, reason) {
  const { code, message, details, hint } = answer.body;
  const detail = JSON.parse(details ?? 'null') ?? {};
  is([answer.status, code, detail.reason], [status, `PT${status}`, reason], `${reason} is HTTP ${status}`);
  is([detail.http, detail.sqlstate, detail.hint], [status, code, hint], '  details are JSON: status, code and hint are in them too');
  is(Object.keys(answer.body), ['code', 'message', 'details', 'hint'], '  the body has the four fields');
  ok(message.length > 0 && hint.length > 0, '  there are words for people');
  // PostgREST puts the message into the status line of HTTP/1.1.
  like(answer.reasonPhrase, /^[ -~]+$/, '  the message can stand in the status line');
  return status;
}

async function everyStatus() {
  const seen = new Set();
  const refused = (...about) => seen.add(isRefusal(...about));
  const { id, seen: hash } = await proposed(agent);
  const approve = (sub, more = {}) => web.post(reviewer(sub), 'approve', { id, seen: hash, ...more });

  refused(await agent.post(asAgent, 'propose', proposal({ requested_by: 'user:7' })), 403, 'actor_not_allowed');
  refused(await approve('7', { id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }), 404, 'not_found');
  refused(await approve('7', { seen: '0'.repeat(64) }), 412, 'stale_view');
  refused(await web.post(reviewer('7'), 'edit', { id, seen: hash, arguments: [1] }), 422, 'bad_arguments');
  await approve('7');
  refused(await approve('8'), 409, 'already_decided');

  const short = await proposed(agent, { expires_in: '1 second' });
  await until('the deadline', async () => (await agent.post(asAgent, 'request_of', { id: short.id })).body.status === 'expired');
  refused(await web.post(reviewer('7'), 'approve', short), 410, 'expired');

  const raw = await PostgREST.start('web');
  raw.schema = 'approval';
  await raw.reconnect();
  const claimed = await proposed(agent);
  await raw.post(reviewer('7'), 'claim', { id: claimed.id, actor: 'user:7' });
  refused(await raw.post(reviewer('8'), 'claim', { id: claimed.id, actor: 'user:8' }), 423, 'claimed');
  await raw.end();

  await sql('ALTER ROLE rest_agent SET approval.quota_login = 1');
  await agent.reconnect();
  refused(await agent.post(asAgent, 'propose', proposal()), 429, 'quota');
  await sql('ALTER ROLE rest_agent RESET approval.quota_login');
  await agent.reconnect();

  const rows = await sql('SELECT DISTINCT sqlstate, http_status FROM approval.errors()');
  is([...seen].sort(), rows.map((row) => row.http_status).sort(), 'these are all the statuses that the gate has');
  is(rows.filter((row) => statusOf(row.sqlstate, true) !== row.http_status), [], 'and PostgREST makes each of its code');
  const { body: errors } = await agent.post(asAgent, 'errors', {});
  is(errors.filter((row) => !/^[ -~]+$/.test(row.message)), [], 'no message breaks a status line');
}

async function otherErrors() {
  const { id, seen } = await proposed(agent);
  is(await web.request(null, 'POST', '/rpc/approve', JSON.stringify({ id, seen })).then((answer) => answer.status), 401, 'without a token it is 401');
  const unknown = await agent.post(asAgent, 'request_of', { id: 'drop table' });
  is([unknown.status, unknown.body.code], [400, '22P02'], 'what is no id is 400');
  ok(!JSON.stringify(unknown.body).includes('drop table'), 'and is not repeated');
  const got = await agent.request(asAgent, 'GET', '/rpc/propose?tool_call_id=x&tool=refund&arguments={}');
  is([got.status, got.body.code], [405, '25006'], 'GET of a verb is 405: it is read only');
  const nobody = await web.post({ role: 'api_reviewer' }, 'approve', { id, seen });
  is([nobody.status, nobody.body.code, JSON.parse(nobody.body.details).reason], [400, '22004', 'null_argument'], 'a token without sub decides nothing');
  const missing = await web.post(reviewer('7'), 'approve', { id });
  is([missing.status, missing.body.code], [404, 'PGRST202'], 'without seen there is no such function');
  const named = await web.post(reviewer('7'), 'approve', { id, seen, actor: 'user:1' });
  is([named.status, named.body.code], [404, 'PGRST202'], 'nor one that lets the body name the actor');
  const raw = await web.post(reviewer('7'), 'decide', { id, seen, verdict: 'approve', actor: 'user:1' });
  is([raw.status, raw.body.code], [404, 'PGRST202'], 'and the schema approval is not to be had there');
}

async function twoSides() {
  const { id, seen } = await proposed(agent);
  const decision = { id, seen, verdict: 'approve' };
  const asked = await agent.post(asAgent, 'decide', decision);
  is([asked.status, asked.body.code], [403, '42501'], "the agent's instance cannot decide");
  const stolen = await agent.post(reviewer('7'), 'decide', decision);
  is([stolen.status, stolen.body.code], [403, '42501'], "a reviewer's token at the agent's instance: its login may not switch to that role");
  await sql('GRANT api_reviewer TO rest_agent');
  isRefusal(await agent.post(reviewer('7'), 'decide', decision), 403, 'not_eligible');
  await sql('REVOKE api_reviewer FROM rest_agent');
  const { body: [row] } = await web.request(reviewer('7'), 'GET', `/inbox?id=eq.${id}`);
  is(row.requested_by, 'agent:support', 'nothing was decided, and it was the agent that asked');
  const other = await web.post({ role: 'api_agent' }, 'approve', { id, seen });
  ok(other.status >= 400, "an agent's token is no use at the reviewers' instance", other.status);
}

async function whoIsCalling() {
  await sql('CREATE ROLE api_other NOLOGIN');
  await sql('GRANT approval_requester TO api_other');
  await sql('GRANT api_other TO rest_agent');
  const asOther = { role: 'api_other', sub: 'mallory' };
  const call = proposal();
  const first = await agent.post(asAgent, 'propose', call);
  const second = await agent.post(asOther, 'propose', call);
  is(second.body.id, first.body.id, 'the same call under another role of the token is the same call of the same login');
  const own = await agent.post(asOther, 'propose', proposal());
  is(own.body.requested_by, 'agent:support', 'the identity is that of the login of the instance');
  const [{ logins }] = await sql('SELECT array_agg(DISTINCT login::text) AS logins FROM approval.audit WHERE request_id = ANY ($1)', [[first.body.id, own.body.id]]);
  is(logins, ['rest_agent'], 'and the trail names this login');
  const forged = await agent.post(asOther, 'propose', proposal({ requested_by: 'user:mallory' }));
  isRefusal(forged, 403, 'actor_not_allowed');
}

async function consumeHasToCommitFirst() {
  const permit = await approved(agent, web);
  await sql('ALTER ROLE rest_executor RESET approval.commit_first');
  await executor.reconnect();
  isRefusal(await executor.post(asExecutor, 'consume', permit), 422, 'commit_first');
  await sql('ALTER ROLE api_executor SET approval.commit_first = off');
  await executor.reconnect();
  isRefusal(await executor.post(asExecutor, 'consume', permit), 422, 'commit_first');
  await sql('ALTER ROLE api_executor RESET approval.commit_first');
  const [{ status }] = await sql('SELECT status FROM approval.request_of($1)', [permit.id]);
  is(status, 'approved', 'the approval is whole: the setting of the role that a token switches to is nobody\'s');
  await sql('ALTER ROLE rest_executor SET approval.commit_first = off');
  await sql('ALTER ROLE rest_executor SET synchronous_commit = off');
  await executor.reconnect();
  return permit;
}

async function consumeAnswersAfterItsCommit(permit) {
  const statusNow = async () => (await sql('SELECT status FROM approval.request_of($1)', [permit.id]))[0].status;
  const broken = await executor.post(asExecutor, 'consume', permit, {
    async beforeCommit(client) {
      is(await statusNow(), 'approved', 'before its commit, nobody sees the consumption');
      await sql('SELECT pg_terminate_backend($1)', [client.processID]);
    },
  });
  is(broken.status, 503, 'a connection that breaks before the commit is no answer with a permit');
  is(await statusNow(), 'approved', 'and the approval is whole');

  const answer = await executor.post(asExecutor, 'consume', permit);
  is([answer.status, answer.body.attempt, typeof answer.body.token], [200, 1, 'string'], 'then it is answered with the permit');
  await crash();
  await executor.reconnect();
  is(await statusNow(), 'consumed', 'the server is killed at once: the consumption had been committed, and flushed');
  isRefusal(await executor.post(asExecutor, 'consume', { ...permit, execution_id: 'job-2' }), 409, 'already_consumed');
  const report = { id: permit.id, execution_id: permit.execution_id, token: answer.body.token, outcome: 'succeeded', result: { refund: 're_1' } };
  const { body: completed } = await executor.post(asExecutor, 'complete', report);
  is([completed.status, completed.outcome], ['consumed', 'succeeded'], 'the permit completes');
}

async function onePermitForMany() {
  const permit = await approved(agent, web);
  const all = await Promise.all(Array.from({ length: 8 }, (_, i) => executor.post(asExecutor, 'consume', { ...permit, execution_id: `job-${i}` })));
  is(all.map((answer) => answer.status).sort(), [200, ...Array(7).fill(409)], 'eight requests at once get one permit');
}

async function schemas() {
  const callable = await checkSchema(admin, 'approval', 60);
  const exposed = agent.routines;
  is(callable.filter((name) => !exposed.some((routine) => routine.name === name)), [], 'PostgREST finds each of them');
  // PostgREST takes a function of one unnamed bytea for one that gets the raw body.
  is(strays(exposed, callable), ['bytea_to_digest'], 'besides these it finds one cast, which only converts bytes');
  await checkSchema(admin, 'api', 4);
  const decide = openApiOf(exposed.find((routine) => routine.name === 'decide'));
  is(decide.required, ['id', 'verdict', 'seen'], 'OpenAPI: what has no default is required');
  is([decide.properties.id, decide.properties.arguments, decide.properties.note],
    [{ type: 'string', format: 'approval.ulid' }, { type: undefined, format: 'json' }, { type: 'string', format: 'text' }],
    'OpenAPI: ids are strings, arguments any JSON');
}

await schemas();
await verbs();
await decideItself();
await theBodyStaysAsItCame();
await everyStatus();
await otherErrors();
await twoSides();
await whoIsCalling();
await consumeAnswersAfterItsCommit(await consumeHasToCommitFirst());
await agent.reconnect();
await web.reconnect();
await onePermitForMany();
done();
await Promise.all([agent, web, executor].map((instance) => instance.end()));
process.exit();
