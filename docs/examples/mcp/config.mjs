// What the operator says: upstream servers by alias, and who holds which token.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const upstream = z.strictObject({
  url: z.url(),
  // the name of the environment variable that holds the bearer token, not the token
  token_env: z.string().optional(),
});

const principal = z.strictObject({
  // A slash ends the name where it stands before conversations and runs.
  name: z.string().regex(/^[^/]{1,100}$/),
  token_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  expires: z.iso.datetime(),
  tenant: z.string().optional(),
});

const distinct = (principals) => new Set(principals.map((p) => p.token_sha256)).size === principals.length;

// Beside principals with a tenant, one without would be shown the tools of all of them.
const sameKind = (principals) => new Set(principals.map((p) => p.tenant === undefined)).size === 1;

const schema = z.strictObject({
  listen: z.strictObject({ host: z.string(), port: z.int().min(0) }).default({ host: '127.0.0.1', port: 8800 }),
  // An alias is a part of the names of tools, and "approval" is the gateway's own.
  upstreams: z.record(z.string().regex(/^(?!approval$)[a-z][a-z0-9-]{0,30}$/), upstream),
  principals: z.array(principal).min(1).refine(distinct, 'two principals have one token')
    .refine(sameKind, 'either every principal has a tenant, or none has'),
  // Host names of web pages that may call.  A browser says where a call comes from; others do not.
  origins: z.array(z.string()).default([]),
});

export const readConfig = (file) => schema.parse(JSON.parse(readFileSync(file, 'utf8')));
