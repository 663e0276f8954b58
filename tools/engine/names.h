/* names.h: becomes part of quickjs.c. Errors about a name that does not exist say which one may have been meant.
 *
 * Names are read from the shapes of objects: no code of the program runs, and no more than NAMES_LIMIT are looked at.
 * What has a text on its stack is not inlined: the frames of the interpreter stay small. */

#include "hints.h"

enum { NAMES_LIMIT = 2000, NAMES_LEVELS = 8, NAMES_SHOWN = 12 };

static bool js_holds_callable(JSContext *ctx, const JSShapeProperty *prs, const JSProperty *pr)
{
    if ((prs->flags & JS_PROP_TMASK) == JS_PROP_AUTOINIT)
        return true; /* a builtin that nobody asked for yet: nearly all are functions */
    return (prs->flags & JS_PROP_TMASK) == JS_PROP_NORMAL && JS_IsFunction(ctx, pr->u.value);
}

/* The property's name in buf, where it could be meant; else NULL. */
static const char *js_offered_name(JSContext *ctx, char *buf, const JSShapeProperty *prs)
{
    const JSString *string;

    if (prs->atom == JS_ATOM_NULL || __JS_AtomIsTaggedInt(prs->atom))
        return NULL;
    string = ctx->rt->atom_array[prs->atom];
    if (string->atom_type != JS_ATOM_TYPE_STRING || string->len >= NEAREST_SIZE)
        return NULL;
    JS_AtomGetStr(ctx, buf, ATOM_GET_STR_BUF_SIZE, prs->atom);
    return strlen(buf) < NEAREST_SIZE ? buf : NULL;
}

static void js_offer_own(JSContext *ctx, nearest *n, JSObject *p, bool callable, int *budget)
{
    JSShapeProperty *prs = get_shape_prop(p->shape);
    char buf[ATOM_GET_STR_BUF_SIZE];
    const char *name;
    int i;

    for (i = 0; i < p->shape->prop_count && *budget > 0; i++, prs++, (*budget)--) {
        if (callable && !js_holds_callable(ctx, prs, &p->prop[i]))
            continue;
        name = js_offered_name(ctx, buf, prs);
        if (name)
            nearest_offer(n, name, name);
    }
}

/* Offers what the value has and inherits. */
static void js_offer_members(JSContext *ctx, nearest *n, JSValueConst value)
{
    JSValueConst start = JS_IsObject(value) ? value : JS_GetPrototypePrimitive(ctx, value);
    JSObject *p = JS_IsObject(start) ? JS_VALUE_GET_OBJ(start) : NULL;
    int budget = NAMES_LIMIT, levels = NAMES_LEVELS;

    for (; p && levels > 0 && p->class_id != JS_CLASS_PROXY; p = p->shape->proto, levels--)
        js_offer_own(ctx, n, p, true, &budget);
}

static JSValue js_throw_text(JSContext *ctx, JSErrorEnum error, const char *text)
{
    JSRuntime *rt = ctx->rt;
    JSStackFrame *sf = rt->current_stack_frame;
    bool add_backtrace = !rt->in_out_of_memory && (!sf || !JS_GetFunctionBytecode(sf->cur_func));
    JSValue made = JS_MakeError2(ctx, error, add_backtrace, text);

    return JS_IsException(made) ? JS_EXCEPTION : JS_Throw(ctx, made);
}

static no_inline JSValue js_throw_not_defined(JSContext *ctx, JSAtom atom)
{
    char name[ATOM_GET_STR_BUF_SIZE], text[HINT_SIZE];
    int budget = NAMES_LIMIT;
    nearest n;

    JS_AtomGetStr(ctx, name, sizeof(name), atom);
    if (!hint_absent(text, name)) {
        nearest_init(&n, name);
        hint_offer_functions(&n);
        js_offer_own(ctx, &n, JS_VALUE_GET_OBJ(ctx->global_var_obj), false, &budget);
        js_offer_own(ctx, &n, JS_VALUE_GET_OBJ(ctx->global_obj), false, &budget);
        hint_meant(text, name, "is not defined", "", &n);
    }
    return js_throw_text(ctx, JS_REFERENCE_ERROR, text);
}

/* ---- members */

/* The last dot of a path of names, as in "a.b.c"; NULL: it is something else. */
static const char *js_last_dot(const char *path)
{
    const char *c;

    for (c = path; *c; c++) {
        if (strchr("()[]#, ", *c))
            return NULL;
    }
    return strrchr(path, '.');
}

/* Adds what a namespace of host functions has. */
static void js_add_members(JSContext *ctx, char *text, JSObject *p)
{
    JSShapeProperty *prs = get_shape_prop(p->shape);
    char buf[ATOM_GET_STR_BUF_SIZE];
    const char *name;
    int i, shown = 0;

    for (i = 0; i < p->shape->prop_count; i++, prs++) {
        name = js_offered_name(ctx, buf, prs);
        if (!name)
            continue;
        if (shown == NAMES_SHOWN) {
            hint_add(text, ", \u2026");
            return;
        }
        hint_add(text, shown++ ? ", " : " has ");
        hint_add(text, name);
    }
}

/* Throws "a.b is not a function", and which function of a may have been meant. */
static no_inline JSValue js_throw_not_a_function(JSContext *ctx, JSValueConst value, JSValueConst receiver)
{
    const char *problem = "is not a function", *dot;
    char text[HINT_SIZE], path[CALLEE_SIZE];
    JSCallee callee;
    nearest n;

    if (!js_callee_name(ctx, &callee) || !(dot = js_last_dot(callee.text)))
        return js_throw_callee(ctx, value, problem);
    nearest_init(&n, dot + 1);
    js_offer_members(ctx, &n, receiver);
    snprintf(path, sizeof(path), "%.*s", (int)(dot - callee.text), callee.text);
    hint_meant(text, callee.text, problem, path, &n);
    if (!*n.best && calls_is_namespace(receiver)) {
        hint_add(text, "; ");
        hint_add(text, path);
        js_add_members(ctx, text, JS_VALUE_GET_OBJ(receiver));
    }
    return js_throw_text(ctx, JS_TYPE_ERROR, text);
}

/* ---- import() */

/* The exception that import() is rejected with. It has its stack at once: it is not thrown through the frame that asks. */
static no_inline void js_throw_import(JSContext *ctx, JSValueConst module)
{
    const char *name = JS_ToCString(ctx, module);
    char text[HINT_SIZE];
    JSValue error;

    if (!name)
        return;
    hint_import(text, name);
    JS_FreeCString(ctx, name);
    error = JS_MakeError2(ctx, JS_TYPE_ERROR, true, text);
    if (!JS_IsException(error))
        JS_Throw(ctx, error);
}
