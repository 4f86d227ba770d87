// Texts for people.

// Characters that cannot be seen, or that turn text around, are written as escapes.
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

export function visible(text) {
  return String(text).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

// Two units at most: 1 d 3 h, 14 min, 9 s.
export function span(milliseconds) {
  let seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const parts = [];
  for (const [size, name] of units) {
    const n = Math.floor(seconds / size);
    if (n > 0 || (size === 1 && parts.length === 0)) parts.push(`${n} ${name}`);
    seconds -= n * size;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

export const ago = (at, now) => `${span(now - Date.parse(at))} ago`;

export function clock(at) {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

// As the gate writes paths: a name that could be taken for something else is in quotes.
function named(path, key) {
  const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
  return path ? `${path}.${name}` : name;
}

// A document as rows of path and value, in its order.
export function flat(value, path = '', rows = []) {
  const inside = value !== null && typeof value === 'object' ? Object.entries(value) : [];
  if (inside.length === 0) rows.push({ path: path || '(all)', value });
  for (const [key, v] of inside) flat(v, Array.isArray(value) ? `${path}[${key}]` : named(path, key), rows);
  return rows;
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// Strings as they are, or between quotes if they read as something else or have ends
// that cannot be seen; everything else as JSON.
export function shown(value) {
  if (typeof value !== 'string') return JSON.stringify(value);
  const plain = value !== '' && value.trim() === value && !value.startsWith('"') && !isJson(value);
  return visible(plain ? value : `"${value}"`);
}

const LONG = 600;
const LINES = 12;

// Of a value that needs a frame to be scrolled in: how much there is to read.
export function length(text) {
  const lines = text.split('\n').length;
  return text.length > LONG || lines > LINES ? `${text.length} characters in ${lines} line${lines === 1 ? '' : 's'}` : '';
}

export function indented(text) {
  if (text === null || text === undefined) return '';
  try {
    return visible(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    return visible(text);
  }
}

const risks = { low: 'low risk', medium: 'medium risk', high: 'high risk', critical: 'critical' };
export const riskWord = (risk) => risks[risk] ?? 'risk unknown';

export function closedWords(row) {
  const by = row.decided_by === 'policy' ? 'Policy' : row.decided_by ? visible(row.decided_by) : 'Somebody';
  const words = {
    approved: `${by} approved this`, rejected: `${by} rejected this`, cancelled: 'The agent withdrew this',
    expired: 'The time to decide is over', revoked: 'The approval was taken back',
  };
  if (row.status !== 'consumed') return words[row.status] ?? row.status;
  return { in_flight: 'Approved, running', succeeded: 'Done', failed: 'It failed', unknown: 'Nobody knows what happened' }[row.outcome] ?? 'Used';
}
