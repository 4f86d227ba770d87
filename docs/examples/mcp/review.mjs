// For the administrator: shows what a tool of an upstream server is now, and pins exactly that.
//
//   PGUSER=postgres node review.mjs gateway.json payments refund                 shows it, with its digest
//   PGUSER=postgres node review.mjs gateway.json payments refund DIGEST [NOTE]   pins it, if it is still the same
import pg from 'pg';
import { readConfig } from './config.mjs';
import { upstreamsOf } from './upstream.mjs';

// What a terminal does not show, a model reads all the same.
const visible = (text) => text.replace(/[^\P{C}\n]|[\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu,
  (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

const [file, alias, tool, seen, note = null] = process.argv.slice(2);
const config = readConfig(file);
if (!Object.hasOwn(config.upstreams, alias)) throw new Error('the configuration has no such alias');
const definition = await upstreamsOf(config.upstreams).with(alias, (upstream) => upstream.definition(tool));
if (definition === null) throw new Error('the server has no such tool');

const db = new pg.Client();
await db.connect();
try {
  const tenant = process.env.APPROVAL_TENANT ?? null;
  if (seen) {
    await db.query('SELECT verb FROM approval.review_tool($1, $2, server => $3, definition => $4, note => $5, tenant => $6)',
      [tool, seen, alias, definition, note, tenant]);
    console.log(`pinned ${seen}`);
  } else {
    const { rows: [{ digest }] } = await db.query('SELECT approval.tool_digest($1) AS digest', [definition]);
    console.log(visible(JSON.stringify(JSON.parse(definition), null, 2)));
    console.log(`digest ${digest}`);
  }
} finally {
  await db.end();
}
