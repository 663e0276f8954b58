/* codec.h: JavaScript values to value bytes and back (docs/spec/value.md).
 * What a value is, is decided by the engine's own class of it: never by toStringTag, prototypes or constructors. */
#ifndef MODEBOX_CODEC_H
#define MODEBOX_CODEC_H
#include "bytes.h"

/* Looks up what the codec needs of the intrinsics, before any program can touch them. */
void codec_init(JSContext *ctx);

/* Appends one value. Runs getters, in property order; nothing else of the program's.
 *   root    the name of the value in error texts: "result", "args"
 * false: an exception is pending: a TypeError that names the path of what cannot cross, or the limit that was reached; or what a
 * getter threw. */
bool codec_encode(JSContext *ctx, bytes *out, JSValueConst value, const char *root);
/* An argument list, without trailing `undefined`. */
bool codec_encode_arguments(JSContext *ctx, bytes *out, int argc, JSValueConst *argv);

/* One value; an error value gives its object of fields. Exception: out of memory, or bytes that are no value (SyntaxError). */
JSValue codec_decode(JSContext *ctx, const uint8_t *data, size_t size);

#endif
