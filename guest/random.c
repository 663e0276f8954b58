#include "random.h"
#include <string.h>

static uint64_t state[4];

static uint64_t rotate(uint64_t x, unsigned n) {
  return x << n | x >> (64 - n);
}

static uint64_t next(void) {
  uint64_t result = rotate(state[1] * 5, 7) * 9, t = state[1] << 17;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= t;
  state[3] = rotate(state[3], 45);
  return result;
}

/* The finalizer of SplitMix64 (G. Steele et al., 2014): seeds that hardly differ give numbers that do. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

void random_seed(const uint8_t seed[GUEST_SEED_SIZE]) {
  enum { WORDS = GUEST_SEED_SIZE / 8 };
  uint64_t words[WORDS], all = UINT64_C(0x9e3779b97f4a7c15);
  memcpy(words, seed, sizeof words);
  for (unsigned i = 0; i < WORDS; i++)
    all = mix(all + words[i]);
  for (unsigned i = 0; i < WORDS; i++)
    state[i] = mix(all + words[i] + i);
  state[0] |= !(state[0] | state[1] | state[2] | state[3]); /* the one state that it never leaves */
}

static JSValue js_math_random(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv) {
  (void)self, (void)argc, (void)argv;
  return JS_NewFloat64(ctx, (double)(next() >> 11) * 0x1p-53);
}

void random_install(JSContext *ctx) {
  JSValue global = JS_GetGlobalObject(ctx), math = JS_GetPropertyStr(ctx, global, "Math");
  JS_DefinePropertyValueStr(ctx, math, "random", JS_NewCFunction(ctx, js_math_random, "random", 0),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_FreeValue(ctx, math);
  JS_FreeValue(ctx, global);
}
