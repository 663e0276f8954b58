/* value.c: value bytes that are not well-formed are refused (docs/spec/value.md); those that are come back as written. */
#include "check.h"

#define BYTES(...)                                                                                                     \
  (const uint8_t[]){ __VA_ARGS__ }, sizeof(uint8_t[]) {                                                                \
    __VA_ARGS__                                                                                                        \
  }

typedef struct row {
  const char *what;
  const uint8_t *bytes;
  size_t size;
} row;

static const row malformed_items[] = {
  { "nothing", (const uint8_t[]){ 0 }, 0 },
  { "an unknown tag", BYTES(VALUE_TAGS) },
  { "an int without its number", BYTES(VALUE_INT) },
  { "a varint that stops", BYTES(VALUE_INT, 0x80) },
  { "a varint that could be shorter", BYTES(VALUE_INT, 0x80, 0) },
  { "a varint past 2^64", BYTES(VALUE_INT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2) },
  { "a varint without an end", BYTES(VALUE_INT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) },
  { "2^53", BYTES(VALUE_INT, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20) },
  { "-2^53", BYTES(VALUE_INT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f) },
  { "a float of seven bytes", BYTES(VALUE_FLOAT, 0, 0, 0, 0, 0, 0, 0) },
  { "another NaN", BYTES(VALUE_FLOAT, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f) },
  { "a negative NaN", BYTES(VALUE_FLOAT, 0, 0, 0, 0, 0, 0, 0xf8, 0xff) },
  { "a string past the end", BYTES(VALUE_STRING, 3, 'a', 'b') },
  { "a string of 2^64 - 1", BYTES(VALUE_STRING, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) },
  { "a string of 2^64 + 1", BYTES(VALUE_STRING, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 'a') },
  { "bytes past the end", BYTES(VALUE_BYTES, 1) },
  { "a bigint past the end", BYTES(VALUE_BIGINT, 9, 1) },
  { "an array of more than there is", BYTES(VALUE_ARRAY, 3, VALUE_NULL, VALUE_NULL) },
  { "an array of 2^32", BYTES(VALUE_ARRAY, 0x80, 0x80, 0x80, 0x80, 0x10) },
  { "an object of more than there is", BYTES(VALUE_OBJECT, 2, 0, VALUE_NULL, 0) },
};

static const row malformed_keys[] = {
  { "no key", (const uint8_t[]){ 0 }, 0 },
  { "a key past the end", BYTES(6, 'a', 'b') },
  { "an index that nobody wrote", BYTES(1) },
  { "an index past all", BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) },
};

/* From a block of its own, so that a read past its end is noticed. */
static mb_view copy_of(const row *r) {
  uint8_t *copy = malloc(r->size ? r->size : 1);
  if (!copy)
    abort();
  memcpy(copy, r->bytes, r->size);
  return (mb_view){ copy, r->size };
}

static void malformed_is_refused(void) {
  for (size_t i = 0; i < sizeof malformed_items / sizeof *malformed_items; i++) {
    mb_view bytes = copy_of(&malformed_items[i]);
    mb_reader reader = mb_reader_of(bytes);
    mb_item item;
    bool ok = !mb_read_item(&reader, &item) && reader.next <= reader.end;
    if (!ok)
      fprintf(stderr, "%s\n", malformed_items[i].what);
    CHECK(ok);
    free((void *)bytes.data);
  }
  for (size_t i = 0; i < sizeof malformed_keys / sizeof *malformed_keys; i++) {
    mb_view bytes = copy_of(&malformed_keys[i]);
    mb_reader reader = mb_reader_of(bytes);
    mb_key key;
    bool ok = !mb_read_key(&reader, &key) && reader.next <= reader.end;
    if (!ok)
      fprintf(stderr, "%s\n", malformed_keys[i].what);
    CHECK(ok);
    free((void *)bytes.data);
  }
}

static void numbers_come_back(void) {
  static const int64_t integers[] = {
    0, 1, -1, 63, 64, -64, -65, 1 << 20, INT32_MIN, (INT64_C(1) << 53) - 1, 1 - (INT64_C(1) << 53)
  };
  static const double floats[] = { 0.5, -0.0, 1e308, 5e-324, 1.0 / 3 };
  mb_writer writer;
  mb_writer_init(&writer, 1000);
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    mb_write_int(&writer, integers[i]);
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    mb_write_float(&writer, floats[i]);
  mb_reader reader = mb_reader_of(mb_writer_view(&writer));
  mb_item item;
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    CHECK(mb_read_item(&reader, &item) && item.tag == VALUE_INT && item.as.integer == integers[i]);
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    CHECK(mb_read_item(&reader, &item) && item.tag == VALUE_FLOAT && !memcmp(&item.as.number, &floats[i], 8));
  CHECK(mb_reader_at_end(&reader));
  mb_writer_free(&writer);
}

static void nan_is_canonical(void) {
  uint64_t bits = UINT64_C(0xfff0000000000001);
  double number;
  memcpy(&number, &bits, sizeof number);
  mb_writer writer;
  mb_writer_init(&writer, 1000);
  mb_write_float(&writer, number);
  static const uint8_t expected[] = { VALUE_FLOAT, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };
  mb_view view = mb_writer_view(&writer);
  CHECK(view.size == sizeof expected && !memcmp(view.data, expected, sizeof expected));
  mb_writer_free(&writer);
}

static void keys_are_counted(void) {
  mb_writer writer;
  mb_writer_init(&writer, 1000);
  mb_write_head(&writer, VALUE_OBJECT, 3);
  CHECK(mb_write_key(&writer, view_of("a")) == 0);
  mb_write_tag(&writer, VALUE_NULL);
  CHECK(mb_write_key(&writer, view_of("")) == 1);
  mb_write_tag(&writer, VALUE_TRUE);
  mb_write_key_index(&writer, 1);
  mb_write_tag(&writer, VALUE_FALSE);
  mb_reader reader = mb_reader_of(mb_writer_view(&writer));
  mb_item item;
  mb_key key;
  CHECK(mb_read_item(&reader, &item) && item.tag == VALUE_OBJECT && item.as.count == 3);
  CHECK(mb_read_key(&reader, &key) && key.fresh && key.index == 0 && key.text.size == 1);
  CHECK(mb_read_item(&reader, &item) && item.tag == VALUE_NULL);
  CHECK(mb_read_key(&reader, &key) && key.fresh && key.index == 1 && key.text.size == 0);
  CHECK(mb_read_item(&reader, &item) && item.tag == VALUE_TRUE);
  CHECK(mb_read_key(&reader, &key) && !key.fresh && key.index == 1);
  CHECK(mb_read_item(&reader, &item) && item.tag == VALUE_FALSE && mb_reader_at_end(&reader));
  mb_writer_free(&writer);
}

static void writer_stops_at_its_limit(void) {
  mb_writer writer;
  mb_writer_init(&writer, 10);
  mb_write_bytes(&writer, VALUE_STRING, view_of("12345678"));
  CHECK(!writer.err && writer.size == 10);
  mb_write_tag(&writer, VALUE_NULL);
  CHECK(writer.err == MB_ERR_TOO_LARGE && writer.size == 10);
  mb_write_raw(&writer, (mb_view){ NULL, 0 });
  CHECK(writer.err == MB_ERR_TOO_LARGE && writer.size == 10);
  mb_writer_free(&writer);
}

int main(void) {
  malformed_is_refused();
  numbers_come_back();
  nan_is_canonical();
  keys_are_counted();
  writer_stops_at_its_limit();
  return checks_done();
}
