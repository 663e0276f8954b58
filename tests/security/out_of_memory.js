// Makes an attempt with ever more memory left. Logs how many bytes that is, and warns of what was neither right nor "out of memory".

let keep = null;

const textOf = error => (error === null || typeof error === "unknown" ? String(error) : error?.name + ": " + error?.message);
const shown = value => {
  if (typeof value === "function" || value instanceof Date || Iterator.prototype.isPrototypeOf(value)) return "something";
  try {
    return typeof value === "bigint" ? String(value) : String(JSON.stringify(value));
  } catch (error) {
    return textOf(error);
  }
};

// The largest buffer that there is memory for. After `await null` running out is as it is the first time.
async function room() {
  let low = 0, high = 1 << 20;
  while (high - low > 8) {
    await null;
    const middle = (low + high) >> 1;
    try {
      new ArrayBuffer(middle);
      low = middle;
    } catch {
      high = middle;
    }
  }
  await null;
  return low;
}

async function sweep(attempt, first, last, step) {
  const OUT_OF_MEMORY = "InternalError: out of memory";
  const measure = () => {
    let value;
    try {
      value = attempt();
    } catch (error) {
      keep = null;
      return textOf(error);
    }
    keep = null;
    if (value instanceof Promise) value.then(() => {}, () => {});
    return shown(value);
  };
  measure();
  const right = measure(), most = await room();
  for (let left = first; left < last; left += step) {
    console.log(left);
    try {
      keep = new ArrayBuffer(most - left);
    } catch {}
    const got = measure();
    await null;
    if (got !== right && got !== OUT_OF_MEMORY) console.warn(`odd: ${got.slice(0, 100)} with ${left} bytes left, and not ${right.slice(0, 100)}`);
  }
}
