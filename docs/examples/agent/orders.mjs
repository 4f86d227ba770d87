// Owns where an order is, at this moment.   PGUSER=orders SERVICE_TOKEN=... node orders.mjs 8812
import pg from 'pg';
import { z } from 'zod';
import { failed, serve, told } from './service.mjs';

const pool = new pg.Pool();

serve('orders', {
  name: 'lookup',
  description: 'Looks up the status and the total of one order as they are now.',
  inputSchema: z.object({ order: z.string().min(1) }),
  async run({ order }, { tenant }) {
    const { rows: [found] } = await pool.query(
      'SELECT id AS order, status, total::float8 AS total FROM orders.orders WHERE tenant = $1 AND id = $2', [tenant, order]);
    return found ? told(`Order ${found.order}: ${found.status}, ${found.total}`, found) : failed('There is no such order.');
  },
});
