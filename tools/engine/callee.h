/* callee.h: becomes part of quickjs.c. Names what the program called: "o.method is not a function".
 *
 * Nothing is recorded while programs run. When a call has failed, the bytecode before it is read: which instruction
 * made the value that was called, and what does it say about names? Where this is not certain there is no name. */

enum { CALLEE_PATH = 8, CALLEE_SIZE = 200 };

typedef struct JSCallSite {
    const JSFunctionBytecode *b;
    const uint16_t *levels; /* stack level before each instruction; 0xffff: never reached, or no instruction */
    int end;                /* where the last instruction to look at ends */
} JSCallSite;

typedef struct JSCallee {
    char text[CALLEE_SIZE];
    int size;
} JSCallee;

static bool js_callee_slot(JSContext *ctx, JSCallSite site, int slot, JSCallee *out, int path);

static int js_site_size(const uint8_t *op)
{
    return short_opcode_info(*op).size;
}

/* The lowest stack slot that the instruction writes. */
static int js_site_base(JSCallSite site, int pos)
{
    const uint8_t *op = site.b->byte_code_buf + pos;
    const JSOpCode *info = &short_opcode_info(*op);
    int n_pop = info->n_pop;

    if (info->fmt == OP_FMT_npop || info->fmt == OP_FMT_npop_u16)
        n_pop += get_u16(op + 1);
    else if (info->fmt == OP_FMT_npopx)
        n_pop += *op - OP_call0;
    return site.levels[pos] - n_pop;
}

/* The instruction that ends at site.end; -1: none. */
static int js_site_last(JSCallSite site)
{
    int pos, next;

    for (pos = 0; pos < site.end; pos = next) {
        next = pos + js_site_size(site.b->byte_code_buf + pos);
        if (next == site.end && site.levels[pos] != 0xffff)
            return pos;
    }
    return -1;
}

/* Whether a branch before site.end leads to `target`: then more than one instruction may have made the value there. */
static bool js_site_is_joined(JSCallSite site, int target)
{
    const uint8_t *code = site.b->byte_code_buf;
    int pos, to;

    for (pos = 0; pos < site.end; pos += js_site_size(code + pos)) {
        switch (code[pos]) {
        case OP_goto:
        case OP_if_false:
        case OP_if_true:
            to = pos + 1 + (int)get_u32(code + pos + 1);
            break;
        case OP_goto16:
            to = pos + 1 + (int16_t)get_u16(code + pos + 1);
            break;
        case OP_goto8:
        case OP_if_false8:
        case OP_if_true8:
            to = pos + 1 + (int8_t)code[pos + 1];
            break;
        default:
            continue;
        }
        if (to == target)
            return true;
    }
    return false;
}

/* The last instruction before site.end that wrote the slot; -1: not certain. */
static int js_site_maker(JSCallSite site, int slot)
{
    const uint8_t *code = site.b->byte_code_buf;
    int pos, found = -1;

    for (pos = 0; pos < site.end; pos += js_site_size(code + pos)) {
        if (site.levels[pos] != 0xffff) {
            int base = js_site_base(site, pos);
            if (base <= slot && slot < base + short_opcode_info(code[pos]).n_push)
                found = pos;
        }
    }
    if (found >= 0 && js_site_is_joined(site, found + js_site_size(code + found)))
        return -1;
    return found;
}

static bool js_callee_add(JSCallee *out, const char *text)
{
    int size = strlen(text);

    if (out->size + size >= CALLEE_SIZE)
        return false;
    memcpy(out->text + out->size, text, size + 1);
    out->size += size;
    return true;
}

static bool js_callee_add_atom(JSContext *ctx, JSCallee *out, JSAtom atom)
{
    char buf[ATOM_GET_STR_BUF_SIZE];

    return atom != JS_ATOM_NULL && js_callee_add(out, JS_AtomGetStr(ctx, buf, sizeof(buf), atom));
}

/* The name of the variable that the instruction reads; JS_ATOM_NULL: it reads none. */
static JSAtom js_site_variable(const JSFunctionBytecode *b, const uint8_t *op)
{
    int local = -1, arg = -1, ref = -1;

    switch (*op) {
    case OP_get_var:
    case OP_get_var_undef:
        return get_u32(op + 1);
    case OP_push_this:
        return JS_ATOM_this;
    case OP_get_loc:
    case OP_get_loc_check:
        local = get_u16(op + 1);
        break;
    case OP_get_loc8:
        local = op[1];
        break;
    case OP_get_loc0: case OP_get_loc1: case OP_get_loc2: case OP_get_loc3:
        local = *op - OP_get_loc0;
        break;
    case OP_get_arg:
        arg = get_u16(op + 1);
        break;
    case OP_get_arg0: case OP_get_arg1: case OP_get_arg2: case OP_get_arg3:
        arg = *op - OP_get_arg0;
        break;
    case OP_get_var_ref:
    case OP_get_var_ref_check:
        ref = get_u16(op + 1);
        break;
    case OP_get_var_ref0: case OP_get_var_ref1: case OP_get_var_ref2: case OP_get_var_ref3:
        ref = *op - OP_get_var_ref0;
        break;
    }
    if (ref >= 0)
        return b->closure_var[ref].var_name;
    if (!b->vardefs || (local < 0 && arg < 0))
        return JS_ATOM_NULL;
    return b->vardefs[arg >= 0 ? arg : b->arg_count + local].var_name;
}

static void js_callee_object(JSContext *ctx, JSCallSite site, int slot, JSCallee *out, int path)
{
    JSCallee start = *out;

    if (!js_callee_slot(ctx, site, slot, out, path - 1)) {
        *out = start;
        js_callee_add(out, "(intermediate value)");
    }
}

/* Adds ".name" or "[variable]" for the key in the slot. */
static bool js_callee_key(JSContext *ctx, JSCallSite site, int slot, JSCallee *out, int path)
{
    int pos = js_site_maker(site, slot);
    const uint8_t *op = site.b->byte_code_buf + pos;

    if (pos >= 0 && *op == OP_push_atom_value)
        return js_callee_add(out, ".") && js_callee_add_atom(ctx, out, get_u32(op + 1));
    if (!js_callee_add(out, "["))
        return false;
    if (!js_callee_slot(ctx, site, slot, out, path - 1) && !js_callee_add(out, "..."))
        return false;
    return js_callee_add(out, "]");
}

/* Adds what the slot's value is called before site.end; false: it has no name. */
static bool js_callee_slot(JSContext *ctx, JSCallSite site, int slot, JSCallee *out, int path)
{
    static const uint8_t perm3_sources[] = { 1, 0, 2 };
    int pos = path > 0 ? js_site_maker(site, slot) : -1, base;
    const uint8_t *op;

    if (pos < 0)
        return false;
    op = site.b->byte_code_buf + pos;
    base = js_site_base(site, pos);
    site.end = pos;
    switch (*op) {
    case OP_get_field:
    case OP_get_field2:
        js_callee_object(ctx, site, base, out, path);
        return js_callee_add(out, ".") && js_callee_add_atom(ctx, out, get_u32(op + 1));
    case OP_get_private_field:
        js_callee_object(ctx, site, base, out, path);
        return js_callee_add(out, ".") && js_callee_slot(ctx, site, base + 1, out, path - 1);
    case OP_get_array_el:
    case OP_get_array_el2:
        js_callee_object(ctx, site, base, out, path);
        return js_callee_key(ctx, site, base + 1, out, path);
    case OP_get_super_value:
        return js_callee_add(out, "super") && js_callee_key(ctx, site, base + 2, out, path);
    case OP_dup:
        return js_callee_slot(ctx, site, base, out, path - 1);
    case OP_call:
    case OP_call0: case OP_call1: case OP_call2: case OP_call3:
        return js_callee_slot(ctx, site, base, out, path - 1) && js_callee_add(out, "(...)");
    case OP_call_method:
        return js_callee_slot(ctx, site, base + 1, out, path - 1) && js_callee_add(out, "(...)");
    case OP_swap:
        return js_callee_slot(ctx, site, base + !(slot - base), out, path - 1);
    case OP_perm3:
        return js_callee_slot(ctx, site, base + perm3_sources[slot - base], out, path - 1);
    default:
        return js_callee_add_atom(ctx, out, js_site_variable(site.b, op));
    }
}

/* Which stack slot the instruction at pos calls, constructs or iterates; -1: it does none of this. */
static int js_site_called_slot(JSCallSite site, int pos)
{
    int base = js_site_base(site, pos);

    switch (site.b->byte_code_buf[pos]) {
    case OP_call:
    case OP_call0: case OP_call1: case OP_call2: case OP_call3:
    case OP_tail_call:
    case OP_call_constructor:
    case OP_apply:
    case OP_for_of_start:
    case OP_for_await_of_start:
        return base;
    case OP_call_method:
    case OP_tail_call_method:
        return base + 1;
    case OP_append:
        return base + 2;
    default:
        return -1;
    }
}

/* Names what the current frame is calling; false: it has no name, or an exception is pending. */
static bool js_callee_name(JSContext *ctx, JSCallee *out)
{
    JSStackFrame *sf = ctx->rt->current_stack_frame;
    JSFunctionBytecode *b;
    JSFunctionDef fd;
    uint16_t *levels = NULL;
    JSCallSite site;
    int pos, slot, stack_size;
    bool found;

    if (!sf || !sf->cur_pc || !JS_IsObject(sf->cur_func))
        return false;
    if (!js_class_has_bytecode(JS_VALUE_GET_OBJ(sf->cur_func)->class_id))
        return false;
    b = JS_VALUE_GET_OBJ(sf->cur_func)->u.func.function_bytecode;
    memset(&fd, 0, sizeof(fd));
    fd.byte_code.buf = b->byte_code_buf;
    fd.byte_code.size = b->byte_code_len;
    fd.stack_levels = &levels;
    if (compute_stack_size(ctx, &fd, &stack_size) < 0)
        return false;
    site = (JSCallSite){ b, levels, sf->cur_pc - b->byte_code_buf };
    out->size = 0;
    pos = js_site_last(site);
    slot = pos < 0 ? -1 : js_site_called_slot(site, pos);
    site.end = pos;
    found = slot >= 0 && js_callee_slot(ctx, site, slot, out, CALLEE_PATH);
    js_free(ctx, levels);
    return found;
}

/* Throws "NAME PROBLEM"; where there is no name a primitive value stands for itself. */
static JSValue js_throw_callee(JSContext *ctx, JSValueConst value, const char *problem)
{
    JSCallee callee;
    const char *text;

    if (js_callee_name(ctx, &callee))
        return JS_ThrowTypeError(ctx, "%s %s", callee.text, problem);
    if (JS_IsObject(value) || JS_IsSymbol(value))
        return JS_ThrowTypeError(ctx, "%s %s", JS_IsObject(value) ? "object" : "symbol", problem);
    text = JS_ToCString(ctx, value);
    if (!text)
        return JS_EXCEPTION;
    JS_ThrowTypeError(ctx, JS_IsString(value) ? "\"%.64s\" %s" : "%.64s %s", text, problem);
    JS_FreeCString(ctx, text);
    return JS_EXCEPTION;
}
