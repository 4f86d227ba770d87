// The other kinds of nodes, as far as the examples use them.
import { createRequire } from 'node:module';
import { executePostgres } from './postgres.mjs';

const require = createRequire(import.meta.url);
const { executeFilter } = require('n8n-workflow');

const passes = (execution, step, conditions, i) => executeFilter(execution.value(conditions, step, i));

function set(execution, step) {
  return [step.items.map((item, i) => {
    const json = { ...item.json };
    for (const { name, value, type } of step.node.parameters.assignments.assignments) {
      const found = execution.value(value, step, i);
      json[name] = type === 'array' ? JSON.parse(found) : found;
    }
    return { json };
  })];
}

function choose(execution, step) {
  const { conditions } = step.node.parameters;
  const outputs = [[], []];
  step.items.forEach((item, i) => outputs[passes(execution, step, conditions, i) ? 0 : 1].push(item));
  return outputs;
}

function route(execution, step) {
  const rules = step.node.parameters.rules.values;
  const outputs = [...rules, 'fallback'].map(() => []);
  step.items.forEach((item, i) => {
    const found = rules.findIndex((rule) => passes(execution, step, rule.conditions, i));
    outputs[found < 0 ? rules.length : found].push(item);
  });
  return outputs;
}

function splitOut(execution, step) {
  const { fieldToSplitOut: field, include, options } = step.node.parameters;
  return [step.items.flatMap(({ json }) => json[field].map((value) => {
    if (include !== 'allOtherFields') return { json: value };
    const others = Object.fromEntries(Object.entries(json).filter(([key]) => key !== field));
    return { json: { ...others, [options.destinationFieldName || field]: value } };
  }))];
}

async function request(execution, step, i) {
  const { method, url, headerParameters, jsonBody, options } = execution.value(step.node.parameters, step, i);
  const headers = Object.fromEntries((headerParameters?.parameters ?? []).map(({ name, value }) => [name, value]));
  try {
    const answer = await fetch(url, {
      method, body: jsonBody, redirect: 'manual', signal: AbortSignal.timeout(options.timeout),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const text = await answer.text();
    const json = (answer.headers.get('content-type') ?? '').includes('json');
    return { json: { statusCode: answer.status, body: json ? JSON.parse(text) : text } };
  } catch (error) {
    return { json: { error: { message: error.message } }, pairedItem: { item: i } };
  }
}

async function http(execution, step) {
  const items = [];
  for (let i = 0; i < step.items.length; i++) items.push(await request(execution, step, i));
  return [items];
}

function stop(execution, step) {
  throw new Error(execution.value(step.node.parameters.errorMessage, step));
}

function respond(execution, step) {
  execution.respond?.(execution.value(step.node.parameters.options.responseCode, step));
  return [step.items];
}

export const kinds = {
  postgres: executePostgres, set, if: choose, switch: route, splitOut, httpRequest: http,
  noOp: (execution, step) => [step.items], stopAndError: stop, respondToWebhook: respond,
};

// What n8n does with "on error: continue (using error output)".
export function splitErrors(step, outputs) {
  if (step.node.onError !== 'continueErrorOutput') return outputs;
  const [good, bad] = [[], []];
  for (const item of outputs[0]) {
    const isError = item.json.error && Object.keys(item.json).every((key) => ['error', 'message', 'details'].includes(key));
    if (isError) bad.push({ ...item, json: { ...step.items[item.pairedItem?.item ?? 0]?.json, ...item.json } });
    else good.push(item);
  }
  return [good, bad];
}
