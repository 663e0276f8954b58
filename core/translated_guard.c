#define MB_CODE mb_code_guard
#include "translated_code.h"
