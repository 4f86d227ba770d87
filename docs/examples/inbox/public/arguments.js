// Arguments as a form edits them.  Numbers stay the text that somebody typed: the gate
// says whether they are exact.

export function toNode(value) {
  if (value === null) return { type: 'null' };
  if (Array.isArray(value)) return { type: 'array', items: value.map(toNode) };
  if (typeof value === 'object') return { type: 'object', members: Object.entries(value).map(([key, v]) => ({ key, node: toNode(v) })) };
  return { type: typeof value, value: typeof value === 'number' ? JSON.stringify(value) : value };
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export function toText(node) {
  switch (node.type) {
    case 'null': return 'null';
    case 'array': return `[${node.items.map(toText).join(',')}]`;
    case 'object': return `{${node.members.map(({ key, node: n }) => `${JSON.stringify(key)}:${toText(n)}`).join(',')}}`;
    case 'number': {
      const text = node.value.trim();
      if (!NUMBER.test(text)) throw new Error(`"${text}" is not a number`);
      return text;
    }
    default: return JSON.stringify(node.value);
  }
}
