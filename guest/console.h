/* console.h: console.log and its levels; each call is one log entry. */
#ifndef MODEBOX_CONSOLE_H
#define MODEBOX_CONSOLE_H
#include "guest.h"

void console_install(JSContext *ctx);
/* Entries of our own. What cannot be logged is dropped. */
void console_warn(JSContext *ctx, const char *message);
void console_warn_of(JSContext *ctx, const char *prefix, JSValueConst thrown);

#endif
