// Makes hash_vectors.json with npm's canonicalize, independently of the C code.
// usage: NODE_PATH=... node test/vectors/make_hash_vectors.mjs > test/vectors/hash_vectors.json
import { actionText, reviewText, sha256 } from './recompute.mjs';

const hex = c => c.repeat(64);
const actions = [
  { why: 'the least there is', tool: 'ping', arguments: '{}' },
  { why: "PHP's empty array", tool: 'ping', arguments: ' [ ] ' },
  { why: 'a refund', tool: 'refund_payment', server: 'payments', resource: 'payment/42', arguments: '{"payment_id": 42, "currency": "EUR", "amount": 129.90}' },
  { why: 'order of members and forms of numbers do not matter', tool: 'refund_payment', server: 'payments', resource: 'payment/42', arguments: '{"amount":1.299e2,"currency":"EUR","payment_id":42.0}' },
  { why: 'a tenant and a pinned definition', tenant: 'acme', server: 'https://mcp.example.org/', tool: 'delete_user', definition: hex('0a'.slice(1)), arguments: '{"user":{"id":"9007199254740993"}}' },
  { why: 'a tenant that looks like JSON', tenant: '","tool":"x', tool: 'ping', arguments: '{}' },
  { why: 'text as it is, escapes as RFC 8785 has them', tool: 'send', resource: 'Zoë\n"€" 😀 \\ \u2028 \u007f', arguments: '{"text":"\\u00e9\\/\\u0007\\t\\u2028\\ud83d\\ude00"}' },
  { why: 'keys by UTF-16 code units', tool: 'send', arguments: '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\r":3,"1":4,"\\u00f6":5,"\\u20ac":6,"":7}' },
  { why: 'numbers', tool: 'set', arguments: '{"n":[0,-0,1e21,1e20,1e-6,1e-7,0.1,5e-324,1.7976931348623157e308,9007199254740992,-4.50,1e23,123456.789]}' },
  { why: 'nested empties differ', tool: 'set', arguments: '{"a":[],"b":{},"c":null,"d":[{}],"e":""}' },
];
const reviews = [
  { why: 'the least there is', action: hex('1'), summary: 'ping' },
  { why: 'everything', action: hex('ab').slice(0, 64), summary: 'Refund €129.90\nto Zoë', preview: '{ "total": 129.90,\n "id": 9007199254740993 }', reason: 'arrived damaged', requester: 'user:42', on_behalf_of: 'user:43' },
  { why: 'empty is not null', action: hex('1'), summary: '', preview: '{}', reason: '', requester: '', on_behalf_of: '' },
];
const done = (list, text) => list.map(v => { const canonical = text(v); return { ...v, canonical, sha256: sha256(canonical) }; });
console.log(JSON.stringify({ action: done(actions, actionText), review: done(reviews, reviewText) }, null, 1));
