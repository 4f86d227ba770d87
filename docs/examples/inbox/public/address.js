// The hash of the address names the open card: #TENANT/ID, the tenant encoded.

export function hashOf({ tenant, id }) {
  return `#${encodeURIComponent(tenant)}/${id}`;
}

export function cardAt(hash) {
  const [, tenant, id] = /^#(.*)\/([0-9A-Za-z]{26})$/s.exec(decoded(hash)) ?? [];
  return id ? { tenant, id } : null;
}

function decoded(hash) {
  try {
    return decodeURIComponent(hash);
  } catch {
    return '';
  }
}
