/* Names: exact lookup, and for messages the nearest names by edit distance (nearest_name.h). */
#include "model/nearest_name.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { LONGEST = 64, SHOWN = 3 };

static int lower(int c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }
static int least(int a, int b) { return a < b ? a : b; }

int kn_edit_distance(const char* a, const char* b, int limit) {
  size_t na = strlen(a), nb = strlen(b);
  if (na > LONGEST || nb > LONGEST) return limit + 1;
  int row[3][LONGEST + 1], *before = row[0], *last = row[1], *now = row[2];
  for (size_t j = 0; j <= nb; j++) last[j] = (int)j;
  memcpy(before, last, sizeof row[0]);
  for (size_t i = 1; i <= na; i++) {
    now[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int ca = lower((unsigned char)a[i - 1]), cb = lower((unsigned char)b[j - 1]);
      now[j] = least(last[j - 1] + (ca != cb), 1 + least(last[j], now[j - 1]));
      if (i > 1 && j > 1 && ca == lower((unsigned char)b[j - 2]) && cb == lower((unsigned char)a[i - 2]))
        now[j] = least(now[j], before[j - 2] + 1);
    }
    int* spare = before;
    before = last;
    last = now;
    now = spare;
  }
  return least(last[nb], limit + 1);
}

typedef struct near {
  int count, id[SHOWN], distance[SHOWN];
} near;

static void insert(near* n, int id, int distance) {
  int k = n->count < SHOWN ? n->count++ : SHOWN;
  for (; k > 0 && n->distance[k - 1] > distance; k--) {
    if (k == SHOWN) continue;
    n->id[k] = n->id[k - 1];
    n->distance[k] = n->distance[k - 1];
  }
  if (k == SHOWN) return;
  n->id[k] = id;
  n->distance[k] = distance;
}

kn_status kn_find_name(int32_t* id, const char* kind, const char* name, int count, kn_name_fn name_of,
                       const void* owner) {
  near found = {0};
  int limit = 2 + (int)strlen(name) / 4;
  for (int i = 0; i < count && *name; i++) {
    const char* other = name_of(owner, i);
    if (strcmp(other, name) == 0) {
      *id = i;
      return KN_OK;
    }
    int d = *other ? kn_edit_distance(name, other, limit) : limit + 1;
    if (d <= limit) insert(&found, i, d);
  }
  char list[256] = "";
  bool near_ones = found.count > 0;
  for (int i = 0; i < count && !near_ones && found.count < SHOWN; i++) /* none is near: the first ones */
    if (*name_of(owner, i)) found.id[found.count++] = i;
  for (int k = 0, used = 0; k < found.count && used < (int)sizeof list; k++)
    used += snprintf(list + used, sizeof list - (size_t)used, "%s'%.60s'",
                     k           ? ", "
                     : near_ones ? "; nearest: "
                                 : "; there is ",
                     name_of(owner, found.id[k]));
  return kn_fail(KN_NOT_FOUND, "no %s '%s'%s (%d in all)", kind, name, list, count);
}
