// What scripts do: the profile of a wheel's guest is taken while this runs (tools/build_wheel.py).
// The bench has programs of its own, so that it measures what was not trained.

const random = (seed => () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff)(42);
const words = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda'.split(' ');

function records(count) {
  return Array.from({ length: count }, (_, id) => ({
    id,
    name: words[id % words.length] + '-' + id,
    price: Math.round(random() * 10000) / 100,
    tags: words.filter(() => random() < 0.3),
    created: new Date(1700000000000 + id * 3600000).toISOString(),
  }));
}

function summarise(rows) {
  const groups = new Map();
  for (const { name, price, tags } of rows) {
    const key = name.split('-')[0];
    const group = groups.get(key) ?? { count: 0, total: 0, tags: new Set() };
    group.count++;
    group.total += price;
    tags.forEach(tag => group.tags.add(tag));
    groups.set(key, group);
  }
  return [...groups].map(([key, { count, total, tags }]) => ({ key, count, mean: total / count, tags: [...tags].sort() }))
    .sort((a, b) => b.mean - a.mean || a.key.localeCompare(b.key));
}

function parseTable(text) {
  const [head, ...lines] = text.trim().split('\n');
  const columns = head.split(',').map(column => column.trim());
  return lines.map(line => Object.fromEntries(line.split(',').map((cell, at) => [columns[at], /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell])));
}

class Matrix {
  #cells;
  constructor(size, fill) {
    this.size = size;
    this.#cells = new Float64Array(size * size).map((_, at) => fill(at));
  }
  at(row, column) { return this.#cells[row * this.size + column]; }
  times(other) {
    const { size } = this;
    return new Matrix(size, at => {
      let sum = 0;
      for (let k = 0, row = (at / size) | 0, column = at % size; k < size; k++) sum += this.at(row, k) * other.at(k, column);
      return sum;
    });
  }
}

function* primes(limit) {
  const sieve = new Uint8Array(limit + 1);
  for (let n = 2; n <= limit; n++) {
    if (sieve[n]) continue;
    yield n;
    for (let m = n * n; m <= limit; m += n) sieve[m] = 1;
  }
}

const memo = {};
const ways = (sum, coins) => sum === 0 ? 1 : sum < 0 || !coins.length ? 0
  : (memo[sum + ':' + coins.length] ??= ways(sum - coins[0], coins) + ways(sum, coins.slice(1)));

function walk(node, depth = 0) {
  if (depth > 8) return 1;
  return 1 + (node.left ? walk(node.left, depth + 1) : 0) + (node.right ? walk(node.right, depth + 1) : 0);
}
const tree = depth => depth ? { value: depth, left: tree(depth - 1), right: tree(depth - 1) } : { value: 0 };

function levenshtein(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

const pause = async value => { await null; return value; };

const out = [];
for (let round = 0; round < 40; round++) {
  const rows = records(150);
  out.push(summarise(JSON.parse(JSON.stringify(rows))).length);
  const csv = 'id, name, price\n' + rows.map(row => `${row.id},${row.name},${row.price}`).join('\n');
  out.push(parseTable(csv).reduce((sum, row) => sum + row.price, 0).toFixed(2));
  out.push(new Matrix(12, at => at % 7).times(new Matrix(12, at => at % 5)).at(3, 4));
  out.push([...primes(2000)].length, walk(tree(8)), levenshtein('kitten sitting on the mat', 'sitting kitten at the mall'));
  out.push(ways(200 + round, [50, 20, 10, 5, 2, 1]), (2n ** 200n % (BigInt(round) + 3n)).toString());
  out.push(csv.replace(/(\w+)-(\d+)/g, (_, word, id) => word.toUpperCase() + id).match(/[A-Z]+\d+/g).length);
  try { null.missing; } catch (error) { out.push(error.message.length); }
  const pages = await Promise.all([1, 2, 3].map(async page => (await pause(rows.slice(page * 10, page * 10 + 5))).map(row => ({ ...row, page }))));
  out.push(pages.flat().map(({ name, ...rest }) => Object.keys(rest).length).reduce((a, b) => a + b));
}
let checksum = 0;
for (const character of out.join('|')) checksum = (checksum * 31 + character.codePointAt(0)) >>> 0;
checksum;
