#include "record.h"
#include <stdlib.h>
#include <string.h>

/* ---- calls */

void mb_calls_init(mb_calls *calls) {
  *calls = (mb_calls){ .first = 1, .next_handed = 1 };
}

void mb_calls_free(mb_calls *calls) {
  for (size_t i = 0; i < calls->count; i++)
    free(calls->calls[i].arguments);
  free(calls->calls);
}

/* Room for one more: by forgetting settled calls at the front, else by growing. */
static bool make_room(mb_calls *calls) {
  if (calls->count < calls->capacity)
    return true;
  size_t settled = 0;
  while (settled < calls->count && !calls->calls[settled].arguments)
    settled++;
  if (settled) {
    memmove(calls->calls, calls->calls + settled, (calls->count - settled) * sizeof *calls->calls);
    calls->first += settled;
    calls->count -= settled;
    return true;
  }
  size_t capacity = calls->capacity ? calls->capacity * 2 : 8;
  mb_pending_call *grown = realloc(calls->calls, capacity * sizeof *grown);
  if (!grown)
    return false;
  calls->calls = grown;
  calls->capacity = capacity;
  return true;
}

mb_err mb_calls_add(mb_calls *calls, uint32_t ticket, uint32_t function, mb_view arguments) {
  uint8_t *copy = malloc(arguments.size + 1);
  if (!copy || !make_room(calls)) {
    free(copy);
    return MB_ERR_NO_MEMORY;
  }
  memcpy(copy, arguments.data, arguments.size);
  calls->calls[calls->count++] = (mb_pending_call){ ticket, function, copy, arguments.size };
  calls->pending++;
  calls->pending_bytes += arguments.size;
  return MB_OK;
}

bool mb_calls_next(mb_calls *calls, mb_call *out) {
  if (calls->next_handed >= calls->first + calls->count)
    return false;
  const mb_pending_call *call = &calls->calls[calls->next_handed - calls->first];
  *out = (mb_call){ calls->next_handed++, call->function, { call->arguments, call->size } };
  return true;
}

mb_pending_call *mb_calls_find(mb_calls *calls, uint64_t id) {
  if (id < calls->first || id >= calls->next_handed)
    return NULL;
  mb_pending_call *call = &calls->calls[id - calls->first];
  return call->arguments ? call : NULL;
}

void mb_calls_settle(mb_calls *calls, mb_pending_call *call) {
  free(call->arguments);
  call->arguments = NULL;
  calls->pending--;
  calls->pending_bytes -= call->size;
}

/* ---- log */

enum { HEAD_SIZE = 5 };

void mb_logs_free(mb_log_record *logs) {
  free(logs->bytes);
}

static bool reserve(mb_log_record *logs, size_t size) {
  if (logs->size + size <= logs->capacity)
    return true;
  size_t capacity = logs->capacity ? logs->capacity * 2 : 512;
  if (capacity < logs->size + size)
    capacity = logs->size + size;
  uint8_t *grown = realloc(logs->bytes, capacity);
  if (!grown)
    return false;
  logs->bytes = grown;
  logs->capacity = capacity;
  return true;
}

mb_err mb_logs_add(mb_log_record *logs, guest_log_level level, mb_view message) {
  if (logs->dropped || HEAD_SIZE + message.size > logs->limit - logs->logged) {
    logs->dropped++;
    logs->bytes_dropped += message.size;
    return MB_OK;
  }
  if (!reserve(logs, HEAD_SIZE + message.size))
    return MB_ERR_NO_MEMORY;
  uint32_t size = (uint32_t)message.size;
  uint8_t *entry = logs->bytes + logs->size;
  entry[0] = (uint8_t)level;
  memcpy(entry + 1, &size, sizeof size);
  memcpy(entry + HEAD_SIZE, message.data, message.size);
  logs->size += HEAD_SIZE + message.size;
  logs->logged += HEAD_SIZE + message.size;
  return MB_OK;
}

bool mb_logs_next(mb_log_record *logs, mb_log *out) {
  if (logs->read == logs->size)
    return false;
  const uint8_t *entry = logs->bytes + logs->read;
  uint32_t size;
  memcpy(&size, entry + 1, sizeof size);
  *out = (mb_log){ (guest_log_level)entry[0], { entry + HEAD_SIZE, size } };
  logs->read += HEAD_SIZE + size;
  return true;
}

void mb_logs_compact(mb_log_record *logs) {
  if (!logs->read)
    return;
  memmove(logs->bytes, logs->bytes + logs->read, logs->size - logs->read);
  logs->size -= logs->read;
  logs->read = 0;
}
