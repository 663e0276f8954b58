/* Blocks follow each other without gaps up to the top, the last one, which is free and grows with memory. A small block
 * that is freed waits on a list of blocks of its very size; before memory grows, all that wait are merged with their
 * free neighbours. Free blocks that were merged, and large ones, are found by size in two steps, each a look at a bitmap
 * (M. Masmano et al., TLSF, 2004). All is done in a bounded number of steps, but for the merging, which every block that
 * waits has paid for. */
#include "heap.h"
#ifdef __wasm__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  HEAD = 4, /* what a block takes of memory beyond what its user has */
  GRAIN = 8,
  LEAST = 16, /* size of a block: room for the links of a free one, and for its size at its end */
  LARGEST_SMALL = 512,
  FREE = 1, /* flags in the head, below the size */
  FREE_BEFORE = 2,
  FLAGS = GRAIN - 1,
  STEPS = 8,      /* bins to a doubling of size */
  DOUBLINGS = 31, /* of the greatest size */
  TRIED = 16,
  WASM_PAGE = 64 * 1024,
  GREATEST = INT32_MAX - WASM_PAGE,
  IMAGE_ROOM = 2 * WASM_PAGE, /* free in the base image: what most programs do with */
};

typedef struct block {
  uint32_t size_before;          /* the last word of the block before, its own while it is in use; else its size */
  uint32_t head;                 /* size, flags */
  struct block *next, *previous; /* while it is free or waits; the user's bytes begin here */
} block;

static block *top;
static uint32_t top_size;  /* all that is left; it has no neighbours but the one before */
static uint8_t *untouched; /* from here on memory was never handed out, and is zero */
static block *waiting[LARGEST_SMALL / GRAIN + 1];
static uint32_t waiting_bytes;
static block *bins[DOUBLINGS][STEPS];
static uint32_t doublings_in_use;
static uint8_t steps_in_use[DOUBLINGS];

/* ---- blocks */

static uint32_t size_of(const block *b) {
  return b->head & ~(uint32_t)FLAGS;
}

static block *at(const void *b, uint32_t offset) {
  return (block *)((uint8_t *)b + offset);
}

static block *block_of(const void *bytes) {
  return (block *)((uint8_t *)bytes - offsetof(block, next));
}

static void *bytes_of(block *b) {
  return &b->next;
}

/* The size of a block for so many bytes; 0: there is none. */
static uint32_t size_for(size_t bytes) {
  if (bytes > GREATEST)
    return 0;
  uint32_t size = ((uint32_t)bytes + HEAD + GRAIN - 1) & ~(uint32_t)(GRAIN - 1);
  return size < LEAST ? LEAST : size;
}

/* ---- free blocks by size */

static uint32_t last_bit(uint32_t bits) {
  return 31 - (uint32_t)__builtin_clz(bits);
}

/* The bin that a free block of this size is in. */
static void find_bin(uint32_t size, uint32_t *doubling, uint32_t *step) {
  *doubling = last_bit(size);
  *step = (size >> (*doubling - 3)) - STEPS;
}

static void put_in_bin(block *b) {
  uint32_t doubling, step;
  find_bin(size_of(b), &doubling, &step);
  block *first = bins[doubling][step];
  b->next = first;
  b->previous = NULL;
  if (first)
    first->previous = b;
  bins[doubling][step] = b;
  steps_in_use[doubling] |= 1 << step;
  doublings_in_use |= 1u << doubling;
}

static void take_from_bin(block *b) {
  if (b->next)
    b->next->previous = b->previous;
  if (b->previous) {
    b->previous->next = b->next;
    return;
  }
  uint32_t doubling, step;
  find_bin(size_of(b), &doubling, &step);
  bins[doubling][step] = b->next;
  if (b->next)
    return;
  steps_in_use[doubling] &= ~(1 << step);
  if (!steps_in_use[doubling])
    doublings_in_use &= ~(1u << doubling);
}

/* Of a bin's blocks that may be too small, only the first few are looked at. */
static block *find_in_bin(block *b, uint32_t size) {
  for (uint32_t tried = 0; b && tried < TRIED; tried++, b = b->next)
    if (size_of(b) >= size)
      return b;
  return NULL;
}

/* A free block that is large enough; NULL: none was found. */
static block *find_fit(uint32_t size) {
  uint32_t doubling, step;
  find_bin(size, &doubling, &step);
  block *b = find_in_bin(bins[doubling][step], size);
  if (b)
    return b;
  uint32_t steps = steps_in_use[doubling] & ~0u << (step + 1);
  if (!steps) {
    uint32_t doublings = doublings_in_use & ~0u << (doubling + 1);
    if (!doublings)
      return NULL;
    doubling = (uint32_t)__builtin_ctz(doublings);
    steps = steps_in_use[doubling];
  }
  return bins[doubling][__builtin_ctz(steps)];
}

/* ---- giving back */

static void set_top(block *b, uint32_t size) {
  top = b;
  top_size = size;
}

/* Merges a block that is in use with its free neighbours, and makes the whole free. */
static void release(block *b) {
  uint32_t size = size_of(b), before = b->head & FREE_BEFORE;
  block *after = at(b, size);
  if (before) {
    b = at(b, -b->size_before);
    take_from_bin(b);
    size += size_of(b);
  }
  if (after == top) {
    set_top(b, size + top_size);
    return;
  }
  if (after->head & FREE) {
    take_from_bin(after);
    size += size_of(after);
    after = at(b, size);
  }
  b->head = size | FREE; /* two free blocks never touch */
  after->size_before = size;
  after->head |= FREE_BEFORE;
  put_in_bin(b);
}

static void release_waiting(void) {
  for (uint32_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
    block *b = waiting[i];
    waiting[i] = NULL;
    while (b) {
      block *next = b->next;
      release(b);
      b = next;
    }
  }
  waiting_bytes = 0;
}

/* ---- taking */

/* Leaves the first `size` bytes of a block that is in use to it, and releases the rest. */
static void split(block *b, uint32_t size) {
  uint32_t rest = size_of(b) - size;
  if (rest < LEAST)
    return;
  b->head -= rest;
  at(b, size)->head = rest;
  release(at(b, size));
}

/* Takes a free block, with all its bytes. */
static void occupy(block *b) {
  take_from_bin(b);
  b->head &= ~(uint32_t)FREE;
  at(b, size_of(b))->head &= ~(uint32_t)FREE_BEFORE;
}

static void move_top(uint32_t size) {
  set_top(at(top, size), top_size - size);
  uint8_t *end = bytes_of(top);
  if (end > untouched)
    untouched = end;
}

static bool top_has(uint32_t size) {
  return top_size >= size + LEAST;
}

/* Of what is there. */
static block *take_free(uint32_t size) {
  block *b = find_fit(size);
  if (b) {
    occupy(b);
    split(b, size);
  } else if (top_has(size)) {
    b = top;
    b->head = size;
    move_top(size);
  }
  return b;
}

static bool grow_by(uint32_t bytes) {
  uint32_t pages = (bytes + WASM_PAGE - 1) / WASM_PAGE;
  if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1)
    return false;
  top_size += pages * WASM_PAGE;
  return true;
}

/* By a part of what there is, so that it happens seldom; near the limit, by what is needed. */
static bool grow_top(uint32_t size) {
  uint32_t missing = size + LEAST - top_size, part = (uint32_t)(uintptr_t)top / 16;
  return (part > missing && grow_by(part)) || grow_by(missing);
}

static void open_heap(void) {
  extern uint8_t __heap_base;
  uintptr_t base = ((uintptr_t)&__heap_base + GRAIN - 1) & ~(uintptr_t)(GRAIN - 1);
  set_top((block *)base, (uint32_t)(__builtin_wasm_memory_size(0) * WASM_PAGE - base));
  untouched = bytes_of(top);
}

static block *take_or_grow(uint32_t size) {
  if (!top)
    open_heap();
  block *b = take_free(size);
  if (!b && waiting_bytes > (uint32_t)(uintptr_t)top / 8) {
    release_waiting();
    b = take_free(size);
  }
  if (!b && grow_top(size))
    b = take_free(size);
  if (!b && waiting_bytes) {
    release_waiting();
    b = take_free(size);
  }
  return b;
}

static block *take(uint32_t size) {
  block *b = size <= LARGEST_SMALL ? waiting[size / GRAIN] : NULL;
  if (!b)
    return take_or_grow(size);
  waiting[size / GRAIN] = b->next;
  waiting_bytes -= size;
  return b;
}

/* Makes a block larger where it is. */
static bool extend(block *b, uint32_t size) {
  block *after = at(b, size_of(b));
  uint32_t missing = size - size_of(b);
  if (after == top) {
    if (!top_has(missing) && !grow_top(missing))
      return false;
    b->head += missing;
    move_top(missing);
    return true;
  }
  if (!(after->head & FREE) || size_of(after) < missing)
    return false;
  occupy(after);
  b->head += size_of(after);
  split(b, size);
  return true;
}

/* ---- the C library's names */

void *malloc(size_t bytes) {
  uint32_t size = size_for(bytes);
  block *b = size ? take(size) : NULL;
  return b ? bytes_of(b) : NULL;
}

void free(void *bytes) {
  if (!bytes)
    return;
  block *b = block_of(bytes);
  uint32_t size = size_of(b);
  if (size > LARGEST_SMALL) {
    release(b);
    return;
  }
  b->next = waiting[size / GRAIN];
  waiting[size / GRAIN] = b;
  waiting_bytes += size;
}

void *calloc(size_t count, size_t each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes))
    return NULL;
  const uint8_t *clean = untouched;
  uint8_t *made = malloc(bytes);
  if (made && (!clean || made < clean))
    memset(made, 0, clean && bytes > (size_t)(clean - made) ? (size_t)(clean - made) : bytes);
  return made;
}

static void *move(block *from, size_t bytes) {
  void *made = malloc(bytes);
  if (!made)
    return NULL;
  memcpy(made, bytes_of(from), size_of(from) - HEAD);
  free(bytes_of(from));
  return made;
}

void *realloc(void *old, size_t bytes) {
  if (!old)
    return malloc(bytes);
  block *b = block_of(old);
  uint32_t size = size_for(bytes);
  if (!size)
    return NULL;
  if (size > size_of(b))
    return extend(b, size) ? old : move(b, bytes);
  if (size_of(b) > LARGEST_SMALL && size < size_of(b) / 4 * 3)
    split(b, size);
  return old;
}

size_t malloc_usable_size(void *bytes) {
  return bytes ? size_of(block_of(bytes)) - HEAD : 0;
}

/* ---- the base image */

static void abandon(block *b) {
  b->head &= ~(uint32_t)FREE;
  at(b, size_of(b))->head &= ~(uint32_t)FREE_BEFORE;
}

void heap_close_image(void) {
  release_waiting();
  for (uint32_t doubling = 0; doubling < DOUBLINGS; doubling++)
    for (uint32_t step = 0; step < STEPS; step++)
      for (block *b = bins[doubling][step], *next; b; b = next) {
        next = b->next;
        abandon(b);
      }
  memset(bins, 0, sizeof bins);
  memset(steps_in_use, 0, sizeof steps_in_use);
  doublings_in_use = 0;
  if (!top_has(IMAGE_ROOM))
    grow_top(IMAGE_ROOM);
}

#else

void heap_close_image(void) {}

#endif
