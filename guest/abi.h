/* abi.h: the wall between guest and core, and the only header that both include.
 *
 * The guest imports nothing. It exports the functions below, its memory and its stack pointer; the host writes input
 * into linear memory, calls an export, and reads what the guest left in its mailbox. Everything read from there is
 * hostile. docs/spec/guest-abi.md describes the protocol, docs/spec/value.md the value bytes.
 *
 *   void guest_init(void)                         once per base image: runtime, context, globals
 *   guest_address guest_mailbox(void)             where the mailbox lies; never moves
 *   guest_address guest_input(uint32_t size)      room for `size` bytes of input; 0: out of memory
 *   uint32_t guest_start(uint32_t size)           runs the program in the input buffer      -> guest_status
 *   uint32_t guest_settle(uint32_t ticket, uint32_t outcome, uint32_t size)
 *                                                 settles one host call, drains microtasks  -> guest_status
 *   uint32_t guest_depth(void)                    1: the native stack is nearly used up (the translator writes its body)
 */
#ifndef MODEBOX_GUEST_ABI_H
#define MODEBOX_GUEST_ABI_H
#include <stdint.h>

/* An address in linear memory. The guest's sources compiled natively (tests only) have wider ones. */
#ifdef MODEBOX_NATIVE_GUEST
typedef uintptr_t guest_address;
#else
typedef uint32_t guest_address;
#endif

enum {
  GUEST_VALUE_DEPTH = 256, /* containers inside one another in value bytes */
  GUEST_SEED_SIZE = 32,
  GUEST_ERROR_ROOM = 64 * 1024, /* by which an error value may be larger than value_limit */
  GUEST_INPUT_SIZE = 4096,      /* the input buffer of a fresh image; guest_input makes a larger one */
};

/* What guest_start and guest_settle return. */
typedef enum guest_status {
  GUEST_WAITING = 0, /* nothing is runnable; host calls are pending, or the program can never go on */
  GUEST_DONE = 1,    /* mailbox.result is the program's value */
  GUEST_THREW = 2,   /* mailbox.result is an error value, mailbox.error_kind says which */
} guest_status;

/* Why a program threw. Limits are the host's to decide and have no number here. */
typedef enum guest_error_kind {
  GUEST_ERROR_UNCAUGHT = 0,
  GUEST_ERROR_SYNTAX = 1,
  GUEST_ERROR_STACK = 2,
  GUEST_ERROR_MEMORY = 3,
  GUEST_ERROR_UNSERIALIZABLE = 4,
  GUEST_ERROR_KINDS
} guest_error_kind;

/* How a host call ended, in guest_settle. */
typedef enum guest_outcome {
  GUEST_RETURNED = 0, /* the input buffer holds the value */
  GUEST_RAISED = 1,   /* the input buffer holds an error value */
} guest_outcome;

/* How the source is read. */
typedef enum guest_mode {
  GUEST_MODE_AUTO = 0, /* a script with top-level await; a top-level `return` makes it a function body */
  GUEST_MODE_SCRIPT = 1,
  GUEST_MODE_FUNCTION = 2,
} guest_mode;

/* Records in the outbox: a header, then `size` bytes, padded with zeros to a multiple of 4. */
typedef enum guest_record_type {
  GUEST_RECORD_CALL = 1, /* a: ticket, b: function index; bytes: the argument list, an array value */
  GUEST_RECORD_LOG = 2,  /* a: level (guest_log_level);   bytes: UTF-8 text, lone surrogates kept */
} guest_record_type;

typedef enum guest_log_level {
  GUEST_LOG_LOG = 0,
  GUEST_LOG_DEBUG = 1,
  GUEST_LOG_INFO = 2,
  GUEST_LOG_WARN = 3,
  GUEST_LOG_ERROR = 4,
  GUEST_LOG_LEVELS
} guest_log_level;

typedef struct guest_record {
  uint32_t type, a, b, size;
} guest_record;

/* One per instance, at a fixed address. */
typedef struct guest_mailbox {
  /* host -> guest; all but the clock are written once, before guest_start */
  uint64_t clock_ns;             /* nanoseconds since 1970-01-01 UTC; the host moves it on */
  uint8_t seed[GUEST_SEED_SIZE]; /* all entropy there is */
  uint32_t memory_limit;         /* bytes that the engine may allocate */
  uint32_t value_limit;          /* bytes of one argument list or result */
  uint32_t mode;                 /* guest_mode */
  uint32_t error_kind; /* guest -> host: guest_error_kind, valid with GUEST_THREW, and at an unreachable trap */
  /* guest -> host */
  guest_address input;       /* the input buffer ... */
  guest_address input_size;  /* ... and its size */
  guest_address outbox;      /* whole records, in the order in which they were made ... */
  guest_address outbox_size; /* ... and their bytes; the guest sets it to 0 when it is entered next */
  guest_address result;      /* value bytes, valid with GUEST_DONE and GUEST_THREW ... */
  guest_address result_size; /* ... and their size */
} guest_mailbox;

/* Value bytes: a tag, then what docs/spec/value.md says. */
typedef enum value_tag {
  VALUE_UNDEFINED = 0,
  VALUE_NULL = 1,
  VALUE_FALSE = 2,
  VALUE_TRUE = 3,
  VALUE_INT = 4,        /* zigzag varint, magnitude at most 2^53 - 1 */
  VALUE_FLOAT = 5,      /* 8 bytes IEEE 754, little-endian; NaN only as 0x7ff8000000000000 */
  VALUE_BIGINT = 6,     /* varint size, then two's complement, little-endian, shortest form */
  VALUE_STRING = 7,     /* varint size, then UTF-8; a lone surrogate is its three bytes */
  VALUE_BYTES = 8,      /* varint size, then the bytes: a Uint8Array */
  VALUE_ARRAY = 9,      /* varint count, then that many values */
  VALUE_OBJECT = 10,    /* varint count, then that many of key, value */
  VALUE_ERROR = 11,     /* one object value: name, message, stack, and what else is known */
  VALUE_MAP = 12,       /* varint count, then that many of value, value */
  VALUE_SET = 13,       /* varint count, then that many values */
  VALUE_DATE = 14,      /* 8 bytes as VALUE_FLOAT: milliseconds since 1970 */
  VALUE_REGEXP = 15,    /* varint size, flags; a VALUE_STRING, the source */
  VALUE_NUMBERS = 16,   /* value_numbers, varint size in bytes, the numbers, little-endian: a typed array */
  VALUE_SHARED = 17,    /* one container value; it has the next number, from 0 */
  VALUE_REFERENCE = 18, /* varint number: that container again */
  VALUE_TAGS
} value_tag;

typedef enum value_numbers {
  VALUE_INT8 = 0,
  VALUE_INT16 = 1,
  VALUE_UINT16 = 2,
  VALUE_INT32 = 3,
  VALUE_UINT32 = 4,
  VALUE_INT64 = 5,
  VALUE_UINT64 = 6,
  VALUE_FLOAT16 = 7,
  VALUE_FLOAT32 = 8,
  VALUE_FLOAT64 = 9,
  VALUE_NUMBERS_KINDS
} value_numbers;

#endif
