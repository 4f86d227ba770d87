#!/usr/bin/env node
// Recomputes hash_vectors.json in JavaScript with npm's canonicalize; prints TAP.
// usage: NODE_PATH=... node test/vectors/check.mjs
import { readFileSync } from 'node:fs';
import { actionText, reviewText, sha256 } from './recompute.mjs';

const vectors = JSON.parse(readFileSync(new URL('hash_vectors.json', import.meta.url), 'utf8'));
let number = 0, failed = 0;
for (const [kind, text] of [['action', actionText], ['review', reviewText]]) {
  for (const vector of vectors[kind]) {
    const canonical = text(vector);
    const good = canonical === vector.canonical && sha256(canonical) === vector.sha256;
    if (!good) failed++;
    console.log(`${good ? 'ok' : 'not ok'} ${++number} - JavaScript: ${kind}: ${vector.why}`);
  }
}
console.log(`1..${number}`);
process.exit(failed ? 1 : 0);
