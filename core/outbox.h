/* outbox.h: reading what the guest left in its mailbox. Every byte is hostile; sizes are added in 64 bits. */
#ifndef MB_OUTBOX_H
#define MB_OUTBOX_H
#include "instance.h"

typedef enum mb_outbox_state { MB_OUTBOX_RECORD, MB_OUTBOX_END, MB_OUTBOX_CORRUPT } mb_outbox_state;

typedef struct mb_record {
  guest_record_type type;
  uint32_t a, b;
  mb_view bytes; /* in linear memory: valid until the guest runs again */
} mb_record;

/* The record at *offset; moves *offset on. type is checked, a and b are not. */
MB_CHECKED mb_outbox_state mb_outbox_read(const mb_instance *instance, uint32_t mailbox, size_t *offset,
                                          mb_record *out);
/* The result's bytes. false: they are not all in memory. */
MB_CHECKED bool mb_outbox_result(const mb_instance *instance, uint32_t mailbox, mb_view *out);
/* A copy: the guest's own may change under a reader. */
guest_mailbox mb_outbox_mailbox(const mb_instance *instance, uint32_t mailbox);

#endif
