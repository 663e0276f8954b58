/* shape.h: becomes part of quickjs.c. A program as models write it: `export` and `import` at its top level, and which of
 * its functions it leaves to be called. Only where JS_EVAL_FLAG_PROGRAM is given.
 *
 * Nothing is recorded while the program is parsed. When it is, its bytecode, which still has the names of variables, is
 * read: where does the value come from, and who else mentions that name? */

#include "hints.h"

enum {
    JS_EVAL_FLAG_PROGRAM = 1 << 8, /* guest/program.c has it too */
    SHAPE_NAMES = 16,              /* so many functions are looked at for one that nobody calls */
};

void guest_program_parsed(bool calls_value, bool has_export, bool calls_export, const char *uncalled);

static __exception int js_parse_source_element(JSParseState *s);

/* ---- modules */

/* The top level of a script, or of the function that the source was made the body of: that one begins before line 1. */
static bool js_at_program_level(JSParseState *s)
{
    JSFunctionDef *fd = s->cur_func;

    if (!s->is_program)
        return false;
    return !fd->parent || (!fd->parent->parent && fd->line_num <= 0);
}

/* A syntax error with a text of any length. */
static int js_parse_error_text(JSParseState *s, const char *text)
{
    JSContext *ctx = s->ctx;
    JSValue message = JS_NewString(ctx, text);

    if (JS_IsException(message))
        return -1;
    js_parse_error(s, "module");
    if (JS_IsError(ctx->rt->current_exception))
        JS_DefinePropertyValue(ctx, ctx->rt->current_exception, JS_ATOM_message, message,
                               JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    else
        JS_FreeValue(ctx, message);
    return -1;
}

/* The current token names a module: refuses it, at the position where the statement begins. */
static no_inline int js_refuse_module(JSParseState *s, const JSParsePos *statement)
{
    JSContext *ctx = s->ctx;
    JSValue module = js_dup(s->token.u.str.str);
    const char *name = NULL;
    char text[HINT_SIZE];

    if (!js_parse_seek_token(s, statement))
        name = JS_ToCString(ctx, module);
    JS_FreeValue(ctx, module);
    if (!name)
        return -1;
    hint_import(text, name);
    JS_FreeCString(ctx, name);
    return js_parse_error_text(s, text);
}

static bool js_is_in_import_clause(int tok)
{
    return token_is_ident(tok) || (tok < 256 && tok > 0 && strchr("{},*=(", tok));
}

static int js_parse_program_import(JSParseState *s)
{
    JSParsePos statement;

    js_parse_get_pos(s, &statement);
    do {
        if (next_token(s))
            return -1;
    } while (js_is_in_import_clause(s->token.val));
    if (s->token.val == TOK_STRING)
        return js_refuse_module(s, &statement);
    return js_parse_expect(s, TOK_STRING);
}

static void js_emit_variable(JSParseState *s, JSAtom name)
{
    emit_op(s, OP_scope_get_var);
    emit_atom(s, name);
    emit_u16(s, s->cur_func->scope_level);
}

/* Takes the value of `export default` from the stack. A function body has its value from `return`. */
static int js_keep_default(JSParseState *s)
{
    JSFunctionDef *fd = s->cur_func;

    if (s->default_idx >= 0)
        return js_parse_error(s, "export default stands twice");
    if (fd->parent) {
        emit_op(s, OP_drop);
        return 0;
    }
    s->default_idx = add_var(s->ctx, fd, JS_ATOM__default_);
    if (s->default_idx < 0)
        return -1;
    emit_op(s, OP_put_loc);
    emit_u16(s, s->default_idx);
    return 0;
}

/* One entry of `{ a, b as c }`; exported becomes b in `b as default`. */
static int js_parse_export_entry(JSParseState *s, JSAtom *exported)
{
    JSAtom local = s->token.val == TOK_IDENT ? JS_DupAtom(s->ctx, s->token.u.ident.atom) : JS_ATOM_NULL;
    int ret = next_token(s);

    if (!ret && token_is_pseudo_keyword(s, JS_ATOM_as)) {
        ret = next_token(s);
        if (!ret && s->token.val == TOK_DEFAULT && *exported == JS_ATOM_NULL) {
            *exported = local;
            local = JS_ATOM_NULL;
        }
        if (!ret)
            ret = next_token(s);
    }
    JS_FreeAtom(s->ctx, local);
    return ret;
}

static int js_parse_export_entries(JSParseState *s, JSAtom *exported)
{
    if (next_token(s))
        return -1;
    while (token_is_ident(s->token.val) || s->token.val == TOK_STRING) {
        if (js_parse_export_entry(s, exported))
            return -1;
        if (s->token.val != ',')
            break;
        if (next_token(s))
            return -1;
    }
    return js_parse_expect(s, '}');
}

/* Of `{ a, b as c }` nothing but a default is exported; another module's names are refused. */
static int js_parse_export_clause(JSParseState *s, const JSParsePos *statement)
{
    JSAtom exported = JS_ATOM_NULL;
    int ret = js_parse_export_entries(s, &exported);

    if (!ret && token_is_pseudo_keyword(s, JS_ATOM_from)) {
        ret = next_token(s);
        if (!ret)
            ret = s->token.val == TOK_STRING ? js_refuse_module(s, statement) : js_parse_expect(s, TOK_STRING);
    } else if (!ret) {
        if (exported != JS_ATOM_NULL) {
            js_emit_variable(s, exported);
            ret = js_keep_default(s);
        }
        if (!ret)
            ret = js_parse_expect_semi(s);
    }
    JS_FreeAtom(s->ctx, exported);
    return ret;
}

/* `* from "m"`, `* as n from "m"` */
static int js_parse_export_all(JSParseState *s, const JSParsePos *statement)
{
    do {
        if (next_token(s))
            return -1;
    } while (token_is_ident(s->token.val));
    if (s->token.val != TOK_STRING)
        return js_parse_expect(s, TOK_STRING);
    return js_refuse_module(s, statement);
}

static bool js_is_function_start(JSParseState *s)
{
    return s->token.val == TOK_FUNCTION ||
        (token_is_pseudo_keyword(s, JS_ATOM_async) && peek_token(s, true) == TOK_FUNCTION);
}

/* The name of the function or class that begins here, JS_ATOM_NULL where it has none; comes back to the current token. */
static int js_peek_name(JSParseState *s, JSAtom *name)
{
    JSParsePos start;

    js_parse_get_pos(s, &start);
    *name = JS_ATOM_NULL;
    if (token_is_pseudo_keyword(s, JS_ATOM_async) && next_token(s))
        return -1;
    if (next_token(s))
        return -1;
    if (s->token.val == '*' && next_token(s))
        return -1;
    if (s->token.val == TOK_IDENT)
        *name = JS_DupAtom(s->ctx, s->token.u.ident.atom);
    return js_parse_seek_token(s, &start);
}

static int js_parse_function_value(JSParseState *s)
{
    const uint8_t *ptr = s->token.ptr;
    int line = s->token.line_num, col = s->token.col_num;
    JSFunctionKindEnum kind = JS_FUNC_NORMAL;

    if (s->token.val != TOK_FUNCTION) {
        kind = JS_FUNC_ASYNC;
        if (next_token(s))
            return -1;
    }
    return js_parse_function_decl(s, JS_PARSE_FUNC_EXPR, kind, JS_ATOM_NULL, ptr, line, col);
}

/* Puts the value of `export default` on the stack. */
static int js_parse_default(JSParseState *s)
{
    JSAtom name;
    int ret;

    if (!js_is_function_start(s) && s->token.val != TOK_CLASS) {
        if (js_parse_assign_expr(s))
            return -1;
        return js_parse_expect_semi(s);
    }
    if (js_peek_name(s, &name))
        ret = -1;
    else if (name == JS_ATOM_NULL)
        ret = s->token.val == TOK_CLASS ? js_parse_class(s, true, JS_PARSE_EXPORT_NONE) : js_parse_function_value(s);
    else
        ret = js_parse_source_element(s);
    if (!ret && name != JS_ATOM_NULL)
        js_emit_variable(s, name);
    JS_FreeAtom(s->ctx, name);
    return ret;
}

static int js_parse_export_default(JSParseState *s)
{
    bool is_class;

    if (next_token(s))
        return -1;
    is_class = s->token.val == TOK_CLASS;
    if (js_parse_default(s))
        return -1;
    if (!is_class)
        return js_keep_default(s);
    emit_op(s, OP_drop); /* a class is a declaration */
    return 0;
}

static bool js_is_declaration(JSParseState *s)
{
    switch (s->token.val) {
    case TOK_FUNCTION:
    case TOK_CLASS:
    case TOK_VAR:
    case TOK_LET:
    case TOK_CONST:
        return true;
    default:
        return token_is_pseudo_keyword(s, JS_ATOM_let) || js_is_function_start(s);
    }
}

static int js_parse_program_export(JSParseState *s)
{
    JSParsePos statement;

    js_parse_get_pos(s, &statement);
    if (next_token(s))
        return -1;
    if (s->token.val == TOK_DEFAULT)
        return js_parse_export_default(s);
    if (s->token.val == '{')
        return js_parse_export_clause(s, &statement);
    if (s->token.val == '*')
        return js_parse_export_all(s, &statement);
    if (js_is_declaration(s))
        return js_parse_source_element(s);
    return js_parse_error(s, "export stands before a declaration, a list in braces or default");
}

/* 1: there was an export and it is parsed; 0: there is none here; -1: error. */
static int js_parse_module_item(JSParseState *s)
{
    int next;

    if (!js_at_program_level(s))
        return 0;
    if (s->token.val == TOK_EXPORT)
        return js_parse_program_export(s) ? -1 : 1;
    if (s->token.val != TOK_IMPORT)
        return 0;
    next = peek_token(s, false);
    return next == '(' || next == '.' ? 0 : js_parse_program_import(s);
}

/* ---- the shape */

/* Where the value in a slot comes from, as far as this matters. */
typedef struct JSValueSource {
    bool is_function; /* a function expression */
    JSAtom variable;  /* or a variable; else JS_ATOM_NULL */
} JSValueSource;

typedef struct JSShapeReader {
    const uint8_t *op, *last, *before; /* an instruction, and two before it */
    const uint8_t *next, *end;
} JSShapeReader;

static JSShapeReader js_shape_reader(const JSFunctionDef *fd)
{
    return (JSShapeReader){ .next = fd->byte_code.buf, .end = fd->byte_code.buf + fd->byte_code.size };
}

/* To the next instruction but a source position. */
static bool js_shape_step(JSShapeReader *r)
{
    r->before = r->last;
    r->last = r->op;
    do {
        if (r->next >= r->end)
            return false;
        r->op = r->next;
        r->next += opcode_info[*r->op].size;
    } while (*r->op == OP_source_loc);
    return true;
}

/* Whether the value that the instruction takes is a function expression. */
static bool js_takes_function(const JSShapeReader *r)
{
    const uint8_t *maker = r->last && *r->last == OP_set_name ? r->before : r->last;

    return maker && *maker == OP_fclosure;
}

/* What the last statement that writes to the local variable puts there; false: none does. */
static bool js_value_source(const JSFunctionDef *fd, int local, JSValueSource *out)
{
    JSShapeReader r = js_shape_reader(fd);
    bool found = false;

    *out = (JSValueSource){ false, JS_ATOM_NULL };
    while (js_shape_step(&r)) {
        if (*r.op != OP_put_loc || get_u16(r.op + 1) != local)
            continue;
        found = true;
        out->is_function = js_takes_function(&r);
        out->variable = r.last && *r.last == OP_scope_get_var ? get_u32(r.last + 1) : JS_ATOM_NULL;
    }
    return found;
}

/* Whether the instruction takes the property from the global object, by the names that it has there. */
static bool js_reads_global(const JSShapeReader *r)
{
    JSAtom holder = r->last && *r->last == OP_scope_get_var ? get_u32(r->last + 1) : JS_ATOM_NULL;

    return holder == JS_ATOM_globalThis || holder == JS_ATOM_this;
}

/* How often the variable is mentioned, but in functions of that name. A call of eval may mention any. */
static int js_count_reads(const JSFunctionDef *fd, JSAtom variable)
{
    JSShapeReader r = js_shape_reader(fd);
    struct list_head *el;
    int count = fd->has_eval_call;

    while (js_shape_step(&r)) {
        switch (*r.op) {
        case OP_scope_get_var:
        case OP_scope_get_var_undef:
        case OP_scope_get_ref:
        case OP_scope_make_ref:
            count += get_u32(r.op + 1) == variable;
            break;
        case OP_get_field:
        case OP_get_field2:
            count += get_u32(r.op + 1) == variable && js_reads_global(&r);
            break;
        }
    }
    list_for_each(el, &fd->child_list) {
        const JSFunctionDef *child = list_entry(el, JSFunctionDef, link);
        if (child->func_name != variable)
            count += js_count_reads(child, variable);
    }
    return count;
}

/* A function whose value is taken once, there: then nobody else can have called it. */
static bool js_is_left_to_call(const JSFunctionDef *fd, JSValueSource source)
{
    return source.is_function || (source.variable != JS_ATOM_NULL && js_count_reads(fd, source.variable) == 1);
}

static bool js_calls_nothing(const JSFunctionDef *fd)
{
    JSShapeReader r = js_shape_reader(fd);

    while (js_shape_step(&r)) {
        switch (*r.op) {
        case OP_call:
        case OP_call_method:
        case OP_call_constructor:
        case OP_apply:
        case OP_eval:
        case OP_apply_eval:
        case OP_import:
        case OP_await:
        case OP_throw:
            return false;
        }
    }
    return true;
}

/* `const variable = () => ...` */
static bool js_is_made_function(const JSFunctionDef *fd, JSAtom variable)
{
    JSShapeReader r = js_shape_reader(fd);

    while (js_shape_step(&r)) {
        if (*r.op == OP_scope_put_var_init && get_u32(r.op + 1) == variable)
            return js_takes_function(&r);
    }
    return false;
}

/* The last function that the program declares and does not mention again. */
static JSAtom js_uncalled_function(const JSFunctionDef *fd)
{
    int i, first = fd->global_var_count > SHAPE_NAMES ? fd->global_var_count - SHAPE_NAMES : 0;

    for (i = fd->global_var_count - 1; i >= first; i--) {
        const JSGlobalVar *var = &fd->global_vars[i];
        if ((var->cpool_idx >= 0 || js_is_made_function(fd, var->var_name)) && !js_count_reads(fd, var->var_name))
            return var->var_name;
    }
    return JS_ATOM_NULL;
}

static void js_emit_pair(JSParseState *s, int local, JSAtom name)
{
    emit_op(s, OP_get_loc);
    emit_u16(s, local);
    emit_op(s, OP_define_field);
    emit_atom(s, name);
}

/* The program's value becomes { value, default }: which one it is is decided when both are there. */
static void js_emit_export(JSParseState *s)
{
    int value = s->cur_func->eval_ret_idx;

    emit_op(s, OP_object);
    js_emit_pair(s, value, JS_ATOM_value);
    js_emit_pair(s, s->default_idx, JS_ATOM_default);
    emit_op(s, OP_put_loc);
    emit_u16(s, value);
}

/* Tells the guest about the script that was parsed. */
static no_inline void js_end_program(JSParseState *s)
{
    JSFunctionDef *fd = s->cur_func;
    char buf[ATOM_GET_STR_BUF_SIZE];
    bool has_export = s->default_idx >= 0, has_value, calls_export = false;
    JSAtom uncalled = JS_ATOM_NULL;
    JSValueSource source;

    if (has_export) {
        js_value_source(fd, s->default_idx, &source);
        calls_export = js_is_left_to_call(fd, source);
    }
    has_value = js_value_source(fd, fd->eval_ret_idx, &source);
    if (!has_value && !has_export && js_calls_nothing(fd))
        uncalled = js_uncalled_function(fd);
    guest_program_parsed(js_is_left_to_call(fd, source), has_export, calls_export,
                         uncalled == JS_ATOM_NULL ? "" : JS_AtomGetStr(s->ctx, buf, sizeof(buf), uncalled));
    if (has_export)
        js_emit_export(s);
}

/* Whether the value is a function that the program may leave to be called: no class, no generator, no builtin. */
bool JS_IsPlainClosure(JSContext *ctx, JSValueConst value)
{
    JSShapeProperty *prs;
    JSProperty *pr;
    JSObject *p;

    if (!JS_IsObject(value))
        return false;
    p = JS_VALUE_GET_OBJ(value);
    if (p->class_id != JS_CLASS_BYTECODE_FUNCTION && p->class_id != JS_CLASS_ASYNC_FUNCTION)
        return false;
    prs = find_own_property(&pr, p, JS_ATOM_prototype); /* that of a class cannot be written to */
    return !prs || (prs->flags & JS_PROP_WRITABLE);
}
