// One call of a tool: propose it, and go as far as the gate allows.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inputResponse } from '@modelcontextprotocol/server';
import * as answers from './answers.mjs';
import { Refusal, notFound } from './gate.mjs';
import { FROM_CLIENTS, META, RESUME, splitName, within } from './names.mjs';

// It has happened.  A database that is away for a moment must not leave that unsaid.
async function reported(complete, tries = 5) {
  try {
    return await complete();
  } catch (error) {
    if (error instanceof Refusal || tries === 1) throw error;
    await sleep(1000);
    return reported(complete, tries - 1);
  }
}

// One that is none is as left out, as W3C has it.
const TRACE = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

// The call was made: nothing that goes wrong from here on means that it was not.
async function orUnknown(row, complete) {
  try {
    return await reported(complete);
  } catch (error) {
    console.error(error);
    return { ...row, status: 'consumed', outcome: 'unknown' };
  }
}

// What the server behind is told beside the arguments.
const about = (row, principal) => ({ traceparent: row.traceparent, tenant: principal.tenant, runId: row.run_id, handle: row.id });

// What a client says there becomes names: they are texts, or the call is none.
function textsOf(meta) {
  const wrong = FROM_CLIENTS.some((name) => !['string', 'undefined'].includes(typeof (meta[name] ?? undefined)));
  if (wrong) throw new Refusal('bad_call', 400);
  return meta;
}

export function callsOf(gate, upstreams) {
  // What runs is what the gate has: its arguments, edited or not, and the definition of this moment.
  async function execute(row, principal) {
    return upstreams.with(row.server, async (upstream) => {
      const definition = await upstream.definition(row.tool);
      if (definition === null) throw new Refusal('tool_gone', 404);
      const args = JSON.parse(row.arguments);
      const executionId = randomUUID();
      const permit = await gate.consume({ ...row, arguments: JSON.stringify(args), definition }, executionId, principal);
      const report = await upstream.run(row.tool, args,
        { ...about(row, principal), definition, idempotencyKey: permit.idempotency_key });
      const done = await orUnknown(row, () => gate.complete(
        row.id, executionId, permit.token, report.outcome, JSON.stringify(report.result), principal));
      return done.outcome === report.outcome && done.outcome !== 'unknown'
        ? answers.executed(done, report.result) : answers.consumed(done);
    });
  }

  // Whoever was slower is told what the faster one has made of it.
  async function executeOnce(row, principal) {
    try {
      return await execute(row, principal);
    } catch (error) {
      if (!['already_consumed', 'not_approved', 'expired'].includes(error.reason)) throw error;
      return settled(await gate.find(row.id, principal));
    }
  }

  function settled(row) {
    if (row.status === 'pending') return answers.pending(row);
    return row.status === 'consumed' ? answers.consumed(row) : answers.ended(row);
  }

  const goOn = (row, principal) => (row.status === 'approved' ? executeOnce(row, principal) : settled(row));

  async function runInline(upstream, row, definition, principal) {
    const report = await upstream.run(row.tool, JSON.parse(row.arguments), { ...about(row, principal), definition });
    if (report.outcome === 'succeeded') await gate.validate(row.server, row.tool, JSON.stringify(report.result), principal);
    return answers.executed(row, report.result);
  }

  // The gate logs a read and is done with it.  Read again, it is another one, with the policy of today.
  async function proposeFresh(call) {
    const row = await gate.propose(call);
    if (row.mode !== 'inline' || row.fresh) return row;
    return gate.propose({ ...call, toolCallId: `${call.toolCallId}~${call.attempt}` });
  }

  function proposal({ params }, principal, body) {
    const meta = textsOf(params._meta ?? {});
    return {
      ...splitName(params.name),
      body,
      principal,
      attempt: randomUUID(),
      toolCallId: meta[META.toolCall] ?? randomUUID(),
      conversation: within(principal, meta[META.conversation] ?? ''),
      runId: within(principal, meta[META.run] ?? randomUUID()),
      runToken: meta[META.runToken] ?? null,
      reason: meta[META.reason] ?? null,
      traceparent: TRACE.test(meta.traceparent) ? meta.traceparent : null,
    };
  }

  async function callAnew(request, ctx, { principal, body }) {
    const call = proposal(request, principal, body);
    if (!upstreams.has(call.server)) throw new Refusal('no_such_tool', 404);
    const row = await upstreams.with(call.server, async (upstream) => {
      const definition = await upstream.definition(call.tool);
      if (definition === null) throw new Refusal('no_such_tool', 404);
      const proposed = await proposeFresh({ ...call, definition });
      const inline = proposed.mode === 'inline' && proposed.status === 'consumed';
      return inline ? { answer: await runInline(upstream, proposed, definition, principal) } : proposed;
    });
    if (row.answer) return row.answer;
    return row.status === 'pending' && canBeAsked(ctx) ? answers.question(row) : goOn(row, principal);
  }

  const canBeAsked = (ctx) =>
    Boolean(ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities']?.elicitation);

  // Whoever answers sits beside the agent: that is a remark for the reviewer, and no decision.
  async function takeAnswer(request, ctx, { principal }) {
    const row = await gate.find(ctx.mcpReq.requestState(), principal);
    const { server, tool } = splitName(request.params.name);
    if (row.server !== server || row.tool !== tool) throw notFound();
    const reply = inputResponse(ctx.mcpReq.inputResponses, answers.QUESTION);
    if (reply.kind === 'elicit') {
      const note = JSON.stringify({ elicitation: reply.action, ...(reply.content && { content: reply.content }) });
      await gate.comment(row.id, `Beside the agent, not a decision: ${note}`, principal);
    }
    return goOn(row, principal);
  }

  async function resume({ params }, { principal }) {
    const { handle, wait = 0 } = params.arguments ?? {};
    if (typeof handle !== 'string') throw notFound();
    const row = await gate.find(handle, principal);
    if (row.status !== 'pending' || !(wait > 0)) return goOn(row, principal);
    await gate.wait(handle, Math.min(Number(wait), 30), principal);
    return goOn(await gate.find(handle, principal), principal);
  }

  return async function call(request, ctx, caller) {
    try {
      if (request.params.name === RESUME) return await resume(request, caller);
      if (ctx.mcpReq.requestState()) return await takeAnswer(request, ctx, caller);
      return await callAnew(request, ctx, caller);
    } catch (error) {
      if (error instanceof Refusal) return answers.refused(error);
      console.error(error);
      return answers.refused(new Refusal('gateway_error', 500));
    }
  };
}
