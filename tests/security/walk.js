// Every function that a program can reach: [path, expression, path of its holder, expression of its holder, whether it can be constructed].
// ROOTS, put before this text, is a list of [name, expression, value].

(() => {
const seen = new Set(), properties = [], prototypes = [], found = [];

const isConstructor = f => {
  try {
    Reflect.construct(Object, [], f);
    return true;
  } catch {
    return false;
  }
};

const pathOf = (holder, key) => {
  if (typeof key === "symbol") return `${holder}[${key.description}]`;
  if (holder === "globalThis") return key;
  return /^[\w$]+$/.test(key) ? `${holder}.${key}` : `${holder}[${JSON.stringify(key)}]`;
};

const expressionOf = key => (typeof key === "symbol" ? key.description : JSON.stringify(key));

function visit(value, path, expression, ...holder) {
  if (Object(value) !== value || seen.has(value)) return;
  seen.add(value);
  if (typeof value === "function") found.push([path, expression, ...holder, isConstructor(value)]);
  properties.push([value, path, expression]);
  prototypes.push([value, path, expression]);
}

function visitProperties([object, path, expression]) {
  for (const key of Reflect.ownKeys(object)) {
    const property = Reflect.getOwnPropertyDescriptor(object, key);
    const name = pathOf(path, key), place = expressionOf(key);
    visit(property.value, name, `${expression}[${place}]`, path, expression);
    for (const kind of ["get", "set"])
      visit(property[kind], `${kind} ${name}`, `Reflect.getOwnPropertyDescriptor(${expression}, ${place}).${kind}`, path, expression);
  }
}

for (const [name, expression, value] of ROOTS) {
  visit(value, name, `(${expression})`, "", "undefined");
  while (properties.length) visitProperties(properties.shift());
}
while (prototypes.length) {
  const [object, path, expression] = prototypes.shift();
  visit(Reflect.getPrototypeOf(object), `prototype of ${path}`, `Reflect.getPrototypeOf(${expression})`, path, expression);
  while (properties.length) visitProperties(properties.shift());
}

return found;
})()
