// From LISTEN to server-sent events.  A notification only says "look": what has
// happened comes from the feed, and every event that leaves bears the feed's cursor
// as its id, so that a browser that was away goes on where it was (Last-Event-ID).
import { bridgeClient } from './db.mjs';
import { Refusal } from './refusal.mjs';

const MOST = 500;
const BACK_OFF = [100, 300, 1000, 3000];
const HEARTBEAT = 15_000;
const UNREAD_MOST = 1 << 20;
const STREAMS_MOST = 50;
const PAGES_MOST = 10;

const feedSql = 'SELECT cursor_text, events, more, resync FROM approval.feed($1, max_rows => $2, tenant => NULL)';

function message(id, event, data) {
  return `${id ? `id: ${id}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

const keyOf = (e) => `${e.id} ${e.n}`;

// Only what a list needs to know what to read again.
function forPerson(events, person) {
  return events.filter((e) => person.tenants.includes(e.tenant))
    .map((e) => ({ id: e.id, tenant: e.tenant, event: e.event, status: e.status, actor: e.actor, at: e.at }));
}

export function bridge(config, log) {
  const listeners = new Set();
  let client = null;
  let cursor = null;
  let ringing = false;
  let failures = 0;
  let stopped = false;
  let queue = Promise.resolve();

  // Not ended: a browser that does not read would never see the end, and
  // whoever is cut off comes back with the id it has.
  function cutOff(listener) {
    listeners.delete(listener);
    listener.response.destroy();
  }

  function send(listener, part) {
    if (listener.response.writableLength > UNREAD_MOST) cutOff(listener);
    else listener.response.write(part);
  }

  function beat(listener) {
    if (listener.isOpen()) send(listener, message(null, 'beat', {}));
    else cutOff(listener);
  }

  // What is new: held back while the listener still hears what it has missed.
  function tell(listener, make) {
    if (listener.held) return listener.held.push(make);
    const part = make();
    if (part) send(listener, part);
  }

  function told(answer, listener) {
    const events = forPerson(answer.events.filter((e) => !listener.heard.has(keyOf(e))), listener.person);
    return (answer.resync ? message(answer.cursor_text, 'resync', {}) : '') +
      (events.length > 0 ? message(answer.cursor_text, 'events', events) : '');
  }

  // One statement at a time on the connection.
  function feed(from) {
    const answer = queue.then(async () => {
      if (!client) throw new Error('not connected');
      return (await client.query(feedSql, [from, MOST])).rows[0];
    });
    queue = answer.catch(() => {});
    return answer;
  }

  // The bridge may be behind what a listener has caught up with, but for one reading only.
  function tellNew(listener, answer) {
    tell(listener, () => told(answer, listener));
    if (!listener.held && !answer.more) listener.heard.clear();
  }

  async function readOn() {
    for (;;) {
      ringing = false;
      const answer = await feed(cursor);
      cursor = answer.cursor_text;
      for (const listener of listeners) tellNew(listener, answer);
      if (!answer.more && !ringing) return;
    }
  }

  let reading = null;
  function ring() {
    ringing = true;
    reading ??= readOn().catch((e) => log(`feed: ${e.code ?? e.message}`)).finally(() => { reading = null; });
    return reading;
  }

  function announce(state) {
    for (const listener of listeners) tell(listener, () => message(null, 'bridge', { state }));
  }

  async function connect() {
    const next = bridgeClient(config);
    next.on('error', () => {});
    next.on('notification', () => ring());
    next.once('end', () => lost(next));
    try {
      await next.connect();
      // First listen, then read: what happens in between rings.
      await next.query('LISTEN approval');
      client = next;
      failures = 0;
      cursor ??= (await feed('now')).cursor_text;
      announce('live');
      await ring();
    } catch (e) {
      log(`bridge: ${e.code ?? e.message}`);
      await next.end().catch(() => {});
      lost(next);
    }
  }

  function lost(which) {
    if (which.lost) return;
    which.lost = true;
    if (client === which) {
      client = null;
      announce('away');
    }
    if (stopped) return;
    setTimeout(connect, BACK_OFF[Math.min(failures++, BACK_OFF.length - 1)]);
  }

  // Live events wait until what was missed has been told, so that no id ever
  // stands for more than the browser has seen.
  async function catchUp(listener, from) {
    let answer = { cursor_text: from };
    let pages = 0;
    do {
      // Who has missed so much reads the list anew.
      answer = ++pages > PAGES_MOST ? { ...await feed('now'), resync: true } : await feed(answer.cursor_text);
      send(listener, told(answer, listener));
      answer.events.forEach((e) => listener.heard.add(keyOf(e)));
    } while (answer.more && !listener.response.destroyed);
    send(listener, message(answer.cursor_text, 'ready', { name: listener.person.name }));
    const held = listener.held;
    listener.held = null;
    for (const make of held) tell(listener, make);
  }

  return {
    start: connect,
    connected: () => client !== null,
    // isOpen: whether the session is.
    async stream(request, response, person, isOpen) {
      if ([...listeners].filter((l) => l.person.name === person.name).length >= STREAMS_MOST) throw new Refusal(429, 'streams');
      const listener = { response, person, isOpen, held: [], heard: new Set() };
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write('retry: 1000\n\n');
      listeners.add(listener);
      const beating = setInterval(beat, HEARTBEAT, listener);
      response.on('close', () => {
        clearInterval(beating);
        listeners.delete(listener);
      });
      try {
        // Text that is no cursor is refused by the feed: such a browser begins anew.
        await catchUp(listener, request.headers['last-event-id'] || 'now').catch(async (e) => {
          if (e.code !== '22023') throw e;
          send(listener, message(null, 'resync', {}));
          await catchUp(listener, 'now');
        });
      } catch (e) {
        // The browser comes again, with the id it has.
        log(`stream: ${e.code ?? e.message}`);
        cutOff(listener);
      }
    },
    // Sessions may have ended.
    check() {
      for (const listener of listeners) beat(listener);
    },
    readAnyway: ring,
    async stop() {
      stopped = true;
      for (const listener of listeners) cutOff(listener);
      await client?.end().catch(() => {});
    },
  };
}
