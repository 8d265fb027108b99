/* Attributes of a model file as fields of a sweep, whatever the format:

     model.geom.foot.size.0              first number of <geom name="foot" size="…">
     model.link.arm.inertial.mass.value  <link name="arm"> … <inertial><mass value="…"/>
     model.option.timestep               an element without a name

   The text is changed on its way to the loader (kn_files), so everything a loader reads can be varied. An element is
   found by its tag and the value of its `name`; behind them stand child tags, the attribute, and the number of the
   one to replace when the attribute is a list. An attribute that is not there is added. Every element that fits is
   changed, in the model and in the files it includes. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/plan.h"

enum { EDITS = 32, STEPS = 12, WORD = 96, OPEN = 64 };

typedef struct edit {
  const char *field, *value;
  char word[STEPS][WORD]; /* the path: tag, name, children …, attribute */
  int words, index;       /* index: of a number in a list, -1: the whole attribute */
  int hits;
} edit;

struct kn_model_edits {
  int count;
  edit at[EDITS];
};

kn_model_edits* kn_model_edits_create(void) { return calloc(1, sizeof(kn_model_edits)); }
void kn_model_edits_free(kn_model_edits* e) { free(e); }

const char* kn_model_edits_missed(const kn_model_edits* e) {
  for (int i = 0; i < e->count; i++)
    if (e->at[i].hits == 0) return e->at[i].field;
  return NULL;
}

bool kn_model_edits_add(kn_model_edits* all, const char* field, const char* value) {
  if (all->count == EDITS) return false;
  edit* e = &all->at[all->count];
  *e = (edit){.field = field, .value = value, .index = -1};
  for (const char* p = field; *p;) {
    bool quoted = *p == '"';
    size_t n = quoted ? strcspn(++p, "\"") : strcspn(p, ".");
    if (n == 0 || n >= WORD || e->words == STEPS) return false;
    memcpy(e->word[e->words++], p, n);
    p += n + (quoted && p[n] == '"');
    if (*p && *p++ != '.') return false;
  }
  if (e->words > 2 && isdigit((unsigned char)e->word[e->words - 1][0])) e->index = atoi(e->word[--e->words]);
  if (e->words < 2 || strpbrk(value, "\"<&")) return false;
  all->count++;
  return true;
}

/* ---- text that grows ---- */

typedef struct text {
  char* at;
  size_t size, room;
  bool failed;
} text;

static void put(text* t, const char* from, size_t n) {
  if (t->size + n > t->room) {
    size_t room = 2 * (t->size + n) + 1024;
    char* at = realloc(t->at, room);
    if (!at) {
      t->failed = true;
      return;
    }
    t->at = at;
    t->room = room;
  }
  if (n) memcpy(t->at + t->size, from, n);
  t->size += n;
}

/* ---- tags ---- */

typedef struct tag {
  const char *name, *end; /* end: the closing '>' */
  size_t length;
  bool closes, empty; /* </a>, <a/> */
  char called[WORD];  /* its attribute `name`, "" */
} tag;

/* The attribute `key` of a tag: its value in [*from, *to). */
static bool attribute(const tag* t, const char* key, const char** from, const char** to) {
  size_t n = strlen(key);
  const char* p = t->name + t->length;
  while (p < t->end) {
    while (p < t->end && (isspace((unsigned char)*p) || *p == '/')) p++;
    const char* word = p;
    while (p < t->end && *p != '=' && !isspace((unsigned char)*p)) p++;
    size_t length = (size_t)(p - word);
    while (p < t->end && *p != '"' && *p != '\'') p++;
    if (p >= t->end) return false;
    char quote = *p++;
    const char* value = p;
    while (p < t->end && *p != quote) p++;
    if (length == n && strncmp(word, key, n) == 0) {
      *from = value;
      *to = p;
      return true;
    }
    p++;
  }
  return false;
}

/* The end of a tag: the first '>' outside quotes. */
static const char* tag_end(const char* p, const char* end) {
  char quote = 0;
  for (; p < end; p++) {
    if (quote)
      quote = *p == quote ? 0 : quote;
    else if (*p == '"' || *p == '\'')
      quote = *p;
    else if (*p == '>')
      return p;
  }
  return end;
}

static tag tag_at(const char* p, const char* end) {
  tag t = {.closes = p[1] == '/'};
  const char *from, *to;
  t.name = p + 1 + t.closes;
  t.end = tag_end(p, end);
  while (t.name + t.length < t.end && !isspace((unsigned char)t.name[t.length]) && t.name[t.length] != '/')
    t.length++;
  t.empty = t.end > p && t.end[-1] == '/';
  if (!t.closes && attribute(&t, "name", &from, &to) && to - from < WORD)
    memcpy(t.called, from, (size_t)(to - from));
  return t;
}

/* ---- the change ---- */

static bool is_tag(const tag* t, const char* word) {
  return strlen(word) == t->length && strncmp(t->name, word, t->length) == 0;
}

/* Does the innermost of the open tags stand at the end of the edit's path? */
static bool fits(const edit* e, const tag* open, int depth) {
  int last = e->words - 2;                   /* the word before the attribute */
  for (int named = 1; named >= 0; named--) { /* with a name behind the first tag, or without */
    int below = last - named;                /* child tags */
    if (below < 0 || depth - 1 - below < 0) continue;
    const tag* top = &open[depth - 1 - below];
    bool good = is_tag(top, e->word[0]) && (!named || strcmp(top->called, e->word[1]) == 0);
    for (int k = 0; k < below && good; k++) good = is_tag(top + 1 + k, e->word[1 + named + k]);
    if (good) return true;
  }
  return false;
}

/* [from, to) of number k of a list; false: it has fewer. */
static bool number_at(const char** from, const char** to, int k) {
  const char *p = *from, *end = *to;
  for (;; k--) {
    while (p < end && isspace((unsigned char)*p)) p++;
    const char* start = p;
    while (p < end && !isspace((unsigned char)*p)) p++;
    if (p == start) return false;
    if (k > 0) continue;
    *from = start;
    *to = p;
    return true;
  }
}

/* One edit of the tag that was just put at the end of `out`, beginning at `begin`. */
static void change(text* out, size_t begin, edit* e) {
  tag t = tag_at(out->at + begin, out->at + out->size);
  const char *from, *to, *key = e->word[e->words - 1];
  char added[2 * WORD + KN_SWEEP_TEXT];
  size_t cut, rest;
  if (attribute(&t, key, &from, &to)) {
    if (e->index >= 0 && !number_at(&from, &to, e->index)) return;
    cut = (size_t)(from - out->at), rest = (size_t)(to - out->at);
    snprintf(added, sizeof added, "%s", e->value);
  } else {
    if (e->index > 0) return;
    cut = rest = (size_t)(t.name + t.length - out->at);
    snprintf(added, sizeof added, " %s=\"%s\"", key, e->value);
  }
  size_t n = out->size - rest;
  char* tail = malloc(n ? n : 1);
  if (!tail) {
    out->failed = true;
    return;
  }
  memcpy(tail, out->at + rest, n);
  out->size = cut;
  put(out, added, strlen(added));
  put(out, tail, n);
  free(tail);
  e->hits++;
}

/* What is skipped whole: comments, CDATA, declarations. */
static const char* skip(const char* p, const char* end) {
  static const char* const kinds[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};
  for (int i = 0; i < 4; i++) {
    size_t n = strlen(kinds[i][0]);
    if ((size_t)(end - p) < n || strncmp(p, kinds[i][0], n) != 0) continue;
    const char* stop = memmem(p, (size_t)(end - p), kinds[i][1], strlen(kinds[i][1]));
    return stop ? stop + strlen(kinds[i][1]) : end;
  }
  return p;
}

static void rewrite(text* out, kn_model_edits* all, const char* p, const char* end) {
  tag open[OPEN];
  int depth = 0;
  while (p < end && !out->failed) {
    const char* next = memchr(p, '<', (size_t)(end - p));
    if (!next) next = end;
    put(out, p, (size_t)(next - p));
    p = next;
    if (p == end) break;
    const char* skipped = skip(p, end);
    if (skipped != p) {
      put(out, p, (size_t)(skipped - p));
      p = skipped;
      continue;
    }
    tag t = tag_at(p, end);
    size_t begin = out->size, length = (size_t)((t.end < end ? t.end + 1 : end) - p);
    put(out, p, length);
    p += length;
    if (t.closes) {
      depth -= depth > 0;
      continue;
    }
    if (depth == OPEN) continue; /* the loader refuses such depth */
    open[depth++] = t;
    for (int i = 0; i < all->count && !out->failed; i++)
      if (fits(&all->at[i], open, depth)) change(out, begin, &all->at[i]);
    if (t.empty) depth--;
  }
}

/* ---- as files ---- */

static kn_status read_file(const void** bytes, size_t* size, const char* path, void* context) {
  text out = {0};
  char* own = kn_plain_file(size, path);
  if (!own) return KN_NOT_FOUND;
  const char* dot = strrchr(path, '.');
  bool xml = dot && (!strcmp(dot, ".xml") || !strcmp(dot, ".urdf") || !strcmp(dot, ".mjcf"));
  if (!xml) {
    *bytes = own;
    return KN_OK;
  }
  rewrite(&out, context, own, own + *size);
  free(own);
  if (out.failed) free(out.at);
  *bytes = out.failed ? NULL : out.at;
  *size = out.size;
  return out.failed ? KN_OUT_OF_MEMORY : KN_OK;
}

static void done(const void* bytes, size_t size, void* context) {
  (void)size, (void)context;
  free((void*)(uintptr_t)bytes);
}

kn_files kn_model_edits_files(kn_model_edits* e) {
  return (kn_files){.read = read_file, .done = done, .context = e};
}
