// Sessions in a cookie.  The file keeps the SHA-256 of the token only, and outlives
// the server, so that a restart signs nobody out.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { readState, writeState } from './state.mjs';

const LASTS = 12 * 3600;

const digest = (token) => createHash('sha256').update(token).digest('base64url');

// find: who somebody is now, by name; a mark that has changed ends what was open.
export function sessions(state, find, { secure }) {
  const file = join(state, 'sessions.json');
  const open = new Map(Object.entries(readState(file, {})));
  const name = secure ? '__Host-inbox' : 'inbox';

  function save() {
    const now = Date.now();
    for (const [key, session] of open) if (session.until <= now) open.delete(key);
    writeState(file, Object.fromEntries(open));
  }

  function cookie(value, age) {
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}${secure ? '; Secure' : ''}`;
  }

  function tokenOf(request) {
    const found = (request.headers.cookie ?? '').split(/;\s*/).find((c) => c.startsWith(`${name}=`));
    return found?.slice(name.length + 1) ?? null;
  }

  // Derived, so that it cannot be told apart from the session or outlive it.
  function csrfOf(token) {
    return createHmac('sha256', token).update('csrf').digest('base64url');
  }

  return {
    begin(person) {
      const token = randomBytes(32).toString('base64url');
      open.set(digest(token), { name: person.name, mark: person.mark, until: Date.now() + LASTS * 1000 });
      save();
      return cookie(token, LASTS);
    },
    of(request) {
      const token = tokenOf(request);
      const session = token && open.get(digest(token));
      if (!session || session.until <= Date.now()) return null;
      const person = find(session.name);
      return person && person.mark === session.mark ? { person, csrf: csrfOf(token) } : null;
    },
    end(request) {
      const token = tokenOf(request);
      if (token && open.delete(digest(token))) save();
      return cookie('', 0);
    },
    // A header that other sites cannot set, and cannot know.
    shownBy(request, session) {
      const shown = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
      const wanted = Buffer.from(session.csrf);
      return shown.length === wanted.length && timingSafeEqual(shown, wanted);
    },
  };
}
