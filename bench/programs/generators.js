// generators, iterators, for-of, lazy helpers = 591996
function* range(from, to) {
  for (let i = from; i < to; i++) yield i;
}

function* flatten(tree) {
  for (const node of tree) {
    if (Array.isArray(node)) yield* flatten(node);
    else yield node;
  }
}

class Pages {
  constructor(count) {
    this.count = count;
  }
  [Symbol.iterator]() {
    let page = 0;
    return { next: () => (page < this.count ? { value: page++, done: false } : { value: undefined, done: true }) };
  }
}

function work(size) {
  let sum = 0;
  for (const n of range(0, size)) sum += n % 7;
  for (const page of new Pages(size)) sum += page % 5;
  for (const leaf of flatten(Array.from({ length: size / 20 }, (_, i) => [i, [i + 1, [i + 2]]]))) sum += leaf % 3;
  for (const n of range(0, size).filter((i) => i % 2).map((i) => i * 3).take(size / 4)) sum += n % 11;
  for (const [index, value] of Array.from(range(0, size)).entries()) sum += (index + value) % 3;
  return sum;
}

work(80000);
