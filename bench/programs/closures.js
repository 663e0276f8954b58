// closures, callbacks and method calls = 993538
function counter(step) {
  let total = 0;
  return { add: (n) => (total += n * step), read: () => total };
}

const compose = (f, g) => (x) => g(f(x));

function work(rounds) {
  let sum = 0;
  for (let round = 0; round < rounds; round++) {
    const mine = counter(round % 7);
    const twice = compose((x) => x + 1, (x) => x * 2);
    for (let i = 0; i < 20; i++) mine.add(twice(i));
    const even = [1, 2, 3, 4, 5, 6, 7, 8].filter((n) => n % 2 === 0).map((n) => n * round);
    sum = (sum + mine.read() + even.reduce((a, b) => a + b, 0)) % 1000003;
  }
  return sum;
}

work(12000);
