// The little TAP that the tests of the clients need.
import { isDeepStrictEqual } from 'node:util';

let number = 0;
let failed = 0;

export function ok(good, what, told) {
  if (!good) failed++;
  console.log(`${good ? 'ok' : 'not ok'} ${++number} - ${what.replaceAll('#', '\\#')}`);
  if (!good && told !== undefined) console.log(`# ${JSON.stringify(told)?.slice(0, 4000)}`);
  return good;
}

export function is(found, wanted, what) {
  return ok(isDeepStrictEqual(found, wanted), what, { found, wanted });
}

export function like(found, pattern, what) {
  return ok(pattern.test(found), what, { found, pattern: String(pattern) });
}

export function note(text) {
  console.log(`# ${String(text).replaceAll('\n', '\n# ')}`);
}

// A plan at the end: a test that breaks off in the middle has none, and fails.
export function done() {
  console.log(`1..${number}`);
  process.exitCode = failed ? 1 : 0;
}

// Waits for what has to come, as long as the suite lets it.
export async function until(what, condition, pause = 20) {
  for (;;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, pause));
    until.waitingFor = what;
  }
}
