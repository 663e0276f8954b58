/* os.h: what the core needs of the system, in one file a system (os_linux.c). Sizes and addresses are whole pages. */
#ifndef MB_OS_H
#define MB_OS_H
#include "modebox.h"

enum { MB_OS_PAGE = 4096 }; /* the unit of images and resets, whatever the system's own is */

int64_t mb_os_now(void); /* monotonic, nanoseconds */

/* Address space without memory; NULL: none left. */
void *mb_os_reserve(size_t size);
void mb_os_release(void *address, size_t size);
/* Makes reserved pages readable and writable, zero-filled. */
MB_CHECKED bool mb_os_commit(void *address, size_t size);
/* Has the memory made now: much cheaper than page by page, when it is written. */
void mb_os_populate(void *address, size_t size);
/* The pages are inaccessible again, and hold what they held when they are committed next. */
MB_CHECKED bool mb_os_hide(void *address, size_t size);
/* Gives the memory back; the pages are inaccessible again. */
MB_CHECKED bool mb_os_decommit(void *address, size_t size);
/* Gives the memory back; the pages stay accessible and read as at first: zero, or the image. false: they hold what they
 * held (locked pages cannot be given back). */
MB_CHECKED bool mb_os_discard(void *address, size_t size);

/* Read-only bytes that can be mapped copy-on-write any number of times. */
typedef struct mb_os_image {
  int file;
  const uint8_t *bytes;
  size_t size;
} mb_os_image;

MB_CHECKED mb_err mb_os_image_new(mb_os_image *out, const uint8_t *bytes, size_t size);
void mb_os_image_free(mb_os_image *image);
MB_CHECKED bool mb_os_image_map(const mb_os_image *image, void *address);

/* Writes the numbers of the pages in [address, address + size) that differ, or may differ, from the image mapped there; gives how
 * many, or SIZE_MAX where there are more than `room` or the system does not say. */
size_t mb_os_dirty_pages(const void *address, size_t size, uint32_t *pages, size_t room);

#endif
