/* outbox.h: records for the host, in the order in which they were made (abi.h: guest_record). */
#ifndef MODEBOX_OUTBOX_H
#define MODEBOX_OUTBOX_H
#include "bytes.h"

/* Adds one record. false: an exception is pending and nothing was added. */
bool outbox_add(JSContext *ctx, guest_record_type type, uint32_t a, uint32_t b, const bytes *payload);
/* Forgets the records that the host has read. */
void outbox_clear(JSContext *ctx);

#endif
