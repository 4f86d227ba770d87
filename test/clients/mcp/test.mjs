import { done, note } from '../tap.mjs';
import { setUp } from './setup.mjs';
import calls from './calls.mjs';
import people from './people.mjs';
import definitions from './definitions.mjs';
import liars from './liars.mjs';
import crashes from './crashes.mjs';

const world = await setUp();
for (const test of [...definitions, ...calls, ...people, ...liars, ...crashes]) {
  note(test.name);
  await test(world);
}
done();
process.exit();
