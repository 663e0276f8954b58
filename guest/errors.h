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

/* Writes an error value for what was thrown. Runs the program's getters where it has some; what they throw is swallowed.
 * false: there was not even memory for that. */
bool errors_encode(JSContext *ctx, bytes *out, JSValueConst thrown);

/* The fields of an Error as a plain object: name, message, stack (the program's frames), and where it has them code, cause, errors,
 * and its other own properties. Exception: out of memory. */
JSValue errors_fields(JSContext *ctx, JSValueConst error);
/* An Error of these fields (consumed). */
JSValue errors_from_fields(JSContext *ctx, JSValue fields);
/* The error is remembered as made by host call `ticket`; stack (consumed) says where that was made. */
void errors_set_call(JSContext *ctx, JSValueConst error, uint32_t ticket, JSValue stack);

/* "Name: message", or the value as text. */
bool errors_describe(JSContext *ctx, bytes *out, JSValueConst thrown);

#endif
