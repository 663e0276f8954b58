// promises and async functions = 241194
async function leaf(n) {
  return n % 7;
}

async function step(n) {
  const value = await leaf(n);
  if (n % 50 === 0) throw new Error('try again');
  return value + (await leaf(n + 1));
}

async function work(size) {
  let sum = 0;
  for (let i = 0; i < size; i++) {
    try {
      sum += await step(i);
    } catch (error) {
      sum += error.message.length;
    }
  }
  const all = await Promise.all(Array.from({ length: size }, (_, i) => leaf(i).then((n) => n * 2)));
  return all.reduce((a, b) => a + b, sum);
}

await work(20000);
