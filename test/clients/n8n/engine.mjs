// Runs workflow files: n8n's own Workflow, expressions, filters and Postgres
// nodes, and as much of the rest as the examples use.
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { kinds, splitErrors } from './kinds.mjs';
import { nodeTypes } from './postgres.mjs';

const require = createRequire(import.meta.url);
const { Workflow } = require('n8n-workflow');

export function load(file) {
  return new Workflow({ ...file, active: true, nodeTypes });
}

// One execution, as n8n keeps it: what each node has put out, and what is next.
export class Execution {
  constructor(engine, file, id) {
    Object.assign(this, { engine, file, id, status: 'running', token: randomBytes(32).toString('hex') });
    this.workflow = load(file);
    this.data = { version: 1, resultData: { runData: {} }, executionData: { contextData: {} } };
    this.stack = [];
    this.keys = {
      $execution: { id, mode: 'production', resumeUrl: `${engine.base}/webhook-waiting/${id}?signature=${this.token}` },
      $executionId: id,
    };
  }

  // The same execution a second time, as it stands: what n8n must never do.
  copy() {
    const twin = Object.assign(Object.create(Execution.prototype), this);
    twin.data = structuredClone(this.data);
    twin.stack = structuredClone(this.stack);
    return twin;
  }

  value(raw, step, index = 0) {
    return this.workflow.expression.getParameterValue(
      raw, this.data, step.run, index, step.node.name, step.items, 'trigger', this.keys, step.executeData);
  }

  begin(trigger, items) {
    const node = this.workflow.getNode(trigger);
    this.finished(this.step(node, [], null), [items]);
    return this.go();
  }

  step(node, items, source) {
    const run = this.data.resultData.runData[node.name]?.length ?? 0;
    return { node, items, run, source, executeData: { node, data: { main: [items] }, source: source && { main: [source] } } };
  }

  finished(step, outputs) {
    const { name } = step.node;
    const runs = (this.data.resultData.runData[name] ??= []);
    outputs.forEach((items) => items.forEach((item, i) => (item.pairedItem ??= { item: Math.min(i, Math.max(step.items.length - 1, 0)) })));
    runs.push({ data: { main: outputs }, source: step.source ? [step.source] : [], startTime: 0, executionTime: 0 });
    this.lastNode = name;
    const next = this.workflow.connectionsBySourceNode[name]?.main ?? [];
    // the first output is run first
    outputs.forEach((items, output) => items.length && (next[output] ?? []).forEach((to) => this.stack.push({
      name: to.node, items, source: { previousNode: name, previousNodeOutput: output, previousNodeRun: runs.length - 1 },
    })));
  }

  async go() {
    this.status = 'running';
    while (this.stack.length > 0) {
      const { name, items, source } = this.stack.shift();
      const step = this.step(this.workflow.getNode(name), structuredClone(items), source);
      if (step.node.executeOnce) step.items = step.items.slice(0, 1);
      if (step.node.type === 'n8n-nodes-base.wait') {
        this.waiting = step;
        this.status = 'waiting';
        return;
      }
      try {
        this.finished(step, await this.run(step));
      } catch (error) {
        this.lastNode = name;
        this.error = error;
        this.status = 'error';
        return;
      }
    }
    this.status = 'success';
  }

  async run(step) {
    const tries = step.node.retryOnFail ? step.node.maxTries : 1;
    for (let i = 1; ; i++) {
      const outputs = await kinds[step.node.type.replace('n8n-nodes-base.', '')](this, step);
      const failed = outputs[0]?.[0]?.json.error;
      if (!failed || i >= tries) return splitErrors(step, outputs);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  // A POST to the resume URL, or the end of the Wait node's limit.
  resume(items) {
    const step = this.waiting;
    this.waiting = undefined;
    this.finished(step, [items ?? step.items]);
    return this.go();
  }
}
