/* reader.c: hostile value bytes through the reader; what it accepts is written again and must read the same. */
#include <stdlib.h>
#include <string.h>
#include "../core/modebox.h"

/* Copies one value. false: malformed, or too deep. */
static bool copy_value(mb_reader *reader, mb_writer *writer, unsigned depth);

static bool copy_members(mb_reader *reader, mb_writer *writer, mb_item item, unsigned depth) {
  mb_write_head(writer, item.tag, item.as.count);
  for (uint32_t i = 0; i < item.as.count; i++) {
    mb_key key;
    if (item.tag == VALUE_MAP && !copy_value(reader, writer, depth + 1))
      return false;
    if (item.tag == VALUE_OBJECT) {
      if (!mb_read_key(reader, &key))
        return false;
      if (key.fresh)
        mb_write_key(writer, key.text);
      else
        mb_write_key_index(writer, key.index);
    }
    if (!copy_value(reader, writer, depth + 1))
      return false;
  }
  return true;
}

static bool copy_value(mb_reader *reader, mb_writer *writer, unsigned depth) {
  mb_item item;
  if (depth > GUEST_VALUE_DEPTH || !mb_read_item(reader, &item))
    return false;
  switch (item.tag) {
  case VALUE_INT:
    mb_write_int(writer, item.as.integer);
    return true;
  case VALUE_FLOAT:
    mb_write_float(writer, item.as.number);
    return true;
  case VALUE_BIGINT:
  case VALUE_STRING:
  case VALUE_BYTES:
    mb_write_bytes(writer, item.tag, item.as.bytes);
    return true;
  case VALUE_DATE:
    mb_write_date(writer, item.as.number);
    return true;
  case VALUE_REGEXP:
    mb_write_regexp(writer, item.as.regexp.source, item.as.regexp.flags);
    return true;
  case VALUE_NUMBERS:
    mb_write_numbers(writer, item.as.numbers.kind, item.as.numbers.bytes);
    return true;
  case VALUE_REFERENCE:
    mb_write_tag(writer, item.tag);
    mb_write_varint(writer, item.as.number_of_container);
    return true;
  case VALUE_ARRAY:
  case VALUE_OBJECT:
  case VALUE_MAP:
  case VALUE_SET:
    return copy_members(reader, writer, item, depth);
  case VALUE_ERROR:
  case VALUE_SHARED:
    mb_write_tag(writer, item.tag);
    return copy_value(reader, writer, depth + 1);
  default:
    mb_write_tag(writer, item.tag);
    return true;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *input = malloc(size); /* past its end the sanitizer waits */
  if (!input)
    return 0;
  memcpy(input, data, size);
  mb_reader reader = mb_reader_of((mb_view){ input, size });
  mb_writer writer;
  mb_writer_init(&writer, 1 << 20);
  if (copy_value(&reader, &writer, 0) && mb_reader_at_end(&reader)) {
    mb_view copy = mb_writer_view(&writer);
    if (writer.err || copy.size != size || memcmp(copy.data, data, size))
      abort();
  }
  mb_writer_free(&writer);
  free(input);
  return 0;
}
