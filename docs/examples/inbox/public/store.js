// The list: what waits, oldest first.  It comes from SQL; events only say what to read
// again.  Rows that were closed stay where they are until nobody points at the list.
import { computed, reactive, ref, shallowReactive, shallowRef, triggerRef } from '/vendor/vue.js';
import { get, serverNow, session } from './api.js';
import { closedWords } from './format.js';

const FIRST = 100;
const PAGE = 1000;
const MOST = 20_000;
const PATIENCE = 3000;

export const rows = shallowRef([]);
export const filters = reactive({ status: '', tenant: '', risk: '', tool: '', assignee: '' });
export const selection = shallowReactive(new Map());
// The request whose card is open: its id and tenant.
export const opened = shallowRef(null);
export const current = computed(() => opened.value?.id ?? null);
export const loading = ref(false);
export const complete = ref(true);
export const problem = ref('');
export const notice = ref('');
// Rises whenever something may have changed that an open card shows.
export const changed = shallowReactive({ count: 0, ids: new Set() });

let byId = new Map();
let generation = 0;
// What rang while pages were on their way, which may be older than the event.
const rang = new Set();
let paging = false;

export const rowOf = (id) => byId.get(id);
export const filtering = () => Object.values(filters).some((value) => value !== '');

function put(list) {
  for (const row of list) {
    const there = byId.get(row.id);
    if (there) Object.assign(there, row, { closed: null });
    else {
      byId.set(row.id, row);
      rows.value.push(row);
    }
  }
}

// New rows come to the end, as ids ascend: nothing above them moves.
function inOrder() {
  const list = rows.value;
  for (let i = 1; i < list.length; i++) {
    if (list[i - 1].sort_key > list[i].sort_key) {
      list.sort((a, b) => (a.sort_key < b.sort_key ? -1 : 1));
      break;
    }
  }
  triggerRef(rows);
}

function query(after, max) {
  const asked = Object.entries(filters).filter(([, value]) => value !== '');
  return `requests?${new URLSearchParams([...asked, ['after', after], ['max', max]])}`;
}

// The whole list anew: the first page at once, the others behind it.
export async function load() {
  const mine = ++generation;
  loading.value = true;
  paging = true;
  problem.value = '';
  try {
    let fresh = [];
    let answer;
    do {
      answer = await get(query(fresh.at(-1)?.sort_key ?? '', fresh.length ? PAGE : FIRST));
      if (mine !== generation) return;
      fresh = fresh.concat(answer.rows);
      show(fresh);
      complete.value = !answer.more;
      loading.value = false;
    } while (answer.more && fresh.length < MOST);
  } catch (e) {
    if (mine === generation) problem.value = e.message;
    later(() => mine === generation && load());
  } finally {
    if (mine === generation) loading.value = paging = false;
  }
  if (mine !== generation) return;
  const missed = [...rang];
  rang.clear();
  ring(missed);
}

function show(fresh) {
  rows.value = fresh;
  byId = new Map(fresh.map((row) => [row.id, row]));
  for (const id of selection.keys()) if (!byId.has(id)) selection.delete(id);
}

function fits(row) {
  return Object.entries(filters).every(([name, value]) => value === '' || row[name] === value);
}

export function close(id, words) {
  const row = byId.get(id);
  if (!row || row.closed) return;
  row.closed = words;
  selection.delete(id);
  triggerRef(rows);
}

function later(run) {
  setTimeout(() => session.value && run(), PATIENCE);
}

// What could not be read is asked for again, as no event will speak of it twice.
export function ring(ids) {
  refresh(ids).then(() => { notice.value = ''; }, (e) => {
    notice.value = e.message;
    later(() => ring(ids));
  });
}

// What events spoke of.
export async function refresh(ids) {
  if (paging) ids.forEach((id) => rang.add(id));
  for (let i = 0; i < ids.length; i += 200) {
    const mine = generation;
    const part = ids.slice(i, i + 200);
    const { waiting, closed } = await get(`requests?ids=${part.join(',')}`);
    if (mine !== generation) return;
    put(waiting.filter((row) => byId.has(row.id) || (fits(row) && complete.value)));
    for (const row of closed) close(row.id, closedWords(row));
    // What is no longer selected as it was shown has to be selected again.
    for (const row of waiting) if (selection.has(row.id) && selection.get(row.id) !== row.review_hash) selection.delete(row.id);
    inOrder();
    changed.ids = new Set(part);
    changed.count++;
  }
}

// Closed rows leave; called when nobody points at the list.
export function tidy() {
  if (!rows.value.some((row) => row.closed)) return;
  rows.value = rows.value.filter((row) => !row.closed || row.id === current.value);
  byId = new Map(rows.value.map((row) => [row.id, row]));
}

// Deadlines pass without anybody saying so.
export function expire() {
  const now = serverNow();
  for (const row of rows.value) {
    if (!row.closed && row.status === 'pending' && Date.parse(row.expires_at) <= now) close(row.id, closedWords({ status: 'expired' }));
  }
}

export function toggle(row) {
  if (selection.has(row.id)) selection.delete(row.id);
  else if (!row.closed) selection.set(row.id, row.review_hash);
}
