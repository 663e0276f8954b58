/* codec.h: JavaScript values to value bytes (encode.c) and back (decode.c); docs/spec/value.md.
 * What a value is, is decided by the engine's own class of it: never by toStringTag, prototypes or constructors. */
#ifndef MODEBOX_CODEC_H
#define MODEBOX_CODEC_H
#include "bytes.h"

/* Appends one value. Runs getters, in property order; nothing else of the program's.
 *   root    the name of the value in error texts: "result", "args"
 * false: an exception is pending: a TypeError that names the path of what cannot cross, or the limit that was reached; or what a
 * getter threw. */
bool codec_encode(JSContext *ctx, bytes *out, JSValueConst value, const char *root);
/* An argument list, without trailing `undefined`. */
bool codec_encode_arguments(JSContext *ctx, bytes *out, int argc, JSValueConst *argv);

/* An error value with these fields. */
bool codec_encode_error(JSContext *ctx, bytes *out, JSValueConst fields);

/* One value. Exception: out of memory, or bytes that are no value (SyntaxError). */
JSValue codec_decode(JSContext *ctx, const uint8_t *data, size_t size);

#endif
