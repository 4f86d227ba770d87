// The orchestrator.  It has no login of the gate, only a token of the gateway.
//
//   node orchestrator.mjs ask CONVERSATION QUESTION     starts a run and prints its id
//   node orchestrator.mjs work RUN                      goes on with it, as far as it gets
//
// GATEWAY_URL and GATEWAY_TOKEN say where and as whom; PGUSER=orchestrator is for its messages.
import { hostname } from 'node:os';
import { connectGateway } from './gateway.mjs';
import { openMessages } from './messages.mjs';
import { Worker } from './worker.mjs';

// Somebody else has the run: try later (EX_TEMPFAIL).
const HELD = 75;

async function ask({ gateway, messages }, [conversation, question]) {
  const run = await gateway.run('start_run', { conversation_id: conversation, agent: 'support' });
  await messages.add(run.run_id, 1, 0, { role: 'user', text: question });
  console.log(run.run_id);
}

async function work({ gateway, messages }, [runId]) {
  const worker = new Worker({
    gateway,
    messages,
    lease: Number(process.env.LEASE ?? 120),
    patience: Number(process.env.PATIENCE ?? 0),
    log: (text) => console.log(text),
  });
  await worker.claim(runId, `${hostname()}:${process.pid}`);
  const run = await worker.work();
  console.log(run.answer ? `${run.status}: ${run.answer}` : run.status);
}

const [command, ...args] = process.argv.slice(2);
const parts = {
  gateway: await connectGateway(process.env.GATEWAY_URL, process.env.GATEWAY_TOKEN),
  messages: openMessages(),
};
try {
  await { ask, work }[command](parts, args);
} catch (error) {
  console.log(`refused: ${error.data?.reason ?? error.message}`);
  process.exitCode = error.data?.reason === 'run_claimed' ? HELD : 1;
} finally {
  await Promise.all([parts.gateway.close(), parts.messages.close()]);
}
