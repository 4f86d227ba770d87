// The server's answers.  A refusal is thrown with its HTTP status and its words.
import { ref } from '/vendor/vue.js';

export const session = ref(null);

// The server's clock against this one, in milliseconds.
let ahead = 0;
export const serverNow = () => Date.now() + ahead;

export class Refused extends Error {
  constructor({ http, reason, words, detail }) {
    super(words);
    Object.assign(this, { http, reason, detail: detail ?? {} });
  }
}

// An answer that was lost on its way looks like a server that is not there.
const sent = ({ method }) => (method === 'POST' ? ' Perhaps it has heard you: look at the request again before you rely on either.' : '');

async function call(path, options) {
  let response;
  try {
    response = await fetch(`/api/${path}`, { ...options, credentials: 'same-origin', redirect: 'error' });
  } catch {
    throw new Refused({ http: 503, reason: 'unavailable', words: `The inbox cannot be reached just now.${sent(options)}` });
  }
  const body = await response.json().catch(() => ({ http: response.status, words: 'The answer could not be read.' }));
  if (response.ok) {
    const now = [body, body.rows?.[0], body.waiting?.[0]].find((part) => part?.server_now)?.server_now;
    if (now) ahead = Date.parse(now) - Date.now();
    return body;
  }
  if (response.status === 401 && session.value) session.value = null;
  throw new Refused(body);
}

export const get = (path) => call(path, {});

export function post(path, body = {}) {
  return call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': session.value?.csrf ?? '' },
    body: JSON.stringify(body),
  });
}
