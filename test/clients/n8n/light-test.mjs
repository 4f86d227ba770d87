// The workflow files, run by the little n8n of light.mjs with n8n's own Postgres nodes.
import { done, note } from '../tap.mjs';
import { checkCoverage, checkFiles } from './check-files.mjs';
import { withSettings, workflows } from './files.mjs';
import { LightN8n } from './light.mjs';
import * as only from './light-scenarios.mjs';
import * as scenario from './scenarios.mjs';
import { makeServices } from './world.mjs';

const plays = [
  scenario.approved, scenario.forged, scenario.rejected, scenario.unharmed, scenario.mismatch, scenario.conflict, scenario.elsewhere,
  only.once, only.twice, only.busy, only.forgotten, only.batches, scenario.rings, only.deafChat, only.tenants,
  scenario.threeDays, (world) => scenario.threeDays(world, '-loop'), only.loops, scenario.failedRefund, only.notApprovedInRun,
  only.provider, only.runTaken, only.twiceInRun, only.mailEnds, only.missed, only.expired, only.noWait, only.deaf,
];

async function makeWorld() {
  const { settings, ...world } = await makeServices();
  const n8n = new LightN8n(workflows().map((file) => withSettings(file, settings)), 'caller-key');
  await n8n.start();
  return { ...world, n8n };
}

async function main() {
  checkFiles(workflows());
  const world = await makeWorld();
  const { n8n } = world;
  try {
    for (const play of plays) await play(world);
    checkCoverage(n8n.files, [...n8n.executions.values()]);
  } finally {
    for (const [id, e] of n8n.executions) if (e.status !== 'success') note(`${id} ${e.file.name} ${e.status} ${e.lastNode}: ${e.error?.message}`);
    await n8n.stop();
    for (const part of [world.provider, world.mails, world.chat, world.canary, world.db]) await part.stop();
  }
  done();
  process.exit();
}

main();
