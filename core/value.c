/* value.c: reading and writing value bytes. */
#include "modebox.h"
#include <stdlib.h>
#include <string.h>

static const int64_t INT_LIMIT = (INT64_C(1) << 53) - 1;
static const uint64_t CANONICAL_NAN = UINT64_C(0x7ff8000000000000);

/* ---- reader */

mb_reader mb_reader_of(mb_view bytes) {
  return (mb_reader){ .next = bytes.data, .end = bytes.data + bytes.size };
}

bool mb_reader_at_end(const mb_reader *reader) {
  return reader->next == reader->end;
}

static size_t left(const mb_reader *reader) {
  return (size_t)(reader->end - reader->next);
}

static bool read_varint(mb_reader *reader, uint64_t *out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (reader->next == reader->end)
      return false;
    uint8_t byte = *reader->next++;
    if (shift == 63 && byte > 1)
      return false;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = value;
      return byte != 0 || shift == 0;
    }
  }
  return false;
}

static bool read_bytes(mb_reader *reader, uint64_t size, mb_view *out) {
  if (size > left(reader))
    return false;
  *out = (mb_view){ reader->next, (size_t)size };
  reader->next += size;
  return true;
}

static bool read_int(mb_reader *reader, int64_t *out) {
  uint64_t zigzag;
  if (!read_varint(reader, &zigzag))
    return false;
  int64_t value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
  if (value > INT_LIMIT || value < -INT_LIMIT)
    return false;
  *out = value;
  return true;
}

static bool read_float(mb_reader *reader, double *out) {
  mb_view bytes;
  if (!read_bytes(reader, 8, &bytes))
    return false;
  uint64_t bits = 0;
  for (unsigned i = 0; i < 8; i++)
    bits |= (uint64_t)bytes.data[i] << (8 * i);
  memcpy(out, &bits, 8);
  return *out == *out || bits == CANONICAL_NAN;
}

/* Every member takes at least `least` bytes: a count that the rest cannot hold is refused before anyone allocates. */
static bool read_count(mb_reader *reader, unsigned least, uint32_t *out) {
  uint64_t count;
  if (!read_varint(reader, &count) || count > left(reader) / least || count > UINT32_MAX)
    return false;
  *out = (uint32_t)count;
  return true;
}

unsigned mb_numbers_width(unsigned kind) {
  static const uint8_t widths[VALUE_NUMBERS_KINDS] = {
    [VALUE_INT8] = 1,  [VALUE_INT16] = 2,  [VALUE_UINT16] = 2,  [VALUE_INT32] = 4,   [VALUE_UINT32] = 4,
    [VALUE_INT64] = 8, [VALUE_UINT64] = 8, [VALUE_FLOAT16] = 2, [VALUE_FLOAT32] = 4, [VALUE_FLOAT64] = 8,
  };
  return kind < VALUE_NUMBERS_KINDS ? widths[kind] : 0;
}

static bool read_sized(mb_reader *reader, mb_view *out) {
  uint64_t size;
  return read_varint(reader, &size) && read_bytes(reader, size, out);
}

static bool read_numbers(mb_reader *reader, mb_item *out) {
  mb_view kind;
  if (!read_bytes(reader, 1, &kind) || !mb_numbers_width(*kind.data) || !read_sized(reader, &out->as.numbers.bytes))
    return false;
  out->as.numbers.kind = (value_numbers)*kind.data;
  return out->as.numbers.bytes.size % mb_numbers_width(*kind.data) == 0;
}

static bool read_regexp(mb_reader *reader, mb_item *out) {
  mb_view tag;
  return read_sized(reader, &out->as.regexp.flags) && read_bytes(reader, 1, &tag) && *tag.data == VALUE_STRING &&
         read_sized(reader, &out->as.regexp.source);
}

static bool read_number_of_container(mb_reader *reader, uint32_t *out) {
  uint64_t number;
  if (!read_varint(reader, &number) || number > UINT32_MAX)
    return false;
  *out = (uint32_t)number;
  return true;
}

bool mb_read_item(mb_reader *reader, mb_item *out) {
  if (reader->next == reader->end)
    return false;
  uint8_t tag = *reader->next++;
  out->tag = (value_tag)tag;
  switch (tag) {
  case VALUE_UNDEFINED:
  case VALUE_NULL:
  case VALUE_FALSE:
  case VALUE_TRUE:
  case VALUE_ERROR:
  case VALUE_SHARED:
    return true;
  case VALUE_INT:
    return read_int(reader, &out->as.integer);
  case VALUE_FLOAT:
  case VALUE_DATE:
    return read_float(reader, &out->as.number);
  case VALUE_BIGINT:
  case VALUE_STRING:
  case VALUE_BYTES:
    return read_sized(reader, &out->as.bytes);
  case VALUE_ARRAY:
  case VALUE_SET:
    return read_count(reader, 1, &out->as.count);
  case VALUE_OBJECT:
  case VALUE_MAP:
    return read_count(reader, 2, &out->as.count);
  case VALUE_REGEXP:
    return read_regexp(reader, out);
  case VALUE_NUMBERS:
    return read_numbers(reader, out);
  case VALUE_REFERENCE:
    return read_number_of_container(reader, &out->as.number_of_container);
  default:
    return false;
  }
}

bool mb_read_key(mb_reader *reader, mb_key *out) {
  uint64_t head;
  if (!read_varint(reader, &head))
    return false;
  out->fresh = !(head & 1);
  if (!out->fresh) {
    out->index = (uint32_t)(head >> 1);
    return head >> 1 < reader->keys;
  }
  if (reader->keys == UINT32_MAX || !read_bytes(reader, head >> 1, &out->text))
    return false;
  out->index = reader->keys++;
  return true;
}

/* ---- writer */

void mb_writer_init(mb_writer *writer, size_t limit) {
  *writer = (mb_writer){ .limit = limit };
}

void mb_writer_free(mb_writer *writer) {
  free(writer->data);
  *writer = (mb_writer){ .limit = writer->limit };
}

mb_view mb_writer_view(const mb_writer *writer) {
  return (mb_view){ writer->data, writer->size };
}

/* Room for `size` more bytes, or NULL. */
static uint8_t *reserve(mb_writer *writer, size_t size) {
  if (writer->err)
    return NULL;
  if (size > writer->limit - writer->size) {
    writer->err = MB_ERR_TOO_LARGE;
    return NULL;
  }
  size_t need = writer->size + size;
  if (need > writer->capacity) {
    size_t capacity = writer->capacity ? writer->capacity * 2 : 256;
    if (capacity < need)
      capacity = need;
    uint8_t *data = realloc(writer->data, capacity);
    if (!data) {
      writer->err = MB_ERR_NO_MEMORY;
      return NULL;
    }
    writer->data = data;
    writer->capacity = capacity;
  }
  return writer->data + writer->size;
}

static unsigned put_varint(uint8_t *out, uint64_t value) {
  unsigned n = 0;
  for (; value >= 0x80; value >>= 7)
    out[n++] = (uint8_t)(value | 0x80);
  out[n++] = (uint8_t)value;
  return n;
}

static void write_tag_and_varint(mb_writer *writer, value_tag tag, uint64_t value) {
  uint8_t bytes[11] = { (uint8_t)tag };
  unsigned size = 1 + put_varint(bytes + 1, value);
  uint8_t *out = reserve(writer, size);
  if (out) {
    memcpy(out, bytes, size);
    writer->size += size;
  }
}

void mb_write_raw(mb_writer *writer, mb_view bytes) {
  uint8_t *out = bytes.size ? reserve(writer, bytes.size) : NULL;
  if (out) {
    memcpy(out, bytes.data, bytes.size);
    writer->size += bytes.size;
  }
}

void mb_write_tag(mb_writer *writer, value_tag tag) {
  mb_write_raw(writer, (mb_view){ &(uint8_t){ (uint8_t)tag }, 1 });
}

void mb_write_int(mb_writer *writer, int64_t value) {
  write_tag_and_varint(writer, VALUE_INT, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void write_eight(mb_writer *writer, value_tag tag, double value) {
  uint8_t bytes[9] = { (uint8_t)tag };
  uint64_t bits = CANONICAL_NAN;
  if (value == value)
    memcpy(&bits, &value, 8);
  for (unsigned i = 0; i < 8; i++)
    bytes[1 + i] = (uint8_t)(bits >> (8 * i));
  mb_write_raw(writer, (mb_view){ bytes, sizeof bytes });
}

void mb_write_float(mb_writer *writer, double value) {
  write_eight(writer, VALUE_FLOAT, value);
}

void mb_write_date(mb_writer *writer, double milliseconds) {
  write_eight(writer, VALUE_DATE, milliseconds);
}

void mb_write_regexp(mb_writer *writer, mb_view source, mb_view flags) {
  write_tag_and_varint(writer, VALUE_REGEXP, flags.size);
  mb_write_raw(writer, flags);
  mb_write_bytes(writer, VALUE_STRING, source);
}

void mb_write_numbers(mb_writer *writer, value_numbers kind, mb_view bytes) {
  mb_write_tag(writer, VALUE_NUMBERS);
  write_tag_and_varint(writer, (value_tag)kind, bytes.size);
  mb_write_raw(writer, bytes);
}

void mb_write_bytes(mb_writer *writer, value_tag tag, mb_view bytes) {
  write_tag_and_varint(writer, tag, bytes.size);
  mb_write_raw(writer, bytes);
}

void mb_write_head(mb_writer *writer, value_tag tag, uint32_t count) {
  write_tag_and_varint(writer, tag, count);
}

void mb_write_varint(mb_writer *writer, uint64_t value) {
  uint8_t bytes[10];
  mb_write_raw(writer, (mb_view){ bytes, put_varint(bytes, value) });
}

uint32_t mb_write_key(mb_writer *writer, mb_view text) {
  mb_write_varint(writer, (uint64_t)text.size << 1);
  mb_write_raw(writer, text);
  return writer->keys++;
}

void mb_write_key_index(mb_writer *writer, uint32_t index) {
  mb_write_varint(writer, (uint64_t)index << 1 | 1);
}
