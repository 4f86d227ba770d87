#!/usr/bin/env node
// Adds somebody who may sign in:  node people.mjs NAME ACTOR TENANT,TENANT <PASSWORD_FILE
// Without anything on standard input a password is made and printed, once.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { configuration } from './lib/config.mjs';
import { addPerson } from './lib/people.mjs';

const [name, actor, tenants] = process.argv.slice(2);
if (!name || !actor || tenants === undefined) {
  process.stderr.write('usage: node people.mjs NAME ACTOR TENANT,TENANT [<PASSWORD_FILE]\n');
  process.exit(2);
}
const given = process.stdin.isTTY ? '' : readFileSync(0, 'utf8').trim();
const password = given || randomBytes(9).toString('base64url');
await addPerson(configuration().state, { name, actor, tenants: tenants.split(','), password });
process.stdout.write(`${name}\t${given ? '(as given)' : password}\n`);
