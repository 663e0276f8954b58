// JSON.parse and JSON.stringify = 1405520
function order(id) {
  return {
    id,
    customer: { name: `Customer ${id % 97}`, email: `c${id % 97}@example.com`, vip: id % 5 === 0 },
    items: Array.from({ length: 4 }, (_, i) => ({ sku: `SKU-${id}-${i}`, price: i + 0.25, count: (id + i) % 9 })),
    note: id % 3 === 0 ? 'left at "the door"\n' : null,
  };
}

function work(rounds) {
  const text = JSON.stringify(Array.from({ length: 250 }, (_, id) => order(id)));
  let sum = 0;
  for (let round = 0; round < rounds; round++) {
    const orders = JSON.parse(text);
    orders[round].customer.name += '!';
    sum += JSON.stringify(orders).length + orders[round].items.length;
  }
  return sum;
}

work(20);
