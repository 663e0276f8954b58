/* site.h: where in the program a host function was called: remembered at the call, put into words when it has failed. */
#ifndef SITE_H
#define SITE_H
#include "quickjs.h"

/* All of the innermost frame of the program when it was taken. */
typedef struct JSSite {
    JSValue function; /* owned; JS_UNDEFINED: there was no such frame */
    uint32_t pc;
} JSSite;

/* From within a native function. */
JSSite JS_GetSite(JSContext *ctx);
/* One line, as a stack has it: "    at name (file:line:column)". */
JSValue JS_GetSiteStack(JSContext *ctx, const JSSite *site);

#endif
