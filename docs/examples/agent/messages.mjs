// The conversation of a run.  The gate keeps no messages, and a worker that takes over needs them.
import pg from 'pg';

export function openMessages() {
  const pool = new pg.Pool();
  pool.on('error', (error) => console.error(`messages: ${error.message}`));
  return {
    async of(runId) {
      const { rows } = await pool.query('SELECT message FROM agent.messages WHERE run_id = $1 ORDER BY n', [runId]);
      return rows.map((row) => row.message);
    },

    // A worker that somebody has taken over from comes too late here as well: its number is
    // taken, or its fence is behind.
    async add(runId, n, fence, message) {
      const { rowCount } = await pool.query(
        `INSERT INTO agent.messages (run_id, n, fence, message)
         SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM agent.messages WHERE run_id = $1 AND fence > $3)
         ON CONFLICT DO NOTHING`, [runId, n, fence, JSON.stringify(message)]);
      if (rowCount === 0) throw new Error('another worker has gone on with this run');
    },

    close: () => pool.end(),
  };
}
