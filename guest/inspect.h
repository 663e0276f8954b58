/* inspect.h: values as text for people, on one line. */
#ifndef MODEBOX_INSPECT_H
#define MODEBOX_INSPECT_H
#include "bytes.h"

/* One argument of console.log: a string as it is, anything else inspected. Depth, members and strings inside are cut short, and
 * nothing of the program runs but the getters of an error. false: an exception is pending. */
bool inspect_argument(JSContext *ctx, bytes *out, JSValueConst value);

/* Can a property of this name be written after a dot? Characters beyond ASCII count as letters. */
bool inspect_is_identifier(const char *name);

#endif
