/* engine.h: the base image and the pool of instances. */
#ifndef MB_ENGINE_H
#define MB_ENGINE_H
#include "instance.h"

/* An instance as the image has it, whose memory may grow to `pages` wasm pages beyond the image. Any thread. */
MB_CHECKED mb_err mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages);
/* intact: no call is under way and none has trapped; else the instance is freed. Any thread. */
void mb_engine_give(mb_engine *engine, mb_instance *instance, bool intact);
const mb_image *mb_engine_base(const mb_engine *engine);

#endif
