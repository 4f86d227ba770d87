// Everything that can be set, from the environment.  libpq's PGHOST, PGPORT and
// PGDATABASE say which server; passwords come from ~/.pgpass or PGPASSWORD.
import { join } from 'node:path';
import { homedir } from 'node:os';

export function configuration(env = process.env) {
  return {
    port: Number(env.INBOX_PORT ?? 8765),
    host: env.INBOX_HOST ?? '127.0.0.1',
    // As browsers see it; behind a proxy with TLS, its https:// address.
    origin: env.INBOX_ORIGIN ?? null,
    reviewerLogin: env.INBOX_REVIEWER_LOGIN ?? 'inbox_reviewer',
    bridgeLogin: env.INBOX_BRIDGE_LOGIN ?? 'inbox_bridge',
    // Who may sign in, and the sessions that are open.
    state: env.INBOX_STATE ?? join(homedir(), '.approval-inbox'),
    // How often the feed is read though nothing rang, in milliseconds.
    readAnyway: Number(env.INBOX_READ_ANYWAY ?? 30_000),
  };
}
