/* errors.h: what the program threw, as an error value for the host; and the host's errors, for the program. */
#ifndef MODEBOX_ERRORS_H
#define MODEBOX_ERRORS_H
#include "bytes.h"

/* Once per runtime. */
void errors_init(JSContext *ctx);

/* The program's file name (copied): only its frames are shown. false: an exception is pending. */
bool errors_set_filename(JSContext *ctx, text filename);

/* Which kind an uncaught exception is of. Decided by who made the object, never by what it looks like. */
guest_error_kind errors_kind(JSValueConst thrown);

/* Writes an error value. Runs the program's getters where it has some; what they throw is swallowed.
 * false: there was not even memory for that. */
bool errors_encode(JSContext *ctx, bytes *out, JSValueConst thrown);

/* An Error for the program, made from the host's error value (consumed), and remembered as made by host call `ticket`. */
JSValue errors_from_host(JSContext *ctx, JSValue fields, uint32_t ticket);

/* "Name: message", or the value as text. */
bool errors_describe(JSContext *ctx, bytes *out, JSValueConst thrown);

#endif
