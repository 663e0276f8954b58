"""The edits that quickjs-ng needs before it is compiled, and the means to apply them.

An edit names a file, a definition in it and an anchor in that definition. Each must be found exactly once.
Where the source is not the one they were written for, all failures are reported and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class EditError(Exception):
    """The source is not the one that the edits were written for."""


@dataclass(frozen=True)
class Edit:
    """One replacement.

    Args:
        why: What the edit is for, in one line.
        file: Name of the source file.
        definition: First characters of the line that begins the function or struct.
        anchor: Text that stands exactly once between that line and the definition's closing brace.
        replacement: What stands there afterwards.
    """

    why: str
    file: str
    definition: str
    anchor: str
    replacement: str


STACK_CHECK = """\
    if (js_check_stack_overflow(ctx->rt, 0))
        return JS_ThrowStackOverflow(ctx);
"""

ERROR_MADE = "extern void guest_error_made(JSContext *ctx, int kind);"

EDITS = (
    Edit(
        why="small blocks come from the allocator too, which lays them side by side (guest/heap.c)",
        file="quickjs.c",
        definition="static void *js_arena_malloc(",
        anchor="!JS_ARENA_LARGE_BLOCKS_ONLY && ",
        replacement="false && ",
    ),
    Edit(
        why="the same, zeroed",
        file="quickjs.c",
        definition="static void *js_arena_calloc(",
        anchor="!JS_ARENA_LARGE_BLOCKS_ONLY && ",
        replacement="false && ",
    ),
    *(
        Edit(
            why="there is one allocator: it is called by its name",
            file="quickjs.c",
            definition=definition,
            anchor=anchor,
            replacement=replacement,
        )
        for definition, anchor, replacement in (
            (
                "static no_inline void *arena_malloc_large(",
                "rt->mf.js_malloc(rt->malloc_state.opaque,",
                "malloc(",
            ),
            (
                "static no_inline void *arena_calloc_large(",
                "rt->mf.js_calloc(rt->malloc_state.opaque, 1,",
                "calloc(1,",
            ),
            ("static void js_arena_free(", "rt->mf.js_free(rt->malloc_state.opaque, b)", "free(b)"),
            (
                "static size_t js_arena_usable_size(",
                "rt->mf.js_malloc_usable_size(b)",
                "js__malloc_usable_size(b)",
            ),
            (
                "static void *js_arena_realloc(",
                "rt->mf.js_realloc(rt->malloc_state.opaque, b,",
                "realloc(b,",
            ),
        )
    ),
    Edit(
        why="hash keys of maps and sets to their low bits too, which alone choose the bucket",
        file="quickjs.c",
        definition="static uint32_t map_hash_key(",
        anchor="    return h ^ ctx->hash_seed ^ hash32(tag);\n",
        replacement="""\
    h = (h ^ ctx->hash_seed ^ hash32(tag)) * 0x9E3779B1u;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    return h ^ h >> 13;
""",
    ),
    Edit(
        why="the stack check also asks how deep the native stack is",
        file="quickjs.c",
        definition="static inline bool js_check_stack_overflow(",
        anchor="    return unlikely(sp < rt->stack_limit);\n",
        replacement="""\
    extern uint32_t guest_depth(void);
    return unlikely(sp < rt->stack_limit) || unlikely(guest_depth());
""",
    ),
    Edit(
        why="nested iterator helpers reach each other past every stack check",
        file="quickjs.c",
        definition="static JSValue js_iterator_helper_next(",
        anchor="    finished = false;\n\n",
        replacement="    finished = false;\n\n" + STACK_CHECK + "\n",
    ),
    Edit(
        why="chains of bound and proxied constructors reach each other past every stack check",
        file="quickjs.c",
        definition="static JSValue JS_CallConstructorInternal(",
        anchor="    if (js_poll_interrupts(ctx))\n        return JS_EXCEPTION;\n",
        replacement="    if (js_poll_interrupts(ctx))\n        return JS_EXCEPTION;\n" + STACK_CHECK,
    ),
    Edit(
        why="errors remember who made them: the field",
        file="quickjs.c",
        definition="struct JSObject {",
        anchor="        struct { /* JS_CLASS_BYTECODE_FUNCTION: 12/24 bytes */\n",
        replacement="""\
        struct { /* JS_CLASS_ERROR: 12/20 bytes; begins like object_data */
            JSValue stack;
            uint32_t origin;
        } error;
        struct { /* JS_CLASS_BYTECODE_FUNCTION: 12/24 bytes */
""",
    ),
    Edit(
        why="errors remember who made them: at first the program",
        file="quickjs.c",
        definition="static JSValue JS_NewObjectFromShape(",
        anchor="    case JS_CLASS_ERROR:\n",
        replacement="""\
    case JS_CLASS_ERROR:
        p->u.error.origin = 0;
        /* fall through */
""",
    ),
    Edit(
        why="errors remember who made them: for guest/errors.c, beyond what a program can see or change",
        file="quickjs.c",
        definition="bool JS_IsError(",
        anchor="bool JS_IsError(",
        replacement="""\
uint32_t JS_GetErrorOrigin(JSValueConst error)
{
    return JS_IsError(error) ? JS_VALUE_GET_OBJ(error)->u.error.origin : 0;
}

void JS_SetErrorOrigin(JSValueConst error, uint32_t origin)
{
    if (JS_IsError(error))
        JS_VALUE_GET_OBJ(error)->u.error.origin = origin;
}

bool JS_IsError(""",
    ),
    Edit(
        why="the guest knows the engine's own stack overflow (GUEST_ERROR_STACK) from a program's RangeError",
        file="quickjs.c",
        definition="static JSValue JS_ThrowStackOverflow(",
        anchor='    return JS_ThrowRangeError(ctx, "Maximum call stack size exceeded");\n',
        replacement=f"""\
    {ERROR_MADE}
    JS_ThrowRangeError(ctx, "Maximum call stack size exceeded");
    guest_error_made(ctx, 2);
    return JS_EXCEPTION;
""",
    ),
    Edit(
        why="the guest knows the engine's own out of memory (GUEST_ERROR_MEMORY) from a program's error",
        file="quickjs.c",
        definition="JSValue JS_ThrowOutOfMemory(",
        anchor='        JS_ThrowInternalError(ctx, "out of memory");\n',
        replacement=f"""\
        {ERROR_MADE}
        extern void guest_memory_low(JSRuntime *rt);
        guest_memory_low(rt);
        JS_ThrowInternalError(ctx, "out of memory");
        guest_error_made(ctx, 3);
""",
    ),
    Edit(
        why="an error whose message there is no memory for is out of memory",
        file="quickjs.c",
        definition="static JSValue JS_MakeError2(",
        anchor="""\
    if (JS_IsException(msg))
        msg = JS_NewString(ctx, "Invalid error message");
""",
        replacement="""\
    if (JS_IsException(msg)) {
        JS_FreeValue(ctx, obj);
        return JS_EXCEPTION;
    }
""",
    ),
    Edit(
        why="out of memory stays the pending error when another one cannot be made",
        file="quickjs.c",
        definition="JS_ThrowError2(",
        anchor="        /* out of memory: throw JS_NULL to avoid recursing */\n",
        replacement="""\
        if (!JS_IsUninitialized(ctx->rt->current_exception))
            return JS_EXCEPTION;
        /* out of memory: throw JS_NULL to avoid recursing */
""",
    ),
    Edit(
        why="a builtin that fails without an error has run out of memory",
        file="quickjs.c",
        definition="static JSValue JS_CallInternal(",
        anchor=" exception:\n    if (needs_backtrace(rt->current_exception)\n",
        replacement="""\
 exception:
    if (unlikely(JS_IsUninitialized(rt->current_exception)))
        JS_ThrowOutOfMemory(ctx);
    if (needs_backtrace(rt->current_exception)
""",
    ),
    Edit(
        why="the guest hears of allocations that fail: malloc",
        file="quickjs.c",
        definition="void *js_malloc_rt(",
        anchor="""\
        return NULL;

    ptr = js_arena_malloc(rt, size);
    if (!ptr)
        return NULL;
""",
        replacement="""\
        return guest_allocation_failed();

    ptr = js_arena_malloc(rt, size);
    if (!ptr)
        return guest_allocation_failed();
""",
    ),
    Edit(
        why="the guest hears of allocations that fail: calloc",
        file="quickjs.c",
        definition="void *js_calloc_rt(",
        anchor="""\
        return NULL;

    ptr = js_arena_calloc(rt, count, size);
    if (!ptr)
        return NULL;
""",
        replacement="""\
        return guest_allocation_failed();

    ptr = js_arena_calloc(rt, count, size);
    if (!ptr)
        return guest_allocation_failed();
""",
    ),
    Edit(
        why="the guest hears of allocations that fail: realloc",
        file="quickjs.c",
        definition="void *js_realloc_rt(",
        anchor="""\
        return NULL;

    ptr = js_arena_realloc(rt, ptr, size);
    if (!ptr)
        return NULL;
""",
        replacement="""\
        return guest_allocation_failed();

    ptr = js_arena_realloc(rt, ptr, size);
    if (!ptr)
        return guest_allocation_failed();
""",
    ),
    Edit(
        why="the guest hears of allocations that fail: the declarations",
        file="quickjs.c",
        definition="void *js_calloc_rt(",
        anchor="void *js_calloc_rt(",
        replacement="""\
extern void *guest_allocation_failed(void);
extern void guest_compiling(int change);

void *js_calloc_rt(""",
    ),
    Edit(
        why="the guest knows when the compiler is at work: from here ...",
        file="quickjs.c",
        definition="static JSValue __JS_EvalInternal(",
        anchor="    s->cur_func = fd;\n",
        replacement="    s->cur_func = fd;\n    guest_compiling(1);\n",
    ),
    Edit(
        why="the guest knows when the compiler is at work: ... to here ...",
        file="quickjs.c",
        definition="static JSValue __JS_EvalInternal(",
        anchor="    fun_obj = js_create_function(ctx, fd);\n",
        replacement="    fun_obj = js_create_function(ctx, fd);\n    guest_compiling(-1);\n",
    ),
    Edit(
        why="the guest knows when the compiler is at work: ... or, when it has failed, to here",
        file="quickjs.c",
        definition="static JSValue __JS_EvalInternal(",
        anchor="    fail:\n        free_token(s, &s->token);\n",
        replacement="    fail:\n        guest_compiling(-1);\n        free_token(s, &s->token);\n",
    ),
    Edit(
        why="a regular expression that does not fit in memory is no syntax error",
        file="quickjs.c",
        definition="static JSValue js_compile_regexp(",
        anchor="    if (!re_bytecode_buf) {\n",
        replacement="""\
    if (!re_bytecode_buf && !strcmp(error_msg, "out of memory"))
        return JS_ThrowOutOfMemory(ctx);
    if (!re_bytecode_buf) {
""",
    ),
    Edit(
        why="a builtin that there was no memory for is made when it is asked for again",
        file="quickjs.c",
        definition="static int JS_AutoInitProperty(",
        anchor="""\
    js_autoinit_free(ctx->rt, pr);
    prs->flags &= ~JS_PROP_TMASK;
    pr->u.value = JS_UNDEFINED;
    if (JS_IsException(val))
        return -1;
    pr->u.value = val;
""",
        replacement="""\
    if (JS_IsException(val))
        return -1;
    js_autoinit_free(ctx->rt, pr);
    prs->flags &= ~JS_PROP_TMASK;
    pr->u.value = val;
""",
    ),
    Edit(
        why="a date may be parsed with the narrow space that toLocaleString puts before AM and PM",
        file="quickjs.c",
        definition="static JSValue js_Date_parse(",
        anchor="            c = (c == 0x2212) ? '-' : 'x';\n",
        replacement="            c = (c == 0x2212) ? '-' : (c == 0x202F) ? ' ' : 'x';\n",
    ),
    Edit(
        why="room for the name of the time zone",
        file="quickjs.c",
        definition="static JSValue get_date_string(",
        anchor="    char buf[64];\n",
        replacement="    char buf[96];\n",
    ),
    Edit(
        why="toString and toTimeString end with the name of the time zone",
        file="quickjs.c",
        definition="static JSValue get_date_string(",
        anchor="            /* XXX: tack the time zone code? */\n",
        replacement="""\
            if (tz == 0)
                pos += snprintf(buf + pos, sizeof(buf) - pos, " (Coordinated Universal Time)");
""",
    ),
    Edit(
        why="columns count UTF-16 code units: what the last count was",
        file="quickjs.c",
        definition="typedef struct JSParseState {",
        anchor="    /* current function code */\n",
        replacement="""\
    const uint8_t *column_line, *column_ptr;
    int column;

    /* current function code */
""",
    ),
    Edit(
        why="columns count UTF-16 code units, from the last count on: linear in all",
        file="quickjs.c",
        definition="int JS_PRINTF_FORMAT_ATTR(2, 3) js_parse_error(",
        anchor="int JS_PRINTF_FORMAT_ATTR(2, 3) js_parse_error(",
        replacement="""\
static int js_utf16_units(uint8_t byte)
{
    return byte >= 0xf0 ? 2 : (byte & 0xc0) != 0x80;
}

static int js_parse_column(JSParseState *s, const uint8_t *line, const uint8_t *ptr)
{
    if (s->column_line != line) {
        s->column_line = s->column_ptr = line;
        s->column = 1;
    }
    while (s->column_ptr < ptr)
        s->column += js_utf16_units(*s->column_ptr++);
    while (s->column_ptr > ptr)
        s->column -= js_utf16_units(*--s->column_ptr);
    return s->column;
}

int JS_PRINTF_FORMAT_ATTR(2, 3) js_parse_error(""",
    ),
    Edit(
        why="columns count UTF-16 code units: in syntax errors",
        file="quickjs.c",
        definition="int JS_PRINTF_FORMAT_ATTR(2, 3) js_parse_error(",
        anchor="        err_col_num = (int)(s->token.ptr - s->token.line_start) + 1;\n",
        replacement="        err_col_num = js_parse_column(s, s->token.line_start, s->token.ptr);\n",
    ),
    Edit(
        why="columns count UTF-16 code units: of tokens",
        file="quickjs.c",
        definition="static __exception int next_token(",
        anchor="    s->token.col_num = max_int(1, s->mark - s->eol);\n",
        replacement="    s->token.col_num = js_parse_column(s, s->token.line_start, s->token.ptr);\n",
    ),
    Edit(
        why="columns count UTF-16 code units: of identifiers",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="                (int)(s->token.ptr - s->line_start) + 1;\n",
        replacement="                js_parse_column(s, s->line_start, s->token.ptr);\n",
    ),
    Edit(
        why="large strings are looked at eight bytes at a time: whether UTF-8 is ASCII",
        file="cutils.h",
        definition="static inline int utf8_scan(const char *buf, size_t buf_len",
        anchor="""\
    for (i = 0; i < buf_len; i++)
        cbits |= buf[i];
""",
        replacement="""\
    uint64_t word, bits = 0;
    for (i = 0; i + 8 <= buf_len; i += 8) {
        memcpy(&word, buf + i, 8);
        bits |= word;
    }
    if (bits & UINT64_C(0x8080808080808080))
        cbits = 0x80;
    for (; i < buf_len; i++)
        cbits |= buf[i];
""",
    ),
    Edit(
        why="large strings are looked at eight bytes at a time: how many characters are not ASCII",
        file="quickjs.c",
        definition="const char *JS_ToCStringLen2(",
        anchor="""\
        for (pos = 0; pos < len; pos++) {
            count += src[pos] >> 7;
        }
""",
        replacement="""\
        for (pos = 0; pos + 8 <= len; pos += 8) {
            uint64_t word;
            memcpy(&word, src + pos, 8);
            if (word & UINT64_C(0x8080808080808080))
                count += __builtin_popcountll(word & UINT64_C(0x8080808080808080));
        }
        for (; pos < len; pos++) {
            count += src[pos] >> 7;
        }
""",
    ),
    Edit(
        why="positions are where V8 puts them: of a call, the callee's name, or `new`",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="    FuncCallType call_type;\n",
        replacement="""\
    FuncCallType call_type;
    int callee_line = s->token.line_num, callee_col = s->token.col_num;
""",
    ),
    Edit(
        why="positions are where V8 puts them: of a property, its name",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="        parse_property:\n",
        replacement="""\
        parse_property:
            callee_line = s->token.line_num;
            callee_col = s->token.col_num;
            emit_source_loc(s);
""",
    ),
    Edit(
        why="positions are where V8 puts them: while the callee is looked up",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="            parse_func_call2:\n                emit_source_loc(s);\n",
        replacement="""\
            parse_func_call2:
                emit_source_loc_at(s, callee_line, callee_col);
""",
    ),
    Edit(
        why="positions are where V8 puts them: after the arguments",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="            emit_func_call:\n",
        replacement="""\
            emit_func_call:
                emit_source_loc_at(s, callee_line, callee_col);
""",
    ),
    Edit(
        why="positions are where V8 puts them: after arguments with a spread",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="                /* apply function call */\n",
        replacement="""\
                /* apply function call */
                emit_source_loc_at(s, callee_line, callee_col);
""",
    ),
    Edit(
        why="positions are where V8 puts them: `new` without arguments",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="                /* new operator on an object */\n",
        replacement="""\
                /* new operator on an object */
                emit_source_loc_at(s, callee_line, callee_col);
""",
    ),
    Edit(
        why="KeepDuringJob: what a WeakRef has shown lives until the job ends",
        file="quickjs.c",
        definition="struct JSRuntime {",
        anchor="    struct list_head job_list; /* list of JSJobEntry.link */\n",
        replacement="""\
    struct list_head job_list; /* list of JSJobEntry.link */
    uint64_t job_number;
    JSValue *kept; /* targets of weak references used in this job */
    uint32_t kept_count, kept_size;
""",
    ),
    Edit(
        why="KeepDuringJob: each WeakRef is noted once in a job",
        file="quickjs.c",
        definition="typedef struct JSWeakRefData {",
        anchor="    JSValue obj;\n",
        replacement="""\
    JSValue obj;
    uint64_t kept_until; /* job_number + 1, in the job that keeps the target */
""",
    ),
    Edit(
        why="ClearKeptObjects",
        file="quickjs.c",
        definition="int JS_ExecutePendingJob(",
        anchor="int JS_ExecutePendingJob(",
        replacement="""\
static void js_clear_kept_objects(JSRuntime *rt)
{
    JSValue *kept = rt->kept;
    uint32_t count = rt->kept_count;

    rt->job_number++;
    rt->kept = NULL;
    rt->kept_count = rt->kept_size = 0;
    while (count > 0)
        JS_FreeValueRT(rt, kept[--count]);
    js_free_rt(rt, kept);
}

int JS_ExecutePendingJob(""",
    ),
    Edit(
        why="ClearKeptObjects: the host asks for the next job when the last one, or the script, has ended",
        file="quickjs.c",
        definition="int JS_ExecutePendingJob(",
        anchor="    if (list_empty(&rt->job_list)) {\n",
        replacement="    js_clear_kept_objects(rt);\n    if (list_empty(&rt->job_list)) {\n",
    ),
    Edit(
        why="ClearKeptObjects: at the end of the runtime",
        file="quickjs.c",
        definition="void JS_FreeRuntime(",
        anchor="    JS_FreeValueRT(rt, rt->current_exception);\n",
        replacement="    JS_FreeValueRT(rt, rt->current_exception);\n    js_clear_kept_objects(rt);\n",
    ),
    Edit(
        why="KeepDuringJob",
        file="quickjs.c",
        definition="static JSValue js_weakref_constructor(",
        anchor="static JSValue js_weakref_constructor(",
        replacement="""\
static bool js_keep_during_job(JSContext *ctx, JSWeakRefData *wrd)
{
    JSRuntime *rt = ctx->rt;

    if (wrd->kept_until == rt->job_number + 1)
        return true;
    if (rt->kept_count == rt->kept_size) {
        uint32_t size = rt->kept_size ? rt->kept_size * 2 : 8;
        JSValue *kept = js_realloc(ctx, rt->kept, size * sizeof(*kept));
        if (!kept)
            return false;
        rt->kept = kept;
        rt->kept_size = size;
    }
    rt->kept[rt->kept_count++] = js_dup(wrd->target);
    wrd->kept_until = rt->job_number + 1;
    return true;
}

static JSValue js_weakref_constructor(""",
    ),
    Edit(
        why="KeepDuringJob: new WeakRef",
        file="quickjs.c",
        definition="static JSValue js_weakref_constructor(",
        anchor="    JS_SetOpaqueInternal(obj, wrd);\n    return obj;\n",
        replacement="""\
    JS_SetOpaqueInternal(obj, wrd);
    wrd->kept_until = 0;
    if (!js_keep_during_job(ctx, wrd)) {
        JS_FreeValue(ctx, obj);
        return JS_EXCEPTION;
    }
    return obj;
""",
    ),
    Edit(
        why="KeepDuringJob: WeakRef.prototype.deref",
        file="quickjs.c",
        definition="static JSValue js_weakref_deref(",
        anchor="    return js_dup(wrd->target);\n",
        replacement="""\
    if (!js_keep_during_job(ctx, wrd))
        return JS_EXCEPTION;
    return js_dup(wrd->target);
""",
    ),
    Edit(
        why="the error names what was called",
        file="quickjs.c",
        definition="typedef struct JSFunctionDef {",
        anchor="typedef struct JSFunctionDef {\n",
        replacement="""\
typedef struct JSFunctionDef {
    uint16_t **stack_levels; /* see compute_stack_size */
""",
    ),
    Edit(
        why="the error names what was called: stack levels are handed out where they are asked for",
        file="quickjs.c",
        definition="static __exception int compute_stack_size(",
        anchor="    js_free(ctx, s->stack_level_tab);\n    *pstack_size = s->stack_len_max;\n",
        replacement="""\
    if (fd->stack_levels)
        *fd->stack_levels = s->stack_level_tab;
    else
        js_free(ctx, s->stack_level_tab);
    *pstack_size = s->stack_len_max;
""",
    ),
    Edit(
        why="the codec asks what objects are; a failed host call knows where it was made",
        file="quickjs.c",
        definition="static JSValue js_dataview_get_byteLength(",
        anchor="static JSValue js_dataview_get_byteLength(",
        replacement="""\
#include "clone_parts.h"
#include "site_parts.h"

static JSValue js_dataview_get_byteLength(""",
    ),
    Edit(
        why="the error names what was called",
        file="quickjs.c",
        definition="static int add_module_variables(",
        anchor="static int add_module_variables(",
        replacement='#include "callee.h"\n#include "names.h"\n\nstatic int add_module_variables(',
    ),
    Edit(
        why="the error names what was called",
        file="quickjs.c",
        definition="static JSValue JS_CallInternal(",
        anchor="            return JS_ThrowTypeErrorNotAFunction(caller_ctx);\n",
        replacement="            return js_throw_not_a_function(caller_ctx, func_obj, this_obj);\n",
    ),
    Edit(
        why="the error names what was called with new",
        file="quickjs.c",
        definition="static JSValue JS_CallConstructorInternal(",
        anchor="            return JS_ThrowTypeErrorNotAFunction(ctx);\n",
        replacement='            return js_throw_callee(ctx, func_obj, "is not a constructor");\n',
    ),
    Edit(
        why="the error names what was iterated",
        file="quickjs.c",
        definition="static JSValue JS_GetIterator(",
        anchor='        return JS_ThrowTypeError(ctx, "value is not iterable");\n',
        replacement='        return js_throw_callee(ctx, obj, "is not iterable");\n',
    ),
    Edit(
        why="undefined and null are not iterable, rather than without Symbol.iterator",
        file="quickjs.c",
        definition="static JSValue JS_GetIterator(",
        anchor="    } else {\n        method = JS_GetProperty(",
        replacement="""\
    } else {
        if (JS_IsUndefined(obj) || JS_IsNull(obj))
            return js_throw_callee(ctx, obj, "is not iterable");
        method = JS_GetProperty(""",
    ),
    Edit(
        why="undefined and null are not iterable, rather than without Symbol.iterator",
        file="quickjs.c",
        definition="static __exception int js_append_enumerate(",
        anchor="    iterator = JS_GetProperty(ctx, sp[-1], JS_ATOM_Symbol_iterator);\n",
        replacement="""\
    if (JS_IsUndefined(sp[-1]) || JS_IsNull(sp[-1])) {
        js_throw_callee(ctx, sp[-1], "is not iterable");
        return -1;
    }
    iterator = JS_GetProperty(ctx, sp[-1], JS_ATOM_Symbol_iterator);
""",
    ),
    Edit(
        why="the error names what was called with spread arguments, or shows a callback that is none",
        file="quickjs.c",
        definition="static int check_function(",
        anchor="    JS_ThrowTypeErrorNotAFunction(ctx);\n",
        replacement='    js_throw_callee(ctx, obj, "is not a function");\n',
    ),
    Edit(
        why="js_throw_callee is defined where the bytecode's form is known",
        file="quickjs.c",
        definition="static JSValue JS_ThrowTypeErrorNotAFunction(",
        anchor="static JSValue JS_ThrowTypeErrorNotAFunction(",
        replacement="""\
static JSValue js_throw_callee(JSContext *ctx, JSValueConst value, const char *problem);
static JSValue js_throw_not_a_function(JSContext *ctx, JSValueConst value, JSValueConst receiver);

static JSValue JS_ThrowTypeErrorNotAFunction(""",
    ),
    Edit(
        why="a name that is not defined: which one may have been meant, or what there is instead",
        file="quickjs.c",
        definition="static JSValue JS_ThrowReferenceErrorNotDefined(",
        anchor="""\
    char buf[ATOM_GET_STR_BUF_SIZE];
    return JS_ThrowReferenceError(ctx, "%s is not defined",
                                  JS_AtomGetStr(ctx, buf, sizeof(buf), name));
""",
        replacement="    return js_throw_not_defined(ctx, name);\n",
    ),
    Edit(
        why="js_throw_not_defined and js_throw_import are defined where the bytecode's form is known",
        file="quickjs.c",
        definition="static JSValue JS_ThrowReferenceErrorNotDefined(",
        anchor="static JSValue JS_ThrowReferenceErrorNotDefined(",
        replacement="""\
static JSValue js_throw_not_defined(JSContext *ctx, JSAtom atom);
static void js_throw_import(JSContext *ctx, JSValueConst module);

static JSValue JS_ThrowReferenceErrorNotDefined(""",
    ),
    Edit(
        why="import() is rejected at once, and says by name what cannot be imported",
        file="quickjs.c",
        definition="static JSValue js_dynamic_import(",
        anchor="    args[0] = resolving_funcs[0];\n",
        replacement="""\
    js_throw_import(ctx, specifier_str);
    goto exception;

    args[0] = resolving_funcs[0];
""",
    ),
    Edit(
        why="import() is rejected at once: from where it stands",
        file="quickjs.c",
        definition="static __exception int js_parse_postfix_expr(",
        anchor="            emit_op(s, OP_import);\n",
        replacement="""\
            emit_source_loc_at(s, callee_line, callee_col);
            emit_op(s, OP_import);
""",
    ),
    Edit(
        why="programs as models write them: what the parser knows",
        file="quickjs.c",
        definition="typedef struct JSParseState {",
        anchor="    bool allow_html_comments;\n",
        replacement="""\
    bool allow_html_comments;
    bool is_program; /* JS_EVAL_FLAG_PROGRAM */
    int default_idx; /* variable with the value of export default, -1 if none */
""",
    ),
    Edit(
        why="programs as models write them: a Markdown fence is no template after an empty template",
        file="quickjs.c",
        definition="static __exception int next_token(",
        anchor="    case '`':\n",
        replacement="""\
    case '`':
        if (s->is_program && p[1] == '`' && p[2] == '`') {
            js_parse_error(s, "Unexpected token '```'");
            goto fail;
        }
""",
    ),
    Edit(
        why="programs as models write them: the parser",
        file="quickjs.c",
        definition="static __exception int js_parse_source_element(",
        anchor="static __exception int js_parse_source_element(",
        replacement='#include "shape.h"\n\nstatic __exception int js_parse_source_element(',
    ),
    Edit(
        why="programs as models write them: export and import",
        file="quickjs.c",
        definition="static __exception int js_parse_source_element(",
        anchor="    int tok;\n",
        replacement="""\
    int tok = js_parse_module_item(s);

    if (tok)
        return tok < 0 ? -1 : 0;
""",
    ),
    Edit(
        why="programs as models write them: which function is left to be called",
        file="quickjs.c",
        definition="static __exception int js_parse_program(",
        anchor="    if (has_using_be) {\n",
        replacement="    if (s->is_program && !s->is_module && fd->func_kind == JS_FUNC_ASYNC)\n"
        "        js_end_program(s);\n\n    if (has_using_be) {\n",
    ),
    Edit(
        why="a program may set traps on Object.prototype, and its value still arrives",
        file="quickjs.c",
        definition="static __exception int js_parse_program(",
        anchor="""\
    } else {
        if (!s->is_module) {
            if (fd->func_kind == JS_FUNC_ASYNC) {
                emit_op(s, OP_object);
                emit_op(s, OP_dup);
                emit_op(s, OP_get_loc);
                emit_u16(s, fd->eval_ret_idx);
                emit_op(s, OP_put_field);
""",
        replacement="""\
    } else {
        if (!s->is_module) {
            if (fd->func_kind == JS_FUNC_ASYNC) {
                emit_op(s, OP_object);
                emit_op(s, OP_get_loc);
                emit_u16(s, fd->eval_ret_idx);
                emit_op(s, OP_define_field);
""",
    ),
    Edit(
        why="programs as models write them: the flag",
        file="quickjs.c",
        definition="static JSValue __JS_EvalInternal(",
        anchor="    eval_type = flags & JS_EVAL_TYPE_MASK;\n",
        replacement="""\
    s->is_program = (flags & JS_EVAL_FLAG_PROGRAM) != 0;
    s->default_idx = -1;
    eval_type = flags & JS_EVAL_TYPE_MASK;
""",
    ),
    Edit(
        why="a second declaration is refused by name: the error",
        file="quickjs.c",
        definition="static int define_var(",
        anchor="static int define_var(",
        replacement="""\
static int js_parse_error_redeclared(JSParseState *s, JSAtom name)
{
    char buf[ATOM_GET_STR_BUF_SIZE];

    /* the name is the last token but this one */
    s->token.ptr = NULL;
    s->token.line_num = s->last_line_num;
    s->token.col_num = s->last_col_num;
    return js_parse_error(s, "Identifier '%s' has already been declared",
                          JS_AtomGetStr(s->ctx, buf, sizeof(buf), name));
}

static int define_var(""",
    ),
    *(
        Edit(
            why="a second declaration is refused by name",
            file="quickjs.c",
            definition="static int define_var(",
            anchor=before + f'return js_parse_error(s, "invalid redefinition of {what}");\n',
            replacement=before + "return js_parse_error_redeclared(s, name);\n",
        )
        for before, what in (
            (
                "/* redefining a scoped var in the same scope: error */\n" + 20 * " ",
                "lexical identifier",
            ),
            ("/* error to redefine a var that inside a lexical scope */\n" + 12 * " ", "lexical identifier"),
            ("", "parameter name"),
            ("", "a variable"),
            ("", "global identifier"),
        )
    ),
    Edit(
        why="out of memory is not ignored where the properties are defined",
        file="quickjs.c",
        definition="static JSValue js_proxy_revocable(",
        anchor="""\
    // XXX: exceptions?
    JS_DefinePropertyValue(ctx, obj, JS_ATOM_proxy, proxy_obj, JS_PROP_C_W_E);
    JS_DefinePropertyValue(ctx, obj, JS_ATOM_revoke, revoke_obj, JS_PROP_C_W_E);
    return obj;
""",
        replacement="""\
    if (JS_DefinePropertyValue(ctx, obj, JS_ATOM_proxy, proxy_obj, JS_PROP_C_W_E) < 0) {
        JS_FreeValue(ctx, obj);
        proxy_obj = JS_UNDEFINED;
        goto fail;
    }
    if (JS_DefinePropertyValue(ctx, obj, JS_ATOM_revoke, revoke_obj, JS_PROP_C_W_E) < 0) {
        JS_FreeValue(ctx, obj);
        return JS_EXCEPTION;
    }
    return obj;
""",
    ),
)


def apply(folder: Path, edits: Iterable[Edit] = EDITS) -> None:
    """Edits the files in folder; raises EditError with all edits that do not fit, and then writes nothing."""
    texts: dict[str, str] = {}
    failures: list[str] = []
    for edit in edits:
        text = texts.get(edit.file) or (folder / edit.file).read_text(encoding="utf-8")
        try:
            texts[edit.file] = apply_one(text, edit)
        except EditError as error:
            failures.append(str(error))
    if failures:
        raise EditError(
            "the source is not the one that these edits were written for:\n  " + "\n  ".join(failures)
        )
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def apply_one(text: str, edit: Edit) -> str:
    """The text with one edit."""
    start, end = span_of(text, edit)
    count = text.count(edit.anchor, start, end)
    if count != 1:
        raise EditError(
            f"{edit.file}: {edit.definition!r}: anchor {edit.anchor!r} found {count} times ({edit.why})"
        )
    at = text.index(edit.anchor, start, end)
    return text[:at] + edit.replacement + text[at + len(edit.anchor) :]


def span_of(text: str, edit: Edit) -> tuple[int, int]:
    """Where the edit's definition begins and ends."""
    spans = []
    start = text.find("\n" + edit.definition)
    while start >= 0:
        opened, declared = text.find("{\n", start), text.find(";\n", start)
        if opened >= 0 and (declared < 0 or opened < declared):
            spans.append((start + 1, text.index("\n}", opened) + 1))
        start = text.find("\n" + edit.definition, start + 1)
    if len(spans) != 1:
        raise EditError(f"{edit.file}: {edit.definition!r}: {len(spans)} definitions found ({edit.why})")
    return spans[0]
