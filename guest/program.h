/* program.h: the program from its source to its value. */
#ifndef MODEBOX_PROGRAM_H
#define MODEBOX_PROGRAM_H
#include "bytes.h"

/* Compiles and starts a program. source.data[source.size] is 0 and stays there while the program runs; the source may be changed. */
void program_start(JSContext *ctx, text source, text filename, guest_mode mode);
/* Drains microtasks and says where the program is; fills in the mailbox's result when it has ended. */
guest_status program_advance(JSContext *ctx);
/* Watches rejections. Once per runtime. */
void program_init(JSContext *ctx);

#endif
