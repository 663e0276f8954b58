#include "nearest.h"
#include <stdbool.h>
#include <string.h>

static bool is_identifier_part(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c >= 0x80;
}

/* false: the name is too long, empty, or no identifier. */
static bool fold(folded *out, const char *name) {
  size_t size = 0;
  if (strlen(name) >= sizeof out->characters)
    return false;
  for (; *name; name++) {
    uint8_t c = (uint8_t)*name;
    if (!is_identifier_part(c))
      return false;
    if (c != '_')
      out->characters[size++] = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  }
  out->size = (uint8_t)size;
  return size > 0;
}

void nearest_init(nearest *n, const char *wanted) {
  n->best[0] = 0;
  n->limit = fold(&n->wanted, wanted) ? n->wanted.size / 3 : -1;
  if (n->limit > 2)
    n->limit = 2;
}

static int smaller(int a, int b) {
  return a < b ? a : b;
}

/* Damerau and Levenshtein's distance (optimal string alignment), or anything above `limit` where it is above. */
static int distance(const folded *a, const folded *b, int limit) {
  uint8_t rows[3][NEAREST_SIZE + 1];
  if (a->size - b->size > limit || b->size - a->size > limit)
    return limit + 1;
  for (int j = 0; j <= b->size; j++)
    rows[0][j] = (uint8_t)j;
  for (int i = 1; i <= a->size; i++) {
    uint8_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    int least = row[0] = (uint8_t)i;
    for (int j = 1; j <= b->size; j++) {
      bool differ = a->characters[i - 1] != b->characters[j - 1];
      int cost = smaller(smaller(last[j], row[j - 1]) + 1, last[j - 1] + differ);
      if (i > 1 && j > 1 && a->characters[i - 1] == b->characters[j - 2] &&
          a->characters[i - 2] == b->characters[j - 1])
        cost = smaller(cost, before[j - 2] + 1);
      row[j] = (uint8_t)cost;
      least = smaller(least, cost);
    }
    if (least > limit)
      return limit + 1;
  }
  return rows[a->size % 3][b->size];
}

void nearest_offer(nearest *n, const char *name, const char *shown) {
  folded candidate;
  if (n->limit < 0 || strlen(shown) >= sizeof n->best || !fold(&candidate, name))
    return;
  int found = distance(&n->wanted, &candidate, n->limit);
  if (found > n->limit)
    return;
  strcpy(n->best, shown);
  n->limit = found - 1;
}
