/* random.h: Math.random over the host's seed. The generator is xoshiro256**, by Blackman and Vigna (public domain). */
#ifndef MODEBOX_RANDOM_H
#define MODEBOX_RANDOM_H
#include "guest.h"

void random_install(JSContext *ctx);
void random_seed(const uint8_t seed[GUEST_SEED_SIZE]);

#endif
