// Question: how did the last two quarters go, and which large customers are we about to lose?

async function everyPage(list, filter = {}) {
  const rows = [];
  let cursor = null;
  do {
    const page = await list({ ...filter, cursor, limit: 200 });
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== null);
  return rows;
}

const orders = await everyPage(crm.orders);
console.log(`loaded ${orders.length} orders`);

// Only the customers that ordered something, a hundred at a time, all at once.
const ids = [...new Set(orders.map(o => o.customer))];
const chunks = Array.from({ length: Math.ceil(ids.length / 100) }, (_, i) => ids.slice(i * 100, (i + 1) * 100));
const [customers, products, tickets] = await Promise.all([
  Promise.all(chunks.map(c => crm.customers(c))).then(parts => new Map(parts.flat().map(c => [c.id, c]))),
  crm.products().then(list => new Map(list.map(p => [p.sku, p]))),
  everyPage(crm.tickets, { status: ['open', 'waiting'] }),
]);
console.log(`joined with ${customers.size} customers, ${products.size} products, ${tickets.length} unsolved tickets`);

const total = order => order.items.reduce((sum, item) => sum + item.quantity * item.price_cents, 0);
const sales = orders.filter(o => o.status !== 'cancelled');
if (sales.length < orders.length) console.warn(`left out ${orders.length - sales.length} cancelled orders`);

// Months and regions
const months = {};
for (const order of sales) {
  const month = order.placed.slice(0, 7);
  const { region } = customers.get(order.customer);
  months[month] ??= { EMEA: 0, AMER: 0, APAC: 0 };
  months[month][region] += total(order);
}

// Product lines: revenue, and how much of it came back
const lines = new Map();
for (const order of sales) {
  for (const item of order.items) {
    const { line } = products.get(item.sku);
    const entry = lines.get(line) ?? { revenue: 0, returned: 0 };
    const amount = item.quantity * item.price_cents;
    entry.revenue += amount;
    if (order.status === 'returned') entry.returned += amount;
    lines.set(line, entry);
  }
}

// Customers at risk: a large share of late or returned orders, and tickets that nobody has solved
const byCustomer = Object.groupBy(sales, o => o.customer);
const unsolved = Object.groupBy(tickets, t => t.customer);
const atRisk = Object.entries(byCustomer)
  .map(([id, list]) => {
    const bad = list.filter(o => o.status === 'delivered_late' || o.status === 'returned').length;
    const open = unsolved[id] ?? [];
    const urgent = open.filter(t => t.priority === 'urgent' || t.priority === 'high').length;
    return {
      id,
      name: customers.get(id).name,
      contact: customers.get(id).contact,
      revenue: list.reduce((sum, o) => sum + total(o), 0),
      badShare: bad / list.length,
      openTickets: open.length,
      score: (bad / list.length) * 2 + open.length * 0.3 + urgent * 0.7,
      example: open.at(-1)?.subject ?? null,
    };
  })
  .filter(c => c.revenue > 3_000_000 && c.openTickets > 0 && c.badShare > 0.15)
  .sort((a, b) => b.score - a.score)
  .slice(0, 5);
console.log(`${atRisk.length} customers at risk, first ${atRisk[0]?.name}`);

// The report
const money = cents => '$' + Math.round(cents / 100).toString().replace(/\B(?=(\d{3})+$)/g, ',');
const percent = share => (share * 100).toFixed(1) + ' %';
const table = (head, rows) => {
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map(r => r[i].length)));
  const line = cells => cells.map((c, i) => (i ? c.padStart(widths[i]) : c.padEnd(widths[i]))).join('  ').trimEnd();
  return [line(head), widths.map(w => '-'.repeat(w)).join('  '), ...rows.map(line)].join('\n');
};

const monthRows = Object.entries(months).map(([month, r]) => {
  const sum = r.EMEA + r.AMER + r.APAC;
  return [month, money(r.EMEA), money(r.AMER), money(r.APAC), money(sum)];
});
const lineRows = [...lines]
  .sort((a, b) => b[1].revenue - a[1].revenue)
  .map(([name, { revenue, returned }]) => [name, money(revenue), percent(returned / revenue)]);
const riskRows = atRisk.map(c => [c.name, money(c.revenue), percent(c.badShare), String(c.openTickets), c.example]);

({
  report: [
    table(['Month', 'EMEA', 'AMER', 'APAC', 'Total'], monthRows),
    table(['Product line', 'Revenue', 'Returned'], lineRows),
    table(['Customer at risk', 'Revenue', 'Late or returned', 'Open tickets', 'Last subject'], riskRows),
  ].join('\n\n'),
  call: atRisk.map(({ id, name, contact }) => ({ id, name, contact })),
});
