/* guest.h: what the guest's files share: the one runtime, its context, the mailbox. */
#ifndef MODEBOX_GUEST_H
#define MODEBOX_GUEST_H
#include <stdbool.h>
#include <stddef.h>
#include "abi.h"
#include "quickjs.h"

extern JSRuntime *guest_runtime;
extern JSContext *guest_context;
extern guest_mailbox mailbox;

/* A text that is not ours: not terminated, UTF-8 with lone surrogates as three bytes. */
typedef struct text {
  const char *data;
  size_t size;
} text;

#endif
