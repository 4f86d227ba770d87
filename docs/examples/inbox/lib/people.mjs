// Who may sign in: name, actor, tenants, and the password's scrypt hash (RFC 7914).
// An application with accounts of its own replaces this file.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readState, writeState } from './state.mjs';

const derive = promisify(scrypt);
const fileOf = (state) => join(state, 'people.json');

// After so many wrong passwords for a name, none counts for a minute.
const TRIES = 5;
const PAUSE = 60_000;

async function hashed(password, salt) {
  return (await derive(password.normalize('NFC'), salt, 32)).toString('base64url');
}

export async function addPerson(state, { name, actor, tenants, password }) {
  const people = readState(fileOf(state), {});
  const salt = randomBytes(16).toString('base64url');
  people[name] = { actor, tenants, salt, hash: await hashed(password, salt) };
  writeState(fileOf(state), people);
}

export function people(state) {
  const tries = new Map();

  const stored = (name) => {
    const all = readState(fileOf(state), {});
    return Object.hasOwn(all, name) ? all[name] : null;
  };

  // Counted before the password is looked at, so that many at once are counted too.
  function mayTry(name) {
    const now = Date.now();
    for (const [key, { until }] of tries) if (until <= now) tries.delete(key);
    const count = tries.get(name)?.count ?? 0;
    if (count >= TRIES) return false;
    tries.set(name, { count: count + 1, until: now + PAUSE });
    return true;
  }

  // As the file has it now.  The mark is another one after a change of password.
  function find(name) {
    const person = stored(name);
    return person && { name, actor: person.actor, tenants: person.tenants, mark: person.salt };
  }

  // The person, null, or 'blocked'.  Unknown names take as long as known ones.
  async function authenticate(name, password) {
    if (!mayTry(name)) return 'blocked';
    const person = stored(name);
    const hash = await hashed(password, person?.salt ?? 'nobody');
    if (!person || !timingSafeEqual(Buffer.from(hash), Buffer.from(person.hash))) return null;
    tries.delete(name);
    return find(name);
  }

  return { authenticate, find };
}
