#include "source.h"
#include <string.h>

/* A line of the source, without its end. */
typedef struct line {
  size_t start, end, next;
} line;

/* Three or more backticks or tildes at the beginning of a line, and what follows them. */
typedef struct fence {
  char mark; /* 0: the line is no fence */
  size_t count;
  text info; /* without white space around it */
} fence;

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static line line_at(text source, size_t start) {
  const char *newline = start < source.size ? memchr(source.data + start, '\n', source.size - start) : NULL;
  size_t end = newline ? (size_t)(newline - source.data) : source.size;
  return (line){ start, end, newline ? end + 1 : end };
}

static text trimmed(text t) {
  for (; t.size && is_blank(t.data[0]); t.size--)
    t.data++;
  while (t.size && is_blank(t.data[t.size - 1]))
    t.size--;
  return t;
}

static fence read_fence(text source, line l) {
  text t = trimmed((text){ source.data + l.start, l.end - l.start });
  fence f = { 0 };
  if (!t.size || (t.data[0] != '`' && t.data[0] != '~'))
    return f;
  while (f.count < t.size && t.data[f.count] == t.data[0])
    f.count++;
  if (f.count < 3)
    return f;
  f.mark = t.data[0];
  f.info = trimmed((text){ t.data + f.count, t.size - f.count });
  return f;
}

static bool is_language(text name) {
  static const char *const names[] = { "js", "javascript", "mjs", "cjs", "jsx", "node",
                                       "ts", "typescript", "mts", "cts", "tsx" };
  if (!name.size)
    return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t at = 0;
    while (at < name.size && names[i][at] && (name.data[at] | 0x20) == names[i][at])
      at++;
    if (at == name.size && !names[i][at])
      return true;
  }
  return false;
}

static bool opens(fence f) {
  size_t word = 0;
  if (!f.mark || (f.mark == '`' && memchr(f.info.data, '`', f.info.size)))
    return false;
  while (word < f.info.size && !is_blank(f.info.data[word]))
    word++;
  return is_language((text){ f.info.data, word });
}

static bool closes(fence opening, fence f) {
  return f.mark == opening.mark && f.count >= opening.count && !f.info.size;
}

/* Whether nothing but white space is left. */
static bool is_empty_from(text source, size_t at) {
  while (at < source.size && (is_blank(source.data[at]) || source.data[at] == '\n'))
    at++;
  return at == source.size;
}

/* Where the first line begins that is not blank; a byte order mark is blank. */
static size_t first_line(text source) {
  size_t start = source.size >= 3 && !memcmp(source.data, "\xEF\xBB\xBF", 3) ? 3 : 0;
  for (size_t at = start; at < source.size && (is_blank(source.data[at]) || source.data[at] == '\n'); at++)
    if (source.data[at] == '\n')
      start = at + 1;
  return start;
}

static void blank(char *source, line l) {
  memset(source + l.start, ' ', l.end - l.start);
}

/* The first line that closes the fence is the last one of the source, or the fence is not around all of it. */
void source_remove_fence(char *data, size_t size) {
  text source = { data, size };
  line first = line_at(source, first_line(source)), last = first;
  fence opening = read_fence(source, first);
  if (!opens(opening))
    return;
  do {
    if (last.next == last.end)
      return;
    last = line_at(source, last.next);
  } while (!closes(opening, read_fence(source, last)));
  if (!is_empty_from(source, last.next))
    return;
  line second = line_at(source, first.next);
  if (second.end - second.start >= 2 && !memcmp(data + second.start, "#!", 2))
    blank(data, second);
  blank(data, first);
  blank(data, last);
}

bool source_has_fence(text source) {
  for (line l = line_at(source, 0);; l = line_at(source, l.next)) {
    if (read_fence(source, l).mark)
      return true;
    if (l.next == l.end)
      return false;
  }
}
