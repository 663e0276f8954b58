// BigInt: multiplication, division, powers modulo = 680452
function power(base, exponent, modulus) {
  let result = 1n;
  let factor = base % modulus;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % modulus;
    factor = (factor * factor) % modulus;
  }
  return result;
}

function work(rounds) {
  const prime = 2n ** 521n - 1n;
  let sum = 0n;
  for (let round = 1; round <= rounds; round++) sum += power(BigInt(round) + 2n ** 300n, prime - 2n, prime);
  let factorial = 1n;
  for (let n = 2n; n <= 600n; n++) factorial *= n;
  return Number((sum + factorial + BigInt(factorial.toString().length)) % 1000003n);
}

work(70);
