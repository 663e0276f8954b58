#include "engine.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "lock.h"
#include "near.h"
#include "engine_id.h" /* generated: MB_ENGINE_ID */

enum {
  DEFAULT_POOLED = 1024, /* instances that are idle and warm ... */
  KEPT_POOLED = 64,      /* ... of which so many keep memory that they had grown by: */
  KEPT_GROWTH = 4 << 20, /* bytes each */
  BUILD_PAGES = 1024,    /* as far as the image may grow while it is built: 64 MiB */
  DEFAULT_PAGES = 1024,  /* address space of an instance without guard pages, beyond the image */
};

struct mb_engine {
  mb_image image;
  bool guarded;
  mb_near near; /* of idle instances, one for each of a few threads; the others: */
  mb_instance *pool;
  uint32_t max_pooled;
  _Atomic uint32_t pooled; /* also read without the lock, as a guess */
};

/* ---- the pool: last in, first out, so that warm memory is used again */

static mb_instance *take_pooled(mb_engine *engine) {
  mb_lock();
  mb_instance *instance = engine->pool;
  if (instance) {
    engine->pool = instance->next;
    engine->pooled--;
  }
  mb_unlock();
  return instance;
}

static bool put_pooled(mb_engine *engine, mb_instance *instance) {
  mb_lock();
  bool room = engine->pooled < engine->max_pooled;
  if (room) {
    instance->next = engine->pool;
    engine->pool = instance;
    engine->pooled++;
  }
  mb_unlock();
  return room;
}

/* ---- building the image */

/* Runs one export to its end, without limits; false: it trapped or there was no memory. */
static bool call_to_end(mb_instance *instance, mb_entry entry) {
  instance->guest.fuel = INT64_MAX;
  if (mb_instance_call(instance, entry, 0, 0, 0))
    return false;
  return mb_instance_resume(instance) == MB_EVENT_RETURNED;
}

/* Room for the table that a build of the guest fills (wasm_rt_allocate_funcref_table). */
static bool allocate_tables(mb_image *image) {
  for (unsigned build = 0; build < 2; build++) {
    wasm_rt_funcref_table_t *table = &image->tables[build];
    table->data = calloc(MB_GUEST_TABLE_SIZE, sizeof *table->data);
    table->size = table->max_size = MB_GUEST_TABLE_SIZE;
    if (!table->data)
      return false;
  }
  return true;
}

/* Both builds write the same data; each has a table of its own functions. */
static void instantiate(mb_instance *instance, mb_image *image) {
  const mb_code *own = instance->code;
  const mb_code *const builds[2] = { &mb_code_bounds, &mb_code_guard };
  for (unsigned build = 0; build < 2; build++) {
    instance->guest.w2c_T0 = image->tables[build];
    builds[build]->instantiate(&instance->guest);
  }
  instance->guest.w2c_T0 = image->tables[own == &mb_code_guard];
}

static mb_err capture(mb_instance *instance, mb_image *image) {
  image->stack_pointer = instance->guest.w2c_0x5F_stack_pointer;
  size_t size = instance->guest.w2c_memory.size;
  if (image->stack_pointer > size || !mb_instance_bytes(instance, image->mailbox, sizeof(guest_mailbox)) ||
      image->mailbox % 8)
    return MB_ERR_SYSTEM;
  memset(instance->memory.base, 0, image->stack_pointer); /* what the stack once held is no part of the state */
  return mb_os_image_new(&image->pages, instance->memory.base, size);
}

static mb_err build_image(mb_image *image, bool guarded) {
  mb_instance *instance;
  if (!allocate_tables(image))
    return MB_ERR_NO_MEMORY;
  mb_err err = mb_instance_new_bare(&instance, guarded, MB_GUEST_INITIAL_PAGES, BUILD_PAGES);
  if (err)
    return err;
  instantiate(instance, image);
  err = MB_ERR_SYSTEM;
  if (call_to_end(instance, MB_ENTRY_INITIALIZE) && call_to_end(instance, MB_ENTRY_INIT) &&
      call_to_end(instance, MB_ENTRY_MAILBOX)) {
    image->mailbox = instance->result;
    err = capture(instance, image);
  }
  mb_instance_free(instance);
  return err;
}

static void free_tables(mb_image *image) {
  for (unsigned build = 0; build < 2; build++)
    free(image->tables[build].data);
}

/* Is there address space for guard pages, and to spare? */
static bool can_guard(void) {
  enum { TRIED = 16 };
  mb_memory memory[TRIED];
  unsigned reserved = 0;
  while (reserved < TRIED && !mb_memory_reserve(&memory[reserved], true, 0))
    reserved++;
  for (unsigned i = 0; i < reserved; i++)
    mb_memory_release(&memory[i]);
  return reserved == TRIED;
}

mb_err mb_engine_new(mb_engine **out, const mb_engine_config *config) {
  if (!mb_lock_init())
    return MB_ERR_NO_MEMORY;
  mb_engine *engine = calloc(1, sizeof *engine);
  if (!engine)
    return MB_ERR_NO_MEMORY;
  mb_memory_kind kind = config ? config->memory : MB_MEMORY_ANY;
  engine->guarded = kind == MB_MEMORY_GUARD || (kind == MB_MEMORY_ANY && can_guard());
  engine->max_pooled = config && config->pooled ? config->pooled : DEFAULT_POOLED;
  mb_trap_install();
  mb_err err = mb_trap_thread_ready() ? build_image(&engine->image, engine->guarded) : MB_ERR_NO_MEMORY;
  if (err) {
    free_tables(&engine->image);
    free(engine);
    return err;
  }
  *out = engine;
  return MB_OK;
}

void mb_engine_free(mb_engine *engine) {
  mb_instance *instance;
  while ((instance = mb_near_take_any(&engine->near)) || (instance = take_pooled(engine)))
    mb_instance_free(instance);
  mb_os_image_free(&engine->image.pages);
  free_tables(&engine->image);
  free(engine);
}

mb_view mb_engine_image(const mb_engine *engine) {
  return (mb_view){ engine->image.pages.bytes, engine->image.pages.size };
}

const char *mb_engine_id(void) {
  return MB_ENGINE_ID;
}

const mb_image *mb_engine_base(const mb_engine *engine) {
  return &engine->image;
}

/* ---- instances for runs */

static bool is_large_enough(const mb_instance *instance, uint32_t max_pages) {
  return instance->memory.guarded || instance->memory.reserved >= (size_t)max_pages * MB_WASM_PAGE;
}

mb_err mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages) {
  uint32_t image_pages = (uint32_t)(engine->image.pages.size / MB_WASM_PAGE), max_pages = image_pages + pages;
  mb_instance *instance = mb_near_take(&engine->near);
  if (!instance)
    instance = take_pooled(engine);
  if (instance && !is_large_enough(instance, max_pages)) {
    mb_instance_free(instance);
    instance = NULL;
  }
  if (!instance) {
    uint32_t reserved = pages > DEFAULT_PAGES ? max_pages : image_pages + DEFAULT_PAGES;
    mb_err err = mb_instance_new(&instance, &engine->image, engine->guarded, reserved);
    if (err)
      return err;
  }
  instance->max_pages = max_pages;
  *out = instance;
  return MB_OK;
}

void mb_engine_give(mb_engine *engine, mb_instance *instance, bool intact) {
  size_t kept = atomic_load_explicit(&engine->pooled, memory_order_relaxed) < KEPT_POOLED ? KEPT_GROWTH : 0;
  if (intact && mb_instance_reset(instance, &engine->image, kept) &&
      (mb_near_put(&engine->near, instance) || put_pooled(engine, instance)))
    return;
  mb_instance_free(instance);
}
