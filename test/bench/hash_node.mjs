// usage: node hash_node.mjs FILE TIMES
// Prints microseconds for one hash, from the text and from a parsed object.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// import does not honour NODE_PATH, and the package has nothing for require
const directory = createRequire(import.meta.url).resolve.paths('canonicalize')
  .map(path => `${path}/canonicalize`).find(path => existsSync(`${path}/package.json`));
if (!directory) process.exit(1);
const { main } = JSON.parse(readFileSync(`${directory}/package.json`, 'utf8'));
const { default: canonicalize } = await import(pathToFileURL(`${directory}/${main}`));
const text = readFileSync(process.argv[2], 'utf8');
const times = Number(process.argv[3]);
const hash = value => createHash('sha256').update(canonicalize(value)).digest();

function run(one) {
  for (let i = 0; i < times / 4; i++) one();
  const start = process.hrtime.bigint();
  for (let i = 0; i < times; i++) one();
  return Number(process.hrtime.bigint() - start) / 1000 / times;
}
const parsed = JSON.parse(text);
const fromText = run(() => hash({ v: 1, tenant: '', server: '', tool: 'refund_payment', definition: null, resource: null, arguments: JSON.parse(text) }));
const fromObject = run(() => hash({ v: 1, tenant: '', server: '', tool: 'refund_payment', definition: null, resource: null, arguments: parsed }));
console.log(fromText.toFixed(3), fromObject.toFixed(3));
