// The doorbell.  EventSource reconnects by itself and sends the last id, which is the
// feed's cursor: the server tells what happened meanwhile.  Browsers open six connections
// to a server and no more, so of all tabs one holds the stream and tells the others.
import { ref } from '/vendor/vue.js';
import { get, session } from './api.js';

const SILENCE = 40_000;
const STREAM = ['ready', 'events', 'resync', 'bridge', 'beat'];

export const live = ref('connecting');

// ring(ids) for what has happened, again() where everything is to be read anew.
export function follow(ring, again) {
  const tabs = new BroadcastChannel('inbox');
  const over = new AbortController();
  let source = null;
  let letGo = () => {};
  let heard = Date.now();
  let first = true;

  const handlers = {
    ready({ name, fresh }) {
      // Another tab has signed in somebody else.
      if (name !== session.value.name) return location.reload();
      live.value = 'live';
      if (first || fresh) again();
      first = false;
    },
    events: (events) => ring([...new Set(events.map((e) => e.id))]),
    resync: () => again(),
    bridge({ state }) { live.value = state; },
    beat() {},
  };

  function hear(name, data) {
    heard = Date.now();
    handlers[name](data);
  }

  function tell(name, data) {
    tabs.postMessage({ name, data });
    hear(name, data);
  }

  tabs.onmessage = ({ data: { name, data } }) => {
    if (name !== 'hello') hear(name, data);
    else if (source && live.value === 'live') tell('ready', { name: session.value.name });
  };

  function open() {
    const mine = new EventSource('/api/stream');
    let fresh = true;

    source?.close();
    source = mine;
    for (const name of STREAM) {
      mine.addEventListener(name, (e) => {
        const data = JSON.parse(e.data);
        tell(name, name === 'ready' ? { ...data, fresh } : data);
        if (name === 'ready') fresh = false;
      });
    }
    mine.addEventListener('error', () => {
      tell('bridge', { state: 'away' });
      if (mine.readyState === EventSource.CLOSED) setTimeout(retry, 1000, mine);
    });
  }

  // Refused for good: a server that is not there, or a session that is over, which asking tells.
  async function retry(which) {
    await get('session').catch(() => {});
    if (source === which && session.value) open();
  }

  function lead(options) {
    const held = () => new Promise((resolve) => {
      letGo = resolve;
      open();
    });
    // Without TLS there are no locks: every tab holds its own.
    if (!navigator.locks) held();
    else navigator.locks.request('inbox', options, held).catch(lost);
  }

  // Another tab has taken over, or this one has ended.
  function lost() {
    source?.close();
    source = null;
    if (!over.signal.aborted) lead({ signal: over.signal });
  }

  const watch = setInterval(() => {
    if (Date.now() - heard < SILENCE) return;
    heard = Date.now();
    if (source) open();
    // Browsers put tabs to sleep that nobody sees.
    else lead({ steal: true });
  }, 5000);
  tabs.postMessage({ name: 'hello' });
  lead({ signal: over.signal });
  return () => {
    over.abort();
    clearInterval(watch);
    source?.close();
    source = null;
    letGo();
    tabs.close();
  };
}
