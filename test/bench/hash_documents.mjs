// Two documents of the usual kind, members as an application writes them.
// usage: node hash_documents.mjs DIRECTORY    -> 450.json, 20000.json
import { writeFileSync } from 'node:fs';

const item = i => ({
  sku: `SKU-${10000 + i * 37}`, title: `Kabel USB-C → Lightning, ${i % 5 + 1} m`,
  quantity: i % 4 + 1, unit_price: (1999 + i * 13) / 100, tax: 0.19,
  attributes: { colour: i % 2 ? 'black' : 'white', 'gift wrap': i % 3 === 0, note: null },
});
const action = items => ({
  payment_id: 'pay_01J9ZK3V8Q6M4T2R7W5X', amount: 129.9, currency: 'EUR',
  reason: 'Customer returned the goods; the parcel arrived damaged and was sent back on Monday.', notify: true,
  customer: { id: 'cus_482910', name: 'Zoë Müller', email: 'zoe@example.org' }, items,
});
const directory = process.argv[2];
for (const size of [450, 20000]) {
  let n = 0, text;
  do text = JSON.stringify(action(Array.from({ length: n++ }, (_, i) => item(i))));
  while (text.length < size - 100);
  writeFileSync(`${directory}/${size}.json`, text);
}
