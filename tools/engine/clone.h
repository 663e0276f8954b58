/* clone.h: what the codec asks the engine about its objects. Everything is decided by an object's class, and nothing of the
 * program runs. */
#ifndef CLONE_H
#define CLONE_H
#include "quickjs.h"

/* What an object is for the codec. */
typedef enum JSCloneClass {
    JS_CLONE_OTHER, /* cannot cross */
    JS_CLONE_OBJECT,
    JS_CLONE_ARRAY,
    JS_CLONE_ERROR,
    JS_CLONE_BOXED, /* Number, String, Boolean, BigInt */
    JS_CLONE_DATE,
    JS_CLONE_REGEXP,
    JS_CLONE_BYTES,   /* ArrayBuffer, DataView, Uint8Array, Uint8ClampedArray */
    JS_CLONE_NUMBERS, /* the other typed arrays */
    JS_CLONE_MAP,
    JS_CLONE_SET,
    JS_CLONE_FUNCTION,
    JS_CLONE_PROMISE,
    JS_CLONE_PROXY,
    JS_CLONE_ITERATOR,
    JS_CLONE_ASYNC_ITERATOR,
} JSCloneClass;

JSCloneClass JS_GetCloneClass(JSContext *ctx, JSValueConst object);
/* An array's own member; undefined in a hole, whatever its prototypes have. Runs a getter. */
JSValue JS_GetOwnElement(JSContext *ctx, JSValueConst array, uint32_t index);
/* How many hold the object. */
int JS_GetRefCount(JSValueConst object);
/* The value in a boxed primitive; a date's milliseconds. */
JSValue JS_GetBoxedValue(JSValueConst object);
/* The bytes of a buffer or view, until anything is allocated or run. false: they are detached, or out of bounds. */
bool JS_GetViewBytes(JSValueConst object, const uint8_t **bytes, size_t *size);
JSValue JS_GetRegExpSource(JSValueConst object);
/* Eight letters at most, and a zero. */
void JS_GetRegExpFlags(JSValueConst object, char *flags);
/* An exception: the pattern is no regular expression. */
JSValue JS_NewRegExp(JSContext *ctx, JSValueConst source, JSValueConst flags);

/* The records of a Map or Set: key, value, key, value...; freed with JS_FreeRecords. NULL: none, or an exception (*count is -1). */
JSValue *JS_GetRecords(JSContext *ctx, JSValueConst object, int *count);
void JS_FreeRecords(JSContext *ctx, JSValue *records, int count);
JSValue JS_NewMap(JSContext *ctx, bool is_set);
/* Takes key and value. -1: an exception. */
int JS_AddRecord(JSContext *ctx, JSValueConst object, JSValue key, JSValue value);

#endif
