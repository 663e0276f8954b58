/* source.h: the source text before it is compiled. */
#ifndef MODEBOX_SOURCE_H
#define MODEBOX_SOURCE_H
#include "guest.h"

/* Where one Markdown fence of a language that can be run here stands around the whole source, its two lines become spaces, in
 * place: positions stay what they were. So does a hashbang after it. */
void source_remove_fence(char *source, size_t size);

/* Whether some line is a Markdown fence. */
bool source_has_fence(text source);

#endif
