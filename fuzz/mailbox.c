/* mailbox.c: a hostile mailbox and outbox through the core's reader. The input is the mailbox, then linear memory. */
#include <stdlib.h>
#include <string.h>
#include "../core/outbox.h"

enum { MAILBOX = 4096, PAGES = 1 };

static volatile uint64_t sum;

static void touch(mb_view bytes) {
  for (size_t i = 0; i < bytes.size; i++)
    sum += bytes.data[i];
}

/* Half of the inputs get an outbox and a result that lie inside memory, so that their records are read. */
static void aim(uint8_t *memory, const uint8_t *data, size_t size) {
  guest_mailbox *box = (guest_mailbox *)(memory + MAILBOX);
  if (size < 2 || data[0] & 1)
    return;
  box->outbox = MAILBOX + sizeof *box;
  box->outbox_size = (uint32_t)(size % 256);
  box->result = data[1] * 300u;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mb_instance *instance;
  if (mb_instance_new_bare(&instance, false, PAGES, PAGES))
    abort();
  uint8_t *memory = instance->memory.base;
  memcpy(memory + MAILBOX, data, size < 8192 ? size : 8192);
  aim(memory, data, size);
  size_t offset = 0;
  mb_record record;
  while (mb_outbox_read(instance, MAILBOX, &offset, &record) == MB_OUTBOX_RECORD)
    touch(record.bytes);
  mb_view result;
  if (mb_outbox_result(instance, MAILBOX, &result))
    touch(result);
  mb_instance_free(instance);
  return 0;
}
