// The doorbell.  EventSource reconnects by itself and sends the last id, which is the
// feed's cursor: the server tells what happened meanwhile.
import { ref } from '/vendor/vue.js';

const SILENCE = 40_000;

export const live = ref('connecting');

// ring(ids) for what has happened, again() where everything is to be read anew.
export function follow(ring, again) {
  let source = null;
  let heard = Date.now();
  let first = true;

  function open() {
    source?.close();
    first = true;
    source = new EventSource('/api/stream');
    const on = (name, handle) => source.addEventListener(name, (e) => {
      heard = Date.now();
      handle(JSON.parse(e.data));
    });
    on('ready', () => {
      live.value = 'live';
      if (first) again();
      first = false;
    });
    on('events', (events) => ring([...new Set(events.map((e) => e.id))]));
    on('resync', () => again());
    on('bridge', ({ state }) => { live.value = state; });
    on('beat', () => {});
    source.addEventListener('error', () => {
      live.value = 'away';
      // Refused for good: a session that is over, or a server that is not there.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => source && open(), 1000);
    });
  }

  const watch = setInterval(() => {
    if (Date.now() - heard < SILENCE) return;
    heard = Date.now();
    open();
  }, 5000);
  open();
  return () => {
    clearInterval(watch);
    source.close();
    source = null;
  };
}
