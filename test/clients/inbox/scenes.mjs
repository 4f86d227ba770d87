// Runs the scenes one after the other; with names, only those.
import { done, is, note } from '../tap.mjs';
import { Browsers, empty, Inbox, passwords } from './harness.mjs';
import * as deciding from './scenes/deciding.mjs';
import * as exact from './scenes/exact.mjs';
import * as failing from './scenes/failing.mjs';
import * as hostile from './scenes/hostile.mjs';
import * as looking from './scenes/looking.mjs';
import * as many from './scenes/many.mjs';
import * as sessions from './scenes/sessions.mjs';
import * as story from './scenes/story.mjs';

const only = process.argv.slice(2);
const inbox = new Inbox();
const browsers = new Browsers();

await inbox.begin();
await browsers.begin(inbox);
try {
  for (const scenes of [story, deciding, exact, looking, failing, sessions, hostile, many]) {
    for (const [name, scene] of Object.entries(scenes)) {
      if (only.length > 0 && !only.includes(name)) continue;
      note(`scene ${name}`);
      await empty();
      await scene(inbox, browsers);
      await browsers.leave();
    }
  }
  is(browsers.strange, [], 'in all of it no script error, no dialog, nothing against the policy, no other site');
  const log = inbox.log();
  is([...Object.values(passwords), 'csrf', 'inbox='].filter((secret) => log.includes(secret)), [], 'no secret in the log');
} finally {
  await browsers.end();
  await inbox.stop();
}
done();
