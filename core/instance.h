/* instance.h: one linear memory with its globals, and a call into it that can be left and entered again. */
#ifndef MB_INSTANCE_H
#define MB_INSTANCE_H
#include "fiber.h"
#include "memory.h"
#include "translated.h"
#include "trap.h"

/* What every instance starts as. */
typedef struct mb_image {
  mb_os_image pages;
  uint32_t stack_pointer;
  uint32_t mailbox;                  /* its address, checked against the image's size */
  wasm_rt_funcref_table_t tables[2]; /* of the bounds build, of the guard build: shared, never written */
} mb_image;

typedef enum mb_entry {
  MB_ENTRY_INITIALIZE,
  MB_ENTRY_INIT,
  MB_ENTRY_MAILBOX,
  MB_ENTRY_INPUT,
  MB_ENTRY_START,
  MB_ENTRY_SETTLE,
} mb_entry;

/* Why a call into the guest came back; below MB_EVENT_TICK it is an mb_trap. */
typedef enum mb_event {
  MB_EVENT_TICK = 16, /* fuel ran out; the call can be resumed */
  MB_EVENT_RETURNED,  /* instance.result; the fiber is back in its pool */
} mb_event;

typedef struct mb_instance {
  w2c_guest guest;          /* first: the generated code's pointer is this one */
  struct mb_instance *next; /* in the pool */
  const mb_code *code;
  mb_memory memory;
  uint32_t max_pages; /* memory.grow fails past them */
  uint32_t peak_pages;
  mb_fiber *fiber; /* while a call is under way */
  mb_trap_scope scope;
  mb_entry entry;
  uint32_t arguments[3], result;
  uint64_t grow_by, grow_result; /* memory.grow's question and answer */
} mb_instance;

/* An instance without an image, for building one: `pages` wasm pages of zeros. */
MB_CHECKED mb_err mb_instance_new_bare(mb_instance **out, bool guarded, uint32_t pages, uint32_t max_pages);
/* max_pages: of address space, where it is not guarded. */
MB_CHECKED mb_err mb_instance_new(mb_instance **out, const mb_image *image, bool guarded, uint32_t max_pages);
void mb_instance_free(mb_instance *instance);
/* Back to the image; no call may be under way. false: it must be freed. */
MB_CHECKED bool mb_instance_reset(mb_instance *instance, const mb_image *image, size_t kept_growth);

/* Begins a call, for mb_instance_resume. */
MB_CHECKED mb_err mb_instance_call(mb_instance *instance, mb_entry entry, uint32_t a, uint32_t b, uint32_t c);
/* Goes on until the next event, on this thread. After a trap only mb_instance_free is left. */
MB_CHECKED int mb_instance_resume(mb_instance *instance);

/* Bytes of linear memory, or NULL where they are not all inside. */
uint8_t *mb_instance_bytes(const mb_instance *instance, uint64_t address, uint64_t size);

#endif
