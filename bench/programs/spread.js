// destructuring, rest, spread, default values = 1663538
function total({ price, count = 1, ...rest }, ...discounts) {
  const [first = 0, second = 0] = discounts;
  return price * count - first - second + Object.keys(rest).length;
}

function work(size) {
  let sum = 0;
  let settings = { retries: 3, verbose: false };
  for (let i = 0; i < size; i++) {
    const item = { id: i, price: i % 100, tags: ['a', 'b'], ...(i % 2 ? { count: i % 4 } : {}) };
    settings = { ...settings, retries: i % 5, last: i };
    const [head, ...tail] = [...item.tags, i, ...'xyz'];
    const { price: cost, tags: [, second] = [] } = item;
    sum += total({ ...item, ...settings }, ...[1, 2].slice(i % 2)) + tail.length + head.length + cost + second.length;
    sum += Math.max(...[i % 3, i % 5, i % 7]);
  }
  return sum + settings.last;
}

work(12000);
