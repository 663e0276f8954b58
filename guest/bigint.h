/* bigint.h: BigInts as two's complement, little-endian. Through hexadecimal digits, which take linear time. */
#ifndef MODEBOX_BIGINT_H
#define MODEBOX_BIGINT_H
#include "bytes.h"

/* Looks up what it needs of the intrinsics, before any program can touch them. */
void bigint_init(JSContext *ctx);
/* Appends VALUE_BIGINT and the value. false: an exception is pending. */
bool bigint_encode(JSContext *ctx, bytes *out, JSValueConst value);
JSValue bigint_decode(JSContext *ctx, text digits);

#endif
