/* modebox.h: the core's whole interface. One run is a state machine: the embedder calls, the core answers; nothing
 * blocks, nothing calls back, nothing here knows Python.
 *
 *   engine = mb_engine_new                 once per process
 *   run = mb_run_new(engine, program)      takes an instance
 *   loop: mb_run_step -> MB_WAITING:       mb_run_next_call, do it, mb_run_settle, step again
 *                        MB_YIELDED:       the slice is over: step again, on any thread
 *                        MB_DONE, MB_THREW, MB_LIMIT, MB_TRAP: ended; mb_run_result
 *   mb_run_free
 *
 * What the program does wrong is a status. An mb_err is the host's own fault or lack. A run is used by one thread at a
 * time, but by any; only mb_run_abort may be called at the same time as another function. */
#ifndef MODEBOX_H
#define MODEBOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../guest/abi.h"

#define MB_CHECKED __attribute__((warn_unused_result))

typedef struct mb_engine mb_engine;
typedef struct mb_run mb_run;

typedef struct mb_view {
  const uint8_t *data;
  size_t size;
} mb_view;

typedef enum mb_err {
  MB_OK = 0,
  MB_ERR_NO_MEMORY, /* malloc, mmap or mprotect refused */
  MB_ERR_MISUSE,    /* a call that the state of the run does not allow; nothing has changed */
  MB_ERR_TOO_LARGE, /* bytes over their limit, or more than the guest has room for */
  MB_ERR_SYSTEM,    /* the system lacks what the core is built on; errno says more */
} mb_err;

/* ---- engine: the base image, the pool of instances, the signal handler */

typedef enum mb_memory_kind {
  MB_MEMORY_ANY = 0, /* guard pages, or bounds checks where address space is limited */
  MB_MEMORY_GUARD,
  MB_MEMORY_BOUNDS,
} mb_memory_kind;

typedef struct mb_engine_config {
  mb_memory_kind memory; /* default MB_MEMORY_ANY */
  uint32_t pooled;       /* idle instances kept warm; 0: the default of 1,024 */
} mb_engine_config;

/* Builds the base image. config may be NULL. Any thread. */
MB_CHECKED mb_err mb_engine_new(mb_engine **out, const mb_engine_config *config);
/* All runs of the engine must have been freed. */
void mb_engine_free(mb_engine *engine);
/* The base image's bytes, for tests and for the engine id. */
mb_view mb_engine_image(const mb_engine *engine);
/* 64 hex digits: a hash over everything that decides a run; the same on every platform. */
const char *mb_engine_id(void);

/* ---- run */

#define MB_NO_LIMIT INT64_MAX

typedef struct mb_limits {
  int64_t fuel;       /* ticks; exact; MB_NO_LIMIT: none */
  int64_t timeout_ns; /* wall clock since mb_run_new; MB_NO_LIMIT: none */
  int64_t cpu_ns;     /* time inside the guest; MB_NO_LIMIT: none */
  uint32_t
      memory_bytes; /* what the guest may hold beyond the base image, and calls not yet settled; 1 MiB to 2 GiB - 1 */
  uint32_t value_bytes; /* of one argument list, one settled value, the result */
  uint32_t log_bytes;   /* of all log entries; what does not fit is counted and dropped */
  uint32_t host_calls;  /* made by the program; the next one ends the run */
} mb_limits;

typedef struct mb_program {
  mb_view source;           /* UTF-8, lone surrogates as three bytes */
  mb_view filename;         /* shown in stacks */
  const mb_view *functions; /* names of the host functions: identifiers joined by dots */
  uint32_t function_count;
  guest_mode mode;
  int64_t clock_ns; /* since 1970-01-01 UTC */
  uint8_t seed[GUEST_SEED_SIZE];
  mb_limits limits;
} mb_program;

typedef enum mb_status {
  MB_DONE = 0, /* result: value bytes */
  MB_WAITING,  /* host calls are pending, the guest's stack is empty */
  MB_YIELDED,  /* the slice is over */
  MB_THREW,    /* result: an error value; mb_run_error_kind */
  MB_DEADLOCK, /* waits, and no host call is pending */
  MB_LIMIT,    /* mb_run_limit */
  MB_TRAP,     /* mb_run_trap */
} mb_status;

typedef enum mb_limit {
  MB_LIMIT_NONE = 0,
  MB_LIMIT_FUEL,
  MB_LIMIT_TIMEOUT,
  MB_LIMIT_CPU,
  MB_LIMIT_MEMORY,
  MB_LIMIT_HOST_CALLS,
  MB_LIMIT_ABORTED,
} mb_limit;

typedef enum mb_trap {
  MB_TRAP_NONE = 0,
  MB_TRAP_OUT_OF_BOUNDS, /* an access outside linear memory */
  MB_TRAP_STACK,         /* past the hard depth, or the guard of the native stack */
  MB_TRAP_CALL,          /* a bad indirect call */
  MB_TRAP_ARITHMETIC,    /* division by zero, overflow, a bad conversion */
  MB_TRAP_UNREACHABLE,
  MB_TRAP_CORRUPT,     /* the mailbox breaks the protocol */
  MB_TRAP_HOST_MEMORY, /* the host had no memory for memory.grow */
} mb_trap;

typedef struct mb_call {
  uint64_t id;       /* 1, 2, ... in the order in which the program made them */
  uint32_t function; /* index into mb_program.functions, checked */
  mb_view arguments; /* value bytes, not yet parsed: hostile; valid until the call is settled or the run freed */
} mb_call;

typedef struct mb_log {
  guest_log_level level; /* checked */
  mb_view message;       /* hostile; valid until the next step */
} mb_log;

typedef struct mb_stats {
  int64_t fuel_used; /* ticks */
  int64_t guest_ns;  /* time inside the guest */
  int64_t
      longest_unchecked; /* ticks between two looks at the limits, at most: the quantum of 2,048, and one bulk charge */
  uint64_t memory_bytes; /* linear memory at its largest, less the base image */
  uint32_t host_calls;
  uint32_t logs_dropped; /* entries over log_bytes ... */
  uint64_t log_bytes_dropped;
} mb_stats;

/* Takes an instance and writes the program into it; runs nothing. The views are copied.
 * errors: MB_ERR_NO_MEMORY, MB_ERR_TOO_LARGE (the source), MB_ERR_MISUSE (a limit out of its range, over 32,767 functions). */
MB_CHECKED mb_err mb_run_new(mb_run **out, mb_engine *engine, const mb_program *program);
/* Runs for about slice_ns (<= 0: to the end). When the run has ended its instance is already given back, and the last
 * status is returned again. */
MB_CHECKED mb_status mb_run_step(mb_run *run, int64_t slice_ns);
/* The next host call that was not handed out yet; false: none. */
bool mb_run_next_call(mb_run *run, mb_call *out);
/* The next log entry; false: none. */
bool mb_run_next_log(mb_run *run, mb_log *out);
/* Gives one pending call its outcome, for the next step; one between two steps. value is copied.
 * clock_ns: what the program's clock shows from now on, never less than it showed.
 * errors: MB_ERR_MISUSE (not waiting; an id that was not handed out, or is settled), MB_ERR_TOO_LARGE (over
 * value_bytes), MB_ERR_NO_MEMORY; nothing has changed then. */
MB_CHECKED mb_err mb_run_settle(mb_run *run, uint64_t call_id, guest_outcome outcome, mb_view value, int64_t clock_ns);
/* Ends the run at its next tick, with MB_LIMIT_ABORTED. Any thread, at any time before mb_run_free. */
void mb_run_abort(mb_run *run);
/* After MB_DONE or MB_THREW: hostile value bytes, valid until mb_run_free. Else empty. */
mb_view mb_run_result(const mb_run *run);
guest_error_kind mb_run_error_kind(const mb_run *run);
mb_limit mb_run_limit(const mb_run *run);
mb_trap mb_run_trap(const mb_run *run);
mb_stats mb_run_stats(const mb_run *run);
/* In any state. */
void mb_run_free(mb_run *run);

/* ---- workers: a few threads that step runs in slices, in turn, until each waits or has ended
 *
 * They belong to the process, start with the first job, and know nothing of the embedder: a job that is through is put on
 * its completion list, whose file becomes readable. Before a fork they are parked; in the child there are no threads
 * until the next job, and jobs that were queued are withdrawn. */

typedef struct mb_completions mb_completions;

/* One run on its way through the workers. The embedder owns it and fills in the first three; it must stay where it is. */
typedef struct mb_job {
  mb_run *run; /* until the job is taken or withdrawn, only mb_run_abort may be called for it */
  mb_completions *completions;
  void *owner;
  mb_status status; /* of the last step, when the job is through: anything but MB_YIELDED */
  /* the workers' own */
  int state;
  bool withdrawn;
  struct mb_job *next;
} mb_job;

MB_CHECKED mb_err mb_completions_new(mb_completions **out);
/* No job may be on its way. */
void mb_completions_free(mb_completions *completions);
/* Readable while a job can be taken. */
int mb_completions_file(const mb_completions *completions);

/* errors: MB_ERR_NO_MEMORY, MB_ERR_SYSTEM: there is no thread, and none can be started. */
MB_CHECKED mb_err mb_job_submit(mb_job *job);
/* A job that is through; NULL: none. */
mb_job *mb_job_take(mb_completions *completions);
/* Takes the job back wherever it is; waits for the slice that is under way. Any thread. A job that was taken stays so. */
void mb_job_withdraw(mb_job *job);
/* Jobs that are with the workers. */
unsigned mb_jobs_under_way(void);
/* Ends the threads, after the slices that are under way; jobs stay where they are. */
void mb_workers_stop(void);

/* ---- value bytes: docs/spec/value.md; they know nothing of runs */

/* One value, or the head of a container whose members follow; VALUE_SHARED and VALUE_ERROR: of what follows. */
typedef struct mb_item {
  value_tag tag;
  union {
    int64_t integer; /* VALUE_INT */
    double number;   /* VALUE_FLOAT; VALUE_DATE: milliseconds since 1970 */
    mb_view bytes;   /* VALUE_BIGINT, VALUE_STRING (UTF-8, not validated), VALUE_BYTES */
    uint32_t
        count; /* VALUE_ARRAY, VALUE_SET: values; VALUE_OBJECT, VALUE_MAP: pairs; each is backed by bytes that are there */
    uint32_t number_of_container; /* VALUE_REFERENCE: not checked */
    struct {
      value_numbers kind;
      mb_view bytes; /* whole numbers of that kind */
    } numbers;       /* VALUE_NUMBERS */
    struct {
      mb_view source, flags; /* UTF-8, not validated */
    } regexp;                /* VALUE_REGEXP */
  } as;
} mb_item;

typedef struct mb_key {
  uint32_t index; /* in the key table */
  bool fresh;     /* the first time: text is valid, and the caller may remember it under index */
  mb_view text;   /* UTF-8, not validated */
} mb_key;

/* Bytes of one number; 0: there is no such kind. */
unsigned mb_numbers_width(unsigned kind);

/* A cursor over hostile bytes. It does not count depth: whoever recurses does. */
typedef struct mb_reader {
  const uint8_t *next, *end;
  uint32_t keys;
} mb_reader;

mb_reader mb_reader_of(mb_view bytes);
/* The next item; false: malformed or at the end. */
MB_CHECKED bool mb_read_item(mb_reader *reader, mb_item *out);
/* The next key of an object. index < number of keys seen. */
MB_CHECKED bool mb_read_key(mb_reader *reader, mb_key *out);
bool mb_reader_at_end(const mb_reader *reader);

/* Bytes that grow. After a failure all writes do nothing and `err` says why. */
typedef struct mb_writer {
  uint8_t *data;
  size_t size, capacity, limit;
  uint32_t keys;
  mb_err err; /* MB_ERR_NO_MEMORY, MB_ERR_TOO_LARGE (over limit) */
} mb_writer;

void mb_writer_init(mb_writer *writer, size_t limit);
void mb_writer_free(mb_writer *writer);
mb_view mb_writer_view(const mb_writer *writer);
void mb_write_raw(mb_writer *writer, mb_view bytes); /* the two building blocks of all that follow */
void mb_write_varint(mb_writer *writer, uint64_t value);
void mb_write_tag(mb_writer *writer, value_tag tag);  /* undefined, null, booleans; the head of an error */
void mb_write_int(mb_writer *writer, int64_t value);  /* within ±(2^53 - 1) */
void mb_write_float(mb_writer *writer, double value); /* NaN is made canonical */
void mb_write_bytes(mb_writer *writer, value_tag tag, mb_view bytes); /* bigint, string, bytes */
void mb_write_head(mb_writer *writer, value_tag tag, uint32_t count); /* array, object, map, set */
void mb_write_date(mb_writer *writer, double milliseconds);           /* NaN: an invalid one */
void mb_write_regexp(mb_writer *writer, mb_view source, mb_view flags);
void mb_write_numbers(mb_writer *writer, value_numbers kind, mb_view bytes);
uint32_t mb_write_key(mb_writer *writer, mb_view text); /* a key not written before; gives its index */
void mb_write_key_index(mb_writer *writer, uint32_t index);

#endif
