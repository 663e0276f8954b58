// Array.prototype.sort with comparators = 989163
function work(size) {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647);
  const people = Array.from({ length: size }, (_, id) => ({ id, age: random() % 90, name: 'n' + (random() % 5000) }));
  people.sort((a, b) => a.age - b.age || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) || a.id - b.id);
  const numbers = Array.from({ length: size * 2 }, random).sort((a, b) => b - a);
  let sum = 0;
  for (let i = 0; i < size; i++) sum = (sum * 31 + people[i].id + numbers[i]) % 1000003;
  return sum;
}

work(14000);
