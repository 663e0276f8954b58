"""The shortest real example."""

import modebox

PRICES = {"lamp": 40, "rug": 75}

# What a model wrote. It can call `price` and nothing else.
PROGRAM = """
const basket = [["lamp", 2], ["rug", 1]];
let total = 0;
for (const [name, count] of basket) total += count * await price(name);
console.log(`${basket.length} lines`);
({ total, currency: "EUR" })
"""

result = modebox.run_sync(
    PROGRAM, host_functions={"price": lambda name: PRICES[name]}, limits={"timeout_ms": 2000}
)
print(result.value)
print(result.logs)

# Prints:
# {'total': 155, 'currency': 'EUR'}
# [LogEntry(level='log', message='2 lines')]
