// typed arrays: sieve, checksum, matrix product = 559372
function sieve(limit) {
  const composite = new Uint8Array(limit);
  let primes = 0;
  for (let n = 2; n < limit; n++) {
    if (composite[n]) continue;
    primes++;
    for (let multiple = n * n; multiple < limit; multiple += n) composite[multiple] = 1;
  }
  return primes;
}

function checksum(size) {
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    let c = i;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    table[i] = c;
  }
  const bytes = new Uint8Array(size).map((_, i) => i * 7);
  let crc = 0xffffffff;
  for (let i = 0; i < size; i++) crc = table[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function product(size) {
  const a = new Float64Array(size * size).map((_, i) => i % 13);
  const b = new Float64Array(size * size).map((_, i) => i % 11);
  let trace = 0;
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      let cell = 0;
      for (let k = 0; k < size; k++) cell += a[row * size + k] * b[k * size + column];
      if (row === column) trace += cell;
    }
  }
  return trace;
}

sieve(200000) + (checksum(100000) % 1000003) + product(80);
