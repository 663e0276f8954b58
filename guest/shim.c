/* shim.c: what the C library would import, defined inside the guest: then the module imports nothing.
 * The clock is the mailbox's; there are no files; there is no entropy but the mailbox's seed (random.c). */
#ifdef __wasm__
#include <stddef.h>
#include <stdint.h>
#include <wasi/api.h>
#include "abi.h"

extern guest_mailbox mailbox;

__wasi_errno_t __wasi_clock_time_get(__wasi_clockid_t id, __wasi_timestamp_t precision, __wasi_timestamp_t *out) {
  (void)id, (void)precision;
  *out = mailbox.clock_ns;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_clock_res_get(__wasi_clockid_t id, __wasi_timestamp_t *out) {
  (void)id;
  *out = 1;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd) {
  (void)fd;
  return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *out) {
  (void)fd, (void)out;
  return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence,
                              __wasi_filesize_t *out) {
  (void)fd, (void)offset, (void)whence, (void)out;
  return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *parts, size_t count, __wasi_size_t *out) {
  (void)fd, (void)parts, (void)count, (void)out;
  return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_random_get(uint8_t *out, __wasi_size_t size) {
  (void)out, (void)size;
  return __WASI_ERRNO_NOSYS;
}

_Noreturn void __wasi_proc_exit(__wasi_exitcode_t code) {
  (void)code;
  __builtin_trap();
}

/* The C library's close() would call its import directly. */
int close(int fd) {
  (void)fd;
  return -1;
}

/* The engine's stack check asks this too. The translator puts the call depth in place of the body. */
__attribute__((noinline, export_name("guest_depth"))) uint32_t guest_depth(void) {
  __asm__ volatile("");
  return 0;
}
#else
#include <stdint.h>
uint32_t guest_depth(void) {
  return 0;
}
#endif
