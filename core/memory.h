/* memory.h: the linear memory of one instance. */
#ifndef MB_MEMORY_H
#define MB_MEMORY_H
#include "os.h"
#include "translated.h"

enum { MB_WASM_PAGE = 65536 };

typedef struct mb_memory {
  void *address; /* of the whole reservation */
  uint8_t *base;
  size_t reserved;  /* bytes of address space */
  size_t committed; /* bytes that can be accessed; only ever what the guest may access */
  bool guarded;     /* an access past `committed` faults; else the code checks each one */
} mb_memory;

/* Address space for `pages` wasm pages, and for whatever a 32-bit address can reach where it is guarded. */
MB_CHECKED mb_err mb_memory_reserve(mb_memory *out, bool guarded, uint32_t pages);
void mb_memory_release(mb_memory *memory);

/* Makes the first bytes accessible. false: the system has no memory. */
MB_CHECKED bool mb_memory_commit(mb_memory *memory, size_t size);
/* Maps the image at the start. */
MB_CHECKED bool mb_memory_map(mb_memory *memory, const mb_os_image *image);
/* Back to the image, whatever was written. Of what was added to it, at most `kept` bytes stay in memory, as zeros, for
 * the next time. false: the memory must be thrown away. */
MB_CHECKED bool mb_memory_reset(mb_memory *memory, const mb_os_image *image, size_t kept);
/* Is an address one of this memory's, accessible or not? */
bool mb_memory_holds(const mb_memory *memory, const void *address);

#endif
