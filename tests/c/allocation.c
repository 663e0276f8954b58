/* allocation.c: the k-th request to the system fails, for every k from an engine's beginning to its end: nothing
 * crashes, nothing leaks, what is reported is lack of memory, and the same engine works afterwards.
 *
 * Each k has a forked process to itself, in which nothing was ever allocated. A function __wrap_NAME stands in for the
 * system's NAME, which is then __real_NAME (CMakeLists.txt). */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- requests that can fail */

static bool counting;
static unsigned requests, failing; /* the number of the request that fails */

/* What is held; the address space of fibers and of the signal stack stays so. */
static struct {
  int blocks, mappings, files;
} held;

static bool fails(void) {
  if (!counting || ++requests != failing)
    return false;
  errno = ENOMEM;
  return true;
}

static bool has_failed(void) {
  return failing && requests >= failing;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  void *block = fails() ? NULL : __real_malloc(size);
  held.blocks += block != NULL;
  return block;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  void *block = fails() ? NULL : __real_calloc(count, size);
  held.blocks += block != NULL;
  return block;
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size) {
  void *block = fails() ? NULL : __real_realloc(old, size);
  held.blocks += block && !old;
  return block;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
  held.blocks -= block != NULL;
  __real_free(block);
}

void *__real_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  void *mapping = fails() ? MAP_FAILED : __real_mmap(address, size, protection, flags, file, offset);
  held.mappings += mapping != MAP_FAILED && !(flags & MAP_FIXED);
  return mapping;
}

int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size) {
  held.mappings--;
  return __real_munmap(address, size);
}

int __real_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection) {
  return fails() ? -1 : __real_mprotect(address, size, protection);
}

int __real_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice) {
  return fails() ? -1 : __real_madvise(address, size, advice);
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags) {
  int file = fails() ? -1 : __real_memfd_create(name, flags);
  held.files += file >= 0;
  return file;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  int file = fails() ? -1 : __real_open(path, flags);
  held.files += file >= 0;
  return file;
}

int __real_close(int file);
int __wrap_close(int file);
int __wrap_close(int file) {
  held.files--;
  return __real_close(file);
}

int __real_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size) {
  return fails() ? -1 : __real_ftruncate(file, size);
}

/* The image is written page by page: the first pages stand for all. */
ssize_t __real_pwrite(int file, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t size, off_t offset) {
  static unsigned written;
  return written++ < 4 && fails() ? -1 : __real_pwrite(file, bytes, size, offset);
}

ssize_t __real_pread(int file, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int file, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int file, void *bytes, size_t size, off_t offset) {
  return fails() ? -1 : __real_pread(file, bytes, size, offset);
}

/* ---- a run that needs everything: a source and a value that the guest makes room for, many calls, logs, memory */

enum {
#if defined(__SANITIZE_ADDRESS__)
  STRIDE = 4, /* from one k to the next: a fork takes long there */
#elif defined(__SANITIZE_THREAD__)
  STRIDE = 16,
#else
  STRIDE = 1,
#endif
};

enum { CALLS = 20, PADDING = 6000, LARGE = 100000 };

static const char PROGRAM[] =
    "console.log('a'.repeat(600)); console.log('b'.repeat(2000)); "
    "const calls = Array.from({ length: 20 }, (_, i) => f(i)); const large = await f('large'); let sum = 0; "
    "for (const call of calls) sum += await call; "
    "const kept = [2, 3].map((i) => new Uint8Array(i << 20).fill(i)); [large.length, sum, kept.length]";

static char source[PADDING + sizeof PROGRAM];
static uint8_t large[4 + LARGE];

static void fill_inputs(void) {
  memset(source, ' ', PADDING);
  memcpy(source + PADDING, PROGRAM, sizeof PROGRAM);
  memcpy(large, (uint8_t[]){ VALUE_STRING, 0xa0, 0x8d, 0x06 }, 4);
  memset(large + 4, 'x', LARGE);
}

/* May requests fail now, or did one? */
static bool may_lack(void) {
  return counting && has_failed();
}

/* NULL: there was no memory. */
static mb_run *start(mb_engine *engine, const char *text) {
  mb_program program = program_of(text);
  mb_view name = view_of("f");
  program.functions = &name;
  program.function_count = 1;
  mb_run *run = NULL;
  mb_err err = mb_run_new(&run, engine, &program);
  CHECK(err == MB_OK || (err == MB_ERR_NO_MEMORY && may_lack()));
  return err ? NULL : run;
}

/* A settlement that failed can be repeated. */
static void settle(mb_run *run, uint64_t id) {
  static const uint8_t two[] = { VALUE_INT, 4 };
  mb_view value = id > CALLS ? (mb_view){ large, sizeof large } : (mb_view){ two, sizeof two };
  mb_err err = mb_run_settle(run, id, GUEST_RETURNED, value, 0);
  CHECK(err == MB_OK || (err == MB_ERR_NO_MEMORY && may_lack()));
  if (err)
    CHECK(mb_run_settle(run, id, GUEST_RETURNED, value, 0) == MB_OK);
}

static bool is_right(const mb_run *run, size_t logged) {
  static const uint8_t expected[] = { VALUE_ARRAY, 3, VALUE_INT, 0xc0, 0x9a, 0x0c, VALUE_INT, CALLS * 4, VALUE_INT, 4 };
  return logged == 2600 && result_is(run, expected, sizeof expected);
}

static void run_to_end(mb_engine *engine) {
  mb_run *run = start(engine, source);
  if (!run)
    return;
  uint64_t handed = 0, settled = 0;
  size_t logged = 0;
  mb_status status;
  do {
    status = mb_run_step(run, 1);
    mb_log entry;
    while (mb_run_next_log(run, &entry))
      logged += entry.message.size;
    mb_call call;
    while (mb_run_next_call(run, &call))
      handed++;
    if (status == MB_WAITING && settled == handed)
      break;
    if (status == MB_WAITING)
      settle(run, ++settled);
  } while (status == MB_YIELDED || status == MB_WAITING);
  if (may_lack() && status == MB_TRAP)
    CHECK(mb_run_trap(run) == MB_TRAP_HOST_MEMORY);
  else
    CHECK(status == MB_DONE && is_right(run, logged));
  mb_run_free(run);
}

/* One run that is left in the middle of a slice, so that the other needs a fiber of its own. */
static void use(mb_engine *engine) {
  mb_run *endless = start(engine, "while (true);");
  if (endless) {
    mb_status status = mb_run_step(endless, 1);
    CHECK(status == MB_YIELDED || (may_lack() && mb_run_trap(endless) == MB_TRAP_HOST_MEMORY));
  }
  run_to_end(engine);
  if (endless)
    mb_run_free(endless);
}

/* ---- the sweep */

/* In which the k-th request fails; 0: none does. The last run is right in any case. */
static void life_of_an_engine(mb_memory_kind kind, unsigned k) {
  failing = k;
  counting = true;
  mb_engine *engine = NULL;
  mb_err err = mb_engine_new(&engine, &(mb_engine_config){ .memory = kind });
  CHECK(err == MB_OK || ((err == MB_ERR_NO_MEMORY || err == MB_ERR_SYSTEM) && has_failed()));
  if (!err)
    use(engine);
  counting = false;
  if (err)
    return;
  run_to_end(engine);
  counting = true;
  mb_engine_free(engine);
  counting = false;
}

typedef struct report {
  unsigned requests;
  int blocks, mappings, files;
  int failed;
} report;

/* In a process of its own: a life in which request k fails, then one in which none does. */
static report try(mb_memory_kind kind, unsigned k) {
  report r = { .failed = 1 };
  int ends[2];
  if (pipe(ends))
    return r;
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    checks_failed = 0;
    life_of_an_engine(kind, k);
    r.requests = requests;
    life_of_an_engine(kind, 0);
    r.blocks = held.blocks, r.mappings = held.mappings, r.files = held.files;
    r.failed = checks_failed;
    _exit(write(ends[1], &r, sizeof r) != sizeof r);
  }
  __real_close(ends[1]);
  report answer;
  if (read(ends[0], &answer, sizeof answer) == sizeof answer)
    r = answer;
  __real_close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  r.failed |= status;
  return r;
}

static void sweep(mb_memory_kind kind, unsigned first) {
  report sound = try(kind, 0);
  CHECK(!sound.failed && sound.requests > 50);
  for (unsigned k = first; k <= sound.requests; k += STRIDE) {
    report r = try(kind, k);
    /* where a process may not look at its page tables, one file less */
    bool same = r.blocks == sound.blocks && r.mappings == sound.mappings && r.files <= sound.files;
    if (r.failed || !same)
      fprintf(stderr, "request %u: held %d, %d, %d, not %d, %d, %d\n", k, r.blocks, r.mappings, r.files, sound.blocks,
              sound.mappings, sound.files);
    CHECK(!r.failed && same);
  }
  printf("%u requests; held at the end: %d blocks, %d mappings, %d files\n", sound.requests, sound.blocks,
         sound.mappings, sound.files);
}

int main(void) {
  fill_inputs();
  sweep(MB_MEMORY_ANY, 1);
  sweep(MB_MEMORY_BOUNDS, STRIDE / 2 + 1);
  return checks_done();
}
