// Arguments as a form edits them.  Numbers stay the text that somebody typed: the gate
// says whether they are exact.

export function toNode(value) {
  if (value === null) return { type: 'null' };
  if (Array.isArray(value)) return { type: 'array', items: value.map(toNode) };
  if (typeof value === 'object') return { type: 'object', members: Object.entries(value).map(([key, v]) => ({ key, node: toNode(v) })) };
  return { type: typeof value, value: typeof value === 'number' ? JSON.stringify(value) : value };
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

function list(parts, [open, close], margin) {
  if (margin === null || parts.length === 0) return `${open}${parts.join(',')}${close}`;
  return `${open}\n${margin}  ${parts.join(`,\n${margin}  `)}\n${margin}${close}`;
}

// With a margin, every member has a line of its own.
export function toText(node, margin = null) {
  const inner = margin === null ? null : `${margin}  `;

  switch (node.type) {
    case 'null': return 'null';
    case 'array': return list(node.items.map((n) => toText(n, inner)), '[]', margin);
    case 'object': return list(node.members.map(({ key, node: n }) => `${JSON.stringify(key)}: ${toText(n, inner)}`), '{}', margin);
    case 'number': {
      const text = node.value.trim();
      if (!NUMBER.test(text)) throw new Error(`"${text}" is not a number`);
      return text;
    }
    default: return JSON.stringify(node.value);
  }
}
