#include "outbox.h"
#include <string.h>

enum { KEPT_CAPACITY = 64 * 1024 };

static bytes outbox = { .limit = INT32_MAX };

/* The size comes last: the host may look between any two ticks, and must see whole records. */
static void publish(void) {
  mailbox.outbox = (guest_address)outbox.data;
  *(volatile guest_address *)&mailbox.outbox_size = outbox.size;
}

bool outbox_add(JSContext *ctx, guest_record_type type, uint32_t a, uint32_t b, const bytes *payload) {
  static const uint8_t zeros[4];
  size_t start = outbox.size, padding = -payload->size & 3;
  guest_record record = { .type = type, .a = a, .b = b, .size = (uint32_t)payload->size };
  bool ok = bytes_append(ctx, &outbox, &record, sizeof record) &&
            bytes_append(ctx, &outbox, payload->data, payload->size) && bytes_append(ctx, &outbox, zeros, padding);
  if (!ok)
    outbox.size = start;
  publish();
  return ok;
}

void outbox_clear(JSContext *ctx) {
  outbox.size = 0;
  if (outbox.capacity > KEPT_CAPACITY)
    bytes_free(ctx, &outbox);
  publish();
}
