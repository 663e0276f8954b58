/* mailbox.c: a hostile mailbox and outbox through the core's reader. The input is one or the other. */
#include <stdlib.h>
#include <string.h>
#include "../core/outbox.h"

enum { MAILBOX = 4096, PAGES = 1, LARGEST = 32 * 1024 };

static volatile uint64_t sum;

static void touch(mb_view bytes) {
  for (size_t i = 0; i < bytes.size; i++)
    sum += bytes.data[i];
}

/* Of half of the inputs all is an outbox, whose records are read; the others are the mailbox itself. */
static void fill(uint8_t *memory, const uint8_t *data, size_t size) {
  if (size && data[0] & 1) {
    memcpy(memory + MAILBOX, data + 1, size - 1);
    return;
  }
  guest_mailbox *box = (guest_mailbox *)(memory + MAILBOX);
  box->outbox = MAILBOX + sizeof *box;
  box->outbox_size = size ? (uint32_t)size - 1 : 0;
  box->result = box->outbox_size * 97;
  if (size)
    memcpy(memory + box->outbox, data + 1, size - 1);
}

/* Two sound records. */
size_t fuzz_first_input(uint8_t *out) {
  static const guest_record records[] = { { GUEST_RECORD_LOG, GUEST_LOG_INFO, 0, 0 }, { GUEST_RECORD_CALL, 1, 0, 0 } };
  out[0] = 0;
  memcpy(out + 1, records, sizeof records);
  return 1 + sizeof records;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mb_instance *instance;
  if (size > LARGEST || mb_instance_new_bare(&instance, false, PAGES, PAGES))
    return 0;
  fill(instance->memory.base, data, size);
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
