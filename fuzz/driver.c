/* driver.c: calls LLVMFuzzerTestOneInput with mutated inputs, where libFuzzer is not at hand.
 *
 *     fuzz_NAME SECONDS [SEED]       the same seed gives the same inputs
 *
 * Inputs grow out of a pool of earlier ones. A crash is found by the sanitizers; the input that caused it is in ./crash. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* A target may give an input to begin with: writes it and gives its size, at most 4096. */
__attribute__((weak)) size_t fuzz_first_input(uint8_t *out);

enum { POOL = 256, MAX_SIZE = 4096 };

static struct {
  uint8_t data[MAX_SIZE];
  size_t size;
} pool[POOL], current;

static uint64_t state;

static uint32_t pick(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 16) % below);
}

static void insert(size_t at, size_t count) {
  if (current.size + count > MAX_SIZE)
    return;
  memmove(current.data + at + count, current.data + at, current.size - at);
  for (size_t i = 0; i < count; i++)
    current.data[at + i] = pick(3) ? (uint8_t)pick(16) : (uint8_t)pick(256);
  current.size += count;
}

static void erase(size_t at, size_t count) {
  if (count > current.size - at)
    count = current.size - at;
  memmove(current.data + at, current.data + at + count, current.size - at - count);
  current.size -= count;
}

static void splice(size_t at) {
  uint32_t other = pick(POOL);
  size_t count = pool[other].size;
  if (at + count > MAX_SIZE)
    count = MAX_SIZE - at;
  memcpy(current.data + at, pool[other].data, count);
  if (at + count > current.size)
    current.size = at + count;
}

static void mutate(void) {
  static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff };
  size_t at = pick((uint32_t)current.size + 1);
  switch (pick(6)) {
  case 0:
    insert(at, 1 + pick(8));
    break;
  case 1:
    erase(at, 1 + pick(8));
    break;
  case 2:
    splice(at);
    break;
  default:
    if (at < current.size)
      current.data[at] = pick(2) ? edges[pick(sizeof edges)] : (uint8_t)pick(256);
  }
}

void __sanitizer_set_death_callback(void (*callback)(void));

static void keep_input(void) {
  FILE *file = fopen("crash", "wb");
  if (file) {
    fwrite(current.data, 1, current.size, file);
    fclose(file);
  }
}

int main(int argc, char **argv) {
  time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
  state = argc > 2 ? strtoull(argv[2], NULL, 0) : 88172645463325252u;
  __sanitizer_set_death_callback(keep_input);
  for (int i = 0; fuzz_first_input && i < POOL; i++)
    pool[i].size = fuzz_first_input(pool[i].data);
  uint64_t runs = 0;
  for (; time(NULL) < end; runs++) {
    current = pool[pick(POOL)];
    for (uint32_t n = 1 + pick(8); n; n--)
      mutate();
    LLVMFuzzerTestOneInput(current.data, current.size);
    pool[pick(POOL)] = current;
  }
  printf("%llu inputs, no crash\n", (unsigned long long)runs);
  return 0;
}
