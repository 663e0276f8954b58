/* calls.h: host functions as the program sees them, and the promises of their calls. */
#ifndef MODEBOX_CALLS_H
#define MODEBOX_CALLS_H
#include "bytes.h"

/* Defines host function number `index` under its dotted name, in frozen namespaces. false: an exception is pending. */
bool calls_define(JSContext *ctx, text name, uint32_t index);
/* Freezes the namespaces, when all functions are there. */
bool calls_freeze(JSContext *ctx);

/* Calls that were made and not settled. */
uint32_t calls_pending(void);

/* Settles one call with the value bytes in `input`; microtasks stay queued. A ticket that waits for nothing is ignored. */
void calls_settle(JSContext *ctx, uint32_t ticket, guest_outcome outcome, const uint8_t *input, size_t size);

#endif
