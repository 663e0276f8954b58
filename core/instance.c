#include "instance.h"
#include <stdlib.h>

enum {
  SOFT_DEPTH = 60000, /* calls of functions that can recurse: past these, the engine throws RangeError ... */
  HARD_DEPTH = 64000, /* ... and past these, the run ends */
  EVENT_GROW = MB_EVENT_RETURNED + 1,
};

#define NOINLINE __attribute__((noinline))

/* ---- on the fiber: nothing here locks, allocates, or reads thread-local state across a switch (fiber.h) */

static mb_instance *owner(w2c_guest *guest) {
  return (mb_instance *)guest;
}

static NOINLINE void leave(mb_instance *instance, int event) {
  void *fake_stack = mb_sanitizer_leave(&instance->scope.sanitizer);
  mb_switch(&instance->fiber->stack_pointer, instance->scope.scheduler_stack, (void *)(intptr_t)event);
  mb_sanitizer_entered(&instance->scope.sanitizer, fake_stack);
}

static NOINLINE _Noreturn void leave_for_good(mb_instance *instance, int event) {
  void *never;
  mb_sanitizer_abandon(&instance->scope.sanitizer);
  mb_switch(&never, instance->scope.scheduler_stack, (void *)(intptr_t)event);
  __builtin_trap();
}

static void require_room(mb_instance *instance) {
  if (!mb_fiber_has_room(instance->fiber))
    leave_for_good(instance, MB_TRAP_STACK);
}

static uint32_t call_entry(mb_instance *instance) {
  w2c_guest *guest = &instance->guest;
  const mb_code *code = instance->code;
  const uint32_t *arguments = instance->arguments;
  switch (instance->entry) {
  case MB_ENTRY_INITIALIZE:
    code->initialize(guest);
    return 0;
  case MB_ENTRY_INIT:
    code->init(guest);
    return 0;
  case MB_ENTRY_MAILBOX:
    return code->mailbox(guest);
  case MB_ENTRY_INPUT:
    return code->input(guest, arguments[0]);
  case MB_ENTRY_START:
    return code->start(guest, arguments[0]);
  case MB_ENTRY_SETTLE:
    return code->settle(guest, arguments[0], arguments[1], arguments[2]);
  }
  return 0;
}

void mb_fiber_main(void *value) {
  mb_instance *instance = value;
  mb_sanitizer_entered(&instance->scope.sanitizer, NULL);
  instance->result = call_entry(instance);
  leave_for_good(instance, MB_EVENT_RETURNED);
}

void mb_guest_tick(w2c_guest *guest) {
  require_room(owner(guest));
  leave(owner(guest), MB_EVENT_TICK);
}

void mb_guest_too_deep(w2c_guest *guest) {
  leave_for_good(owner(guest), MB_TRAP_STACK);
}

/* The runtime functions that wasm2c's output calls (wasm-rt.h). */

void wasm_rt_trap(wasm_rt_trap_t code) {
  mb_instance *instance = mb_trap_current()->owner;
  switch (code) {
  case WASM_RT_TRAP_OOB:
    leave_for_good(instance, MB_TRAP_OUT_OF_BOUNDS);
  case WASM_RT_TRAP_INT_OVERFLOW:
  case WASM_RT_TRAP_DIV_BY_ZERO:
  case WASM_RT_TRAP_INVALID_CONVERSION:
    leave_for_good(instance, MB_TRAP_ARITHMETIC);
  case WASM_RT_TRAP_CALL_INDIRECT:
    leave_for_good(instance, MB_TRAP_CALL);
  case WASM_RT_TRAP_EXHAUSTION:
    leave_for_good(instance, MB_TRAP_STACK);
  default:
    leave_for_good(instance, MB_TRAP_UNREACHABLE);
  }
}

/* Asked on the fiber, done on the scheduler's stack. */
uint64_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint64_t pages) {
  mb_instance *instance = (mb_instance *)((char *)memory - offsetof(w2c_guest, w2c_memory));
  require_room(instance);
  instance->grow_by = pages;
  leave(instance, EVENT_GROW);
  return instance->grow_result;
}

/* ---- on the scheduler's stack */

/* The memory is there already, and so is the table, once for all instances (engine.c). */

bool wasm_rt_is_initialized(void) {
  return true;
}

void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint64_t pages, uint64_t max_pages, bool is64,
                             uint32_t page_size) {
  (void)memory, (void)pages, (void)max_pages, (void)is64, (void)page_size;
}

void wasm_rt_free_memory(wasm_rt_memory_t *memory) {
  (void)memory;
}

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *table, uint32_t elements, uint32_t max_elements) {
  (void)table, (void)elements, (void)max_elements;
}

void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *table) {
  (void)table;
}

static void set_pages(mb_instance *instance, uint64_t pages) {
  instance->guest.w2c_memory.pages = pages;
  instance->guest.w2c_memory.size = pages * MB_WASM_PAGE;
  if (pages > instance->peak_pages)
    instance->peak_pages = (uint32_t)pages;
}

/* Past the limit the guest hears -1, which depends on the program alone; a system without memory is an outcome. */
static mb_trap grow(mb_instance *instance) {
  uint64_t before = instance->guest.w2c_memory.pages, after = before + instance->grow_by;
  instance->grow_result = (uint32_t)-1;
  if (instance->grow_by > instance->max_pages || after > instance->max_pages)
    return MB_TRAP_NONE;
  if (!mb_memory_commit(&instance->memory, after * MB_WASM_PAGE))
    return MB_TRAP_HOST_MEMORY;
  mb_os_populate(instance->memory.base + before * MB_WASM_PAGE, instance->grow_by * MB_WASM_PAGE);
  set_pages(instance, after);
  instance->grow_result = before;
  return MB_TRAP_NONE;
}

/* The scheduler's side of the switch; it never moves to another thread. */
static NOINLINE int enter(mb_instance *instance) {
  instance->scope = (mb_trap_scope){ .fiber = instance->fiber, .memory = &instance->memory, .owner = instance };
  mb_trap_enter(&instance->scope);
  void *fake_stack = mb_sanitizer_enter(&instance->scope.sanitizer, instance->fiber);
  void *event = mb_switch(&instance->scope.scheduler_stack, instance->fiber->stack_pointer, instance);
  mb_sanitizer_back(&instance->scope.sanitizer, fake_stack);
  mb_trap_leave();
  return (int)(intptr_t)event;
}

static void give_fiber(mb_instance *instance) {
  if (instance->fiber)
    mb_fiber_give(instance->fiber);
  instance->fiber = NULL;
}

int mb_instance_resume(mb_instance *instance) {
  for (;;) {
    int event = enter(instance);
    if (event == EVENT_GROW) {
      event = grow(instance);
      if (event == MB_TRAP_NONE)
        continue;
    }
    if (event != MB_EVENT_TICK)
      give_fiber(instance);
    return event;
  }
}

mb_err mb_instance_call(mb_instance *instance, mb_entry entry, uint32_t a, uint32_t b, uint32_t c) {
  instance->fiber = mb_fiber_take();
  if (!instance->fiber)
    return MB_ERR_NO_MEMORY;
  mb_fiber_arm(instance->fiber);
  instance->entry = entry;
  instance->arguments[0] = a;
  instance->arguments[1] = b;
  instance->arguments[2] = c;
  return MB_OK;
}

/* ---- life */

static void set_globals(mb_instance *instance, uint32_t stack_pointer, uint64_t pages) {
  instance->guest.w2c_0x5F_stack_pointer = stack_pointer;
  instance->guest.fuel = 0;
  instance->guest.depth = 0;
  instance->guest.soft_depth = SOFT_DEPTH;
  instance->guest.hard_depth = HARD_DEPTH;
  instance->peak_pages = 0;
  set_pages(instance, pages);
}

static mb_err allocate(mb_instance **out, bool guarded, uint32_t max_pages) {
  mb_instance *instance = calloc(1, sizeof *instance);
  if (!instance)
    return MB_ERR_NO_MEMORY;
  mb_err err = mb_memory_reserve(&instance->memory, guarded, max_pages);
  if (err) {
    free(instance);
    return err;
  }
  instance->code = guarded ? &mb_code_guard : &mb_code_bounds;
  instance->max_pages = max_pages;
  instance->guest.w2c_memory.data = instance->memory.base;
  instance->guest.w2c_memory.max_pages = max_pages;
  instance->guest.w2c_memory.page_size = MB_WASM_PAGE;
  *out = instance;
  return MB_OK;
}

mb_err mb_instance_new_bare(mb_instance **out, bool guarded, uint32_t pages, uint32_t max_pages) {
  mb_instance *instance;
  mb_err err = allocate(&instance, guarded, max_pages);
  if (err)
    return err;
  if (!mb_memory_commit(&instance->memory, (size_t)pages * MB_WASM_PAGE)) {
    mb_instance_free(instance);
    return MB_ERR_NO_MEMORY;
  }
  set_globals(instance, 0, pages);
  *out = instance;
  return MB_OK;
}

mb_err mb_instance_new(mb_instance **out, const mb_image *image, bool guarded, uint32_t max_pages) {
  mb_instance *instance;
  mb_err err = allocate(&instance, guarded, max_pages);
  if (err)
    return err;
  if (!mb_memory_map(&instance->memory, &image->pages)) {
    mb_instance_free(instance);
    return MB_ERR_NO_MEMORY;
  }
  instance->guest.w2c_T0 = image->tables[guarded];
  set_globals(instance, image->stack_pointer, image->pages.size / MB_WASM_PAGE);
  *out = instance;
  return MB_OK;
}

void mb_instance_free(mb_instance *instance) {
  give_fiber(instance);
  mb_memory_release(&instance->memory);
  free(instance);
}

bool mb_instance_reset(mb_instance *instance, const mb_image *image, size_t kept_growth) {
  set_globals(instance, image->stack_pointer, image->pages.size / MB_WASM_PAGE);
  return mb_memory_reset(&instance->memory, &image->pages, kept_growth);
}

uint8_t *mb_instance_bytes(const mb_instance *instance, uint64_t address, uint64_t size) {
  uint64_t memory = instance->guest.w2c_memory.size;
  return address <= memory && size <= memory - address ? instance->memory.base + address : NULL;
}
