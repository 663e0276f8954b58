// split, join, replaceAll, trim, case, slices = 917310
function work(rounds) {
  const csv = Array.from({ length: 500 }, (_, i) => `${i}, Item ${i} ,${(i * 7) % 100}.50,in stock`).join('\n');
  let sum = 0;
  for (let round = 0; round < rounds; round++) {
    const rows = csv.split('\n').map((line) => line.split(',').map((cell) => cell.trim()));
    const names = rows.map((row) => row[1].toUpperCase().replaceAll('ITEM', 'Article').padStart(12, '.'));
    const joined = names.join(';');
    sum += joined.length + joined.indexOf('Article 499') + joined.slice(10, 40).lastIndexOf('.');
    for (const row of rows) if (row[2].startsWith('4') && row[3].endsWith('stock')) sum += parseFloat(row[2]);
  }
  return sum;
}

work(60);
