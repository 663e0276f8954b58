/* record.h: the host's own record of one run: its calls and its log. What is in here decides; nothing of it is ever read
 * back from linear memory. */
#ifndef MB_RECORD_H
#define MB_RECORD_H
#include "modebox.h"

typedef struct mb_pending_call {
  uint32_t ticket, function; /* the guest's number for it; the index of the function */
  uint8_t *arguments;        /* owned; NULL once settled */
  size_t size;
} mb_pending_call;

/* Calls by id: ids count up from 1; calls[0] has id `first`, and all before it are settled. */
typedef struct mb_calls {
  mb_pending_call *calls;
  uint64_t first;
  size_t count, capacity;
  uint64_t next_handed;   /* the id that mb_run_next_call gives next */
  size_t pending;         /* not settled ... */
  uint64_t pending_bytes; /* ... and the size of their arguments */
} mb_calls;

void mb_calls_init(mb_calls *calls);
void mb_calls_free(mb_calls *calls);
/* arguments are copied. */
MB_CHECKED mb_err mb_calls_add(mb_calls *calls, uint32_t ticket, uint32_t function, mb_view arguments);
bool mb_calls_next(mb_calls *calls, mb_call *out);
/* A call that was handed out and is not settled; NULL: none. */
mb_pending_call *mb_calls_find(mb_calls *calls, uint64_t id);
/* Settles a call that was found. */
void mb_calls_settle(mb_calls *calls, mb_pending_call *call);

typedef struct mb_log_record {
  uint8_t *bytes; /* entries: level, four bytes of size, text */
  size_t size, capacity, read;
  uint64_t logged, limit; /* bytes of entries so far, and at most */
  uint32_t dropped;
  uint64_t bytes_dropped;
} mb_log_record;

void mb_logs_free(mb_log_record *logs);
/* Copies an entry, or counts it as dropped: from the first that does not fit, all are. */
MB_CHECKED mb_err mb_logs_add(mb_log_record *logs, guest_log_level level, mb_view message);
bool mb_logs_next(mb_log_record *logs, mb_log *out);
/* Forgets the entries that were read. */
void mb_logs_compact(mb_log_record *logs);

#endif
