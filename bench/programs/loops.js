// nested loops over integers and floats = 604846
function collatz(limit) {
  let longest = 0;
  for (let start = 1; start < limit; start++) {
    let n = start;
    let steps = 0;
    while (n !== 1) {
      n = n % 2 === 0 ? n / 2 : n * 3 + 1;
      steps++;
    }
    if (steps > longest) longest = steps;
  }
  return longest;
}

function mandelbrot(size) {
  let inside = 0;
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const x0 = (column * 3) / size - 2;
      const y0 = (row * 2) / size - 1;
      let x = 0;
      let y = 0;
      let i = 0;
      while (i < 40 && x * x + y * y < 4) {
        const next = x * x - y * y + x0;
        y = 2 * x * y + y0;
        x = next;
        i++;
      }
      inside += i;
    }
  }
  return inside;
}

collatz(15000) * 1000 + mandelbrot(150);
