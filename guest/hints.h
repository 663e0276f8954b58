/* hints.h: what errors say beyond what is wrong: which name may have been meant, and what there is in place of what is absent.
 * The edited engine includes it too. */
#ifndef MODEBOX_HINTS_H
#define MODEBOX_HINTS_H
#include <stdbool.h>
#include "nearest.h"
#include "quickjs.h"

enum { HINT_SIZE = 1024 }; /* of every text here; what does not fit is left out */

/* Remembers a host function by its dotted name. false: an exception is pending. */
bool hint_add_function(JSContext *ctx, const char *name, size_t size);
/* Offers host functions and namespaces; a function in a namespace also by its own name. */
void hint_offer_functions(nearest *n);

/* Whether programs expect the global and this sandbox has none: then what to do instead. */
bool hint_absent(char *text, const char *name);
/* "NAME PROBLEM", and the name that may have been meant, if any; it is a member of `path` where that is not empty. */
void hint_meant(char *text, const char *name, const char *problem, const char *path, const nearest *n);
/* Why a module cannot be imported. */
void hint_import(char *text, const char *module);
void hint_add(char *text, const char *more);

/* Whether the value is a namespace of host functions (calls.c). */
bool calls_is_namespace(JSValueConst value);

#endif
