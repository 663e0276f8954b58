#include "bounds.h" /* generated: the names of the second build */
#define MB_CODE mb_code_bounds
#include "translated_code.h"
