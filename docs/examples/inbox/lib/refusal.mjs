// One kind of error for everything that an answer may say no with.
import { inWords } from './words.mjs';

export class Refusal extends Error {
  constructor(http, reason, detail = {}, now = undefined) {
    super(reason);
    this.http = http;
    this.reason = reason;
    this.detail = detail;
    this.words = inWords(http, reason, detail, now);
  }
}

// No connection came about, or the statement was undone.
function notBegun({ code, message }) {
  return ['57P03', '57014', '53300', 'ECONNREFUSED', 'ENOENT'].includes(code) || /timeout exceeded when trying to connect/.test(message);
}

// What PostgreSQL or the gate answered.  PTnnn is the gate's, with JSON in DETAIL.
export function refusalOf(error) {
  if (error instanceof Refusal) return error;
  const code = error.code ?? '';
  if (/^PT\d{3}$/.test(code)) {
    const detail = JSON.parse(error.detail);
    return new Refusal(detail.http, detail.reason, detail);
  }
  if (/^(22|42501)/.test(code)) return new Refusal(code === '42501' ? 403 : 400, code);
  if (notBegun(error)) return new Refusal(503, 'unavailable');
  // A connection that broke, or a server that stopped, may have done it before.
  if (/^(08|53|57|E(?!RR_))/.test(code) || /connect|terminated|timeout/i.test(error.message)) return new Refusal(503, 'unanswered');
  return new Refusal(500, 'internal');
}
