#include "memory.h"
#include <string.h>

enum {
  MAX_COPIED = 256, /* pages: past this many, dropping them all is cheaper than copying them back */
  /* The guest's stack lies at the low end of memory, 2 MB that are seldom used further than this. A page table covers
   * 2 MB too: where it begins here, the one below is never made, and whoever looks for dirty pages is past it at once. */
  STACK_USED = 64 << 10,
  PAGE_TABLE = 2 << 20,
};

/* A 32-bit address plus the largest offset of any instruction, plus the widest access. */
static size_t guarded_size(void) {
  return ((size_t)1 << 32) + ((MB_GUEST_MAX_OFFSET + 16 + MB_WASM_PAGE - 1) & ~(size_t)(MB_WASM_PAGE - 1));
}

mb_err mb_memory_reserve(mb_memory *out, bool guarded, uint32_t pages) {
  size_t size = guarded ? guarded_size() : (size_t)pages * MB_WASM_PAGE;
  uint8_t *address = mb_os_reserve(size + PAGE_TABLE);
  if (!address)
    return MB_ERR_NO_MEMORY;
  uint8_t *base = address + ((STACK_USED - (uintptr_t)address) & (PAGE_TABLE - 1));
  *out = (mb_memory){ .address = address, .base = base, .reserved = size, .guarded = guarded };
  return MB_OK;
}

void mb_memory_release(mb_memory *memory) {
  mb_os_release(memory->address, memory->reserved + PAGE_TABLE);
}

bool mb_memory_commit(mb_memory *memory, size_t size) {
  if (size > memory->reserved)
    return false;
  if (size <= memory->committed)
    return true;
  if (!mb_os_commit(memory->base + memory->committed, size - memory->committed))
    return false;
  memory->committed = size;
  return true;
}

bool mb_memory_map(mb_memory *memory, const mb_os_image *image) {
  if (image->size > memory->reserved || !mb_os_image_map(image, memory->base))
    return false;
  memory->committed = image->size;
  return true;
}

/* New pages from the system cost more than zeros: the first ones are kept. */
static bool drop_growth(mb_memory *memory, size_t image_size, size_t kept) {
  uint8_t *growth = memory->base + image_size;
  size_t size = memory->committed - image_size;
  if (kept > size)
    kept = size;
  memory->committed = image_size;
  memset(growth, 0, kept);
  return (!kept || mb_os_hide(growth, kept)) && (size == kept || mb_os_decommit(growth + kept, size - kept));
}

bool mb_memory_reset(mb_memory *memory, const mb_os_image *image, size_t kept) {
  if (!drop_growth(memory, image->size, kept))
    return false;
  uint32_t pages[MAX_COPIED];
  size_t count = mb_os_dirty_pages(memory->base, image->size, pages, MAX_COPIED);
  if (count == SIZE_MAX) {
    return mb_os_discard(memory->base, image->size);
  }
  for (size_t i = 0; i < count; i++) {
    size_t at = (size_t)pages[i] * MB_OS_PAGE;
    memcpy(memory->base + at, image->bytes + at, MB_OS_PAGE);
  }
  return true;
}

bool mb_memory_holds(const mb_memory *memory, const void *address) {
  return (const uint8_t *)address >= memory->base && (const uint8_t *)address < memory->base + memory->reserved;
}
