// regular expressions: match, captures, replace = 446736
const LINE = /^(\d{4})-(\d{2})-(\d{2}) \[(\w+)\] (\w+): (.*)$/;

function work(size) {
  const lines = [];
  for (let i = 0; i < size; i++) {
    const level = ['INFO', 'WARN', 'ERROR'][i % 3];
    lines.push(`2026-0${1 + (i % 9)}-1${i % 10} [${level}] worker${i % 8}: took ${i * 3} ms for user${i}@mail.example.org`);
  }
  let sum = 0;
  for (const line of lines) {
    const match = LINE.exec(line);
    if (match[4] === 'ERROR') sum += Number(match[3]);
    const email = /[\w.]+@[\w.]+\.\w+/.exec(match[6]);
    sum += email[0].length;
  }
  const text = lines.join('\n');
  sum += text.match(/\b\d+ ms\b/g).length;
  sum += text.replace(/(\w+)@(\w+)/g, '$2 at $1').length;
  return sum + text.split(/\s+/).length;
}

work(4000);
