// Map and Set with string and object keys = 66401
function work(size) {
  let seed = 42;
  const random = () => (seed = (seed * 16807) % 2147483647);
  const teams = Array.from({ length: 50 }, (_, id) => ({ id }));
  const counts = new Map();
  const points = new Map();
  const seen = new Set();
  for (let i = 0; i < size; i++) {
    const key = 'user' + (random() % 5003);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    const team = teams[i % 50];
    points.set(team, (points.get(team) ?? 0) + i);
    if (seen.has(key)) seen.delete(key);
    else seen.add(key);
  }
  let sum = 0;
  for (const [key, count] of counts) sum = (sum + key.length * count) % 1000003;
  for (const [team, total] of points) sum = (sum + team.id * total) % 1000003;
  for (const key of seen) sum += counts.get(key);
  return sum + counts.size + points.size + seen.size;
}

work(100000);
