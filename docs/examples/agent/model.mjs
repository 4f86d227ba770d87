// Stands for the model: it reads the conversation, and wants tools or answers.  It
// knows tools by what they are for, and nothing of gates, tenants or tokens.
import { randomUUID } from 'node:crypto';

const want = (tool, args) => ({ calls: [{ id: `call-${randomUUID()}`, tool, arguments: args }] });

const stopWords = new Set('how long may i a an the of my can do you is are what to when in for get your'.split(' '));
const keywords = (text) => text.toLowerCase().match(/[a-z]+/g).filter((word) => !stopWords.has(word)).join(' ');

function answerFromHandbook({ question, results }) {
  const found = results['knowledge.policies'];
  if (!found) return want('knowledge.policies', { query: keywords(question) });
  if (found.isError) return { text: 'I could not read the handbook just now.' };
  const [best] = found.structuredContent.chunks;
  return { text: best ? `${best.text} [${best.id}]` : 'I found nothing about that in our handbook.' };
}

function answerFromOrders({ order, results }) {
  const found = results['orders.status'];
  if (!found) return want('orders.status', { order });
  if (found.isError) return { text: `I could not look up ${order}: ${found.content[0].text}` };
  return { text: `Order ${order} is ${found.structuredContent.status}.` };
}

function refund({ order, results }) {
  const looked = results['orders.status'];
  if (!looked || looked.isError) return answerFromOrders({ order, results });
  const paid = results['payments.refund'];
  if (!paid) return want('payments.refund', { order, amount: looked.structuredContent.total });
  if (paid.structuredContent?.approval?.outcome === 'unknown') return { text: `Whether ${order} was refunded is not known yet. We find out.` };
  if (paid.isError) return { text: `The refund of ${order} was not made. ${paid.content[0].text}` };
  return { text: `The refund of ${order} is made: ${paid.structuredContent.refund}.` };
}

// messages: { role: 'user', text }, { role: 'assistant', calls | text }, { role: 'tool', id, tool, result }
export function think(messages) {
  const question = messages.find((message) => message.role === 'user').text;
  const results = Object.fromEntries(messages.filter((message) => message.role === 'tool').map(({ tool, result }) => [tool, result]));
  const order = /\b[A-Z]-\d+\b/.exec(question)?.[0];
  if (order && /refund/i.test(question)) return refund({ order, results });
  return order ? answerFromOrders({ order, results }) : answerFromHandbook({ question, results });
}
