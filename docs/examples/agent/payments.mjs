// Owns the money.   PGUSER=payments SERVICE_TOKEN=... node payments.mjs 8813
import pg from 'pg';
import { z } from 'zod';
import { failed, serve, told } from './service.mjs';

const pool = new pg.Pool();

// One key, one payment, however often it is sent.  Sent twice at once, the second one
// waits for the first: only another statement sees what that has paid.
const pay = `
  INSERT INTO payments.refunds (idempotency_key, tenant, order_id, amount, run_id, request_id)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (idempotency_key) DO NOTHING`;
const paid = 'SELECT id FROM payments.refunds WHERE idempotency_key = $1';

serve('payments', {
  name: 'refund',
  description: 'Pays money back for an order.',
  inputSchema: z.object({ order: z.string().min(1), amount: z.number().positive() }),
  async run({ order, amount }, { tenant, runId, handle, idempotencyKey }) {
    if (!idempotencyKey) return failed('There is no permit for this.');
    await pool.query(pay, [idempotencyKey, tenant, order, amount, runId, handle]);
    const { rows: [{ id }] } = await pool.query(paid, [idempotencyKey]);
    return told(`Paid back ${amount} for ${order}.`, { refund: `re_${id}`, order, amount });
  },
});
