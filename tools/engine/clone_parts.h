/* clone_parts.h: becomes part of quickjs.c, at a place from which all these classes can be seen (clone.h). */
#include "clone.h"

JSCloneClass JS_GetCloneClass(JSContext *ctx, JSValueConst object)
{
    switch (JS_GetClassID(object)) {
    case JS_CLASS_OBJECT:
    case JS_CLASS_ARGUMENTS:
    case JS_CLASS_MAPPED_ARGUMENTS:
        return JS_CLONE_OBJECT;
    case JS_CLASS_ARRAY:
        return JS_CLONE_ARRAY;
    case JS_CLASS_ERROR:
        return JS_CLONE_ERROR;
    case JS_CLASS_NUMBER:
    case JS_CLASS_STRING:
    case JS_CLASS_BOOLEAN:
    case JS_CLASS_BIG_INT:
        return JS_CLONE_BOXED;
    case JS_CLASS_DATE:
        return JS_CLONE_DATE;
    case JS_CLASS_REGEXP:
        return JS_CLONE_REGEXP;
    case JS_CLASS_ARRAY_BUFFER:
    case JS_CLASS_DATAVIEW:
    case JS_CLASS_UINT8_ARRAY:
    case JS_CLASS_UINT8C_ARRAY:
        return JS_CLONE_BYTES;
    case JS_CLASS_INT8_ARRAY:
    case JS_CLASS_INT16_ARRAY:
    case JS_CLASS_UINT16_ARRAY:
    case JS_CLASS_INT32_ARRAY:
    case JS_CLASS_UINT32_ARRAY:
    case JS_CLASS_BIG_INT64_ARRAY:
    case JS_CLASS_BIG_UINT64_ARRAY:
    case JS_CLASS_FLOAT16_ARRAY:
    case JS_CLASS_FLOAT32_ARRAY:
    case JS_CLASS_FLOAT64_ARRAY:
        return JS_CLONE_NUMBERS;
    case JS_CLASS_MAP:
        return JS_CLONE_MAP;
    case JS_CLASS_SET:
        return JS_CLONE_SET;
    case JS_CLASS_PROMISE:
        return JS_CLONE_PROMISE;
    case JS_CLASS_PROXY:
        return JS_CLONE_PROXY;
    case JS_CLASS_ITERATOR:
    case JS_CLASS_ITERATOR_CONCAT:
    case JS_CLASS_ITERATOR_HELPER:
    case JS_CLASS_ITERATOR_WRAP:
    case JS_CLASS_MAP_ITERATOR:
    case JS_CLASS_SET_ITERATOR:
    case JS_CLASS_ARRAY_ITERATOR:
    case JS_CLASS_STRING_ITERATOR:
    case JS_CLASS_REGEXP_STRING_ITERATOR:
    case JS_CLASS_GENERATOR:
        return JS_CLONE_ITERATOR;
    case JS_CLASS_ASYNC_FROM_SYNC_ITERATOR:
    case JS_CLASS_ASYNC_GENERATOR:
        return JS_CLONE_ASYNC_ITERATOR;
    default:
        return JS_IsFunction(ctx, object) ? JS_CLONE_FUNCTION : JS_CLONE_OTHER;
    }
}

JSValue JS_GetOwnElement(JSContext *ctx, JSValueConst array, uint32_t index)
{
    JSObject *p = JS_VALUE_GET_OBJ(array);
    JSValue value = JS_UNDEFINED;
    JSAtom atom;
    int found;

    if (p->fast_array && index < p->u.array.count)
        return js_dup(p->u.array.u.values[index]);
    atom = JS_NewAtomUInt32(ctx, index);
    if (atom == JS_ATOM_NULL)
        return JS_EXCEPTION;
    found = JS_GetOwnProperty(ctx, NULL, array, atom);
    if (found)
        value = found < 0 ? JS_EXCEPTION : JS_GetProperty(ctx, array, atom);
    JS_FreeAtom(ctx, atom);
    return value;
}

int JS_GetRefCount(JSValueConst object)
{
    return JS_REF_COUNT(JS_VALUE_GET_PTR(object));
}

JSValue JS_GetBoxedValue(JSValueConst object)
{
    return js_dup(JS_VALUE_GET_OBJ(object)->u.object_data);
}

bool JS_GetViewBytes(JSValueConst object, const uint8_t **bytes, size_t *size)
{
    JSObject *p = JS_VALUE_GET_OBJ(object);
    bool is_buffer = p->class_id == JS_CLASS_ARRAY_BUFFER, is_view = p->class_id == JS_CLASS_DATAVIEW;
    const JSTypedArray *view = p->u.typed_array;
    const JSArrayBuffer *buffer = is_buffer ? p->u.array_buffer : view->buffer->u.array_buffer;

    if (buffer->detached || (is_view && dataview_is_oob(p)) || (!is_buffer && !is_view && typed_array_is_oob(p)))
        return false;
    *bytes = buffer->data + (is_buffer ? 0 : view->offset);
    if (is_buffer)
        *size = buffer->byte_length;
    else if (!is_view)
        *size = (size_t)typed_array_length(p) << typed_array_size_log2(p->class_id);
    else
        *size = view->track_rab ? buffer->byte_length - view->offset : view->length;
    return true;
}

JSValue JS_GetRegExpSource(JSValueConst object)
{
    return js_dup(JS_MKPTR(JS_TAG_STRING, JS_VALUE_GET_OBJ(object)->u.regexp.pattern));
}

void JS_GetRegExpFlags(JSValueConst object, char *flags)
{
    static const struct {
        int bit;
        char letter;
    } letters[] = {
        { LRE_FLAG_INDICES, 'd' }, { LRE_FLAG_GLOBAL, 'g' }, { LRE_FLAG_IGNORECASE, 'i' },
        { LRE_FLAG_MULTILINE, 'm' }, { LRE_FLAG_DOTALL, 's' }, { LRE_FLAG_UNICODE, 'u' },
        { LRE_FLAG_UNICODE_SETS, 'v' }, { LRE_FLAG_STICKY, 'y' },
    };
    int set = lre_get_flags(str8(JS_VALUE_GET_OBJ(object)->u.regexp.bytecode));
    unsigned i;

    for (i = 0; i < countof(letters); i++)
        if (set & letters[i].bit)
            *flags++ = letters[i].letter;
    *flags = 0;
}

JSValue JS_NewRegExp(JSContext *ctx, JSValueConst source, JSValueConst flags)
{
    JSValue bytecode = js_compile_regexp(ctx, source, flags);

    if (JS_IsException(bytecode))
        return bytecode;
    return js_regexp_constructor_internal(ctx, JS_UNDEFINED, js_dup(source), bytecode);
}

JSValue *JS_GetRecords(JSContext *ctx, JSValueConst object, int *count)
{
    JSMapState *s = JS_VALUE_GET_OBJ(object)->u.map_state;
    struct list_head *el;
    JSValue *records;
    int n = 0;

    *count = s->record_count;
    if (!s->record_count)
        return NULL;
    records = js_malloc(ctx, s->record_count * 2 * sizeof(*records));
    if (!records) {
        *count = -1;
        return NULL;
    }
    list_for_each(el, &s->records) {
        JSMapRecord *mr = list_entry(el, JSMapRecord, link);
        if (mr->empty)
            continue;
        records[n++] = js_dup(mr->key);
        records[n++] = js_dup(mr->value);
    }
    return records;
}

void JS_FreeRecords(JSContext *ctx, JSValue *records, int count)
{
    int i;

    for (i = 0; i < count * 2; i++)
        JS_FreeValue(ctx, records[i]);
    js_free(ctx, records);
}

JSValue JS_NewMap(JSContext *ctx, bool is_set)
{
    return js_map_constructor(ctx, JS_UNDEFINED, 0, NULL, is_set ? MAGIC_SET : 0);
}

int JS_AddRecord(JSContext *ctx, JSValueConst object, JSValue key, JSValue value)
{
    JSMapState *s = JS_VALUE_GET_OBJ(object)->u.map_state;
    JSMapRecord *mr;

    key = map_normalize_key(ctx, key);
    mr = map_find_record(ctx, s, key);
    if (mr)
        JS_FreeValue(ctx, mr->value);
    else
        mr = map_add_record(ctx, s, key);
    JS_FreeValue(ctx, key);
    if (!mr) {
        JS_FreeValue(ctx, value);
        return -1;
    }
    mr->value = value;
    return 0;
}
