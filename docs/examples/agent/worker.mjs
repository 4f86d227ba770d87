// Drives one run: model, tools, model, until there is an answer.
import { think } from './model.mjs';

// _meta is the gateway's word; the rest may be that of a server.
const handleOf = ({ _meta }) => _meta?.['approval/handle'];
const isOpen = ({ _meta }) => _meta?.['approval/status'] === 'pending' || _meta?.['approval/outcome'] === 'in_flight';

// What was wanted and has no result yet: also what a worker that died has left.
function openCalls(messages) {
  const done = new Set(messages.filter((message) => message.role === 'tool').map((message) => message.id));
  return messages.flatMap((message) => message.calls ?? []).filter((call) => !done.has(call.id));
}

export class Worker {
  constructor({ gateway, messages, lease, patience, log }) {
    Object.assign(this, { gateway, store: messages, lease, patience, log });
  }

  async claim(runId, name) {
    this.held = await this.gateway.run('claim_run', { run_id: runId, lease: `${this.lease} s`, claimed_by: name });
    this.runId = this.held.run_id;
    this.messages = await this.store.of(this.runId);
  }

  verb(name, params = {}) {
    return this.gateway.run(name, { run_id: this.runId, token: this.held.token, ...params });
  }

  async add(message) {
    await this.store.add(this.runId, this.messages.length + 1, this.held.fence, message);
    this.messages.push(message);
  }

  // Saved before anything is proposed, so that whoever takes over proposes the same.
  async askModel() {
    const { status } = await this.verb('next_iteration');
    if (status !== 'running') return status;
    const said = think(this.messages);
    await this.add({ role: 'assistant', ...said });
    await this.verb('record_step', { system: 'script', kind: 'model_call', name: 'scripted', input_tokens: 0, output_tokens: 0 });
    return status;
  }

  call({ id, tool, arguments: args }) {
    return this.gateway.call(tool, args, {
      'approval/conversation_id': this.held.conversation_id,
      'approval/run_id': this.runId,
      'approval/run_token': this.held.token,
      'approval/tool_call_id': id,
      traceparent: this.held.traceparent,
    });
  }

  // The run is held meanwhile; what the person decides is read from the gate, wherever it was decided.
  async waitFor(answer) {
    const until = Date.now() + this.patience * 1000;
    while (isOpen(answer) && Date.now() < until) {
      answer = await this.gateway.resume(handleOf(answer), Math.max(1, Math.floor(this.lease / 3)));
      await this.verb('claim_run');
    }
    return answer;
  }

  // Evidence stands on the run, found or not.  It is the handbook's, whatever other tools say.
  async keep(call, result) {
    const { chunks, query } = result.structuredContent ?? {};
    if (call.tool === 'knowledge.policies' && chunks) {
      await this.verb('record_step', {
        system: 'knowledge', kind: 'retrieval', name: 'handbook',
        detail: { query, chunks: chunks.map(({ id, score }) => ({ id, score })) },
      });
    }
    await this.add({ role: 'tool', id: call.id, tool: call.tool, result });
  }

  async callTools(calls) {
    for (const call of calls) {
      let answer = await this.call(call);
      if (isOpen(answer)) {
        this.log(`waits for a person: ${handleOf(answer)}`);
        answer = await this.waitFor(answer);
      }
      if (isOpen(answer)) return false;
      await this.keep(call, answer);
    }
    return true;
  }

  // Ends with an answer, at the limit, or given back because a person has to decide.
  async work() {
    // Whoever asked died before the question was saved.
    if (this.messages.length === 0) return this.verb('fail_run', { reason: 'no question' });
    for (;;) {
      const { text } = this.messages.at(-1);
      if (text && this.messages.length > 1) return this.verb('complete_run', { answer: text });
      const calls = openCalls(this.messages);
      if (calls.length > 0) {
        if (!await this.callTools(calls)) return this.verb('release_run');
      } else if (await this.askModel() !== 'running') {
        return this.verb('run_of', { token: undefined });
      }
    }
  }
}
