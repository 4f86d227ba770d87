// What PostgREST's OpenAPI output and its choice of functions need of a schema.
import { is, ok } from '../tap.mjs';

const granted = `
  EXISTS (SELECT FROM aclexplode(COALESCE(p.proacl, acldefault('f', p.proowner))) a
           WHERE a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner)`;
// Parts of types, operators and casts are called by no name.
const supports = `
  p.oid IN (SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout]::oid[]) FROM pg_type
            UNION SELECT unnest(ARRAY[oprcode, oprrest, oprjoin]::oid[]) FROM pg_operator
            UNION SELECT castfunc FROM pg_cast UNION SELECT amproc FROM pg_amproc)`;
const functions = `
  SELECT p.oid, p.proname AS name, p.prokind AS kind, p.provariadic <> 0 AS variadic, p.pronargs AS count,
         COALESCE(p.proargnames[1:p.pronargs], '{}') AS names,
         (SELECT array_agg(t) FROM unnest(p.proargtypes) t) AS types, p.proallargtypes AS all_types, p.proargmodes::text[] AS modes,
         p.prorettype AS returns, obj_description(p.oid, 'pg_proc') AS comment
    FROM pg_proc p
   WHERE p.pronamespace = $1::regnamespace AND p.prorettype <> 'trigger'::regtype AND ${granted}`;
// A name that leads back to the type, of a type that has values: no pseudo-type, no row type.
const nameable = `
  SELECT t.oid::regtype::text AS type FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
   WHERE t.oid = ANY ($1::oid[]) AND (COALESCE(e.typtype, t.typtype) NOT IN ('b', 'd', 'e') OR to_regtype(t.oid::regtype::text) IS DISTINCT FROM t.oid)`;

const swagger = {
  'character varying': 'string', character: 'string', text: 'string', boolean: 'boolean', smallint: 'integer', integer: 'integer', bigint: 'integer',
  numeric: 'number', real: 'number', 'double precision': 'number', json: undefined, jsonb: undefined,
};
const typeOf = (type) => (type in swagger ? swagger[type] : type.endsWith('[]') ? 'array' : 'string');

export function openApiOf(routine) {
  const property = ({ name, type }) => [name, { type: typeOf(type), format: type }];
  return {
    required: routine.parameters.filter((p) => p.required).map((p) => p.name),
    properties: Object.fromEntries(routine.parameters.map(property)),
  };
}

// The columns of what a function returns, or the one type.
async function answerTypes(db, fn) {
  const out = (fn.all_types ?? []).filter((_, i) => ['o', 'b', 't'].includes(fn.modes[i]));
  if (out.length > 0) return out;
  const { rows } = await db.query(`SELECT a.atttypid AS type FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
                                    WHERE t.oid = $1 AND t.typtype = 'c' AND a.attnum > 0 AND NOT a.attisdropped`, [fn.returns]);
  if (rows.length > 0) return rows.map((row) => row.type);
  return [fn.returns];
}

async function unnameable(db, types) {
  const { rows } = await db.query(nameable, [types]);
  return rows.map((row) => row.type).filter((type) => type !== 'void');
}

export async function checkSchema(db, schema, least) {
  await db.query("SELECT set_config('search_path', '', false)");
  const { rows: all } = await db.query(functions, [schema]);
  const { rows: support } = await db.query(`SELECT p.oid FROM pg_proc p WHERE p.pronamespace = $1::regnamespace AND ${supports}`, [schema]);
  const parts = new Set(support.map((row) => row.oid));
  const callable = all.filter((fn) => !parts.has(fn.oid));
  const names = (list) => [...new Set(list.map((fn) => fn.name))].sort();

  ok(callable.length >= least, `${schema}: there are functions that somebody may call`, callable.length);
  is(names(callable.filter((fn) => fn.kind !== 'f' || fn.variadic)), [], `${schema}: they are plain functions`);
  is(names(callable.filter((fn) => fn.names.length !== fn.count || fn.names.includes(''))), [], `${schema}: every argument has a name`);
  is(names(callable.filter((fn) => callable.some((other) => other.name === fn.name && other.oid !== fn.oid))), [], `${schema}: there is one function of each name`);
  is(names(callable.filter((fn) => !fn.comment)), [], `${schema}: every function has a comment`);
  const bad = [];
  for (const fn of callable) {
    for (const type of await unnameable(db, [...(fn.types ?? []), ...await answerTypes(db, fn)])) bad.push(`${fn.name}: ${type}`);
  }
  is(bad, [], `${schema}: every type of an argument and of an answer can be named`);
  const { rows: views } = await db.query(`
    SELECT c.relname AS name FROM pg_class c
     WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('v', 'm', 'r', 'p') AND obj_description(c.oid, 'pg_class') IS NULL
       AND EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner)`, [schema]);
  is(views.map((row) => row.name), [], `${schema}: whatever can be read has a comment`);
  return callable.map((fn) => fn.name).sort();
}

// What PostgREST would offer besides.
export function strays(routines, callable) {
  return routines.map((routine) => routine.name).filter((name) => !callable.includes(name)).sort();
}
