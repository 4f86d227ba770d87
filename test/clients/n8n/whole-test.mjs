// The workflow files in a whole n8n.
import { done, is, note, ok } from '../tap.mjs';
import { withSettings, workflows } from './files.mjs';
import * as scenario from './scenarios.mjs';
import { WholeN8n } from './whole-n8n.mjs';
import { makeServices, post } from './world.mjs';

// Nobody resumes it, so that the limit of the Wait node has to.
function expiring() {
  const file = structuredClone(workflows().find((workflow) => workflow.file === 'refund.json'));
  Object.assign(file, { id: 'approvalExpiring', file: 'expiring.json', name: 'approval: expiring' });
  for (const node of file.nodes) {
    if (node.name === 'Propose') node.parameters.query = node.parameters.query.replace("'20 hours'", "'1 second'");
    if (node.name === 'Propose') node.parameters.options.queryReplacement = node.parameters.options.queryReplacement.replace("'/approval'", "'/nobody'");
    if (node.type.endsWith('.wait')) Object.assign(node.parameters, { resumeAmount: 3, resumeUnit: 'seconds' });
    if (node.type.endsWith('.webhook')) node.parameters.path = 'expiring';
  }
  return file;
}

async function expired(world) {
  await scenario.ask(world, 'expiring', 'expiring-1', { order: 'A-1' });
  const request = await world.db.proposed('expiring-1', 'expiring-1');
  const state = await scenario.ended(world, scenario.executionOf(request));
  is([state.lastNode, world.provider.of(request.id).length], ['Expired', 0], "the Wait node's limit is reached after the deadline: the expired branch");
}

async function together(world) {
  const request = await scenario.waitingRefund(world);
  const posts = () => Promise.all(Array.from({ length: 10 }, () => post(request.reply_to, { approved: true }).then((answer) => answer.status)));
  const [, codes] = await Promise.all([world.db.approve(request), posts()]);
  note(`ten posts at once: ${codes.join(' ')}`);
  const state = await scenario.ended(world, scenario.executionOf(request));
  is([state.lastNode, world.provider.of(request.id).length], ['Complete', 1], 'ten posts while the trigger resumes it too: executed once');
}

async function restarted(world) {
  const request = await scenario.waitingRefund(world);
  await world.n8n.stop();
  await world.db.approve(request);
  await world.n8n.start();
  const state = await scenario.ended(world, scenario.executionOf(request));
  is([state.lastNode, world.provider.of(request.id).length], ['Complete', 1], 'decided while n8n was down: the schedule resumes it');
}

async function deaf(world) {
  const request = await scenario.waitingRefund(world);
  await scenario.terminateTrigger(world);
  await world.db.approve(request);
  const state = await scenario.ended(world, scenario.executionOf(request));
  is([state.lastNode, world.provider.of(request.id).length], ['Complete', 1], "the trigger is deaf: the resumer's schedule resumes it");
  is(Number((await world.db.one('postgres', "SELECT count(*) FROM pg_stat_activity WHERE usename = 'executor' AND query LIKE 'LISTEN%'")).count), 0,
    'and n8n has not listened again');
}

const plays = [
  scenario.approved, scenario.forged, scenario.rejected, scenario.unharmed, scenario.mismatch, scenario.conflict, scenario.elsewhere, together,
  scenario.rings, scenario.threeDays, (world) => scenario.threeDays(world, '-loop'), scenario.failedRefund, expired, restarted, deaf,
];

const { settings, ...world } = await makeServices();
const files = [...workflows().map((file) => withSettings(file, settings)), withSettings(expiring(), settings)];
world.n8n = new WholeN8n(world.db, files, 'caller-key');
try {
  await world.n8n.install();
  ok(true, 'n8n imports and publishes every file');
  await world.n8n.start();
  for (const play of plays) await play(world);
} finally {
  await world.n8n.stop();
  for (const part of [world.provider, world.mails, world.chat, world.canary, world.db]) await part.stop();
}
done();
