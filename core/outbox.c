#include "outbox.h"
#include <string.h>

guest_mailbox mb_outbox_mailbox(const mb_instance *instance, uint32_t mailbox) {
  guest_mailbox copy;
  memcpy(&copy, instance->memory.base + mailbox, sizeof copy);
  return copy;
}

mb_outbox_state mb_outbox_read(const mb_instance *instance, uint32_t mailbox, size_t *offset, mb_record *out) {
  guest_mailbox box = mb_outbox_mailbox(instance, mailbox);
  const uint8_t *outbox = mb_instance_bytes(instance, box.outbox, box.outbox_size);
  if (!outbox || *offset > box.outbox_size)
    return MB_OUTBOX_CORRUPT;
  size_t left = box.outbox_size - *offset;
  if (!left)
    return MB_OUTBOX_END;
  guest_record head;
  if (left < sizeof head)
    return MB_OUTBOX_CORRUPT;
  memcpy(&head, outbox + *offset, sizeof head);
  uint64_t padded = ((uint64_t)head.size + 3) & ~UINT64_C(3);
  if (padded > left - sizeof head || (head.type != GUEST_RECORD_CALL && head.type != GUEST_RECORD_LOG))
    return MB_OUTBOX_CORRUPT;
  *out = (mb_record){ (guest_record_type)head.type, head.a, head.b, { outbox + *offset + sizeof head, head.size } };
  *offset += sizeof head + padded;
  return MB_OUTBOX_RECORD;
}

bool mb_outbox_result(const mb_instance *instance, uint32_t mailbox, mb_view *out) {
  guest_mailbox box = mb_outbox_mailbox(instance, mailbox);
  *out = (mb_view){ mb_instance_bytes(instance, box.result, box.result_size), box.result_size };
  return out->data;
}
