// Owns what the handbook says.   PGUSER=knowledge SERVICE_TOKEN=... node knowledge.mjs 8811
import pg from 'pg';
import { z } from 'zod';
import { serve, told } from './service.mjs';

const pool = new pg.Pool();

const search = `
  SELECT id, title, body AS text, round(ts_rank(words, query)::numeric, 4)::float8 AS score
  FROM knowledge.documents, websearch_to_tsquery('english', $2) AS query
  WHERE tenant = $1 AND words @@ query
  ORDER BY score DESC, id LIMIT 5`;

serve('knowledge', {
  name: 'search',
  description: 'Searches the handbook: policies, terms, how things are done. Knows nothing about single orders.',
  inputSchema: z.object({ query: z.string().min(1) }),
  async run({ query }, { tenant }) {
    const { rows: chunks } = await pool.query(search, [tenant, query]);
    const text = chunks.length === 0 ? 'Nothing was found. Say so, and do not guess.'
      : chunks.map((chunk) => `[${chunk.id}] ${chunk.title}: ${chunk.text}`).join('\n');
    return told(text, { query, chunks });
  },
});
