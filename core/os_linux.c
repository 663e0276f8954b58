#define _GNU_SOURCE
#include "os.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int64_t mb_os_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void *mb_os_reserve(size_t size) {
  void *address = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? NULL : address;
}

void mb_os_release(void *address, size_t size) {
  munmap(address, size);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool mb_os_commit(void *address, size_t size) {
  return !mprotect(address, size, PROT_READ | PROT_WRITE);
}

void mb_os_populate(void *address, size_t size) {
  madvise(address, size, MADV_POPULATE_WRITE); /* Linux 5.14; else each page's first access does it */
}

bool mb_os_hide(void *address, size_t size) {
  return !mprotect(address, size, PROT_NONE);
}

bool mb_os_decommit(void *address, size_t size) {
  return !madvise(address, size, MADV_DONTNEED) && !mprotect(address, size, PROT_NONE);
}

bool mb_os_discard(void *address, size_t size) {
  return !madvise(address, size, MADV_DONTNEED);
}

/* ---- images */

static bool is_zero(const uint8_t *page) {
  const uint64_t *words = (const uint64_t *)page;
  for (size_t i = 0; i < MB_OS_PAGE / sizeof *words; i++)
    if (words[i])
      return false;
  return true;
}

/* Zero pages stay holes in the file. */
static bool write_pages(int file, const uint8_t *bytes, size_t size) {
  if (ftruncate(file, (off_t)size))
    return false;
  for (size_t at = 0; at < size; at += MB_OS_PAGE)
    if (!is_zero(bytes + at) && pwrite(file, bytes + at, MB_OS_PAGE, (off_t)at) != MB_OS_PAGE)
      return false;
  return true;
}

mb_err mb_os_image_new(mb_os_image *out, const uint8_t *bytes, size_t size) {
  int file = memfd_create("modebox-image", MFD_CLOEXEC);
  if (file < 0)
    return MB_ERR_SYSTEM;
  if (write_pages(file, bytes, size)) {
    void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) {
      *out = (mb_os_image){ .file = file, .bytes = mapped, .size = size };
      return MB_OK;
    }
  }
  close(file);
  return MB_ERR_NO_MEMORY;
}

void mb_os_image_free(mb_os_image *image) {
  munmap((void *)image->bytes, image->size);
  close(image->file);
}

bool mb_os_image_map(const mb_os_image *image, void *address) {
  return mmap(address, image->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, image->file, 0) != MAP_FAILED;
}

/* ---- dirty pages: in a private mapping of a file, a page that was written is there and is not the file's (proc(5), pagemap) */

static const uint64_t PAGEMAP_PRESENT = UINT64_C(1) << 63, PAGEMAP_SWAPPED = UINT64_C(1) << 62,
                      PAGEMAP_FILE = UINT64_C(1) << 61;

/* The file shows the address space of the process that opened it: a forked child opens its own. -1: not opened yet, -2: none. */
static _Atomic int pagemap = -1;

static void forget_pagemap(void) {
  int file = atomic_exchange(&pagemap, -1);
  if (file >= 0)
    close(file);
}

static bool forks_are_watched;

static void watch_forks(void) {
  forks_are_watched = !pthread_atfork(NULL, NULL, forget_pagemap);
}

static int open_pagemap(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  if (!forks_are_watched) /* a child would read its parent's */
    return -2;
  int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), expected = -1;
  if (file < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    return -1; /* perhaps next time */
  if (file < 0)
    file = -2;
  if (atomic_compare_exchange_strong(&pagemap, &expected, file))
    return file;
  if (file >= 0) /* another thread was first */
    close(file);
  return expected;
}

/* Linux 6.7 looks through the pages itself: ioctl PAGEMAP_SCAN, its structures and its categories. */
typedef struct scan_region {
  uint64_t start, end, categories;
} scan_region;

typedef struct scan_request {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
} scan_request;

#define SCAN_PAGES _IOWR('f', 16, scan_request)

enum { SCAN_FILE = 4, SCAN_PRESENT = 8, SCAN_SWAPPED = 16, SCAN_REGIONS = 64 };

static _Atomic bool cannot_scan;

/* Adds the pages of regions to those found; false: no room. */
static bool add_regions(const scan_region *regions, size_t count, uint64_t base, uint32_t *pages, size_t room,
                        size_t *found) {
  for (size_t i = 0; i < count; i++)
    for (uint64_t at = regions[i].start; at < regions[i].end; at += MB_OS_PAGE) {
      if (*found == room)
        return false;
      pages[(*found)++] = (uint32_t)((at - base) / MB_OS_PAGE);
    }
  return true;
}

static size_t scan_pages(int file, uint64_t base, size_t size, uint32_t *pages, size_t room) {
  scan_region regions[SCAN_REGIONS];
  scan_request request = { .size = sizeof request,
                           .start = base,
                           .end = base + size,
                           .regions = (uintptr_t)regions,
                           .region_count = SCAN_REGIONS,
                           .category_inverted = SCAN_FILE,
                           .category_mask = SCAN_FILE,
                           .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
                           .return_mask = SCAN_PRESENT };
  size_t found = 0;
  while (request.start < request.end) {
    int count = ioctl(file, SCAN_PAGES, &request);
    if (count < 0 || !add_regions(regions, (size_t)count, base, pages, room, &found))
      return SIZE_MAX;
    request.start = request.walk_end;
  }
  return found;
}

/* One word of /proc/self/pagemap a page. */
static size_t read_pages(int file, uint64_t base, size_t size, uint32_t *pages, size_t room) {
  enum { BATCH = 512 };
  size_t first = base / MB_OS_PAGE, total = size / MB_OS_PAGE, found = 0;
  for (size_t done = 0; done < total; done += BATCH) {
    uint64_t entries[BATCH];
    size_t count = total - done < BATCH ? total - done : BATCH, bytes = count * sizeof *entries;
    if (pread(file, entries, bytes, (off_t)((first + done) * sizeof *entries)) != (ssize_t)bytes)
      return SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
      if (!(entries[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) || entries[i] & PAGEMAP_FILE)
        continue;
      if (found == room)
        return SIZE_MAX;
      pages[found++] = (uint32_t)(done + i);
    }
  }
  return found;
}

size_t mb_os_dirty_pages(const void *address, size_t size, uint32_t *pages, size_t room) {
  int file = atomic_load(&pagemap);
  if (file == -1)
    file = open_pagemap();
  if (file < 0 || sysconf(_SC_PAGESIZE) != MB_OS_PAGE)
    return SIZE_MAX;
  if (atomic_load_explicit(&cannot_scan, memory_order_relaxed))
    return read_pages(file, (uintptr_t)address, size, pages, room);
  errno = 0;
  size_t found = scan_pages(file, (uintptr_t)address, size, pages, room);
  if (errno != ENOTTY)
    return found;
  atomic_store_explicit(&cannot_scan, true, memory_order_relaxed);
  return read_pages(file, (uintptr_t)address, size, pages, room);
}
