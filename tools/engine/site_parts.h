/* site_parts.h: becomes part of quickjs.c (site.h). */
#include "site.h"

JSSite JS_GetSite(JSContext *ctx)
{
    JSStackFrame *sf;

    for (sf = ctx->rt->current_stack_frame; sf; sf = sf->prev_frame) {
        JSObject *p = JS_VALUE_GET_OBJ(sf->cur_func);
        if (sf->cur_pc && js_class_has_bytecode(p->class_id)) {
            uint32_t pc = sf->cur_pc - p->u.func.function_bytecode->byte_code_buf - 1;
            return (JSSite){ js_dup(sf->cur_func), pc };
        }
    }
    return (JSSite){ JS_UNDEFINED, 0 };
}

JSValue JS_GetSiteStack(JSContext *ctx, const JSSite *site)
{
    JSFunctionBytecode *b;
    DynBuf dbuf;
    const char *name, *file;
    JSValue stack;
    int line, column;

    if (JS_IsUndefined(site->function))
        return js_empty_string(ctx->rt);
    b = JS_VALUE_GET_OBJ(site->function)->u.func.function_bytecode;
    line = find_line_num(ctx, b, site->pc, &column);
    name = get_func_name(ctx, site->function);
    file = b->filename ? JS_AtomToCString(ctx, b->filename) : NULL;
    js_dbuf_init(ctx, &dbuf);
    dbuf_printf(&dbuf, "    at %s (%s:%d:%d)", name && *name ? name : "<anonymous>", file ? file : "<null>", line, column);
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, file);
    if (dbuf_error(&dbuf))
        stack = JS_EXCEPTION;
    else
        stack = JS_NewStringLen(ctx, (const char *)dbuf.buf, dbuf.size);
    dbuf_free(&dbuf);
    return stack;
}
