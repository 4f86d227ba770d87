// The two hashes of docs/vectors.md with npm's canonicalize.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// import does not honour NODE_PATH, and the package has nothing for require
const directory = createRequire(import.meta.url).resolve.paths('canonicalize')
  .map(path => `${path}/canonicalize`).find(path => existsSync(`${path}/package.json`));
if (!directory) {
  console.log('1..0 # SKIP canonicalize is not installed (npm install canonicalize, NODE_PATH)');
  process.exit(0);
}
const { main } = JSON.parse(readFileSync(`${directory}/package.json`, 'utf8'));
const { default: canonicalize } = await import(pathToFileURL(`${directory}/${main}`));

export const sha256 = text => createHash('sha256').update(text, 'utf8').digest('hex');

export function actionText({ tenant = '', server = '', tool, definition = null, resource = null, arguments: text }) {
  let args = JSON.parse(text);
  if (Array.isArray(args) && args.length === 0) args = {};
  return canonicalize({ v: 1, tenant, server, tool, definition, resource, arguments: args });
}

export function reviewText({ action, summary, preview = null, reason = null, requester = null, on_behalf_of = null }) {
  // a preview is hashed as the text it came as
  return canonicalize({ v: 1, action, summary, preview: preview === null ? null : sha256(preview), reason, requester, on_behalf_of });
}
