// The two logins.  A reviewer's pool decides in the name of a person; the bridge's
// connection can only read.
import pg from 'pg';

// Times stay text: a Date would lose their microseconds.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z'));

// Never on: a page must not show what a crash takes back, and times are in UTC.
const options = '-c timezone=UTC -c default_transaction_isolation=read\\ committed -c statement_timeout=20s';

export function reviewerPool(config) {
  const pool = new pg.Pool({
    user: config.reviewerLogin, application_name: 'inbox', max: 8, options, connectionTimeoutMillis: 5000,
  });
  // Idle connections end with the server; the next query makes another.
  pool.on('error', () => {});
  return pool;
}

export function bridgeClient(config) {
  return new pg.Client({ user: config.bridgeLogin, application_name: 'inbox bridge', options, keepAlive: true });
}
