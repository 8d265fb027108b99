/* YAML to a small tree by libfyaml's events (parts.h); what a study does not need is refused with its position. */
#include "load/study/parts.h"

#include <string.h>

#include "base/error.h"

#ifdef KN_HAVE_FYAML
#include <libfyaml.h>

enum { DEPTH = 16 };

typedef struct builder {
  kn_hoard* pool;
  const char* file;
  const char* text;
  kn_yaml *root, *open[DEPTH];
  char* key[DEPTH]; /* a key that waits for its value */
  kn_xml_attr key_at[DEPTH];
  int depth;
} builder;

static kn_xml_attr place(const builder* b, const struct fy_event* e) {
  const struct fy_mark* m = fy_event_start_mark((struct fy_event*)(uintptr_t)e);
  return (kn_xml_attr){
      .name = "", .value = "", .file = b->file, .line = m ? m->line + 1 : 1, .column = m ? m->column + 1 : 1};
}

static kn_status attach(builder* b, kn_yaml* n) {
  kn_yaml* up = b->depth ? b->open[b->depth - 1] : NULL;
  if (!up) {
    b->root = n;
    return KN_OK;
  }
  if (up->kind == KN_YAML_MAP) {
    n->at.name = b->key[b->depth - 1];
    n->key = b->key_at[b->depth - 1];
    b->key[b->depth - 1] = NULL;
    for (const kn_yaml* k = up->child; k; k = k->next)
      if (strcmp(k->at.name, n->at.name) == 0)
        return kn_xml_fail_at(&n->key, "key \"%.60s\" is given twice, expected once", n->at.name);
  }
  if (up->last)
    up->last = up->last->next = n;
  else
    up->child = up->last = n;
  return KN_OK;
}

static kn_status begin(builder* b, const struct fy_event* e, kn_yaml_kind kind) {
  kn_xml_attr at = place(b, e);
  if (b->depth == DEPTH) return kn_xml_fail_at(&at, "nested deeper than %d, expected a flatter file", DEPTH);
  if (b->depth && b->open[b->depth - 1]->kind == KN_YAML_MAP && !b->key[b->depth - 1])
    return kn_xml_fail_at(&at, "a key that is not a word, expected key: value");
  kn_yaml* n = kn_hoard_take(b->pool, sizeof *n);
  if (!n) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", b->file);
  n->kind = kind;
  n->at = n->key = at;
  KN_TRY(attach(b, n));
  b->open[b->depth] = n;
  b->key[b->depth++] = NULL;
  return KN_OK;
}

/* libfyaml 0.7.12 loses memory, half a kilobyte and more, over a text in single quotes that quotes and ends of lines cut into
   many pieces, if a quote or a carriage return is among them. */
static bool many_pieces(const builder* b, const struct fy_event* e) {
  const struct fy_mark *from = fy_event_start_mark((struct fy_event*)(uintptr_t)e),
                       *to = fy_event_end_mark((struct fy_event*)(uintptr_t)e);
  int quotes = 0, returns = 0, lines = 0;
  if (fy_scalar_token_get_style(e->scalar.value) != FYSS_SINGLE_QUOTED || !from || !to) return false;
  for (size_t i = from->input_pos; i < to->input_pos; i++) {
    quotes += b->text[i] == '\'';
    returns += b->text[i] == '\r';
    lines += b->text[i] == '\n' || b->text[i] == '\r';
  }
  return quotes + returns > 0 &&
         quotes + 2 * lines > 6; /* a quote inside is two; the marks are inside of those around it */
}

static kn_status scalar(builder* b, const struct fy_event* e) {
  size_t n = 0;
  if (many_pieces(b, e)) {
    kn_xml_attr from = place(b, e);
    return kn_xml_fail_at(
        &from,
        "more than three quotes and ends of lines in single quotes, expected double quotes around the text");
  }
  const char* text = fy_token_get_text(e->scalar.value, &n);
  char* copy = kn_hoard_text(b->pool, text ? text : "", text ? n : 0);
  kn_xml_attr at = place(b, e);
  if (!copy) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", b->file);
  if (strlen(copy) != n) return kn_xml_fail_at(&at, "a text with a zero byte (\\0), expected one without");
  if (e->scalar.anchor || e->scalar.tag)
    return kn_xml_fail_at(&at, "anchors and tags are not read, expected a plain value");
  if (b->depth && b->open[b->depth - 1]->kind == KN_YAML_MAP && !b->key[b->depth - 1]) {
    b->key[b->depth - 1] = copy;
    b->key_at[b->depth - 1] = at;
    b->key_at[b->depth - 1].name = copy;
    return KN_OK;
  }
  kn_yaml* node = kn_hoard_take(b->pool, sizeof *node);
  if (!node) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", b->file);
  node->at = node->key = at;
  node->at.value = copy;
  return attach(b, node);
}

static kn_status event(builder* b, const struct fy_event* e) {
  kn_xml_attr at;
  switch (e->type) {
  case FYET_MAPPING_START:
  case FYET_SEQUENCE_START: return begin(b, e, e->type == FYET_MAPPING_START ? KN_YAML_MAP : KN_YAML_LIST);
  case FYET_MAPPING_END:
  case FYET_SEQUENCE_END: b->depth--; return KN_OK;
  case FYET_SCALAR: return scalar(b, e);
  case FYET_ALIAS:
    at = place(b, e);
    return kn_xml_fail_at(&at, "aliases (*name) are not read, expected the value itself");
  case FYET_DOCUMENT_START:
    at = place(b, e);
    return b->root ? kn_xml_fail_at(&at, "a second document, expected one") : KN_OK;
  default: return KN_OK;
  }
}

static kn_status syntax(struct fy_diag* diag, const char* file) {
  void* prev = NULL;
  struct fy_diag_error* e = fy_diag_errors_iterate(diag, &prev);
  if (!e) return kn_fail_at(KN_BAD_FILE, file, 1, 1, "not YAML, expected key: value lines");
  return kn_fail_at(KN_BAD_FILE, file, e->line > 0 ? e->line : 1, e->column > 0 ? e->column : 1,
                    "not YAML: %.200s, expected key: value lines", e->msg);
}

/* Length of the UTF-8 character at p, 0: not one. */
static size_t character(const unsigned char* p, size_t left) {
  size_t n = p[0] < 0x80                   ? 1
             : p[0] >= 0xC2 && p[0] < 0xE0 ? 2
             : p[0] >= 0xE0 && p[0] < 0xF0 ? 3
             : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                           : 0;
  if (n == 0 || n > left) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  return n;
}

/* A question mark by itself: the key that follows may be anything. */
static bool is_complex_key(const char* text, size_t i, size_t size) {
  bool begins = i == 0 || strchr(" \n\r-:,{[", text[i - 1]) != NULL;
  return text[i] == '?' && begins && (i + 1 == size || strchr(" \n\r,]}:", text[i + 1]) != NULL);
}

/* Only plain UTF-8 text without directives, tabs and complex keys reaches the YAML reader, which hangs or
   crashes on some others (libfyaml 0.7.12). */
static kn_status plain_text(const char* file, const char* text, size_t size) {
  kn_xml_attr at = {.name = "", .value = "", .file = file, .line = 1, .column = 1};
  for (size_t i = 0, n; i < size; i += n) {
    unsigned char c = (unsigned char)text[i];
    n = character((const unsigned char*)text + i, size - i);
    if (n == 0 || (c < 32 && c != '\t' && c != '\n' && c != '\r') || c == 127)
      return kn_xml_fail_at(&at, "a byte that is not UTF-8 text, expected a text file");
    if (c == '\t') return kn_xml_fail_at(&at, "a tab, expected spaces");
    if (is_complex_key(text, i, size))
      return kn_xml_fail_at(&at, "keys after a question mark are not read, expected key: value lines");
    if (c == '%' && at.column == 1)
      return kn_xml_fail_at(&at, "directives (%%…) are not read, expected key: value lines");
    at.column++;
    if (c == '\n' || c == '\r') at.line += c == '\n', at.column = 1;
  }
  return KN_OK;
}

kn_status kn_yaml_parse(kn_yaml** root, kn_hoard* pool, const char* file, const char* text, size_t size) {
  *root = NULL;
  KN_TRY(plain_text(file, text, size));
  struct fy_diag_cfg dc;
  fy_diag_cfg_default(&dc);
  dc.fp = NULL;
  dc.colorize = false;
  struct fy_diag* diag = fy_diag_create(&dc);
  if (!diag) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", file);
  fy_diag_set_collect_errors(diag, true);
  struct fy_parse_cfg cfg = {.search_path = "", .flags = FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE, .diag = diag};
  struct fy_parser* parser = fy_parser_create(&cfg);
  builder b = {.pool = pool, .file = file, .text = text};
  kn_status status = parser && fy_parser_set_string(parser, text, size) == 0
                         ? KN_OK
                         : kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", file);
  while (status == KN_OK) {
    struct fy_event* e = fy_parser_parse(parser);
    if (!e) break;
    status = event(&b, e);
    fy_parser_event_free(parser, e);
  }
  if (status == KN_OK && fy_diag_got_error(diag)) status = syntax(diag, file);
  if (parser) fy_parser_destroy(parser);
  fy_diag_destroy(diag);
  if (status == KN_OK) *root = b.root;
  return status;
}

#else

kn_status kn_yaml_parse(kn_yaml** root, kn_hoard* pool, const char* file, const char* text, size_t size) {
  (void)pool, (void)text, (void)size;
  *root = NULL;
  return kn_fail(KN_UNSUPPORTED, "%s: study files need libfyaml, built without it (KN_FYAML)", file);
}

#endif

kn_yaml* kn_yaml_get(const kn_yaml* map, const char* key) {
  for (kn_yaml* k = map ? map->child : NULL; k; k = k->next)
    if (strcmp(k->at.name, key) == 0) return k;
  return NULL;
}
