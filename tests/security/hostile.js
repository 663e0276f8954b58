// What the snippets of hostile.toml are made of.

globalThis.leaked = Math.leaked = 1; // must be gone in the next run

const endless = () => { for (;;); };
const thrower = () => { throw new TypeError("thrown by the program"); };
const same = x => x;
const again = function (...values) { return Reflect.apply(target, this ?? own(), [again, ...values]); };
const generator = function* () { for (;;) yield "x"; };

// Objects that never give their text, number, length, items or anything else.
const coercions = act => ({ [Symbol.toPrimitive]: act });
const getters = act => {
  const keys = [
    "length", "constructor", "toString", "valueOf", "toJSON", "then", "next", "return", "done", "value", "size", "has", "keys", "flags",
    "exec", "lastIndex", "index", "source", "message", "name", "cause", "stack", "raw", "get", "set", "writable", "prototype",
    "buffer", "maxByteLength", "mode", "alphabet", 0, "-1", Symbol.iterator, Symbol.asyncIterator, Symbol.toPrimitive, Symbol.species,
    Symbol.toStringTag, Symbol.isConcatSpreadable, Symbol.hasInstance, Symbol.match, Symbol.replace, Symbol.search, Symbol.split,
    Symbol.matchAll, Symbol.unscopables, Symbol.dispose, Symbol.asyncDispose,
  ];
  return Object.defineProperties({}, Object.fromEntries(keys.map(key => [key, { get: act, enumerable: true }])));
};
const proxy = (act, of = function () {}) => new Proxy(of, new Proxy({}, { get: () => act }));
const proxies = (depth, of = function () {}) => { while (depth-- > 0) of = new Proxy(of, {}); return of; };

// Containers that hold themselves, that are deep, or that claim to be long.
const circle = () => { const a = [1, "x"]; a.push(a, a, { a }); return a; };
const deep = depth => { let a = []; while (depth-- > 0) a = [a]; return a; };
const sparse = length => { const a = []; a.length = length; return a; };
const list = length => Array.from({ length }, (_, i) => (i * 7919) % length);
const keyed = length => Object.fromEntries(list(length).map(key => ["k" + key, key]));
const iterable = act => ({ [Symbol.iterator]: () => ({ next: act, return: act, [Symbol.iterator]() { return this; } }) });
const species = make => { const a = list(8); a.constructor = { [Symbol.species]: make }; return a; };

// Takes away from under a call what it works on.
function mutate() {
  receiver?.buffer?.transfer?.();
  receiver?.resize?.(0);
  receiver?.clear?.();
  if (Array.isArray(receiver)) receiver.length = 0;
  return 1;
}

// What a call gives is used up: promises are awaited, iterators are drained.
async function use(value) {
  if (value instanceof Promise) value = await value;
  if (typeof value?.next === "function") while (!(await value.next()).done);
}
