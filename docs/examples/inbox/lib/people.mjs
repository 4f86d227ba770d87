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
  const failures = new Map();

  const blocked = (name) => {
    const f = failures.get(name);
    return f && f.count >= TRIES && Date.now() < f.until;
  };

  const failed = (name) => {
    if (failures.size > 10_000) failures.clear();
    failures.set(name, { count: (failures.get(name)?.count ?? 0) + 1, until: Date.now() + PAUSE });
  };

  // The person, null, or 'blocked'.  Unknown names take as long as known ones.
  return async function authenticate(name, password) {
    const all = readState(fileOf(state), {});
    const person = Object.hasOwn(all, name) ? all[name] : null;

    if (blocked(name)) return 'blocked';
    const hash = await hashed(password, person?.salt ?? 'nobody');
    if (!person || !timingSafeEqual(Buffer.from(hash), Buffer.from(person.hash))) {
      failed(name);
      return null;
    }
    failures.delete(name);
    return { name, actor: person.actor, tenants: person.tenants };
  };
}
