// The SQL of PostgREST 12 and 13: what they read about the functions of a schema, and
// what they make of a request.

const quote = (name) => `"${name.replaceAll('"', '""')}"`;
const list = (items, form) => items.map(form).join(', ');

// The functions, as PostgREST sees them: names of types are those of an empty search_path.
export const routines = `
SELECT p.proname AS name, tn.nspname AS type_schema, COALESCE(comp.relname, t.typname) AS type_name,
       p.proretset AS is_set, p.provolatile AS volatility,
       (t.typtype = 'c' OR t.typtype = 'p' AND t.typname = 'record'
        OR COALESCE(p.proargmodes::text[] && '{t,b,o}', false)) AS is_composite,
       COALESCE((SELECT json_agg(json_build_object('name', COALESCE(a.name, ''), 'type', a.type::regtype::text,
                                                   'required', a.idx <= p.pronargs - p.pronargdefaults) ORDER BY a.idx)
                   FROM unnest(p.proargnames, p.proargtypes, p.proargmodes) WITH ORDINALITY AS a (name, type, mode, idx)
                  WHERE a.type IS NOT NULL), '[]') AS parameters
  FROM pg_proc p
  JOIN pg_namespace pn ON pn.oid = p.pronamespace
  JOIN pg_type t ON t.oid = p.prorettype
  JOIN pg_namespace tn ON tn.oid = t.typnamespace
  LEFT JOIN pg_class comp ON comp.oid = t.typrelid
  LEFT JOIN LATERAL (SELECT CASE count(*) - count(name)
                              WHEN 0 THEN true
                              WHEN 1 THEN (array_agg(type))[1] IN ('bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype)
                              ELSE false END AS callable
                       FROM unnest(p.proargnames, p.proargtypes) AS u (name, type)
                      WHERE type IS NOT NULL) a ON true
 WHERE t.oid <> 'trigger'::regtype AND COALESCE(a.callable, true) AND p.prokind = 'f' AND pn.nspname = $1`;

export const begin = (mode) => `BEGIN ISOLATION LEVEL READ COMMITTED READ ${mode}`;

export const settings = ['search_path', 'role', 'request.jwt.claims', 'request.method', 'request.path', 'request.headers', 'request.cookies'];
export const setAll = `select ${list(settings, (name) => `set_config('${name}', $${settings.indexOf(name) + 1}, true)`)}`;

function bodyOf(routine) {
  const scalar = !routine.is_composite;
  const rows = scalar ? 'json_agg(_postgrest_t.pgrst_scalar)' : 'json_agg(_postgrest_t)';
  return routine.is_set ? `coalesce(${rows}, '[]')` : `coalesce(${rows}->0, 'null')`;
}

const answer = (body, source) => 'SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, '
  + `${body} AS body, nullif(current_setting('response.headers', true), '') AS response_headers, `
  + `nullif(current_setting('response.status', true), '') AS response_status, '' AS response_inserted FROM (${source}) _postgrest_t`;

function callOf(schema, routine, args) {
  const call = `${quote(schema)}.${quote(routine.name)}(${args})`;
  return routine.is_composite ? `${call} pgrst_call` : `(SELECT ${call} pgrst_scalar) pgrst_call`;
}

function around(routine, from) {
  const columns = routine.is_composite ? '"pgrst_call".*' : 'pgrst_call.pgrst_scalar';
  const alias = quote(routine.type_schema === 'pg_catalog' ? routine.name : routine.type_name);
  return `WITH pgrst_source AS (SELECT ${columns} ${from}) `
    + answer(bodyOf(routine), `SELECT ${alias}.* FROM "pgrst_source" AS ${alias}    `);
}

// POST: all arguments out of one parameter, the body as it came.
export function callWithBody(schema, routine, parameters) {
  if (parameters.length === 0) return around(routine, `FROM ${callOf(schema, routine, '')}`);
  const names = list(parameters, (p) => quote(p.name));
  const typed = list(parameters, (p) => `${quote(p.name)} ${p.type}`);
  const args = list(parameters, (p) => `${quote(p.name)} := pgrst_body.${quote(p.name)}`);
  return around(routine, 'FROM (SELECT $1 AS json_data) pgrst_payload, '
    + `LATERAL (SELECT ${names} FROM json_to_record(pgrst_payload.json_data) AS _(${typed}) LIMIT 1) pgrst_body , `
    + `LATERAL ${callOf(schema, routine, args)}`);
}

// GET: a parameter for each argument.
export function callWithQuery(schema, routine, parameters) {
  const args = parameters.map((p, i) => `${quote(p.name)} := $${i + 1}::${p.type}`).join(', ');
  return around(routine, `FROM ${callOf(schema, routine, args)}`);
}

// GET of a view, with filters of the kind column=eq.value.
export function readOf(schema, view, columns) {
  const table = `${quote(schema)}.${quote(view)}`;
  const where = columns.map((column, i) => `${table}.${quote(column)} = $${i + 1}`).join(' AND ');
  const source = `SELECT ${table}.* FROM ${table} ${where && `WHERE  ${where}`}   `;
  return `WITH pgrst_source AS ( ${source} )  ${answer("coalesce(json_agg(_postgrest_t), '[]')", ' SELECT * FROM pgrst_source ')}`;
}
